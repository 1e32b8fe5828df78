// The exchange of the state of the points next to the faces of all cells: one message to the rank
// on either side along each direction, two layers of all the rank's cells in it.
#ifndef COSCHED_BENCH_ADI_HALO_H
#define COSCHED_BENCH_ADI_HALO_H

#include "bench/npb/adi/cell.h"

#include <mpi.h>

enum { ADI_HALO_SIDES = 2 * CFD_DIRECTIONS };

struct adi_halo {
    const struct multipartition *partition;
    struct adi_cell *cells;
    struct {
        int rank;  // of the neighbour
        int count; // numbers in a message, as many one way as the other
        double *sent;
        double *received;
    } sides[ADI_HALO_SIDES]; // below and above along x, then y, then z
};

// For this rank's cells, which stay the caller's, as does the partition. Does not come back without
// memory.
struct adi_halo adi_halo_make(const struct multipartition *partition, struct adi_cell *cells);

void adi_halo_free(struct adi_halo *halo);

// Fills the halo of the state of all cells from their neighbours. Collective.
void adi_halo_exchange(struct adi_halo *halo);

#endif
