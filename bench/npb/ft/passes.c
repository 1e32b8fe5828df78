#include "bench/npb/ft/passes.h"

#include "bench/npb/common/job.h"
#include "bench/npb/common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define SEED        314159265
#define DIFFUSIVITY 1e-6
#define PI          3.14159265358979323846

enum { SUMMED_POINTS = 1024 };

// The factors by which the modes of one axis have decayed; those of the grid are their products.
struct decay {
    double *x, *y, *z;
};

struct ft_passes {
    struct ft_layout layout;
    struct ft_plan *plan_x, *plan_y, *plan_z;
    union ft_row **in, **out; // the rows to be transformed next, as ft_transform() wants them
    union ft_row *lines;      // FT_LANES lines of the longest axis
    union ft_row **line_names;
    union ft_row *plane; // a whole one; for a single member only
    double *numbers;     // FT_LANES lines of the initial state
    struct decay decay;
};

// What is at one z in an array of a form that is exchanged.
struct slice {
    union ft_row *rows;
    int blocks;     // rows at one y
    int run;        // y's in one part
    ptrdiff_t part; // rows from one part to the next
};

static struct slice slice_at(union ft_row *array, int z, int planes, int run, int blocks)
{
    ptrdiff_t plane = (ptrdiff_t)run * blocks;
    return (struct slice){
        .rows = array + z * plane, .blocks = blocks, .run = run, .part = planes * plane};
}

static struct slice slice_for_members(const struct ft_layout *layout, union ft_row *array, int z)
{
    return slice_at(array, z, layout->z_held, layout->y_held_by_member, layout->x_held / FT_LANES);
}

static struct slice slice_for_slabs(const struct ft_layout *layout, union ft_row *array, int z)
{
    return slice_at(array, z, layout->z_held, layout->y_held_by_slab, layout->x_held / FT_LANES);
}

// The first row of the line of x at `y`, in the part of it that has the row `block`.
static union ft_row *row_of_line(const struct slice *slice, int y, int block)
{
    return slice->rows + block / slice->blocks * slice->part + (ptrdiff_t)y * slice->blocks +
           block % slice->blocks;
}

static void name_lines_of_y(const struct slice *slice, int ny, int block, union ft_row **names)
{
    for (int y = 0; y < ny;) {
        union ft_row *row = slice->rows + y / slice->run * slice->part + block;
        for (int i = 0; i < slice->run; i++, y++, row += slice->blocks)
            names[y] = row;
    }
}

static void name_rows(union ft_row *first, ptrdiff_t step, int count, union ft_row **names)
{
    for (int i = 0; i < count; i++)
        names[i] = first + i * step;
}

// Rows along one axis with lanes along another, into the opposite.
static inline void turn_block(const union ft_row *in, ptrdiff_t in_step, union ft_row *out,
                              ptrdiff_t out_step)
{
    for (int i = 0; i < FT_LANES; i++) {
        for (int lane = 0; lane < FT_LANES; lane++) {
            out[i * out_step].re[lane] = in[lane * in_step].re[i];
            out[i * out_step].im[lane] = in[lane * in_step].im[i];
        }
    }
}

static void make_initial_lines(struct ft_passes *passes, int y, int z)
{
    const struct ft_layout *layout = &passes->layout;
    uint64_t line = (uint64_t)z * (uint64_t)layout->ny + (uint64_t)y;
    uint64_t random = npb_random_skip(SEED, 2 * line * (uint64_t)layout->nx);
    npb_random_fill(&random, passes->numbers, 2 * FT_LANES * (size_t)layout->nx);
    for (int x = 0; x < layout->nx; x++) {
        for (int lane = 0; lane < FT_LANES; lane++) {
            const double *number = passes->numbers + 2 * (lane * layout->nx + x);
            passes->lines[x].re[lane] = number[0];
            passes->lines[x].im[lane] = number[1];
        }
    }
}

