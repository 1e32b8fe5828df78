// Protects the random sequence of the NAS kernels: one wrong bit and no official value comes out.
#include "bench/npb/common/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED_CG UINT64_C(314159265)
#define SEED_EP UINT64_C(271828183)

// Computed with unbounded integers.
static void single_steps_have_known_values(void **unused)
{
    (void)unused;
    const uint64_t expected[] = {55909509111989, 61155031930969, 45573031421645};
    uint64_t state = SEED_CG;
    for (int i = 0; i < 3; i++) {
        double value = npb_random_next(&state);
        assert_int_equal(state, expected[i]);
        assert_true(value == (double)expected[i] / 70368744177664.0);
    }
}

static void skip_has_known_values(void **unused)
{
    (void)unused;
    assert_int_equal(npb_random_skip(SEED_CG, 1000000), 50447193586593);
    assert_int_equal(npb_random_skip(SEED_EP, 1000000), 35523939983831);
    assert_int_equal(npb_random_skip(SEED_EP, (UINT64_C(1) << 40) + 12345), 58080727605763);
}

static void skip_equals_stepping(void **unused)
{
    (void)unused;
    uint64_t state = SEED_EP;
    for (uint64_t steps = 0; steps < 1000; steps++) {
        assert_int_equal(npb_random_skip(SEED_EP, steps), state);
        npb_random_next(&state);
    }
}

static void skips_add_up(void **unused)
{
    (void)unused;
    uint64_t once = npb_random_skip(SEED_CG, 123456789 + 987654321);
    assert_int_equal(npb_random_skip(npb_random_skip(SEED_CG, 123456789), 987654321), once);
}

static void batch_equals_single_steps(void **unused)
{
    (void)unused;
    enum { COUNT = 1001 };
    double batch[COUNT];
    uint64_t filled = SEED_EP, stepped = SEED_EP;
    npb_random_fill(&filled, batch, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_true(batch[i] == npb_random_next(&stepped));
    assert_int_equal(filled, stepped);
}

static void empty_batch_changes_nothing(void **unused)
{
    (void)unused;
    uint64_t state = SEED_EP;
    npb_random_fill(&state, NULL, 0);
    assert_int_equal(state, SEED_EP);
}

static void numbers_lie_inside_the_unit_interval(void **unused)
{
    (void)unused;
    uint64_t state = SEED_CG;
    for (int i = 0; i < 100000; i++) {
        double value = npb_random_next(&state);
        assert_true(value > 0 && value < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_steps_have_known_values),
        cmocka_unit_test(skip_has_known_values),
        cmocka_unit_test(skip_equals_stepping),
        cmocka_unit_test(skips_add_up),
        cmocka_unit_test(batch_equals_single_steps),
        cmocka_unit_test(empty_batch_changes_nothing),
        cmocka_unit_test(numbers_lie_inside_the_unit_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
