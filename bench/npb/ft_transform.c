#include "bench/npb/ft_transform.h"

#include "bench/npb/npb_job.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.28318530717958647692

enum { SHORTEST = 16 };

struct root {
    double re, im;
};

struct ft_plan {
    int length;
    struct root *roots;         // exp(-2 pi i k / length)
    struct ft_row *memory;      // what the tables of scratch name
    struct ft_row **scratch[2]; // results between the first stage and the last
};

struct ft_row *ft_rows_allocate(size_t count)
{
    return npb_job_allocate_lines(count, sizeof(struct ft_row));
}

static struct ft_row **name_rows(struct ft_row *rows, int count)
{
    struct ft_row **names = npb_job_allocate((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = rows + i;
    return names;
}

struct ft_plan *ft_plan_make(int length)
{
    if (length < SHORTEST || (length & (length - 1)) != 0)
        return NULL;
    struct ft_plan *plan = npb_job_allocate(1, sizeof *plan);
    plan->length = length;
    plan->roots = npb_job_allocate((size_t)length, sizeof *plan->roots);
    for (int k = 0; k < length; k++) {
        double angle = -TWO_PI * k / length;
        plan->roots[k] = (struct root){.re = cos(angle), .im = sin(angle)};
    }
    // A few lines between the two, or equal points of both would compete for the same cache sets.
    const int gap = 5;
    plan->memory = ft_rows_allocate(2 * (size_t)length + (size_t)gap);
    plan->scratch[0] = name_rows(plan->memory, length);
    plan->scratch[1] = name_rows(plan->memory + length + gap, length);
    return plan;
}

void ft_plan_free(struct ft_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->scratch[0]);
    free(plan->scratch[1]);
    free(plan->memory);
    free(plan->roots);
    free(plan);
}

static inline void turn(struct ft_row *row, ft_lanes re, ft_lanes im, struct root by)
{
    row->re = re * by.re - im * by.im;
    row->im = re * by.im + im * by.re;
}

// The transform of length 4 of the points a, b, c, d. All of its results but the first are turned,
// as the stages that follow want them.
static inline void combine_four(struct ft_row *const *in, int in_step, struct ft_row *const *out,
                                int out_step, const struct root *by)
{
    const struct ft_row *a = in[0], *b = in[in_step], *c = in[2 * in_step], *d = in[3 * in_step];
    ft_lanes even_re = a->re + c->re, even_im = a->im + c->im;
    ft_lanes across_re = a->re - c->re, across_im = a->im - c->im;
    ft_lanes odd_re = b->re + d->re, odd_im = b->im + d->im;
    ft_lanes turned_re = b->im - d->im, turned_im = d->re - b->re; // (b - d) / i
    *out[0] = (struct ft_row){.re = even_re + odd_re, .im = even_im + odd_im};
    turn(out[out_step], across_re + turned_re, across_im + turned_im, by[0]);
    turn(out[2 * out_step], even_re - odd_re, even_im - odd_im, by[1]);
    turn(out[3 * out_step], across_re - turned_re, across_im - turned_im, by[2]);
}

// The same where nothing is turned: in the last stage, a quarter or more of all work.
static inline void combine_last_four(struct ft_row *const *in, struct ft_row *const *out, int step)
{
    const struct ft_row *a = in[0], *b = in[step], *c = in[2 * step], *d = in[3 * step];
    ft_lanes even_re = a->re + c->re, even_im = a->im + c->im;
    ft_lanes across_re = a->re - c->re, across_im = a->im - c->im;
    ft_lanes odd_re = b->re + d->re, odd_im = b->im + d->im;
    ft_lanes turned_re = b->im - d->im, turned_im = d->re - b->re;
    *out[0] = (struct ft_row){.re = even_re + odd_re, .im = even_im + odd_im};
    *out[step] = (struct ft_row){.re = across_re + turned_re, .im = across_im + turned_im};
    *out[2 * step] = (struct ft_row){.re = even_re - odd_re, .im = even_im - odd_im};
    *out[3 * step] = (struct ft_row){.re = across_re - turned_re, .im = across_im - turned_im};
}

static inline void combine_last_two(struct ft_row *const *in, struct ft_row *const *out, int step)
{
    const struct ft_row *a = in[0], *b = in[step];
    struct ft_row sum = {.re = a->re + b->re, .im = a->im + b->im};
    struct ft_row difference = {.re = a->re - b->re, .im = a->im - b->im};
    *out[0] = sum;
    *out[step] = difference;
}

// Stockham's stage: `done` points of every transform so far lie next to each other, four times as
// many afterwards, and no bits need ever be reversed.
static void stage(const struct ft_plan *plan, struct ft_row *const *in, struct ft_row *const *out,
                  int done)
{
    int quarter = plan->length / 4;
    for (int k = 0; k < quarter; k += done) {
        const struct root by[] = {plan->roots[k], plan->roots[2 * k], plan->roots[3 * k]};
        for (int i = 0; i < done; i++)
            combine_four(in + k + i, quarter, out + 4 * k + i, done, by);
    }
}

static void last_stage(const struct ft_plan *plan, struct ft_row *const *in,
                       struct ft_row *const *out, int done)
{
    bool four = plan->length / done == 4;
    for (int i = 0; i < done; i++) {
        if (four)
            combine_last_four(in + i, out + i, done);
        else
            combine_last_two(in + i, out + i, done);
    }
}

void ft_transform(struct ft_plan *plan, struct ft_row *const *in, struct ft_row *const *out)
{
    int next = 0;
    int done = 1;
    for (; plan->length / done > 4; done *= 4) {
        stage(plan, in, plan->scratch[next], done);
        in = plan->scratch[next];
        next = 1 - next;
    }
    last_stage(plan, in, out, done);
}
