// What a rank tells those of other nodes, and what it does about what they say: rank 1 is on
// another node, and played by hand.
#include "common/clock.h"
#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/leaders.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TAG = 5, IDLE = STATUS_CONTENDED, OUT = STATUS_CONTENDED | STATUS_SCHEDULED };

static MPI_Comm notices; // the library's own communicator

static int set_up(void **state)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    const bool remote[MOCK_SIZE] = {false, true};
    (void)state;
    mock_start(MPI_THREAD_MULTIPLE);
    notices = mock_comm();
    mock_status(STATUS_SCHEDULED);
    mock_turn(0);
    carrier_turns = true;
    return peers_start(nodes, MOCK_SIZE) == 0 &&
                   carrier_start(notices, MOCK_SIZE, remote, false) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char message[sizeof(struct header) + 1];
    core_active = false;
    while (mock_peer_receive(MPI_COMM_WORLD, TAG, message, sizeof message) >= 0)
        continue;
    if (header_on)
        header_stop();
    header_on = false;
    carrier_drain();
    carrier_stop();
    peers_stop();
    carrier_slots = carrier_turns = false;
    return 0;
}

static void begin(void)
{
    core_active = true;
    mock_session_requests();
    mock_session_narrowed();
}

// The next notice that rank 1 has been sent. False when there is none.
static bool told(struct carrier_notice *notice)
{
    *notice = (struct carrier_notice){0};
    return mock_peer_receive(notices, CARRIER_NOTICE_TAG, notice, sizeof *notice) > 0;
}

static void assert_told(bool scheduled, uint16_t turn)
{
    struct carrier_notice notice;
    assert_true(told(&notice));
    assert_int_equal(notice.scheduled, scheduled);
    assert_int_equal(notice.turn, turn);
}

static void assert_told_nothing(void)
{
    struct carrier_notice notice;
    assert_false(told(&notice));
}

static uint64_t slots_told(void)
{
    struct carrier_notice notice;
    return told(&notice) ? notice.slots : 0;
}

static void peer_says(bool scheduled, uint16_t turn, uint64_t slots)
{
    struct carrier_notice notice = {.scheduled = scheduled, .turn = turn, .slots = slots};
    mock_peer_send(notices, CARRIER_NOTICE_TAG, &notice, sizeof notice);
}

static void call(void)
{
    lib.Send(NULL, 0, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD);
}

// ---- slices

static void each_slice_is_told_once(void **state)
{
    (void)state;
    begin();
    mock_turn(7);
    mock_status(OUT);
    for (uint16_t turn = 7; turn < 10; turn++) {
        mock_turn(turn);
        call();
        assert_told(true, turn);
        call();
        assert_told_nothing();
    }
    mock_status(IDLE);
    call();
    assert_told(false, 9);
    mock_turn(10); // idle is idle
    call();
    assert_told_nothing();
}

// Nobody is limited here: that holds for as long as nothing else is said.
static void without_contention_slices_are_not_told(void **state)
{
    (void)state;
    begin();
    mock_status(IDLE);
    call();
    assert_told(false, 0);
    mock_turn(7);
    mock_status(STATUS_SCHEDULED);
    call();
    assert_told(true, 0);
    mock_turn(8);
    call();
    assert_told_nothing();
    // What was said of a slice does not hold for ever.
    mock_status(OUT);
    call();
    assert_told(true, 8);
    mock_status(STATUS_SCHEDULED);
    call();
    assert_told(true, 0);
}