static void forward_x_slice(struct ft_passes *passes, int z, struct slice to)
{
    const struct ft_layout *layout = &passes->layout;
    int first_y = layout->member * layout->y_held_by_member;
    int first_z = layout->slab * layout->z_held;
    for (int y = 0; y < layout->y_held_by_member; y += FT_LANES) {
        make_initial_lines(passes, first_y + y, first_z + z);
        ft_transform(passes->plan_x, passes->line_names, passes->line_names);
        for (int block = 0; block < layout->nx / FT_LANES; block++)
            turn_block(passes->lines + (ptrdiff_t)block * FT_LANES, 1, row_of_line(&to, y, block),
                       to.blocks);
    }
}

static void transform_y_slice(struct ft_passes *passes, struct slice from, struct slice to)
{
    int ny = passes->layout.ny;
    for (int block = 0; block < from.blocks; block++) {
        name_lines_of_y(&from, ny, block, passes->in);
        name_lines_of_y(&to, ny, block, passes->out);
        ft_transform(passes->plan_y, passes->in, passes->out);
    }
}

static void backward_x_slice(struct ft_passes *passes, struct slice from, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    for (int y = 0; y < layout->y_held_by_member; y += FT_LANES, to += layout->nx) {
        for (int block = 0; block < layout->nx / FT_LANES; block++)
            turn_block(row_of_line(&from, y, block), from.blocks,
                       passes->lines + (ptrdiff_t)block * FT_LANES, 1);
        name_rows(to, 1, layout->nx, passes->out);
        ft_transform(passes->plan_x, passes->line_names, passes->out);
    }
}

static struct slice whole_plane(const struct ft_passes *passes)
{
    const struct ft_layout *layout = &passes->layout;
    return slice_at(passes->plane, 0, 1, layout->ny, layout->nx / FT_LANES);
}

// Where the plane of z begins in the state.
static ptrdiff_t state_plane(const struct ft_layout *layout, int z)
{
    return (ptrdiff_t)z * (layout->y_held_by_member / FT_LANES) * layout->nx;
}

void ft_forward_x(struct ft_passes *passes, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++)
        forward_x_slice(passes, z, slice_for_members(layout, to, z));
}

void ft_forward_y(struct ft_passes *passes, union ft_row *from, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++)
        transform_y_slice(passes, slice_for_members(layout, from, z),
                          slice_for_slabs(layout, to, z));
}

void ft_forward_xy(struct ft_passes *passes, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++) {
        forward_x_slice(passes, z, whole_plane(passes));
        transform_y_slice(passes, whole_plane(passes), slice_for_slabs(layout, to, z));
    }
}

void ft_forward_z(struct ft_passes *passes, union ft_row *from, union ft_row *spectrum)
{
    const struct ft_layout *layout = &passes->layout;
    int lines = layout->y_held_by_slab * layout->x_held / FT_LANES;
    for (int line = 0; line < lines; line++, spectrum += layout->nz) {
        name_rows(from + line, lines, layout->nz, passes->in);
        name_rows(spectrum, 1, layout->nz, passes->out);
        ft_transform(passes->plan_z, passes->in, passes->out);
    }
}

static void make_decay(double *factors, int length, int t)
{
    for (int i = 0; i < length; i++) {
        double mode = i < length / 2 ? i : i - length;
        factors[i] = exp(-4 * DIFFUSIVITY * PI * PI * mode * mode * t);
    }
}

// Decayed, with reals and imaginaries exchanged, into passes->lines.
static void decay_line(struct ft_passes *passes, const union ft_row *spectrum, int x, int y)
{
    const struct decay *decay = &passes->decay;
    union ft_row factors = {0};
    for (int lane = 0; lane < FT_LANES; lane++)
        factors.re[lane] = decay->x[x + lane] * decay->y[y];
    for (int z = 0; z < passes->layout.nz; z++) {
        for (int pair = 0; pair < FT_PAIRS; pair++) {
            ft_pair factor = factors.re_pair[pair] * decay->z[z];
            passes->lines[z].re_pair[pair] = spectrum[z].im_pair[pair] * factor;
            passes->lines[z].im_pair[pair] = spectrum[z].re_pair[pair] * factor;
        }
    }
}

