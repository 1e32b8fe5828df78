// Protects the periods of a limit, on real cgroups: when they begin, which is when they are told
// to, and how long they are.
#include "tests/unit/real_cgroups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t periods_of(const char *class_)
{
    char text[512];
    const char *at;
    read_text(class_, "cpu.stat", text, sizeof text);
    at = strstr(text, "nr_periods ");
    assert_non_null(at);
    return strtoull(at + strlen("nr_periods "), NULL, 10);
}

#define PERIOD_NS (100 * NS_PER_MS)

// Looks for a moment at which a period of the class began, to within a few milliseconds: only a
// look that comes soon after the one before tells that, and this process may be kept from looking.
struct lookout {
    const char *class_;
    uint64_t count, looked_ns;
    uint64_t began_ns; // 0: not seen yet
};

static void look(struct lookout *lookout)
{
    uint64_t before_ns = now_ns(), count = periods_of(lookout->class_), after_ns = now_ns();
    if (count == lookout->count + 1 && after_ns - lookout->looked_ns < 5 * NS_PER_MS)
        lookout->began_ns = after_ns;
    lookout->count = count;
    lookout->looked_ns = before_ns;
}

// By how much of a period b's begin later than a's. A machine that is too busy to look for ten
// seconds cannot tell.
static double phase_between(const char *a, const char *b)
{
    struct lookout both[] = {{.class_ = a}, {.class_ = b}};
    uint64_t deadline_ns = now_ns() + 10 * NS_PER_SEC;
    while (both[0].began_ns == 0 || both[1].began_ns == 0) {
        if (now_ns() > deadline_ns)
            return NAN;
        look(&both[0]);
        look(&both[1]);
        sleep_ms(1);
    }
    return (double)((both[1].began_ns + 1000 * PERIOD_NS - both[0].began_ns) % PERIOD_NS) /
           (double)PERIOD_NS;
}

// A class with a busy process, without a limit for longer than a period.
static class_t *open_busy(const char *name)
{
    class_t *class_ = open_class(name);
    assert_ok(class_place(class_, start(burn, NULL), &err));
    return class_;
}

// After more than a period without a limit. Returns when they began, which is told again when this
// process was kept from looking.
static uint64_t begin(class_t *class_)
{
    for (uint64_t begin_ns, end_ns;;) {
        assert_ok(class_set_share(class_, BACKEND_UNLIMITED, &err));
        sleep_ms(150);
        begin_ns = now_ns();
        assert_int_equal(class_begin_periods(class_, 20000, &err), 1);
        end_ns = now_ns();
        if (end_ns - begin_ns < 3 * NS_PER_MS)
            return end_ns;
    }
}

// An emulated machine is told from outside: its clock is fine, but milliseconds are too short to
// look. A period that began while something else had the CPU is seen late, so there are some looks.
static bool phase_is(const char *a, const char *b, uint64_t later_ns)
{
    double expected = (double)(later_ns % PERIOD_NS) / (double)PERIOD_NS, off = 0.5;
    if (getenv("COSCHED_TEST_EMULATED") != NULL)
        return true;
    for (unsigned i = 0; i < 5 && off >= 0.1 && off <= 0.9; i++) {
        double phase = phase_between(a, b);
        if (isnan(phase)) {
            print_message("this machine is too busy to see when periods begin\n");
            skip();
        }
        off = fabs(phase - expected);
        print_message("told %.3f of a period apart: %.3f\n", expected, phase);
    }
    return off < 0.1 || off > 0.9;
}

