// Protects what NAS kernel FT computes between its messages, for more ranks than a test machine can
// run: transforms against their definition, and every distribution against a single rank.
#include "bench/npb/common/job.h"
#include "bench/npb/common/random.h"
#include "bench/npb/ft/layout.h"
#include "bench/npb/ft/passes.h"
#include "bench/npb/ft/transform.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED   314159265
#define TWO_PI 6.28318530717958647692

// A grid with three different axes, small enough for sums by definition.
enum { NX = 64, NY = 32, NZ = 16, POINTS = NX * NY * NZ, MOST_RANKS = 128 };

// In place of npb_job's, which would end an MPI job.
void *npb_job_allocate(size_t count, size_t element_bytes)
{
    void *memory = calloc(count, element_bytes);
    assert_non_null(memory);
    return memory;
}

void *npb_job_allocate_lines(size_t count, size_t element_bytes)
{
    void *memory = aligned_alloc(64, count * element_bytes);
    assert_non_null(memory);
    return memset(memory, 0, count * element_bytes);
}

struct number {
    double re, im;
};

static struct number turned(struct number value, double angle)
{
    double re = cos(angle), im = sin(angle);
    return (struct number){.re = value.re * re - value.im * im,
                           .im = value.re * im + value.im * re};
}

static union ft_row *random_rows(int count)
{
    union ft_row *rows = ft_rows_allocate((size_t)count);
    uint64_t random = SEED;
    for (int i = 0; i < count; i++) {
        for (int lane = 0; lane < FT_LANES; lane++) {
            rows[i].re[lane] = npb_random_next(&random) - 0.5;
            rows[i].im[lane] = npb_random_next(&random) - 0.5;
        }
    }
    return rows;
}

static void assert_transformed(const union ft_row *row, const union ft_row *points, int length,
                               int mode)
{
    for (int lane = 0; lane < FT_LANES; lane++) {
        struct number sum = {0, 0};
        for (int i = 0; i < length; i++) {
            struct number point = {points[i].re[lane], points[i].im[lane]};
            point = turned(point, -TWO_PI * (mode * i % length) / length);
            sum.re += point.re;
            sum.im += point.im;
        }
        assert_true(fabs(sum.re - row->re[lane]) < 1e-11);
        assert_true(fabs(sum.im - row->im[lane]) < 1e-11);
    }
}

// The rows lie in memory in an order of their own, as those along y and z do.
static void transforms_are_as_defined(void **unused)
{
    (void)unused;
    for (int length = 16; length <= 512; length *= 2) {
        struct ft_plan *plan = ft_plan_make(length);
        union ft_row *points = random_rows(length);
        union ft_row *results = ft_rows_allocate((size_t)length);
        union ft_row **in = npb_job_allocate((size_t)length, sizeof(union ft_row *));
        union ft_row **out = npb_job_allocate((size_t)length, sizeof(union ft_row *));
        for (int i = 0; i < length; i++) {
            in[i] = points + i;
            out[i] = results + (length - 1 - i);
        }
        ft_transform(plan, in, out);
        for (int mode = 0; mode < length; mode++)
            assert_transformed(out[mode], points, length, mode);

        // In place, and again: a plan keeps nothing of the transform before.
        ft_transform(plan, in, in);
        for (int i = 0; i < length; i++)
            assert_memory_equal(in[i], out[i], sizeof(union ft_row));
        free(in);
        free(out);
        free(points);
        free(results);
        ft_plan_free(plan);
    }
}

static void other_lengths_are_refused(void **unused)
{
    (void)unused;
    const int lengths[] = {-16, 0, 1, 8, 17, 24, 48, 384};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        assert_null(ft_plan_make(lengths[i]));
}

static void only_powers_of_two_with_work_for_all_are_laid_out(void **unused)
{
    (void)unused;
    struct ft_layout layout;
    for (int ranks = -1; ranks <= 4 * MOST_RANKS; ranks++) {
        bool power = ranks > 0 && (ranks & (ranks - 1)) == 0;
        assert_int_equal(ft_layout_init(&layout, NX, NY, NZ, 0, ranks),
                         power && ranks <= MOST_RANKS);
        assert_int_equal(ft_layout_init(&layout, NY, NX, NZ, 0, ranks),
                         power && ranks <= MOST_RANKS);
    }
}

