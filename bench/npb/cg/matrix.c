#include "bench/npb/cg/matrix.h"

#include "bench/npb/common/job.h"
#include "bench/npb/common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define MATRIX_SEED     314159265
#define SMALLEST_WEIGHT 0.1 // also the bound from below of the unshifted matrix' eigenvalues
#define OWN_ELEMENT     0.5

// Element of a sparse vector; in the index by place, `at` is the vector's number instead.
struct element {
    int at;
    double value;
};

// All vectors v_i one after the other, v_i being elements[start[i]] .. elements[start[i + 1] - 1];
// or, turned around, all places with the vectors that are not zero there.
struct vectors {
    size_t *start;
    struct element *elements;
};

static void vectors_free(struct vectors *vectors)
{
    free(vectors->start);
    free(vectors->elements);
}

static struct element *find(struct element *first, int count, int at)
{
    for (int i = 0; i < count; i++) {
        if (first[i].at == at)
            return &first[i];
    }
    return NULL;
}

// Draws pairs (value, place) until `spread` different places are taken. A place beyond the order
// and a place taken before cost their pair of numbers: the sequence is part of the specification.
static void draw_vector(struct element *first, int spread, int order, int places, uint64_t *state)
{
    for (int count = 0; count < spread;) {
        double value = npb_random_next(state);
        int at = (int)(places * npb_random_next(state));
        if (at < order && find(first, count, at) == NULL)
            first[count++] = (struct element){.at = at, .value = value};
    }
}

static struct vectors draw_vectors(int order, int spread)
{
    struct vectors v = {
        .start = npb_job_allocate((size_t)order + 1, sizeof *v.start),
        .elements = npb_job_allocate((size_t)order * (size_t)(spread + 1), sizeof *v.elements),
    };
    uint64_t state = npb_random_skip(MATRIX_SEED, 1); // the reference throws one number away
    int places = 2;
    while (places < order)
        places *= 2;
    for (int i = 0; i < order; i++) {
        struct element *first = &v.elements[v.start[i]];
        int count = spread;
        draw_vector(first, spread, order, places, &state);
        struct element *own = find(first, count, i);
        if (own == NULL)
            own = &first[count++];
        *own = (struct element){.at = i, .value = OWN_ELEMENT};
        v.start[i + 1] = v.start[i] + (size_t)count;
    }
    return v;
}

// The index by place: for each place, ascending, the vectors that are not zero there, ascending.
static struct vectors turn_around(const struct vectors *v, int order)
{
    size_t total = v->start[order];
    struct vectors t = {
        .start = npb_job_allocate((size_t)order + 1, sizeof *t.start),
        .elements = npb_job_allocate(total, sizeof *t.elements),
    };
    size_t *next = npb_job_allocate((size_t)order, sizeof *next);
    for (size_t e = 0; e < total; e++)
        t.start[v->elements[e].at + 1]++;
    for (int at = 0; at < order; at++) {
        t.start[at + 1] += t.start[at];
        next[at] = t.start[at];
    }
    for (int i = 0; i < order; i++) {
        for (size_t e = v->start[i]; e < v->start[i + 1]; e++) {
            const struct element *from = &v->elements[e];
            t.elements[next[from->at]++] = (struct element){.at = i, .value = from->value};
        }
    }
    free(next);
    return t;
}

static bool within(struct npb_span span, int at)
{
    return at >= span.start && at < span.start + span.count;
}

// Drops from each vector what lies outside the block's columns.
static void keep_columns(struct vectors *v, int order, struct npb_span columns)
{
    size_t read = 0, kept = 0;
    for (int i = 0; i < order; i++) {
        for (size_t end = v->start[i + 1]; read < end; read++) {
            if (within(columns, v->elements[read].at))
                v->elements[kept++] = v->elements[read];
        }
        v->start[i + 1] = kept;
    }
}

static double *make_weights(int order)
{
    double *weights = npb_job_allocate((size_t)order, sizeof *weights);
    double ratio = pow(SMALLEST_WEIGHT, 1.0 / order), weight = 1;
    for (int i = 0; i < order; i++, weight *= ratio)
        weights[i] = weight;
    return weights;
}

// At most this many elements has the block: as many as it had if no two products fell together.
static size_t most_elements(const struct vectors *v, const struct vectors *by_place,
                            struct npb_span rows)
{
    size_t most = (size_t)rows.count; // the diagonal
    for (size_t e = by_place->start[rows.start]; e < by_place->start[rows.start + rows.count];
         e++) {
        int i = by_place->elements[e].at;
        most += v->start[i + 1] - v->start[i];
    }
    return most;
}

// A row under construction: its sums by column, and where in the matrix a column already lies.
struct row {
    struct cg_matrix *matrix;
    size_t *slot; // by column, one more than the index in the matrix; valid if above `row_begin`
    size_t row_begin; // index of the row's first element
    size_t end;       // one past its last
};

static void row_add(struct row *row, int column, double value)
{
    size_t slot = row->slot[column];
    if (slot > row->row_begin) {
        row->matrix->value[slot - 1] += value;
        return;
    }
    row->matrix->column[row->end] = column;
    row->matrix->value[row->end] = value;
    row->slot[column] = ++row->end;
}

struct cg_matrix cg_matrix_make(int order, int spread, double shift, struct npb_span rows,
                                struct npb_span columns)
{
    struct vectors v = draw_vectors(order, spread);
    struct vectors by_place = turn_around(&v, order);
    keep_columns(&v, order, columns);
    double *weights = make_weights(order);

    size_t most = most_elements(&v, &by_place, rows);
    struct cg_matrix matrix = {
        .rows = rows.count,
        .row_start = npb_job_allocate((size_t)rows.count + 1, sizeof *matrix.row_start),
        .column = npb_job_allocate(most, sizeof *matrix.column),
        .value = npb_job_allocate(most, sizeof *matrix.value),
    };
    struct row row = {
        .matrix = &matrix,
        .slot = npb_job_allocate((size_t)columns.count, sizeof *row.slot),
    };
    for (int r = 0; r < rows.count; r++) {
        int place = rows.start + r;
        row.row_begin = row.end;
        for (size_t e = by_place.start[place]; e < by_place.start[place + 1]; e++) {
            const struct element *here = &by_place.elements[e];
            for (size_t c = v.start[here->at]; c < v.start[here->at + 1]; c++)
                row_add(&row, v.elements[c].at - columns.start,
                        here->value * (weights[here->at] * v.elements[c].value));
        }
        if (within(columns, place))
            row_add(&row, place - columns.start, SMALLEST_WEIGHT - shift);
        matrix.row_start[r + 1] = row.end;
    }
    free(row.slot);
    free(weights);
    vectors_free(&by_place);
    vectors_free(&v);
    return matrix;
}

void cg_matrix_free(struct cg_matrix *matrix)
{
    free(matrix->row_start);
    free(matrix->column);
    free(matrix->value);
}

void cg_matrix_multiply(const struct cg_matrix *matrix, const double *restrict vector,
                        double *restrict product)
{
    const int *restrict column = matrix->column;
    const double *restrict value = matrix->value;
    for (int r = 0; r < matrix->rows; r++) {
        double sum = 0;
        for (size_t e = matrix->row_start[r], end = matrix->row_start[r + 1]; e < end; e++)
            sum += value[e] * vector[column[e]];
        product[r] = sum;
    }
}
