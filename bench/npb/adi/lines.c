#include "bench/npb/adi/lines.h"

#include "bench/npb/common/job.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_UP = 16, TAG_DOWN };

// The lines of a cell along a direction, numbered so that those side by side in memory, where there
// are such, are neighbours.
struct bundle {
    const struct adi_cell *cell;
    int direction;
    int fast, slow; // the directions across
    int lines;
};

static struct bundle bundle_of(const struct adi_lines *lines, int direction, int slab)
{
    int index = multipartition_cell_in(lines->partition, direction, slab);
    struct bundle bundle = {
        .cell = &lines->cells[index],
        .direction = direction,
        .fast = direction == CFD_X ? CFD_Y : CFD_X,
        .slow = direction == CFD_Z ? CFD_Y : CFD_Z,
    };
    bundle.lines = bundle.cell->inner[bundle.fast].count * bundle.cell->inner[bundle.slow].count;
    return bundle;
}

static int lanes_used(const struct bundle *bundle, int start)
{
    return bundle->lines - start < ADI_LANES ? bundle->lines - start : ADI_LANES;
}

static struct adi_batch batch_at(const struct adi_lines *lines, const struct bundle *bundle,
                                 int start)
{
    const struct adi_cell *cell = bundle->cell;
    const int d = bundle->direction, fast = bundle->fast, slow = bundle->slow;
    struct adi_batch batch = {
        .cell = cell,
        .axis = &lines->axes[d],
        .direction = d,
        .time_step = lines->time_step,
        .points = cell->inner[d].count,
        .first_index = cell->first[d] + cell->inner[d].start,
        .step = cell->stride[d],
    };
    int used = lanes_used(bundle, start);
    for (int lane = 0; lane < ADI_LANES; lane++) {
        int line = start + (lane < used ? lane : used - 1);
        int point[CFD_DIRECTIONS];
        point[d] = cell->inner[d].start;
        point[fast] = cell->inner[fast].start + line % cell->inner[fast].count;
        point[slow] = cell->inner[slow].start + line / cell->inner[fast].count;
        batch.origin[lane] = adi_cell_at(cell, point[CFD_X], point[CFD_Y], point[CFD_Z]);
    }
    return batch;
}

// A message has, batch after batch, each number of the lines that there really are.
static void unpack(const double *message, int start, int used, int numbers, adi_lanes *handed)
{
    message += (size_t)start * (size_t)numbers;
    for (int i = 0; i < numbers; i++) {
        for (int lane = 0; lane < ADI_LANES; lane++)
            handed[i][lane] = message[i * used + (lane < used ? lane : used - 1)];
    }
}

static void pack(const adi_lanes *handed, int start, int used, int numbers, double *message)
{
    message += (size_t)start * (size_t)numbers;
    for (int i = 0; i < numbers; i++)
        memcpy(message + i * used, handed[i], (size_t)used * sizeof(double));
}

// What a stage begins with: the neighbour's message, or, at the surface, where the solution is 0,
// zeros.
static void take(const struct adi_lines *lines, const double *incoming, int start, int used,
                 int numbers)
{
    if (incoming != NULL)
        unpack(incoming, start, used, numbers, lines->handed);
    else
        memset(lines->handed, 0, (size_t)numbers * sizeof(adi_lanes));
}

static adi_lanes *kept_of(const struct adi_lines *lines, int slab, int start)
{
    return lines->kept_long + (size_t)slab * lines->kept_cell +
           (size_t)(start / ADI_LANES) * lines->kept_batch;
}

static void eliminate_cell(const struct adi_lines *lines, const struct bundle *bundle, int slab,
                           const double *incoming)
{
    const struct adi_method *method = lines->method;
    for (int start = 0; start < bundle->lines; start += ADI_LANES) {
        struct adi_batch batch = batch_at(lines, bundle, start);
        int used = lanes_used(bundle, start);
        take(lines, incoming, start, used, method->up);
        method->eliminate(&batch, lines->handed, kept_of(lines, slab, start));
        pack(lines->handed, start, used, method->up, lines->outgoing);
    }
}

static void substitute_cell(const struct adi_lines *lines, const struct bundle *bundle, int slab,
                            const double *incoming)
{
    const struct adi_method *method = lines->method;
    for (int start = 0; start < bundle->lines; start += ADI_LANES) {
        struct adi_batch batch = batch_at(lines, bundle, start);
        int used = lanes_used(bundle, start);
        take(lines, incoming, start, used, method->down);
        method->substitute(&batch, lines->handed, kept_of(lines, slab, start));
        if (slab > 0)
            pack(lines->handed, start, used, method->down, lines->outgoing);
    }
}

