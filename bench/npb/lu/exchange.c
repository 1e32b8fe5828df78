#include "bench/npb/lu/exchange.h"

#include "bench/npb/common/job.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_GHOSTS = 1, TAG_PIPELINE };

// The horizontal direction that a face orthogonal to `direction` has.
static int across(int direction)
{
    return direction == CFD_X ? CFD_Y : CFD_X;
}

static int face_points(const struct lu_box *box, int direction)
{
    return LU_GHOSTS * box->count[across(direction)] * box->count[CFD_Z];
}

struct lu_exchange lu_exchange_make(const struct lu_box *box)
{
    int x = face_points(box, CFD_X), y = face_points(box, CFD_Y);
    size_t most = (size_t)(x > y ? x : y);
    return (struct lu_exchange){
        .box = box,
        .sent = npb_job_allocate(most, sizeof(double[CFD_QUANTITIES])),
        .received = npb_job_allocate(most, sizeof(double[CFD_QUANTITIES])),
    };
}

void lu_exchange_free(struct lu_exchange *exchange)
{
    free(exchange->sent);
    free(exchange->received);
}

enum way { PACK, UNPACK };

// Copies between `packed` and the LU_GHOSTS layers of `u` from index `first` along `direction`.
static void copy_face(const struct lu_box *box, enum way way, int direction, int first,
                      double (*u)[CFD_QUANTITIES], double (*packed)[CFD_QUANTITIES])
{
    int line = box->count[across(direction)];
    ptrdiff_t step = box->stride[across(direction)];
    for (int z = 0; z < box->count[CFD_Z]; z++) {
        for (int layer = first; layer < first + LU_GHOSTS; layer++) {
            ptrdiff_t at = lu_box_at(box, 0, 0, z) + layer * box->stride[direction];
            for (int i = 0; i < line; i++, at += step, packed++) {
                if (way == PACK)
                    memcpy(*packed, u[at], sizeof *packed);
                else
                    memcpy(u[at], *packed, sizeof *packed);
            }
        }
    }
}

// Gives the last layers to the rank `to` and takes ghosts from `from`; either may be LU_NOBODY.
static void shift(struct lu_exchange *exchange, int direction, int from, int to, int ghosts,
                  int given, double (*u)[CFD_QUANTITIES])
{
    const struct lu_box *box = exchange->box;
    int values = CFD_QUANTITIES * face_points(box, direction);
    MPI_Request request;
    if (from != LU_NOBODY)
        MPI_Irecv(exchange->received, values, MPI_DOUBLE, from, TAG_GHOSTS, MPI_COMM_WORLD,
                  &request);
    if (to != LU_NOBODY) {
        copy_face(box, PACK, direction, given, u, exchange->sent);
        MPI_Send(exchange->sent, values, MPI_DOUBLE, to, TAG_GHOSTS, MPI_COMM_WORLD);
    }
    if (from != LU_NOBODY) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        copy_face(box, UNPACK, direction, ghosts, u, exchange->received);
    }
}

void lu_exchange_ghosts(struct lu_exchange *exchange, double (*u)[CFD_QUANTITIES])
{
    const struct lu_box *box = exchange->box;
    for (int direction = CFD_X; direction <= CFD_Y; direction++) {
        int before = box->before[direction], after = box->after[direction];
        int count = box->count[direction];
        shift(exchange, direction, before, after, -LU_GHOSTS, count - LU_GHOSTS, u);
        shift(exchange, direction, after, before, count, 0, u);
    }
}

// The inner points of a plane with one and the same index along `direction`.
struct line {
    int count;
    ptrdiff_t first;
    ptrdiff_t step;
};

static struct line line_of(const struct lu_box *box, int direction, int index, int z)
{
    int along = across(direction), first = box->inner_first[along];
    return (struct line){
        .count = box->inner_end[along] - first,
        .first =
            lu_box_at(box, 0, 0, z) + index * box->stride[direction] + first * box->stride[along],
        .step = box->stride[along],
    };
}

void lu_exchange_receive(struct lu_exchange *exchange, bool upward, int z,
                         double (*v)[CFD_QUANTITIES])
{
    const struct lu_box *box = exchange->box;
    for (int direction = CFD_X; direction <= CFD_Y; direction++) {
        int from = upward ? box->before[direction] : box->after[direction];
        if (from == LU_NOBODY)
            continue;
        struct line line = line_of(box, direction, upward ? -1 : box->count[direction], z);
        MPI_Recv(exchange->received, CFD_QUANTITIES * line.count, MPI_DOUBLE, from, TAG_PIPELINE,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < line.count; i++)
            memcpy(v[line.first + i * line.step], exchange->received[i], sizeof *v);
    }
}

void lu_exchange_send(struct lu_exchange *exchange, bool upward, int z, double (*v)[CFD_QUANTITIES])
{
    const struct lu_box *box = exchange->box;
    for (int direction = CFD_X; direction <= CFD_Y; direction++) {
        int to = upward ? box->after[direction] : box->before[direction];
        if (to == LU_NOBODY)
            continue;
        struct line line = line_of(box, direction, upward ? box->count[direction] - 1 : 0, z);
        for (int i = 0; i < line.count; i++)
            memcpy(exchange->sent[i], v[line.first + i * line.step], sizeof *v);
        MPI_Send(exchange->sent, CFD_QUANTITIES * line.count, MPI_DOUBLE, to, TAG_PIPELINE,
                 MPI_COMM_WORLD);
    }
}