static void every_rank_has_a_part_of_its_own(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        bool taken[MOST_RANKS] = {false};
        for (int rank = 0; rank < ranks; rank++) {
            struct ft_layout layout;
            assert_true(ft_layout_init(&layout, NX, NY, NZ, rank, ranks));
            assert_int_equal(layout.slabs * layout.members, ranks);
            assert_in_range(layout.slab, 0, layout.slabs - 1);
            assert_in_range(layout.member, 0, layout.members - 1);
            assert_true(layout.members == 1 || layout.slabs == NZ);
            assert_int_equal(ft_layout_points(&layout) * (size_t)ranks, POINTS);
            int part = layout.member * layout.slabs + layout.slab;
            assert_false(taken[part]);
            taken[part] = true;
        }
    }
}

// All ranks of a job, played one after the other.
struct cast {
    int ranks;
    struct ft_layout layout[MOST_RANKS];
    struct ft_passes *passes[MOST_RANKS];
    union ft_row *spectrum[MOST_RANKS], *sent[MOST_RANKS], *received[MOST_RANKS];
};

static void cast_init(struct cast *cast, int ranks)
{
    cast->ranks = ranks;
    for (int rank = 0; rank < ranks; rank++) {
        assert_true(ft_layout_init(&cast->layout[rank], NX, NY, NZ, rank, ranks));
        cast->passes[rank] = ft_passes_make(&cast->layout[rank]);
        union ft_row **arrays[] = {&cast->spectrum[rank], &cast->sent[rank], &cast->received[rank]};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            *arrays[i] = ft_rows_allocate((size_t)(POINTS / FT_LANES / ranks));
    }
}

static void cast_fini(struct cast *cast)
{
    for (int rank = 0; rank < cast->ranks; rank++) {
        ft_passes_free(cast->passes[rank]);
        free(cast->spectrum[rank]);
        free(cast->sent[rank]);
        free(cast->received[rank]);
    }
}

// MPI_Alltoall() in a group of `count` ranks, `step` apart.
static void exchange_in_group(struct cast *cast, int first, int step, int count)
{
    size_t rows = (size_t)(POINTS / FT_LANES / cast->ranks / count);
    for (int from = 0; from < count; from++) {
        for (int to = 0; to < count; to++)
            memcpy(cast->received[first + to * step] + (size_t)from * rows,
                   cast->sent[first + from * step] + (size_t)to * rows,
                   rows * sizeof(union ft_row));
    }
}

static void exchange_among_members(struct cast *cast)
{
    int members = cast->layout[0].members;
    for (int first = 0; first < cast->ranks; first += members)
        exchange_in_group(cast, first, 1, members);
}

static void exchange_among_slabs(struct cast *cast)
{
    int members = cast->layout[0].members;
    for (int first = 0; first < members; first++)
        exchange_in_group(cast, first, members, cast->layout[0].slabs);
}

static void play_forward(struct cast *cast)
{
    bool alone = cast->layout[0].members == 1;
    for (int rank = 0; rank < cast->ranks; rank++) {
        if (alone)
            ft_forward_xy(cast->passes[rank], cast->sent[rank]);
        else
            ft_forward_x(cast->passes[rank], cast->sent[rank]);
    }
    if (!alone) {
        exchange_among_members(cast);
        for (int rank = 0; rank < cast->ranks; rank++)
            ft_forward_y(cast->passes[rank], cast->received[rank], cast->sent[rank]);
    }
    exchange_among_slabs(cast);
    for (int rank = 0; rank < cast->ranks; rank++)
        ft_forward_z(cast->passes[rank], cast->received[rank], cast->spectrum[rank]);
}

// The state is in cast->sent afterwards.
static void play_backward(struct cast *cast, int t)
{
    bool alone = cast->layout[0].members == 1;
    for (int rank = 0; rank < cast->ranks; rank++)
        ft_backward_z(cast->passes[rank], cast->spectrum[rank], t, cast->sent[rank]);
    exchange_among_slabs(cast);
    for (int rank = 0; rank < cast->ranks; rank++) {
        if (alone)
            ft_backward_yx(cast->passes[rank], cast->received[rank], cast->sent[rank]);
        else
            ft_backward_y(cast->passes[rank], cast->received[rank], cast->sent[rank]);
    }
    if (!alone) {
        exchange_among_members(cast);
        for (int rank = 0; rank < cast->ranks; rank++)
            ft_backward_x(cast->passes[rank], cast->received[rank], cast->sent[rank]);
    }
}

static struct number state_at(const struct cast *cast, int x, int y, int z)
{
    const struct ft_layout *layout = &cast->layout[0];
    int rank = z / layout->z_held * layout->members + y / layout->y_held_by_member;
    int own_y = y % layout->y_held_by_member, own_z = z % layout->z_held;
    int row = (own_z * layout->y_held_by_member + own_y) / FT_LANES * NX + x;
    return (struct number){.re = cast->sent[rank][row].im[own_y % FT_LANES],
                           .im = cast->sent[rank][row].re[own_y % FT_LANES]};
}

