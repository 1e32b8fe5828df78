#include "bench/npb/adi/halo.h"

#include "bench/npb/common/job.h"

#include <stdlib.h>

enum { TAG_SIDE = 1 }; // and up: tags of the sides as the receiver sees them

enum { BELOW, ABOVE };

static int direction_of(int side)
{
    return side / 2;
}

// Cells in the last slab have no neighbour above, those in the first none below.
static bool has_neighbour(const struct adi_halo *halo, const struct adi_cell *cell, int side)
{
    int edge = side % 2 == ABOVE ? halo->partition->side - 1 : 0;
    return cell->slab[direction_of(side)] != edge;
}

// The layers on one side of a cell: its own, or, with `outside`, those of the halo.
static struct adi_box face(const struct adi_cell *cell, int side, bool outside)
{
    struct adi_box box = {.count = {cell->size[CFD_X], cell->size[CFD_Y], cell->size[CFD_Z]}};
    int d = direction_of(side);
    if (side % 2 == ABOVE)
        box.from[d] = outside ? cell->size[d] : cell->size[d] - ADI_HALO;
    else
        box.from[d] = outside ? -ADI_HALO : 0;
    box.count[d] = ADI_HALO;
    return box;
}

static int face_numbers(const struct adi_cell *cell, int side)
{
    struct adi_box box = face(cell, side, false);
    return CFD_QUANTITIES * box.count[CFD_X] * box.count[CFD_Y] * box.count[CFD_Z];
}

// Copies the state in a box to a message, or from one; returns where the message goes on.
static double *copy_box(const struct adi_cell *cell, const struct adi_box *box, double *message,
                        bool to_message)
{
    const int count = box->count[CFD_X];
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        for (int z = 0; z < box->count[CFD_Z]; z++) {
            for (int y = 0; y < box->count[CFD_Y]; y++) {
                double *row =
                    cell->state + m * cell->quantity +
                    adi_cell_at(cell, box->from[CFD_X], box->from[CFD_Y] + y, box->from[CFD_Z] + z);
                double *target = to_message ? message : row;
                const double *source = to_message ? row : message;
                for (int x = 0; x < count; x++)
                    target[x] = source[x];
                message += count;
            }
        }
    }
    return message;
}

// Both partners go through their cells from slab to slab, so that the parts of a message meet the
// cells they are for.
static void copy_side(struct adi_halo *halo, int side, bool sending)
{
    double *message = sending ? halo->sides[side].sent : halo->sides[side].received;
    for (int slab = 0; slab < halo->partition->side; slab++) {
        int index = multipartition_cell_in(halo->partition, direction_of(side), slab);
        const struct adi_cell *cell = &halo->cells[index];
        if (!has_neighbour(halo, cell, side))
            continue;
        struct adi_box box = face(cell, side, !sending);
        message = copy_box(cell, &box, message, sending);
    }
}

struct adi_halo adi_halo_make(const struct multipartition *partition, struct adi_cell *cells)
{
    struct adi_halo halo = {.partition = partition, .cells = cells};
    for (int side = 0; side < ADI_HALO_SIDES; side++) {
        int d = direction_of(side), count = 0;
        for (int i = 0; i < partition->side; i++) {
            if (has_neighbour(&halo, &cells[i], side))
                count += face_numbers(&cells[i], side);
        }
        halo.sides[side].rank = side % 2 == ABOVE ? partition->above[d] : partition->below[d];
        halo.sides[side].count = count;
        halo.sides[side].sent = npb_job_allocate((size_t)count, sizeof(double));
        halo.sides[side].received = npb_job_allocate((size_t)count, sizeof(double));
    }
    return halo;
}

void adi_halo_free(struct adi_halo *halo)
{
    for (int side = 0; side < ADI_HALO_SIDES; side++) {
        free(halo->sides[side].sent);
        free(halo->sides[side].received);
    }
}

void adi_halo_exchange(struct adi_halo *halo)
{
    if (halo->partition->side == 1)
        return;
    MPI_Request requests[2 * ADI_HALO_SIDES];
    MPI_Status statuses[2 * ADI_HALO_SIDES];
    for (int side = 0; side < ADI_HALO_SIDES; side++)
        MPI_Irecv(halo->sides[side].received, halo->sides[side].count, MPI_DOUBLE,
                  halo->sides[side].rank, TAG_SIDE + side, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < ADI_HALO_SIDES; side++) {
        copy_side(halo, side, true);
        MPI_Isend(halo->sides[side].sent, halo->sides[side].count, MPI_DOUBLE,
                  halo->sides[side].rank, TAG_SIDE + (side ^ 1), MPI_COMM_WORLD,
                  &requests[ADI_HALO_SIDES + side]);
    }
    MPI_Waitall(2 * ADI_HALO_SIDES, requests, statuses);
    for (int side = 0; side < ADI_HALO_SIDES; side++)
        copy_side(halo, side, false);
}