// In the last slab, where elimination ends and substitution begins, a batch stays in the cache
// between them.
static void turn_in_cell(const struct adi_lines *lines, const struct bundle *bundle, int slab,
                         const double *incoming)
{
    const struct adi_method *method = lines->method;
    for (int start = 0; start < bundle->lines; start += ADI_LANES) {
        struct adi_batch batch = batch_at(lines, bundle, start);
        int used = lanes_used(bundle, start);
        take(lines, incoming, start, used, method->up);
        method->eliminate(&batch, lines->handed, lines->kept);
        take(lines, NULL, start, used, method->down);
        method->substitute(&batch, lines->handed, lines->kept);
        if (slab > 0)
            pack(lines->handed, start, used, method->down, lines->outgoing);
    }
}

// One way through the slabs: up all of them, then from the last but one down.
static int slab_at(int stage, int side)
{
    return stage < side ? stage : 2 * (side - 1) - stage;
}

static bool goes_up(int stage, int side)
{
    return stage < side;
}

// Posts the receipt of what stage `stage` begins with. It comes from the cell of the stage before:
// one slab lower on the way up, one higher on the way down, the same lines.
static void receive_for(const struct adi_lines *lines, int direction, int stage,
                        MPI_Request *request)
{
    const struct multipartition *partition = lines->partition;
    bool up = goes_up(stage, partition->side);
    struct bundle bundle = bundle_of(lines, direction, slab_at(stage, partition->side));
    int numbers = up ? lines->method->up : lines->method->down;
    MPI_Irecv(lines->incoming[stage % 2], bundle.lines * numbers, MPI_DOUBLE,
              up ? partition->below[direction] : partition->above[direction],
              up ? TAG_UP : TAG_DOWN, MPI_COMM_WORLD, request);
}

static void send_after(const struct adi_lines *lines, int direction, int stage,
                       MPI_Request *request)
{
    const struct multipartition *partition = lines->partition;
    bool up = goes_up(stage + 1, partition->side);
    struct bundle bundle = bundle_of(lines, direction, slab_at(stage, partition->side));
    int numbers = up ? lines->method->up : lines->method->down;
    MPI_Isend(lines->outgoing, bundle.lines * numbers, MPI_DOUBLE,
              up ? partition->above[direction] : partition->below[direction],
              up ? TAG_UP : TAG_DOWN, MPI_COMM_WORLD, request);
}

static void work(const struct adi_lines *lines, int direction, int stage, const double *incoming)
{
    const int side = lines->partition->side, slab = slab_at(stage, side);
    struct bundle bundle = bundle_of(lines, direction, slab);
    if (slab == side - 1)
        turn_in_cell(lines, &bundle, slab, incoming);
    else if (goes_up(stage, side))
        eliminate_cell(lines, &bundle, slab, incoming);
    else
        substitute_cell(lines, &bundle, slab, incoming);
}

void adi_lines_solve(struct adi_lines *lines, int direction)
{
    const int stages = 2 * lines->partition->side - 1;
    MPI_Request receipt = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    for (int stage = 0; stage < stages; stage++) {
        MPI_Wait(&receipt, MPI_STATUS_IGNORE);
        if (stage + 1 < stages)
            receive_for(lines, direction, stage + 1, &receipt);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        work(lines, direction, stage, stage > 0 ? lines->incoming[stage % 2] : NULL);
        if (stage + 1 < stages)
            send_after(lines, direction, stage, &sending);
    }
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

struct adi_lines adi_lines_make(const struct adi_method *method,
                                const struct multipartition *partition, struct adi_cell *cells,
                                const struct cfd_axis axes[CFD_DIRECTIONS], double time_step)
{
    struct adi_lines lines = {
        .method = method,
        .partition = partition,
        .cells = cells,
        .axes = axes,
        .time_step = time_step,
    };
    const size_t longest = (size_t)((partition->points + partition->side - 1) / partition->side);
    const size_t most_lines = longest * longest;
    const size_t batches = (most_lines + ADI_LANES - 1) / ADI_LANES;
    const size_t handed = (size_t)(method->up > method->down ? method->up : method->down);
    lines.kept_batch = longest * (size_t)method->kept;
    lines.kept_cell = batches * lines.kept_batch;
    lines.kept = npb_job_allocate(lines.kept_batch, sizeof(adi_lanes));
    lines.kept_long =
        npb_job_allocate((size_t)(partition->side - 1) * lines.kept_cell, sizeof(adi_lanes));
    lines.handed = npb_job_allocate(handed, sizeof(adi_lanes));
    lines.outgoing = npb_job_allocate(most_lines * handed, sizeof(double));
    for (int i = 0; i < 2; i++)
        lines.incoming[i] = npb_job_allocate(most_lines * handed, sizeof(double));
    return lines;
}

void adi_lines_free(struct adi_lines *lines)
{
    free(lines->kept);
    free(lines->kept_long);
    free(lines->handed);
    free(lines->outgoing);
    free(lines->incoming[0]);
    free(lines->incoming[1]);
}