void ft_backward_z(struct ft_passes *passes, const union ft_row *spectrum, int t, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    make_decay(passes->decay.x, layout->nx, t);
    make_decay(passes->decay.y, layout->ny, t);
    make_decay(passes->decay.z, layout->nz, t);
    int first_x = layout->member * layout->x_held, first_y = layout->slab * layout->y_held_by_slab;
    int blocks = layout->x_held / FT_LANES, lines = layout->y_held_by_slab * blocks;
    for (int line = 0; line < lines; line++, spectrum += layout->nz) {
        decay_line(passes, spectrum, first_x + line % blocks * FT_LANES, first_y + line / blocks);
        name_rows(to + line, lines, layout->nz, passes->out);
        ft_transform(passes->plan_z, passes->line_names, passes->out);
    }
}

void ft_backward_y(struct ft_passes *passes, union ft_row *from, union ft_row *to)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++)
        transform_y_slice(passes, slice_for_slabs(layout, from, z),
                          slice_for_members(layout, to, z));
}

void ft_backward_x(struct ft_passes *passes, union ft_row *from, union ft_row *state)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++)
        backward_x_slice(passes, slice_for_members(layout, from, z),
                         state + state_plane(layout, z));
}

void ft_backward_yx(struct ft_passes *passes, union ft_row *from, union ft_row *state)
{
    const struct ft_layout *layout = &passes->layout;
    for (int z = 0; z < layout->z_held; z++) {
        transform_y_slice(passes, slice_for_slabs(layout, from, z), whole_plane(passes));
        backward_x_slice(passes, whole_plane(passes), state + state_plane(layout, z));
    }
}

void ft_sum_state(const struct ft_passes *passes, const union ft_row *state, double sum[2])
{
    const struct ft_layout *layout = &passes->layout;
    int first_y = layout->member * layout->y_held_by_member;
    int first_z = layout->slab * layout->z_held;
    sum[0] = sum[1] = 0;
    for (int j = 1; j <= SUMMED_POINTS; j++) {
        int x = j % layout->nx, y = 3 * j % layout->ny - first_y, z = 5 * j % layout->nz - first_z;
        if (y < 0 || y >= layout->y_held_by_member || z < 0 || z >= layout->z_held)
            continue;
        const union ft_row *row = state + state_plane(layout, z) + y / FT_LANES * layout->nx + x;
        sum[0] += row->im[y % FT_LANES];
        sum[1] += row->re[y % FT_LANES];
    }
}

static int longest_axis(const struct ft_layout *layout)
{
    int longest = layout->nx > layout->ny ? layout->nx : layout->ny;
    return longest > layout->nz ? longest : layout->nz;
}

struct ft_passes *ft_passes_make(const struct ft_layout *layout)
{
    struct ft_passes *passes = npb_job_allocate(1, sizeof *passes);
    size_t longest = (size_t)longest_axis(layout);
    passes->layout = *layout;
    passes->plan_x = ft_plan_make(layout->nx);
    passes->plan_y = ft_plan_make(layout->ny);
    passes->plan_z = ft_plan_make(layout->nz);
    union ft_row ***names[] = {&passes->in, &passes->out, &passes->line_names};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *names[i] = npb_job_allocate(longest, sizeof **names[i]);
    passes->lines = ft_rows_allocate(longest);
    name_rows(passes->lines, 1, (int)longest, passes->line_names);
    if (layout->members == 1)
        passes->plane = ft_rows_allocate((size_t)layout->ny * (size_t)layout->nx / FT_LANES);
    double **tables[] = {&passes->numbers, &passes->decay.x, &passes->decay.y, &passes->decay.z};
    const size_t lengths[] = {2 * FT_LANES * longest, longest, longest, longest};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        *tables[i] = npb_job_allocate(lengths[i], sizeof(double));
    return passes;
}

void ft_passes_free(struct ft_passes *passes)
{
    ft_plan_free(passes->plan_x);
    ft_plan_free(passes->plan_y);
    ft_plan_free(passes->plan_z);
    free(passes->in);
    free(passes->out);
    free(passes->line_names);
    free(passes->lines);
    free(passes->plane);
    free(passes->numbers);
    free(passes->decay.x);
    free(passes->decay.y);
    free(passes->decay.z);
    free(passes);
}