static int requests_after_receiving(int source)
{
    char byte = 0;
    mock_peer_send(MPI_COMM_WORLD, TAG, &byte, 1);
    lib.Recv(&byte, 1, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mock_session_requests();
}

static void what_was_said_in_an_earlier_slice_asks_for_nothing(void **state)
{
    (void)state;
    static const int sources[] = {MOCK_PEER, MPI_ANY_SOURCE};
    begin();
    for (unsigned i = 0; i < 2; i++) {
        mock_status(IDLE);
        mock_turn(7);
        peer_says(true, 6, 0);
        assert_int_equal(requests_after_receiving(sources[i]), 0);
        peer_says(true, 7, 0);
        assert_true(requests_after_receiving(sources[i]) > 0);
        mock_turn(8); // the same word, a slice later
        assert_int_equal(requests_after_receiving(sources[i]), 0);
        peer_says(true, 0, 0); // from a node where nobody is limited
        assert_true(requests_after_receiving(sources[i]) > 0);
    }
}

// Slices of other lengths have other numbers.
static void where_numbers_tell_nothing_all_is_heeded(void **state)
{
    (void)state;
    begin();
    carrier_turns = false;
    mock_status(IDLE);
    mock_turn(7);
    peer_says(true, 3, 0);
    assert_true(requests_after_receiving(MOCK_PEER) > 0);
    mock_status(OUT);
    call();
    struct carrier_notice notice;
    while (told(&notice))
        assert_int_equal(notice.turn, 0);
}

static int requests_after_header(uint16_t turn)
{
    struct header header = {
        .magic = HEADER_MAGIC, .scheduled = true, .turn = turn, .length = sizeof(char)};
    char message[sizeof header + 1] = {0}, byte;
    memcpy(message, &header, sizeof header);
    mock_peer_send(MPI_COMM_WORLD, TAG, message, sizeof message);
    lib.Recv(&byte, 1, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mock_session_requests();
}

static void headers_have_the_slice_too(void **state)
{
    (void)state;
    carrier.headers = true;
    header_start(notices, MOCK_SELF);
    begin();
    mock_status(IDLE);
    mock_turn(7);
    peer_says(false, 7, 0); // nothing but headers asks from here on
    assert_int_equal(requests_after_header(6), 0);
    assert_true(requests_after_header(7) > 0);
    assert_true(requests_after_header(0) > 0);
    // The other node's clock is three slices behind: known when this rank has run for a while.
    mock_status(OUT);
    for (unsigned i = 0; i < 10; i++)
        requests_after_header(4);
    mock_status(IDLE);
    assert_true(requests_after_header(4) > 0);
    assert_int_equal(requests_after_header(3), 0);

    char message[sizeof(struct header) + 1];
    struct header *header = (struct header *)message;
    mock_status(OUT);
    lib.Send("", 1, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD);
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, message, sizeof message),
                     sizeof message);
    assert_int_equal(header->turn, 7);
}

// ---- contacts

static __typeof__(mpi_next[1].Improbe) mock_improbe;
static bool beside; // another thread is to begin a collective

static int barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

static void *begin_a_collective(void *nothing)
{
    lib.Barrier(MPI_COMM_WORLD);
    return nothing;
}

static int probe_beside(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status)
{
    pthread_t thread;
    if (beside && pthread_create(&thread, NULL, begin_a_collective, NULL) == 0) {
        beside = false;
        pthread_join(thread, NULL);
    }
    return mock_improbe(source, tag, comm, flag, message, status);
}

// Its first collective finds the carrier taken by another thread; the next one has the same peers.
static void the_peers_of_a_collective_are_not_missed(void **state)
{
    (void)state;
    int flag = 0;
    mock_improbe = mpi_next[1].Improbe;
    mpi_next[1].Improbe = probe_beside;
    mpi_next[0].Barrier = mpi_next[1].Barrier = barrier;
    begin();
    beside = true;
    lib.Iprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    mpi_next[1].Improbe = mock_improbe;
    assert_false(beside);
    mock_status(IDLE);
    lib.Barrier(MPI_COMM_WORLD);
    assert_told(false, 0);
}

// ---- repeats

static int repeats(int periods)
{
    struct carrier_notice notice;
    int count = 0;
    for (int i = 0; i < periods; i++)
        carrier_still_waiting();
    while (told(&notice))
        count++;
    return count;
}

// Its node's classd may be gone: then nothing there ever looks at what has come.
static void who_says_nothing_is_not_told_for_ever(void **state)
{
    (void)state;
    begin();
    mock_status(OUT);
    for (uint16_t turn = 7; turn < 10; turn++) { // each slice is news, and no more than that
        mock_turn(turn);
        call();
        assert_told(true, turn);
        assert_int_equal(repeats(1000), turn == 7 ? 64 : 0);
    }
    peer_says(true, 9, 0);
    assert_int_equal(repeats(1000), 64);
    assert_int_equal(repeats(1000), 0);
}

static int told_in_slices(int first, int slices)
{
    struct carrier_notice notice;
    int count = 0;
    for (int turn = first; turn < first + slices; turn++) {
        mock_turn((uint16_t)turn);
        call();
        while (told(&notice))
            count++;
    }
    return count;
}

