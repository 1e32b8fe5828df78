#include "bench/npb/mg/field.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROW = MG_MOST_POINTS + 2, COLUMNS = 3 };

// A is -8/3 at the centre, 0 across faces, 1/6 across edges, 1/12 across corners (RNR-94-007).
static const struct mg_weights laplacian = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};

// Sums of rows around the row (y, z) that moves through a plane. With them, an operator of 27
// points is one of three in x: each sum is made once and used by all three.
struct sums {
    double column[COLUMNS][ROW]; // of row y: (y, z - 1) + (y, z + 1), at index y mod 3
    double face[ROW];            // the four rows next to (y, z)
    double edge[ROW];            // the four across its edges
};

static void sum_two(const double *restrict a, const double *restrict b, int count,
                    double *restrict sum)
{
    for (int i = 0; i < count; i++)
        sum[i] = a[i] + b[i];
}

static void sum_column(struct sums *sums, const struct mg_box *box, const double *field, int y,
                       int z)
{
    sum_two(field + mg_field_row(box, y, z - 1), field + mg_field_row(box, y, z + 1), box->nx + 2,
            sums->column[y % COLUMNS]);
}

static void begin_plane(struct sums *sums, const struct mg_box *box, const double *field, int z)
{
    sum_column(sums, box, field, 0, z);
    sum_column(sums, box, field, 1, z);
}

static void sum_around(const double *restrict before, const double *restrict behind,
                       const double *restrict column, const double *restrict column_before,
                       const double *restrict column_behind, int count, double *restrict face,
                       double *restrict edge)
{
    for (int i = 0; i < count; i++) {
        face[i] = before[i] + behind[i] + column[i];
        edge[i] = column_before[i] + column_behind[i];
    }
}

// To be called for y = 1, 2, ... after begin_plane().
static void move_to_row(struct sums *sums, const struct mg_box *box, const double *field, int y,
                        int z)
{
    sum_column(sums, box, field, y + 1, z);
    sum_around(field + mg_field_row(box, y - 1, z), field + mg_field_row(box, y + 1, z),
               sums->column[y % COLUMNS], sums->column[(y - 1) % COLUMNS],
               sums->column[(y + 1) % COLUMNS], box->nx + 2, sums->face, sums->edge);
}

size_t mg_field_size(const struct mg_box *box)
{
    return mg_field_row(box, 0, box->nz + 2);
}

// Without the face weight, which is 0.
static void subtract_laplacian(int nx, const double *restrict u, const double *restrict face,
                               const double *restrict edge, double *restrict residual)
{
    for (int i = 1; i <= nx; i++)
        residual[i] = residual[i] - laplacian.centre * u[i] -
                      laplacian.edge * (edge[i] + face[i - 1] + face[i + 1]) -
                      laplacian.corner * (edge[i - 1] + edge[i + 1]);
}

void mg_field_residual(const struct mg_box *box, const double *u, const double *right,
                       double *residual)
{
    struct sums sums;
    for (int z = 1; z <= box->nz; z++) {
        begin_plane(&sums, box, u, z);
        for (int y = 1; y <= box->ny; y++) {
            size_t row = mg_field_row(box, y, z);
            move_to_row(&sums, box, u, y, z);
            if (right != residual)
                memcpy(residual + row + 1, right + row + 1, (size_t)box->nx * sizeof *residual);
            subtract_laplacian(box->nx, u + row, sums.face, sums.edge, residual + row);
        }
    }
}

static void add_smoothed(int nx, const struct mg_weights *weights, const double *restrict residual,
                         const double *restrict face, const double *restrict edge,
                         double *restrict u)
{
    double w0 = weights->centre, w1 = weights->face, w2 = weights->edge;
    for (int i = 1; i <= nx; i++)
        u[i] = u[i] + w0 * residual[i] + w1 * (residual[i - 1] + residual[i + 1] + face[i]) +
               w2 * (edge[i] + face[i - 1] + face[i + 1]);
}

void mg_field_smooth(const struct mg_box *box, const struct mg_weights *weights,
                     const double *residual, double *u)
{
    struct sums sums;
    for (int z = 1; z <= box->nz; z++) {
        begin_plane(&sums, box, residual, z);
        for (int y = 1; y <= box->ny; y++) {
            size_t row = mg_field_row(box, y, z);
            move_to_row(&sums, box, residual, y, z);
            add_smoothed(box->nx, weights, residual + row, sums.face, sums.edge, u + row);
        }
    }
}

