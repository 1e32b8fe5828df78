// NAS simulated application BT: the flow equations by alternating directions, with block
// tridiagonal systems along each (RNR-94-007, section 3).
#include "bench/npb/adi/job.h"
#include "bench/npb/bt/block.h"
#include "bench/npb/bt/class.h"

#include <string.h>

enum {
    KEPT = sizeof(struct bt_block) / sizeof(adi_lanes),
    HANDED_UP = KEPT,
    HANDED_DOWN = CFD_QUANTITIES,
};

// The quantity that is number `m` as seen along a direction: momenta come in the order along it,
// then the two across.
static int turned(int m, int direction)
{
    if (m == CFD_DENSITY || m == CFD_ENERGY)
        return m;
    return CFD_MOMENTUM_X + (m - CFD_MOMENTUM_X + direction) % CFD_DIRECTIONS;
}

static void look_at(const struct adi_batch *batch, int distance, struct bt_point *point)
{
    const struct adi_cell *cell = batch->cell;
    adi_lanes energy;
    adi_batch_gather(batch, cell->inverse_density, distance, point->inverse_density);
    adi_batch_gather(batch, cell->kinetic, distance, point->kinetic);
    adi_batch_gather(batch, cell->state + CFD_ENERGY * cell->quantity, distance, energy);
    for (int i = 0; i < CFD_DIRECTIONS; i++) {
        int axis = (batch->direction + i) % CFD_DIRECTIONS;
        adi_batch_gather(batch, cell->velocity + axis * cell->quantity, distance,
                         point->velocity[i]);
    }
    for (int i = 0; i < ADI_LANES; i++)
        point->energy[i] = energy[i] * point->inverse_density[i];
}

static void bt_eliminate(const struct adi_batch *batch, adi_lanes *handed, adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const double flux = batch->time_step * batch->axis->first;
    const double diffusion = batch->time_step * batch->axis->second;
    const double added = batch->axis->diffusion;
    struct bt_point points[3];
    struct bt_point *low = &points[0], *middle = &points[1], *high = &points[2];
    const struct bt_block *before = (struct bt_block *)handed;
    struct bt_block *rows = (struct bt_block *)kept;

    look_at(batch, -1, low);
    look_at(batch, 0, middle);
    for (int n = 0; n < batch->points; n++) {
        struct bt_block below, diagonal, *row = &rows[n];
        look_at(batch, n + 1, high);
        bt_block_assemble(low, -flux, -diffusion, added, &below);
        bt_block_assemble(middle, 0, 2 * diffusion, added, &diagonal);
        bt_block_assemble(high, flux, -diffusion, added, row);
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            const double *right = cell->right + turned(m, batch->direction) * cell->quantity;
            for (int i = 0; i < ADI_LANES; i++)
                diagonal.at[m][m][i] += 1;
            adi_batch_gather(batch, right, n, row->at[m][BT_RIGHT]);
        }
        bt_block_solve(&below, before, &diagonal, row);
        before = row;
        struct bt_point *unused = low;
        low = middle;
        middle = high;
        high = unused;
    }
    memcpy(handed, before, sizeof *before);
}

static void bt_substitute(const struct adi_batch *batch, adi_lanes *handed, const adi_lanes *kept)
{
    const struct adi_cell *cell = batch->cell;
    const struct bt_block *rows = (const struct bt_block *)kept;
    for (int n = batch->points - 1; n >= 0; n--) {
        adi_lanes solution[CFD_QUANTITIES];
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            for (int i = 0; i < ADI_LANES; i++) {
                double sum = rows[n].at[m][BT_RIGHT][i];
                for (int k = 0; k < CFD_QUANTITIES; k++)
                    sum -= rows[n].at[m][k][i] * handed[k][i];
                solution[m][i] = sum;
            }
        }
        for (int m = 0; m < CFD_QUANTITIES; m++)
            adi_batch_scatter(batch, cell->right + turned(m, batch->direction) * cell->quantity, n,
                              solution[m]);
        memcpy(handed, solution, sizeof solution);
    }
}

static void bt_add(struct adi_cell *cell)
{
    const struct npb_span *inner = cell->inner;
    for (int z = inner[CFD_Z].start; z < inner[CFD_Z].start + inner[CFD_Z].count; z++) {
        for (int y = inner[CFD_Y].start; y < inner[CFD_Y].start + inner[CFD_Y].count; y++) {
            ptrdiff_t row = adi_cell_at(cell, inner[CFD_X].start, y, z);
            for (int m = 0; m < CFD_QUANTITIES; m++) {
                double *restrict state = cell->state + row + m * cell->quantity;
                const double *restrict change = cell->right + row + m * cell->quantity;
                for (int i = 0; i < inner[CFD_X].count; i++)
                    state[i] += change[i];
            }
        }
    }
}

static const struct adi_solver bt = {
    .name = "BT",
    .classes = bt_classes,
    .operations = {3478.8, -17655.7, 28023.7, 0},
    .method = {HANDED_UP, HANDED_DOWN, KEPT, bt_eliminate, bt_substitute},
    .after_lines = bt_add,
};

static const char *bt_prepare(const struct npb_job *job, void **state)
{
    return adi_job_prepare(&bt, job, state);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "bt",
        .prepare = bt_prepare,
        .run = adi_job_run,
        .verify = adi_job_verify,
        .operations = adi_job_operations,
        .release = adi_job_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