// Of several requests that are waited for one after the other, the first may be complete after an
// odd number of polls: each second one only looks.
static void who_waits_for_several_says_that_it_still_waits(void **state)
{
    (void)state;
    begin();
    mock_status(OUT);
    mock_turn(7);
    call();
    assert_told(true, 7);
    for (int polls = 1; polls <= 2; polls++) {
        struct carrier_notice notice;
        struct wait wait = wait_new_looking_first(PEERS_UNKNOWN);
        uint64_t begun_ns = clock_now_ns();
        for (int i = 0; i < polls; i++)
            wait_pause(&wait);
        wait.looked = false;
        while (!told(&notice)) {
            assert_true(clock_now_ns() - begun_ns < 10 * NS_PER_SEC);
            wait_pause(&wait);
        }
    }
}

// Nor news, of which a job of days has many. Who says something again is told what it has missed.
static void who_says_nothing_is_told_news_for_so_long(void **state)
{
    (void)state;
    begin();
    mock_status(OUT);
    int first = told_in_slices(1, 3000);
    assert_in_range(first, 100, 2000);
    assert_int_equal(told_in_slices(3001, 100), 0);
    peer_says(false, 3100, 0);
    assert_int_equal(told_in_slices(3101, 100), 100);
    peer_says(true, 3200, 0);
    assert_int_equal(told_in_slices(3201, 100), 100);
}

// It may have asked for the CPU in vain. While it is idle it looks at what comes.
static void who_is_idle_is_told_in_every_slice(void **state)
{
    (void)state;
    begin();
    mock_status(OUT);
    peer_says(false, 6, 0);
    for (uint16_t turn = 7; turn < 10; turn++) {
        mock_turn(turn);
        call();
        assert_told(true, turn);
        assert_int_equal(repeats(1000), 64);
    }
}

// ---- slots

// Slots are lost while nothing else changes: the job is out, or idle, before and after.
static void lost_slots_are_told_at_the_next_call(void **state)
{
    (void)state;
    begin();
    carrier_slots = true;
    mock_slots(slots_word(7, 1));
    carrier_agreed(slots_word(7, 1));
    for (unsigned idle = 0; idle < 2; idle++) {
        mock_status(idle ? STATUS_CONTENDED : STATUS_SCHEDULED);
        call();
        slots_told();
        call();
        assert_int_equal(slots_told(), 0);
        mock_slots(slots_word(6 - 2 * idle, 1));
        call();
        assert_int_equal(slots_told(), slots_word(6 - 2 * idle, 1));
        call();
        assert_int_equal(slots_told(), 0);
    }
}

// Of this rank's slots, 6 of the second agreement, the peer has been told.
static void begin_with_slots_told(void)
{
    begin();
    carrier_slots = true;
    mock_slots(slots_word(6, 2));
    call();
    assert_int_equal(slots_told(), slots_word(6, 2));
}

// One that was told before it took part in the agreement has forgotten it.
static void who_says_more_is_told_again(void **state)
{
    (void)state;
    begin_with_slots_told();
    peer_says(true, 0, slots_word(7, 1));
    mock_slots(slots_word(6, 2));
    call();
    assert_int_equal(slots_told(), 0);
    peer_says(true, 0, slots_word(7, 2));
    mock_slots(slots_word(6, 2));
    call();
    assert_int_equal(slots_told(), slots_word(6, 2));
    assert_int_equal(mock_session_narrowed(), 0);
    peer_says(true, 0, slots_word(2, 2));
    mock_slots(slots_word(6, 2));
    call();
    assert_int_equal(slots_told(), 0);
    assert_int_equal(mock_session_narrowed(), slots_word(2, 2));
}

// When all ranks have counted what they sent, a peer that does not know what is lost here is left
// so.
static void at_the_end_nobody_is_told(void **state)
{
    (void)state;
    begin_with_slots_told();
    int sent = carrier_sent()[MOCK_PEER], received = carrier_received();
    peer_says(true, 0, slots_word(7, 2));
    peer_says(true, 0, slots_word(2, 2));
    carrier_drain();
    assert_int_equal(carrier_received(), received + 2);
    assert_int_equal(carrier_sent()[MOCK_PEER], sent);
    assert_told_nothing();
}

// ---- idle ranks that wait

static void pauses(struct wait *wait, int count)
{
    for (int i = 0; i < count; i++)
        wait_pause(wait);
}

