// Whether a job is half-wrapped is found out by a roll call: a job of which all ranks have the
// library is never ended, and nothing of the call is left for the program to receive. And for how
// long it may be waited before.
#include "pmpi/variant/half_wrapped.h"
#include "pmpi/variant/settings.h"
#include "tests/unit/mock_mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum outcome { AS_IT_SHOULD, ENDED, GOES_ON, LEFT_SOMETHING, MISCOUNTED };

static int aborts;
static bool complete, peer_answers;

static int count_abort(MPI_Comm comm, int code)
{
    (void)comm, (void)code;
    aborts++;
    return MPI_SUCCESS;
}

// Between two tests the peer may call the roll, too: it says what this rank says.
static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)status;
    if (peer_answers)
        mock_peer_echo();
    *flag = complete;
    if (complete)
        *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static void call_roll(void)
{
    MPI_Request request = 1;
    half_wrapped_end(MOCK_SELF, MOCK_SIZE, &request);
}

static enum outcome call_one_who_is_missing(void)
{
    call_roll();
    return aborts == 1 ? AS_IT_SHOULD : GOES_ON;
}

static enum outcome call_one_who_answers(void)
{
    peer_answers = true;
    call_roll();
    if (aborts != 0)
        return ENDED;
    half_wrapped_take(MOCK_SELF, MOCK_SIZE, MOCK_PEER, 1);
    return half_wrapped_roll_calls() != 1 ? MISCOUNTED
           : mock_messages_left() != 0    ? LEFT_SOMETHING
                                          : AS_IT_SHOULD;
}

// The peer called twice, and this rank was not there to hear it.
static enum outcome call_while_all_come(void)
{
    complete = true;
    call_roll();
    call_roll();
    if (aborts != 0)
        return ENDED;
    mock_peer_echo();
    if (mock_messages_left() != 2)
        return MISCOUNTED;
    half_wrapped_take(MOCK_SELF, MOCK_SIZE, MOCK_PEER, 2);
    return mock_messages_left() != 0 ? LEFT_SOMETHING : AS_IT_SHOULD;
}

// A job calls the roll in MPI_Init only, so each test has a process of its own.
static enum outcome apart(enum outcome (*body)(void))
{
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit((int)body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (enum outcome)WEXITSTATUS(status);
}

static void a_job_is_ended_when_a_rank_is_missing(void **state)
{
    (void)state;
    assert_int_equal(apart(call_one_who_is_missing), AS_IT_SHOULD);
}

static void a_job_goes_on_when_all_answer(void **state)
{
    (void)state;
    assert_int_equal(apart(call_one_who_answers), AS_IT_SHOULD);
}

static void a_job_goes_on_when_all_have_come(void **state)
{
    (void)state;
    assert_int_equal(apart(call_while_all_come), AS_IT_SHOULD);
}

static void a_time_limit_has_a_limit(void **state)
{
    struct settings settings;
    (void)state;
    setenv("COSCHED_INIT_TIMEOUT", "8760h", 1);
    settings_read(&settings);
    assert_int_equal(settings.init_timeout_ns, 8760 * 3600 * NS_PER_SEC);
    assert_string_equal(settings.complaint, "");
    setenv("COSCHED_INIT_TIMEOUT", "2000000h", 1);
    settings_read(&settings);
    assert_int_equal(settings.init_timeout_ns, 60 * NS_PER_SEC);
    assert_string_not_equal(settings.complaint, "");
}

static void a_relative_runtime_directory_is_complained_of(void **state)
{
    struct settings settings;
    (void)state;
    unsetenv("COSCHED_INIT_TIMEOUT");
    static const char *const good[] = {"", "/tmp/cosched"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        setenv("COSCHED_RUNTIME_DIR", good[i], 1);
        settings_read(&settings);
        assert_string_equal(settings.runtime_dir, *good[i] != '\0' ? good[i] : "/run/cosched");
        assert_string_equal(settings.complaint, "");
    }
    setenv("COSCHED_RUNTIME_DIR", "run/cosched", 1);
    settings_read(&settings);
    assert_string_equal(settings.runtime_dir, "/run/cosched");
    assert_string_equal(settings.complaint,
                        "COSCHED_RUNTIME_DIR=run/cosched is not an absolute path; it is ignored");
}

static int start(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mpi_next[1].Test = test;
    mpi_next[1].Abort = count_abort;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_ended_when_a_rank_is_missing),
        cmocka_unit_test(a_job_goes_on_when_all_answer),
        cmocka_unit_test(a_job_goes_on_when_all_have_come),
        cmocka_unit_test(a_time_limit_has_a_limit),
        cmocka_unit_test(a_relative_runtime_directory_is_complained_of),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
