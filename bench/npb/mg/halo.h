// The messages between neighbours of MG.
#ifndef COSCHED_BENCH_MG_HALO_H
#define COSCHED_BENCH_MG_HALO_H

#include "bench/npb/mg/field.h"
#include "bench/npb/mg/grid.h"

#include <stdbool.h>

// Buffers for the faces of the largest level.
struct mg_halo {
    bool alone; // one rank: faces are copied
    double *outgoing;
    double *from_lower, *from_upper;
};

struct mg_halo mg_halo_make(const struct mg_grid *grid, const struct mg_level *largest);
void mg_halo_free(struct mg_halo *halo);

struct mg_box mg_halo_box(const struct mg_level *level);

// Gives the field of a level its halo, edges and corners included. Every rank of the level takes
// part; idle ones return at once. Each face is one message, also where a rank is its own neighbour.
void mg_halo_exchange(struct mg_halo *halo, const struct mg_level *level, double *field);

// Gives ranks that have points on the level `fine` but none on `coarse`, the next, the values of
// the coarse field on both sides of their gap: in its halo, as there is nothing else.
void mg_halo_lend(struct mg_halo *halo, const struct mg_level *coarse, const struct mg_level *fine,
                  double *field);

#endif
