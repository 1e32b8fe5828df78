// What rank 0 tells the others before they register, also where the other side is an older library.
#include "pmpi/variant/announcement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW UINT64_C(1700000000000000000)

static const char *membership = "/nonexistent";

static void as_in_slurm(const char *job, const char *step)
{
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_STEP_ID", step, 1);
}

static int without_slurm(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_PTY_PORT");
    unsetenv("SLURM_STEP_NUM_TASKS");
    return 0;
}

static uint64_t hear(const struct announcement *said, const char *id)
{
    char heard[PROTOCOL_JOB_ID_MAX];
    uint64_t starts_ns = announcement_read(said, heard);
    assert_true(protocol_job_id_valid(heard));
    if (id != NULL)
        assert_string_equal(heard, id);
    for (size_t i = strlen(heard); i < sizeof heard; i++)
        assert_int_equal(heard[i], 0);
    return starts_ns;
}

static void the_time_is_soon(void **state)
{
    (void)state;
    struct announcement said = announcement_new(NOW, membership);
    assert_in_range(hear(&said, NULL), NOW + 1, NOW + 1000000000);
    assert_memory_equal(said.job_id, "mpi-", 4);
}

static void ids_differ(void **state)
{
    (void)state;
    struct announcement one = announcement_new(NOW, membership),
                        other = announcement_new(NOW, membership);
    assert_memory_not_equal(one.job_id, other.job_id, sizeof one.job_id);
}

static void the_largest_numbers_of_slurm_leave_room(void **state)
{
    (void)state;
    as_in_slurm("4294967295", "4294967279");
    struct announcement said = announcement_new(NOW, membership);
    assert_int_not_equal(hear(&said, "slurm-4294967295.4294967279"), 0);
}

// Two launches in a shell of salloc's, or of srun --pty, are two jobs.
static void launches_in_a_shell_of_slurm_differ(void **state)
{
    static const char *const steps[] = {"4294967290", "4294967291", "-5", "0", "x"};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        as_in_slurm("12", steps[i]);
        if (strcmp(steps[i], "0") == 0)
            setenv("SLURM_PTY_PORT", "40123", 1);
        struct announcement one = announcement_new(NOW, membership),
                            other = announcement_new(NOW, membership);
        assert_memory_equal(one.job_id, "mpi-", 4);
        assert_memory_not_equal(one.job_id, other.job_id, sizeof one.job_id);
    }
    // A shell is one task; what srun launches from it has its environment, too.
    as_in_slurm("12", "3");
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    struct announcement said = announcement_new(NOW, membership);
    assert_memory_equal(said.job_id, "mpi-", 4);
    setenv("SLURM_STEP_NUM_TASKS", "8", 1);
    said = announcement_new(NOW, membership);
    hear(&said, "slurm-12.3");
}

// Slurm up to 25.11 leaves a batch script the variable of the step in which it was submitted.
static void a_script_may_have_the_step_of_another(void **state)
{
    char path[] = "/tmp/cosched-test-XXXXXX";
    static const char *const lines[] = {
        "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n",
        "4:freezer:/slurm/uid_7/job_12/step_batch\n1:cpu:/\n",
        "0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_0\n"};
    (void)state;
    as_in_slurm("12", "0");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    membership = path;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, lines[i], strlen(lines[i]), 0), strlen(lines[i]));
        struct announcement said = announcement_new(NOW, membership);
        assert_memory_equal(said.job_id, i < 2 ? "mpi-" : "slurm-12.0", i < 2 ? 4 : 11);
    }
    membership = "/nonexistent";
    close(fd);
    unlink(path);
}

static void a_long_id_has_no_time(void **state)
{
    (void)state;
    as_in_slurm("123456789012345678901234", "12345");
    struct announcement said = announcement_new(NOW, membership);
    assert_int_equal(hear(&said, "slurm-123456789012345678901234.12345"), 0);
}

static void an_older_rank_0_tells_no_time(void **state)
{
    (void)state;
    char id[PROTOCOL_JOB_ID_MAX] = "mpi-0123456789abcdef";
    struct announcement said;
    memcpy(&said, id, sizeof said);
    assert_int_equal(hear(&said, id), 0);
}

// Also of one that has no room for a time.
static void who_joins_a_job_announces_its_id(void **state)
{
    char joined[PROTOCOL_JOB_ID_MAX] = "mpi-0123456789abcdef";
    (void)state;
    struct announcement said = announcement_of(joined, NOW);
    assert_in_range(hear(&said, joined), NOW + 1, NOW + 1000000000);
    memset(joined, 'x', sizeof joined - 1);
    said = announcement_of(joined, NOW);
    assert_int_equal(hear(&said, joined), 0);
}

// It takes all of it for the id.
static void an_older_rank_understands_the_id(void **state)
{
    (void)state;
    struct announcement said = announcement_new(NOW, membership);
    char heard[PROTOCOL_JOB_ID_MAX], id[PROTOCOL_JOB_ID_MAX];
    memcpy(heard, &said, sizeof heard);
    announcement_read(&said, id);
    assert_true(protocol_job_id_valid(heard));
    assert_string_equal(heard, id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_time_is_soon, without_slurm),
        cmocka_unit_test_setup(ids_differ, without_slurm),
        cmocka_unit_test_setup(the_largest_numbers_of_slurm_leave_room, without_slurm),
        cmocka_unit_test_setup(launches_in_a_shell_of_slurm_differ, without_slurm),
        cmocka_unit_test_setup(a_script_may_have_the_step_of_another, without_slurm),
        cmocka_unit_test_setup(a_long_id_has_no_time, without_slurm),
        cmocka_unit_test_setup(an_older_rank_0_tells_no_time, without_slurm),
        cmocka_unit_test_setup(an_older_rank_understands_the_id, without_slurm),
        cmocka_unit_test(who_joins_a_job_announces_its_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
