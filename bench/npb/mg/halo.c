#include "bench/npb/mg/halo.h"

#include "bench/npb/common/job.h"

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

// By the way a message goes: with two ranks along an axis, both neighbours are the same rank.
enum { TAG_UP = 1, TAG_DOWN };

// Points of a field, halo included, that are one point thick along one axis.
struct plane {
    int start[MG_AXES], count[MG_AXES];
};

struct mg_box mg_halo_box(const struct mg_level *level)
{
    return (struct mg_box){level->part[0].count, level->part[1].count, level->part[2].count};
}

// With the halo of the other axes if `whole`; else of those before, as they are exchanged before.
static struct plane make_plane(const struct mg_level *level, int axis, int place, bool whole)
{
    struct plane plane;
    for (int a = 0; a < MG_AXES; a++) {
        bool halo = whole || a < axis;
        plane.start[a] = halo ? 0 : 1;
        plane.count[a] = level->part[a].count + (halo ? 2 : 0);
    }
    plane.start[axis] = place;
    plane.count[axis] = 1;
    return plane;
}

static int count_points(const struct plane *plane)
{
    return plane->count[0] * plane->count[1] * plane->count[2];
}

static void pack(const struct mg_box *box, const struct plane *plane, const double *field,
                 double *restrict buffer)
{
    const int *start = plane->start, *count = plane->count;
    for (int z = start[2]; z < start[2] + count[2]; z++) {
        for (int y = start[1]; y < start[1] + count[1]; y++) {
            const double *restrict row = field + mg_field_row(box, y, z) + start[0];
            for (int i = 0; i < count[0]; i++)
                *buffer++ = row[i];
        }
    }
}

static void unpack(const struct mg_box *box, const struct plane *plane,
                   const double *restrict buffer, double *field)
{
    const int *start = plane->start, *count = plane->count;
    for (int z = start[2]; z < start[2] + count[2]; z++) {
        for (int y = start[1]; y < start[1] + count[1]; y++) {
            double *restrict row = field + mg_field_row(box, y, z) + start[0];
            for (int i = 0; i < count[0]; i++)
                row[i] = *buffer++;
        }
    }
}

// The plane's own memory if it lies together, as it does across z, else null.
static double *find_in_place(const struct mg_box *box, const struct plane *plane, double *field)
{
    bool together = plane->count[0] == box->nx + 2 && plane->count[1] == box->ny + 2;
    return together ? field + mg_field_row(box, 0, plane->start[2]) : NULL;
}

static void give(struct mg_halo *halo, const struct mg_box *box, struct plane plane, double *field,
                 int rank, int tag)
{
    const double *data = find_in_place(box, &plane, field);
    if (data == NULL) {
        pack(box, &plane, field, halo->outgoing);
        data = halo->outgoing;
    }
    MPI_Send(data, count_points(&plane), MPI_DOUBLE, rank, tag, MPI_COMM_WORLD);
}

struct arrival {
    struct plane plane;
    double *packed; // or null: it arrives in its place
    MPI_Request request;
};

static void expect(struct arrival *arrival, const struct mg_box *box, struct plane plane,
                   double *field, double *buffer, int rank, int tag)
{
    double *in_place = find_in_place(box, &plane, field);
    arrival->plane = plane;
    arrival->packed = in_place == NULL ? buffer : NULL;
    MPI_Irecv(in_place == NULL ? buffer : in_place, count_points(&plane), MPI_DOUBLE, rank, tag,
              MPI_COMM_WORLD, &arrival->request);
}

static void take(const struct mg_box *box, struct arrival *arrival, double *field)
{
    MPI_Wait(&arrival->request, MPI_STATUS_IGNORE);
    if (arrival->packed != NULL)
        unpack(box, &arrival->plane, arrival->packed, field);
}

static void copy(struct mg_halo *halo, const struct mg_box *box, struct plane from, struct plane to,
                 double *field)
{
    pack(box, &from, field, halo->outgoing);
    unpack(box, &to, halo->outgoing, field);
}

struct mg_halo mg_halo_make(const struct mg_grid *grid, const struct mg_level *largest)
{
    size_t points = 0;
    for (int axis = 0; axis < MG_AXES; axis++) {
        struct plane face = make_plane(largest, axis, 1, true);
        if ((size_t)count_points(&face) > points)
            points = (size_t)count_points(&face);
    }
    return (struct mg_halo){
        .alone = grid->ranks == 1,
        .outgoing = npb_job_allocate(points, sizeof(double)),
        .from_lower = npb_job_allocate(points, sizeof(double)),
        .from_upper = npb_job_allocate(points, sizeof(double)),
    };
}

void mg_halo_free(struct mg_halo *halo)
{
    free(halo->outgoing);
    free(halo->from_lower);
    free(halo->from_upper);
}

void mg_halo_exchange(struct mg_halo *halo, const struct mg_level *level, double *field)
{
    if (level->idle)
        return;
    struct mg_box box = mg_halo_box(level);
    for (int axis = 0; axis < MG_AXES; axis++) {
        int last = level->part[axis].count;
        struct plane before = make_plane(level, axis, 0, false);
        struct plane lowest = make_plane(level, axis, 1, false);
        struct plane highest = make_plane(level, axis, last, false);
        struct plane behind = make_plane(level, axis, last + 1, false);
        if (halo->alone) {
            copy(halo, &box, highest, before, field);
            copy(halo, &box, lowest, behind, field);
            continue;
        }
        int lower = level->lower[axis], upper = level->upper[axis];
        struct arrival below, above;
        expect(&below, &box, before, field, halo->from_lower, lower, TAG_UP);
        expect(&above, &box, behind, field, halo->from_upper, upper, TAG_DOWN);
        give(halo, &box, highest, field, upper, TAG_UP);
        give(halo, &box, lowest, field, lower, TAG_DOWN);
        take(&box, &below, field);
        take(&box, &above, field);
    }
}

void mg_halo_lend(struct mg_halo *halo, const struct mg_level *coarse, const struct mg_level *fine,
                  double *field)
{
    struct mg_box box = mg_halo_box(coarse);
    for (int axis = 0; axis < MG_AXES; axis++) {
        int lower = fine->lower[axis], upper = fine->upper[axis];
        enum mg_duty duty = mg_grid_duty(coarse, fine, axis);
        if (duty == MG_LEND) {
            struct plane only = make_plane(coarse, axis, 1, true);
            give(halo, &box, only, field, upper, TAG_UP);
            give(halo, &box, only, field, lower, TAG_DOWN);
        } else if (duty == MG_BORROW) {
            struct plane before = make_plane(coarse, axis, 0, true);
            struct plane behind = make_plane(coarse, axis, 1, true);
            struct arrival below, above;
            expect(&below, &box, before, field, halo->from_lower, lower, TAG_UP);
            expect(&above, &box, behind, field, halo->from_upper, upper, TAG_DOWN);
            take(&box, &below, field);
            take(&box, &above, field);
        }
    }
}
