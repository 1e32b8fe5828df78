// The ranks meet in MPI_Init and in MPI_Finalize, each once, whatever the MPI makes these calls of
// and however the program has left others.
#include "pmpi/variant/ballots.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/core.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/origin.h"
#include "pmpi/variant/settings.h"
#include "pmpi/variant/strangers.h"
#include "pmpi/variant/wait.h"
#include "tests/unit/mock_lifecycle.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void ranks_meet_once_at_the_start(void **state)
{
    (void)state;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    assert_int_equal(life.starts, 1);
    assert_true(core_active);
    life.meetings = 0;
}

static __attribute__((noinline)) void leave_a_call(void)
{
    volatile char deep[4096];
    MPI_Comm made;
    deep[0] = 0;
    lib.Comm_dup(MPI_COMM_WORLD, &made);
    deep[1] = deep[0];
}

// Else it would not be polled as on other ranks, and match nothing.
static void the_next_call_is_the_programs_again(void **state)
{
    (void)state;
    if (setjmp(life.handler) == 0)
        leave_a_call();
    assert_int_equal(lib.Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(life.meetings, 1);
    life.meetings = 0;
}

static void ranks_meet_at_the_end_after_a_call_that_was_left(void **state)
{
    MPI_Comm made;
    (void)state;
    if (setjmp(life.handler) == 0)
        lib.Comm_dup(MPI_COMM_WORLD, &made);
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    assert_int_equal(life.meetings, 1);
    assert_int_equal(life.ends, 2);
    assert_int_equal(life.parts, 1);
}

static void finalize_again(void)
{
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    life.meetings = life.ends = 0;
    life.last_level = false;
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
}

// Where calls of the program do not come by here, nobody knows whether it has spawned.
static void who_is_not_seen_keeps_taking_turns(void **state)
{
    (void)state;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    core_active = life.yields = false; // as after core_bypass()
    life.meetings = life.ends = 0;
    life.last_level = false;
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    assert_int_equal(life.ends, 2);
    assert_int_equal(life.parts, 0);
    life.yields = true;
}

// MPICH 4.2 would end the program.
static void what_was_left_unreceived_is_taken_at_the_end(void **state)
{
    (void)state;
    life.unreceived = 3;
    life.untold = 0;
    finalize_again();
    assert_int_equal(life.unreceived, 0);
    assert_int_equal(life.untold, 3);
    assert_false(life.silent[0] || life.silent[1]);
}

// MPI_Finalize may wait for those whom it has spawned, as long as they like.
static void who_has_spawned_keeps_taking_turns(void **state)
{
    (void)state;
    MPI_Comm children;
    finalize_again();
    assert_int_equal(life.parts, 1);
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    assert_int_equal(lib.Comm_spawn("x", NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, NULL),
                     MPI_SUCCESS);
    assert_true(strangers_came());
    life.meetings = life.ends = 0;
    life.last_level = false;
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    assert_int_equal(life.parts, 0);
}

static bool headers; // travelled when that was called last

static void starts_and_ends(bool carries)
{
    life.meetings = life.ends = life.counted = 0;
    life.last_level = false;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    life.meetings = 0;
    headers = header_on;
    assert_int_equal(carrier.on, carries);
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    assert_int_equal(life.counted, carries);
}

// They would wait for its ballot.
static void who_has_no_memory_for_ballots_says_so(void **state)
{
    (void)state;
    life.ranks = 2;
    life.exchanges = life.meetings = 0;
    life.last_level = false;
    life.missing_count = 2;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    assert_int_equal(life.meetings, 1);
    assert_int_equal(life.exchanges, 0);
    assert_false(core_active);
    life.meetings = 0;
    life.yields = false; // as this job does not
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    life.yields = true;
    life.ranks = 1;
}

// The others would wait for a rank without a carrier at the end: they learn of it in time.
static void who_has_no_memory_says_so(void **state)
{
    static const struct status_page page = {.piggyback = STATUS_PIGGYBACK_NOTICE};
    static const struct {
        size_t count, size;
    } missing[] = {{1 << 17, 0}, {0, sizeof(struct carrier_peer)}};
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    starts_and_ends(true);
    starts_and_ends(true);
    assert_memory_equal(life.ballots[0], life.ballots[1], sizeof life.ballots[0]);
    for (unsigned i = 0; i < sizeof missing / sizeof *missing; i++) {
        life.missing_count = missing[i].count;
        life.missing_size = missing[i].size;
        starts_and_ends(false);
        assert_int_equal(life.missing_count + life.missing_size, 0);
        assert_memory_not_equal(life.ballots[0], life.ballots[1], sizeof life.ballots[0]);
        starts_and_ends(true);
    }
    mock_page(NULL);
    life.ranks = 1;
}

// What they complete or buffer would be counted, and read, with the header in front.
static void newer_functions_mean_no_headers(void **state)
{
    static const struct status_page page = {.piggyback = STATUS_PIGGYBACK_HEADER};
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    starts_and_ends(true);
    assert_true(headers);
    mock_newer = "Request_get_status_all";
    starts_and_ends(true);
    assert_false(headers);
    mock_newer = NULL;
    mock_page(NULL);
    life.ranks = 1;
}

static int takes_device_memory(void)
{
    return 1;
}

// It is copied, and sent, as this processor's own.
static void device_memory_means_no_headers(void **state)
{
    static const struct status_page page = {.piggyback = STATUS_PIGGYBACK_HEADER};
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    mock_symbol = "MPIX_Query_cuda_support";
    mock_symbol_at = (void *)takes_device_memory;
    starts_and_ends(true);
    assert_false(headers);
    mock_symbol = mock_symbol_at = NULL;
    starts_and_ends(true);
    assert_true(headers);
    mock_page(NULL);
    life.ranks = 1;
}

// What a start and an end print.
static void lines_of_a_job(char *text, size_t size)
{
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    starts_and_ends(false);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int level_of_threads(int *provided)
{
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

static enum wait_mode waits(void)
{
    struct ballot ballot;
    memcpy(&ballot, life.ballots[0], sizeof ballot);
    return ballot_wait(&ballot);
}

// They may change places in the midst of a call, and what is kept of a thread is another one's.
static void user_level_threads_spin_and_have_no_headers(void **state)
{
    static const struct status_page page = {.piggyback = STATUS_PIGGYBACK_HEADER};
    __typeof__(mpi_next[1].Query_thread) query = mpi_next[1].Query_thread;
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    mock_symbol = "ABT_init";
    starts_and_ends(true); // one of them calls MPI
    assert_true(headers);
    assert_int_equal(waits(), WAIT_YIELD);
    mpi_next[0].Query_thread = mpi_next[1].Query_thread = level_of_threads;
    starts_and_ends(true);
    assert_false(headers);
    assert_int_equal(waits(), WAIT_SPIN);
    mock_symbol = NULL;
    starts_and_ends(true);
    assert_true(headers);
    assert_int_equal(waits(), WAIT_YIELD);
    mpi_next[0].Query_thread = mpi_next[1].Query_thread = query;
    mock_page(NULL);
    life.ranks = 1;
}

// Polls would not see that a peer has died.
static void who_survives_faults_is_left_alone(void **state)
{
    static const struct status_page page = {.piggyback = STATUS_PIGGYBACK_NOTICE};
    static bool tolerates = false;
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    mock_symbol = "ompi_ftmpi_enabled";
    mock_symbol_at = &tolerates;
    starts_and_ends(true);
    assert_int_equal(waits(), WAIT_YIELD);
    tolerates = true;
    mock_may_go = true;
    life.last_level = false;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    core_active = life.yields = false; // as after core_bypass()
    life.meetings = 0;
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    assert_int_equal(life.meetings, 0); // who is dead does not come
    job.survives_faults = mock_may_go = false;
    life.yields = true;
    assert_int_equal(waits(), WAIT_SPIN);
    mock_symbol = mock_symbol_at = NULL;
    mock_page(NULL);
    life.ranks = 1;
}

// Where there is no scheduler nobody expects one.
static void who_is_refused_is_told_once(void **state)
{
    char text[1024];
    (void)state;
    life.ranks = 2;
    lines_of_a_job(text, sizeof text);
    assert_string_equal(text, "");
    mock_met(true);
    lines_of_a_job(text, sizeof text);
    assert_non_null(strstr(text, "cosched: no scheduler takes this job (rank 0 on "));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    mock_met(false);
    life.ranks = 1;
}

// A slot's number is the time of day over its length: with other lengths, or another policy, there
// is nothing to agree about. Jobs run all the same, so somebody must say it.
static void nodes_with_other_slots_give_none(void **state)
{
    static const struct status_page page = {.gang = 1, .time_slice_ns = 1000000000};
    char text[1024];
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    lines_of_a_job(text, sizeof text);
    // This one has piggyback = off, so it does not agree about any.
    assert_non_null(
        strstr(text, "cosched: without a status on its messages this job has no slots "));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_true(carrier_slots);
    assert_true(carrier_turns);
    life.longer_ns = 500000000;
    lines_of_a_job(text, sizeof text);
    assert_non_null(
        strstr(text, "cosched: slots are 1 s long on the node of rank 0 and 1.5 s on "));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_false(carrier_slots);
    assert_false(carrier_turns);
    life.other_policy = true;
    lines_of_a_job(text, sizeof text);
    assert_non_null(strstr(text, "the policy is gang on the node of rank 0 and another on "));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_false(carrier_slots);
    life.longer_ns = 0;
    life.other_policy = false;
    mock_page(NULL);
    life.ranks = 1;
}

// By the clock they would have the same number at different times. Also with libraries that were
// there before this was said.
static void nodes_with_other_slices_are_told(void **state)
{
    static const struct status_page page = {.time_slice_ns = 1000000000};
    char text[1024];
    (void)state;
    life.ranks = 2;
    mock_page(&page);
    lines_of_a_job(text, sizeof text);
    assert_string_equal(text, "");
    life.longer_ns = 500000000;
    lines_of_a_job(text, sizeof text);
    assert_non_null(strstr(text, "cosched: time-slices are 1 s long on the node of rank 0 and "
                                 "1.5 s on that of rank 1"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_false(carrier_turns);
    life.longer_ns = 0;
    mock_page(NULL);
    life.ranks = 1;
}

static struct status_page page_of_joiners;

static void somebody_joins_or_leaves(void)
{
    page_of_joiners.width = page_of_joiners.width == 1 ? 2 : 1;
    mock_status(STATUS_SCHEDULED);
}

// A rank that has a CPU of its own does not spin beside those who have joined its job there, also
// where they come while it waits: it may look at nothing in its next calls.
static void who_shares_its_cpu_with_joiners_yields(void **state)
{
    struct status_page *page = &page_of_joiners;
    (void)state;
    *page = (struct status_page){.piggyback = STATUS_PIGGYBACK_NOTICE, .cpus = 1, .width = 1};
    life.ranks = 2; // on two nodes
    mock_page(page);
    setenv("COSCHED_WAIT", "auto", 1);
    life.last_level = false;
    assert_int_equal(lib.Init(NULL, NULL), MPI_SUCCESS);
    static const uint32_t widths[] = {1, 2, 2, 1, 3, 1};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        page->width = widths[i];
        mock_status(STATUS_SCHEDULED);
        assert_int_equal(lib.Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        assert_int_equal(wait_yields, widths[i] > 1);
        assert_int_equal(core_quick, widths[i] == 1);
        assert_false(wait_blocks);
        assert_false(wait_collectives_polled); // as its peers have agreed
    }
    life.meanwhile = somebody_joins_or_leaves;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lib.Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        assert_int_equal(wait_yields, page->width > 1);
    }
    life.meanwhile = NULL;
    page->cpus = page->width = 4; // room for more
    mock_status(STATUS_SCHEDULED);
    assert_int_equal(lib.Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    assert_false(wait_yields);
    life.meetings = 0;
    assert_int_equal(lib.Finalize(), MPI_SUCCESS);
    setenv("COSCHED_WAIT", "yield", 1);
    mock_page(NULL);
    life.ranks = 1;
}

static bool asks_for_slots(void)
{
    struct ballot ballot;
    memcpy(&ballot, life.ballots[0], sizeof ballot);
    return ballot.gang != 0;
}

// Else parents and children would take turns with each other. Its slots are agreed about.
static void who_was_spawned_joins_the_job_of_its_parents(void **state)
{
    static const struct status_page page = {.gang = 1};
    (void)state;
    setenv("PMIX_NAMESPACE", "parents", 1);
    mock_job_here("job-of-parents", origin_of(false).world);
    setenv("PMIX_NAMESPACE", "children", 1);
    setenv("OMPI_PARENT_PORT", "parents.0:1", 1);
    mock_page(&page);
    starts_and_ends(false);
    assert_string_not_equal(mock_session_identity()->job_id, "job-of-parents");
    assert_true(asks_for_slots());
    life.spawned = true;
    starts_and_ends(false);
    assert_string_equal(mock_session_identity()->job_id, "job-of-parents");
    assert_int_equal(mock_session_identity()->world, origin_of(false).world);
    assert_false(asks_for_slots());
    mock_job_here(NULL, 0); // they are on other nodes
    starts_and_ends(false);
    assert_string_not_equal(mock_session_identity()->job_id, "job-of-parents");
    assert_true(asks_for_slots());
    life.spawned = false;
    mock_page(NULL);
    unsetenv("OMPI_PARENT_PORT");
    unsetenv("PMIX_NAMESPACE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_meet_once_at_the_start),
        cmocka_unit_test(the_next_call_is_the_programs_again),
        cmocka_unit_test(ranks_meet_at_the_end_after_a_call_that_was_left),
        cmocka_unit_test(who_is_not_seen_keeps_taking_turns),
        cmocka_unit_test(who_has_no_memory_says_so),
        cmocka_unit_test(who_has_no_memory_for_ballots_says_so),
        cmocka_unit_test(newer_functions_mean_no_headers),
        cmocka_unit_test(user_level_threads_spin_and_have_no_headers),
        cmocka_unit_test(who_is_refused_is_told_once),
        cmocka_unit_test(device_memory_means_no_headers),
        cmocka_unit_test(who_survives_faults_is_left_alone),
        cmocka_unit_test(nodes_with_other_slots_give_none),
        cmocka_unit_test(nodes_with_other_slices_are_told),
        cmocka_unit_test(who_shares_its_cpu_with_joiners_yields),
        cmocka_unit_test(who_has_spawned_keeps_taking_turns),
        cmocka_unit_test(what_was_left_unreceived_is_taken_at_the_end),
        cmocka_unit_test(who_was_spawned_joins_the_job_of_its_parents),
    };
    return cmocka_run_group_tests(tests, mock_lifecycle, NULL);
}