// The state of a job of `ranks` ranks at time `t`, to be freed; the initial one times POINTS at 0.
static struct number *computed_state(int ranks, int t, struct number *sum)
{
    static struct cast cast;
    cast_init(&cast, ranks);
    play_forward(&cast);
    play_backward(&cast, t);
    struct number *state = npb_job_allocate(POINTS, sizeof *state);
    for (int i = 0; i < POINTS; i++)
        state[i] = state_at(&cast, i % NX, i / NX % NY, i / NX / NY);
    *sum = (struct number){0, 0};
    for (int rank = 0; rank < ranks; rank++) {
        double part[2];
        ft_sum_state(cast.passes[rank], cast.sent[rank], part);
        sum->re += part[0];
        sum->im += part[1];
    }
    cast_fini(&cast);
    return state;
}

static struct number *initial_state(void)
{
    struct number *state = npb_job_allocate(POINTS, sizeof *state);
    uint64_t random = SEED;
    for (int i = 0; i < POINTS; i++) {
        state[i].re = npb_random_next(&random);
        state[i].im = npb_random_next(&random);
    }
    return state;
}

static void backward_undoes_forward(void **unused)
{
    (void)unused;
    struct number sum;
    struct number *initial = initial_state(), *state = computed_state(1, 0, &sum);
    for (int i = 0; i < POINTS; i++) {
        assert_true(fabs(state[i].re / POINTS - initial[i].re) < 1e-13);
        assert_true(fabs(state[i].im / POINTS - initial[i].im) < 1e-13);
    }
    free(initial);
    free(state);
}

// The amplitude of one mode, by definition.
static struct number amplitude(const struct number *state, int kx, int ky, int kz)
{
    struct number sum = {0, 0};
    for (int i = 0; i < POINTS; i++) {
        double cycles = (double)(kx * (i % NX)) / NX + (double)(ky * (i / NX % NY)) / NY +
                        (double)(kz * (i / NX / NY)) / NZ;
        struct number point = turned(state[i], -TWO_PI * cycles);
        sum.re += point.re;
        sum.im += point.im;
    }
    return sum;
}

static void modes_decay_by_their_squared_length(void **unused)
{
    (void)unused;
    const int modes[][3] = {{0, 0, 0}, {5, 0, 0},   {0, -7, 0},
                            {0, 0, 3}, {-2, 9, -6}, {-32, -16, -8}};
    const int t = 1000; // so late that much has decayed
    struct number sum;
    struct number *initial = initial_state(), *state = computed_state(1, t, &sum);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int kx = modes[i][0], ky = modes[i][1], kz = modes[i][2];
        double decay = exp(-1e-6 * TWO_PI * TWO_PI * (kx * kx + ky * ky + kz * kz) * t);
        struct number before = amplitude(initial, kx, ky, kz);
        struct number after = amplitude(state, kx, ky, kz);
        assert_true(fabs(after.re / POINTS - decay * before.re) < 1e-8);
        assert_true(fabs(after.im / POINTS - decay * before.im) < 1e-8);
    }
    free(initial);
    free(state);
}

static void every_distribution_computes_the_same(void **unused)
{
    (void)unused;
    struct number sum, other_sum;
    struct number *state = computed_state(1, 3, &sum);
    for (int ranks = 2; ranks <= MOST_RANKS; ranks *= 2) {
        struct number *other = computed_state(ranks, 3, &other_sum);
        assert_memory_equal(other, state, POINTS * sizeof *state);
        assert_true(fabs(other_sum.re / sum.re - 1) < 1e-13);
        assert_true(fabs(other_sum.im / sum.im - 1) < 1e-13);
        free(other);
    }
    free(state);
}

static void checksum_takes_the_prescribed_points(void **unused)
{
    (void)unused;
    struct number sum, expected = {0, 0};
    struct number *state = computed_state(1, 1, &sum);
    for (int j = 1; j <= 1024; j++) {
        const struct number *point = state + j % NX + NX * (3 * j % NY + NY * (5 * j % NZ));
        expected.re += point->re;
        expected.im += point->im;
    }
    assert_true(fabs(sum.re / expected.re - 1) < 1e-13);
    assert_true(fabs(sum.im / expected.im - 1) < 1e-13);
    free(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_as_defined),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(only_powers_of_two_with_work_for_all_are_laid_out),
        cmocka_unit_test(every_rank_has_a_part_of_its_own),
        cmocka_unit_test(backward_undoes_forward),
        cmocka_unit_test(modes_decay_by_their_squared_length),
        cmocka_unit_test(every_distribution_computes_the_same),
        cmocka_unit_test(checksum_takes_the_prescribed_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
