#include "bench/npb/ft/transform.h"

#include "bench/npb/common/job.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.28318530717958647692

enum { SHORTEST = 16 };

struct root {
    double re, im;
};

struct ft_plan {
    int length;
    struct root *roots;        // exp(-2 pi i k / length)
    union ft_row *memory;      // what the tables of scratch name
    union ft_row **scratch[2]; // results between the first stage and the last
};

union ft_row *ft_rows_allocate(size_t count)
{
    return npb_job_allocate_lines(count, sizeof(union ft_row));
}

static union ft_row **named_rows(union ft_row *rows, int count)
{
    union ft_row **names = npb_job_allocate((size_t)count, sizeof *names);
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
    plan->scratch[0] = named_rows(plan->memory, length);
    plan->scratch[1] = named_rows(plan->memory + length + gap, length);
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

// One point of two of the transforms.
struct twin {
    ft_pair re, im;
};

static inline struct twin load(const union ft_row *row, int pair)
{
    return (struct twin){.re = row->re_pair[pair], .im = row->im_pair[pair]};
}

static inline void store(union ft_row *row, int pair, struct twin value)
{
    row->re_pair[pair] = value.re;
    row->im_pair[pair] = value.im;
}

static inline struct twin sum(struct twin a, struct twin b)
{
    return (struct twin){.re = a.re + b.re, .im = a.im + b.im};
}

static inline struct twin difference(struct twin a, struct twin b)
{
    return (struct twin){.re = a.re - b.re, .im = a.im - b.im};
}

static inline struct twin turned(struct twin a, struct root by)
{
    return (struct twin){.re = a.re * by.re - a.im * by.im, .im = a.re * by.im + a.im * by.re};
}

// The transform of length 4 of rows `step` apart.
static inline void combine_four(union ft_row *const *in, int step, int pair, struct twin results[4])
{
    struct twin a = load(in[0], pair), b = load(in[step], pair);
    struct twin c = load(in[2 * step], pair), d = load(in[3 * step], pair);
    struct twin even = sum(a, c), odd = sum(b, d), across = difference(a, c);
    struct twin quarter = {.re = b.im - d.im, .im = d.re - b.re}; // (b - d) / i
    results[0] = sum(even, odd);
    results[1] = sum(across, quarter);
    results[2] = difference(even, odd);
    results[3] = difference(across, quarter);
}

// Stockham's stage: `done` points of every transform so far lie next to each other, four times as
// many afterwards, and no bits need ever be reversed. Results are turned as the next stage wants.
static void stage(const struct ft_plan *plan, union ft_row *const *in, union ft_row *const *out,
                  int done)
{
    int quarter = plan->length / 4;
    for (int k = 0; k < quarter; k += done) {
        struct root once = plan->roots[k], twice = plan->roots[2 * k], thrice = plan->roots[3 * k];
        for (int i = 0; i < done; i++) {
            union ft_row *const *to = out + 4 * k + i;
            for (int pair = 0; pair < FT_PAIRS; pair++) {
                struct twin results[4];
                combine_four(in + k + i, quarter, pair, results);
                store(to[0], pair, results[0]);
                store(to[done], pair, turned(results[1], once));
                store(to[2 * done], pair, turned(results[2], twice));
                store(to[3 * done], pair, turned(results[3], thrice));
            }
        }
    }
}

static void last_stage_of_four(union ft_row *const *in, union ft_row *const *out, int done)
{
    for (int i = 0; i < done; i++) {
        for (int pair = 0; pair < FT_PAIRS; pair++) {
            struct twin results[4];
            combine_four(in + i, done, pair, results);
            for (int j = 0; j < 4; j++)
                store(out[i + j * done], pair, results[j]);
        }
    }
}

static void last_stage_of_two(union ft_row *const *in, union ft_row *const *out, int done)
{
    for (int i = 0; i < done; i++) {
        for (int pair = 0; pair < FT_PAIRS; pair++) {
            struct twin a = load(in[i], pair), b = load(in[i + done], pair);
            store(out[i], pair, sum(a, b));
            store(out[i + done], pair, difference(a, b));
        }
    }
}

void ft_transform(struct ft_plan *plan, union ft_row *const *in, union ft_row *const *out)
{
    int next = 0;
    int done = 1;
    for (; plan->length / done > 4; done *= 4) {
        stage(plan, in, plan->scratch[next], done);
        in = plan->scratch[next];
        next = 1 - next;
    }
    if (plan->length / done == 4)
        last_stage_of_four(in, out, done);
    else
        last_stage_of_two(in, out, done);
}