// This rank speaks for its node. What it has to say to the other's does not wait for the job's
// turn.
static void an_idle_job_goes_on_to_agree_about_slots(void **state)
{
    enum { GROWTH_TAG = 3 };
    const int leaders[] = {0, MOCK_PEER};
    char message[256];
    (void)state;
    begin();
    for (int has_slots = 0; has_slots < 2; has_slots++) {
        struct wait wait = wait_new();
        carrier_slots = has_slots;
        leaders_start(leaders, 2, 0, "job");
        mock_more_slots(0);
        mock_status(OUT);
        pauses(&wait, 1);
        mock_status(IDLE);
        pauses(&wait, 1);
        mock_more_slots(1);
        pauses(&wait, 100);
        assert_true((mock_peer_receive(notices, GROWTH_TAG, message, sizeof message) > 0) ==
                    has_slots);
    }
    mock_more_slots(0);
    leaders_drain();
}

// Each nap ends at once: classd always has something to say.
static void an_idle_rank_naps_between_polls(void **state)
{
    struct wait wait = wait_new();
    int ends[2];
    (void)state;
    begin();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    mock_ear(ends[0]);
    mock_status(OUT);
    pauses(&wait, 1000);
    assert_int_equal(mock_session_listened(), 0);
    mock_status(IDLE);
    pauses(&wait, 1); // the first one after so many polls
    assert_int_equal(mock_session_listened(), 1);
    pauses(&wait, 15);
    assert_int_equal(mock_session_listened(), 0);
    pauses(&wait, 1 + 3 * 16);
    assert_int_equal(mock_session_listened(), 4);
    assert_false(wait.overslept);
    mock_ear(-1);
    close(ends[0]);
    close(ends[1]);
}

// Few polls follow a nap in which nothing came: they would cost the scheduled job.
static void an_idle_rank_for_which_nothing_comes_polls_little(void **state)
{
    struct wait wait = wait_new();
    int ends[2];
    (void)state;
    begin();
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) { // with an ear and without
        mock_ear(i == 0 ? ends[0] : -1);
        wait = wait_new();
        mock_status(IDLE);
        pauses(&wait, 15);
        assert_int_equal(wait.napped, 0);
        for (uint32_t nap = 16; nap <= 32; nap += 4) {
            pauses(&wait, nap == 16 ? 1 : 4);
            assert_int_equal(wait.napped, nap);
            assert_true(wait.overslept);
        }
    }
    mock_ear(-1);
    close(ends[0]);
    close(ends[1]);
}

// ---- scheduled ranks that wait

static uint64_t yields_of(uint16_t flags)
{
    struct wait wait = wait_new();
    mock_status(flags);
    atomic_store(&stats_counters[STATS_YIELDS], 0);
    pauses(&wait, 1000);
    return atomic_load(&stats_counters[STATS_YIELDS]);
}

// Where jobs share the node programs start and end in its turn, too.
static void a_scheduled_rank_lets_others_by_while_it_waits(void **state)
{
    (void)state;
    begin();
    stats_on = wait_adapts = true;
    assert_in_range(yields_of(OUT), 1, 999); // fewer where others take long: see courtesy.h
    assert_int_equal(yields_of(STATUS_SCHEDULED), 0); // the job alone
    wait_adapts = false;                              // wait = spin
    assert_int_equal(yields_of(OUT), 0);
    stats_on = false;
}

// It has little CPU time, and naps.
static void an_idle_rank_does_not(void **state)
{
    int ends[2];
    (void)state;
    begin();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    mock_ear(ends[0]); // no nap is long
    stats_on = wait_adapts = true;
    assert_int_equal(yields_of(IDLE), 0);
    stats_on = wait_adapts = false;
    mock_ear(-1);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_peers_of_a_collective_are_not_missed), // first: contacts are for ever
        TEST(each_slice_is_told_once),
        TEST(without_contention_slices_are_not_told),
        TEST(what_was_said_in_an_earlier_slice_asks_for_nothing),
        TEST(where_numbers_tell_nothing_all_is_heeded),
        TEST(headers_have_the_slice_too),
        TEST(who_says_nothing_is_not_told_for_ever),
        TEST(who_waits_for_several_says_that_it_still_waits),
        TEST(who_says_nothing_is_told_news_for_so_long),
        TEST(who_is_idle_is_told_in_every_slice),
        TEST(lost_slots_are_told_at_the_next_call),
        TEST(who_says_more_is_told_again),
        TEST(at_the_end_nobody_is_told),
        TEST(an_idle_job_goes_on_to_agree_about_slots),
        TEST(an_idle_rank_naps_between_polls),
        TEST(an_idle_rank_for_which_nothing_comes_polls_little),
        TEST(a_scheduled_rank_lets_others_by_while_it_waits),
        TEST(an_idle_rank_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
