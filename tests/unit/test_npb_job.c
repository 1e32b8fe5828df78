// Protects what becomes of a kernel's verdict: one wrong repetition is a job that did not verify,
// all its ranks end with 1, and the line for programs says so. MPI is played by this file.
#include "bench/npb/common/job.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { VERIFIED = 0, WRONG = 1, REFUSED = 2 };

static struct {
    int rank;
    int correct; // what rank 0 sends to this rank
    int finalized;
} mpi;

int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    mpi.finalized++;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = mpi.rank;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 2;
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)type, (void)root, (void)comm;
    assert_int_equal(count, 1);
    if (mpi.rank != 0)
        memcpy(buffer, &mpi.correct, sizeof mpi.correct);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    (void)type, (void)op, (void)comm;
    memcpy(received, sent, (size_t)count * sizeof(double));
    return MPI_SUCCESS;
}

double MPI_Wtime(void)
{
    static double now_s;
    return now_s += 0.25;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm, (void)code;
    abort();
}

// The verdicts on the repetitions, in order.
struct verdicts {
    const bool *correct;
    int run, verified;
};

static struct verdicts verdicts;

static const char *prepare(const struct npb_job *job, void **state)
{
    *state = &verdicts;
    return job->size_class == 'S' ? NULL : "there is only S";
}

static void run(void *state)
{
    ((struct verdicts *)state)->run++;
}

static bool verify(const void *state)
{
    (void)state;
    return verdicts.correct[verdicts.verified++];
}

static double operations(const void *state)
{
    (void)state;
    return 1e6;
}

static void release(void *state)
{
    (void)state;
}

static const struct npb_kernel kernel = {
    .name = "played",
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .operations = operations,
    .release = release,
};

static int run_job(const char *size_class, const bool *correct, int repetitions)
{
    char count[16], copy[2] = {size_class[0], '\0'};
    char name[] = "played", option[] = "--repeat";
    snprintf(count, sizeof count, "%d", repetitions);
    char *argv[] = {name, copy, option, count, NULL};
    verdicts = (struct verdicts){.correct = correct};
    mpi.finalized = 0;
    return npb_job_main(4, argv, &kernel);
}

// What the job prints, in `text`.
static int run_and_read(const bool *correct, int repetitions, char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    int status = run_job("S", correct, repetitions);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void right_results_end_with_0(void **unused)
{
    (void)unused;
    char text[2048];
    const bool correct[] = {true, true, true};
    mpi.rank = 0;
    assert_int_equal(run_and_read(correct, 3, text, sizeof text), VERIFIED);
    assert_int_equal(verdicts.run, 3);
    assert_int_equal(verdicts.verified, 3);
    assert_int_equal(mpi.finalized, 1);
    assert_non_null(strstr(text, "verification successful\n"));
    assert_non_null(strstr(text, "NPB kernel=played class=S ranks=2 repeat=3 seconds="));
    assert_non_null(strstr(text, " verified=yes\n"));
}

static void one_wrong_result_ends_with_1(void **unused)
{
    (void)unused;
    mpi.rank = 0;
    for (int wrong = 0; wrong < 3; wrong++) {
        char text[2048];
        bool correct[] = {true, true, true};
        correct[wrong] = false;
        assert_int_equal(run_and_read(correct, 3, text, sizeof text), WRONG);
        assert_int_equal(verdicts.run, 3);
        assert_int_equal(mpi.finalized, 1);
        assert_non_null(strstr(text, "verification FAILED\n"));
        assert_non_null(strstr(text, " verified=no\n"));
        assert_null(strstr(text, "verified=yes"));
    }
}

static void the_only_result_counts(void **unused)
{
    (void)unused;
    char text[2048];
    const bool correct[] = {false};
    mpi.rank = 0;
    assert_int_equal(run_and_read(correct, 1, text, sizeof text), WRONG);
    assert_non_null(strstr(text, " verified=no\n"));
}

static void every_rank_ends_as_rank_0_says(void **unused)
{
    (void)unused;
    const bool unasked[] = {true, true};
    mpi.rank = 1;
    for (mpi.correct = 0; mpi.correct <= 2; mpi.correct++) {
        assert_int_equal(run_job("S", unasked, 2), mpi.correct == 2 ? VERIFIED : WRONG);
        assert_int_equal(verdicts.verified, 0);
    }
}

static void what_cannot_begin_ends_with_2(void **unused)
{
    (void)unused;
    const bool unasked[] = {true};
    mpi.rank = 0;
    assert_int_equal(run_job("X", unasked, 1), REFUSED);
    assert_int_equal(verdicts.run, 0);
    assert_int_equal(mpi.finalized, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_end_with_0),
        cmocka_unit_test(one_wrong_result_ends_with_1),
        cmocka_unit_test(the_only_result_counts),
        cmocka_unit_test(every_rank_ends_as_rank_0_says),
        cmocka_unit_test(what_cannot_begin_ends_with_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
