// The random sparse symmetric matrix of CG, as each rank makes its own block of it.
#ifndef COSCHED_BENCH_NPB_CG_MATRIX_H
#define COSCHED_BENCH_NPB_CG_MATRIX_H

#include "bench/npb/common/grid.h"

#include <stddef.h>

// A block in compressed row storage. Rows and columns count from the block's own corner.
struct cg_matrix {
    int rows;
    size_t *row_start; // rows + 1 of them: where a row begins in the two arrays below
    int *column;
    double *value;
};

// Makes the block `rows` x `columns` of the matrix
//     A = sum over i of w_i v_i v_i^T  +  (1/10 - shift) I
// where v_i is a random vector with `spread` nonzeros and 0.5 at place i, and the weights w_i fall
// geometrically from 1 to 1/10 (RNR-94-007). Needs no communication. Aborts the job if
// there is no memory.
struct cg_matrix cg_matrix_make(int order, int spread, double shift, struct npb_span rows,
                                struct npb_span columns);

void cg_matrix_free(struct cg_matrix *matrix);

// product = block * vector
void cg_matrix_multiply(const struct cg_matrix *matrix, const double *restrict vector,
                        double *restrict product);

#endif