// The weights of P are 1/2 times a product over the axes of 1 or, beside the centre, 1/2. Here is
// the product over y and z.
static void weigh_nine_rows(const struct mg_box *box, const double *field, int y, int z,
                            double *restrict line)
{
    ptrdiff_t to_y = (ptrdiff_t)mg_field_row(box, 1, 0), to_z = (ptrdiff_t)mg_field_row(box, 0, 1);
    const double *restrict centre = field + mg_field_row(box, y, z);
    for (ptrdiff_t i = 0; i < box->nx + 2; i++) {
        const double *at = centre + i;
        double face = at[-to_y] + at[to_y] + at[-to_z] + at[to_z];
        double edge = at[-to_z - to_y] + at[-to_z + to_y] + at[to_z - to_y] + at[to_z + to_y];
        line[i] = at[0] + 0.5 * face + 0.25 * edge;
    }
}

void mg_field_restrict(const struct mg_pair *pair, const double *fine, double *coarse)
{
    const struct mg_box *box = &pair->coarse;
    double line[ROW];
    for (int z = 1; z <= box->nz; z++) {
        for (int y = 1; y <= box->ny; y++) {
            weigh_nine_rows(&pair->fine, fine, 2 * y - pair->shift[1], 2 * z - pair->shift[2],
                            line);
            double *restrict row = coarse + mg_field_row(box, y, z) + 1;
            const double *restrict centre = line + 2 - pair->shift[0];
            for (ptrdiff_t i = 0; i < box->nx; i++)
                row[i] = 0.5 * centre[2 * i] + 0.25 * (centre[2 * i - 1] + centre[2 * i + 1]);
        }
    }
}

// The one, two or four rows of the coarse field around a fine row, averaged.
static void average_rows(const struct mg_pair *pair, const double *coarse, int fine_y, int fine_z,
                         double *restrict line)
{
    const struct mg_box *box = &pair->coarse;
    int count = box->nx + 2;
    int y = (fine_y + pair->shift[1]) / 2, z = (fine_z + pair->shift[2]) / 2;
    bool between_y = (fine_y + pair->shift[1]) % 2 != 0;
    bool between_z = (fine_z + pair->shift[2]) % 2 != 0;
    const double *restrict a = coarse + mg_field_row(box, y, z);
    const double *restrict b = coarse + mg_field_row(box, y + between_y, z);
    const double *restrict c = coarse + mg_field_row(box, y, z + between_z);
    const double *restrict d = coarse + mg_field_row(box, y + between_y, z + between_z);
    if (between_y && between_z) {
        for (int i = 0; i < count; i++)
            line[i] = 0.25 * (a[i] + b[i] + c[i] + d[i]);
    } else if (between_y || between_z) {
        for (int i = 0; i < count; i++)
            line[i] = 0.5 * (a[i] + d[i]);
    } else {
        memcpy(line, a, (size_t)count * sizeof *line);
    }
}

// Points of the fine row that lie on points of the line alternate with those between two.
static void add_interpolated(int shift, int count, const double *restrict line,
                             double *restrict row)
{
    if (shift == 1) {
        *row++ += 0.5 * (line[0] + line[1]);
        line++;
        count--;
    }
    for (ptrdiff_t i = 0; i < count / 2; i++) {
        row[2 * i] += line[i];
        row[2 * i + 1] += 0.5 * (line[i] + line[i + 1]);
    }
    if (count % 2 != 0)
        row[count - 1] += line[count / 2];
}

void mg_field_prolong(const struct mg_pair *pair, const double *coarse, double *fine)
{
    const struct mg_box *box = &pair->fine;
    double line[ROW];
    for (int z = 0; z < box->nz + 2; z++) {
        for (int y = 0; y < box->ny + 2; y++) {
            average_rows(pair, coarse, y, z, line);
            add_interpolated(pair->shift[0], box->nx + 2, line, fine + mg_field_row(box, y, z));
        }
    }
}

// In four lanes, because one sum would wait for each addition before it.
static void measure_row(const double *restrict row, int count, double sums[4], double largest[4])
{
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int lane = 0; lane < 4; lane++) {
            double value = row[i + lane], magnitude = fabs(value);
            sums[lane] += value * value;
            largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
        }
    }
    for (; i < count; i++) {
        sums[0] += row[i] * row[i];
        largest[0] = fabs(row[i]) > largest[0] ? fabs(row[i]) : largest[0];
    }
}

struct mg_size mg_field_measure(const struct mg_box *box, const double *field)
{
    double sums[4] = {0}, largest[4] = {0};
    for (int z = 1; z <= box->nz; z++) {
        for (int y = 1; y <= box->ny; y++)
            measure_row(field + mg_field_row(box, y, z) + 1, box->nx, sums, largest);
    }
    struct mg_size size = {.square_sum = sums[0] + sums[1] + (sums[2] + sums[3])};
    for (int lane = 0; lane < 4; lane++)
        size.largest = fmax(size.largest, largest[lane]);
    return size;
}