// A third to two thirds of a period from where they are since `before_ns`, so that periods that
// stay there are not taken for begun ones. The kernel's timer lets go of periods without a limit
// when the next would begin: where that interrupt comes later than begin() waits, they stay, and it
// is tried again.
static uint64_t begin_elsewhere(class_t *a, uint64_t a_ns, class_t *b, uint64_t before_ns)
{
    uint64_t began_ns = 0;
    bool moved = false;
    for (unsigned i = 0; i < 3 && !moved; i++) {
        uint64_t away_ns;
        do {
            sleep_ms(1);
            away_ns = (now_ns() + 150 * NS_PER_MS - before_ns) % PERIOD_NS;
        } while (away_ns < PERIOD_NS / 3 || away_ns > 2 * PERIOD_NS / 3);
        began_ns = begin(b);
        moved = phase_is(class_name(a), class_name(b), began_ns - a_ns);
    }
    assert_true(moved);
    return began_ns;
}

static void periods_begin_when_they_are_told(void **state)
{
    (void)state;
    class_t *a = open_busy("a"), *b = open_busy("b");
    uint64_t a_ns = begin(a);
    assert_int_equal(quota_of("a"), 4000);
    assert_int_equal(limit_of("a").period_us, 100000);
    uint64_t b_ns = begin(b);
    assert_true(phase_is("a", "b", b_ns - a_ns));
    b_ns = begin_elsewhere(a, a_ns, b, b_ns);
    // Who only limits leaves them where they are.
    assert_ok(class_set_share(b, BACKEND_UNLIMITED, &err));
    sleep_ms(170);
    assert_ok(class_set_share(b, 10000, &err));
    assert_true(phase_is("a", "b", b_ns - a_ns));
    assert_int_equal(class_period_ns(a, 20000), 100 * NS_PER_MS);
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(b, &err));
}

// Of 2 CPUs: 0.2 % of 100 ms would be 0.4 ms, and the kernel takes 1 ms at least.
static void small_shares_have_longer_periods(void **state)
{
    (void)state;
    static const struct {
        uint32_t share_ppm;
        struct limit limit;
    } cases[] = {{10000, {2000, 100000}}, {2000, {2000, 500000}}, {4000, {1600, 200000}},
                 {500, {1000, 1000000}},  {100, {1000, 1000000}}, {5000, {1000, 100000}}};
    class_t *a = open_class("a");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(class_set_share(a, cases[i].share_ppm, &err));
        assert_int_equal(limit_of("a").quota_us, cases[i].limit.quota_us);
        assert_int_equal(limit_of("a").period_us, cases[i].limit.period_us);
        assert_int_equal(class_period_ns(a, cases[i].share_ppm),
                         (uint64_t)cases[i].limit.period_us * NS_PER_US);
        if (i % 2 == 0)
            assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    }
    assert_ok(class_begin_periods(a, 2000, &err) < 0 ? -1 : 0);
    assert_int_equal(limit_of("a").quota_us, 2000);
    assert_int_equal(limit_of("a").period_us, 500000);
    assert_ok(class_remove(a, &err));
}

// A daemon was killed between the two writes.
static void v1_periods_that_were_not_begun_to_the_end(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    assert_ok(class_set_share(a, 20000, &err));
    class_close(a);
    write_text("a", "cpu.cfs_period_us", "1000");
    a = open_class("a");
    assert_int_equal(limit_of("a").period_us, 1000); // who only looks changes nothing
    assert_ok(class_set_share(a, 20000, &err));
    assert_int_equal(limit_of("a").period_us, 100000);
    assert_int_equal(quota_of("a"), 4000);
    assert_ok(class_remove(a, &err));
}

static void v1_periods_that_the_kernel_doubled(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    assert_ok(class_set_share(a, 20000, &err));
    double_limit_of("a");
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    assert_ok(class_set_share(a, 20000, &err));
    assert_int_equal(limit_of("a").period_us, 100000);
    assert_int_equal(quota_of("a"), 4000);
    assert_ok(class_remove(a, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(periods_begin_when_they_are_told),
        real(small_shares_have_longer_periods),
    };
    const struct CMUnitTest v1_tests[] = {
        real(v1_periods_that_were_not_begun_to_the_end),
        real(v1_periods_that_the_kernel_doubled),
    };
    if (!find_cgroups())
        return SKIPPED;
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    if (version == &v1)
        failed += cmocka_run_group_tests_name("v1 only", v1_tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
