// timerd while classd is silent: whom it continues, and how often. Who lifts is a stand-in.
#include "cgroup-backend/in_force.h"
#include "timerd/outage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static unsigned lifts, continues;

int in_force_release(const struct backend_settings *settings, unsigned *lifted, struct error *err)
{
    (void)err;
    *lifted = 1;
    lifts++;
    continues += !settings->once_more;
    return 0;
}

static void classd_begins(unsigned generation)
{
    char path[sizeof config.runtime_dir + 16];
    snprintf(path, sizeof path, "%s/generation", config.runtime_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%x\n", generation);
    fclose(file);
}

static int start(void **state)
{
    (void)state;
    config_defaults(&config);
    strcpy(config.runtime_dir, "/tmp/cosched-test-XXXXXX");
    lifts = continues = 0;
    return mkdtemp(config.runtime_dir) != NULL ? 0 : -1;
}

static int stop(void **state)
{
    char path[sizeof config.runtime_dir + 16];
    (void)state;
    snprintf(path, sizeof path, "%s/generation", config.runtime_dir);
    unlink(path);
    rmdir(config.runtime_dir);
    return 0;
}

static void whom_a_silent_classd_has_stopped_is_continued_once(void **state)
{
    struct outage outage = {.config = &config};
    (void)state;
    classd_begins(1);
    for (unsigned i = 0; i < 3; i++)
        outage_continue(&outage, "a test");
    assert_int_equal(lifts, 3);
    assert_int_equal(continues, 1); // his owner may have stopped him meanwhile
    outage_classd_found(&outage);
    outage_continue(&outage, "a test");
    assert_int_equal(continues, 2);
}

// It stops at its start whom it finds to be suspended, and is killed before it says anything.
static void a_classd_that_never_answered_has_stopped_them_again(void **state)
{
    struct outage outage = {.config = &config};
    (void)state;
    for (unsigned generation = 1; generation <= 3; generation++) {
        classd_begins(generation);
        outage_continue(&outage, "a test");
        outage_continue(&outage, "a test");
        assert_int_equal(continues, generation);
    }
}

static void without_a_generation_they_are_continued_once(void **state)
{
    struct outage outage = {.config = &config};
    (void)state;
    outage_continue(&outage, "a test");
    outage_continue(&outage, "a test");
    assert_int_equal(continues, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whom_a_silent_classd_has_stopped_is_continued_once, start,
                                        stop),
        cmocka_unit_test_setup_teardown(a_classd_that_never_answered_has_stopped_them_again, start,
                                        stop),
        cmocka_unit_test_setup_teardown(without_a_generation_they_are_continued_once, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
