#include "pmpi/variant/ballots.h"

#include "common/units.h"
#include "pmpi/variant/bindings.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/exchange.h"
#include "pmpi/variant/half_wrapped.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/peers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOST_MAX 64

// A library that polls other collectives than this one must not be taken for one like it, nor take
// this one for it: the modes have other numbers here, and what has none spins.
enum { POLLED_SET = 2 * WAIT_MODES };

static uint8_t wait_ballot(enum wait_mode mode)
{
    return (uint8_t)(mode == WAIT_SPIN ? mode : mode + POLLED_SET);
}

enum wait_mode ballot_wait(const struct ballot *ballot)
{
    uint8_t number = ballot->wait;
    return number > POLLED_SET && number < POLLED_SET + WAIT_MODES
               ? (enum wait_mode)(number - POLLED_SET)
               : WAIT_SPIN;
}

// With a carrier the ranks meet once more at the end, so all have it or none: who has no memory for
// it says so on the ballot.
static bool reserve_carrier(void)
{
    if (peers_reserve(job.size) == 0) {
        if (carrier_reserve(job.size) == 0)
            return true;
        peers_stop();
    }
    fprintf(stderr,
            "cosched: rank %d is short of memory; no status travels with this job's messages\n",
            job.rank);
    return false;
}

void ballots_release_carrier(void)
{
    carrier_release();
    peers_stop();
}

static bool takes_device_memory(void)
{
    static const char *const questions[] = {"MPIX_Query_cuda_support", "MPIX_Query_rocm_support",
                                            "MPIX_Query_ze_support", "MPIX_Query_hip_support"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        int (*ask)(void) = (int (*)(void))core_find(questions[i]);
        if (ask != NULL && ask() == 1)
            return true;
    }
    return false;
}

// MPI-4.1 has functions that complete requests, and attach buffers, in ways that the table does not
// know: a header that none of ours takes off would be data of the program's.
//
// And a device's memory is not this processor's to copy, or to send together with a header.
static enum piggyback where_headers_can_be(enum piggyback piggyback)
{
    const char *reason = core_mpi_has("Request_get_status_all")
                             ? "does not know all functions of this MPI (MPI-4.1)"
                         : takes_device_memory() ? "cannot be where the MPI takes a device's memory"
                                                 : NULL;
    if (piggyback != PIGGYBACK_HEADER || reason == NULL)
        return piggyback;
    if (job.rank == 0)
        fprintf(stderr, "cosched: piggyback = header %s; all ranks send notices\n", reason);
    return PIGGYBACK_NOTICE;
}

// Threads that the kernel does not know may change places in the midst of a call, and what is kept
// of a thread (core.h) is another one's then: calls of the program may be taken for the library's.
// That costs hints; but polled collectives would not match, and headers would be read as data.
static bool has_user_level_threads(void)
{
    static const char *const starts[] = {"ABT_init", "qthread_initialize"}; // Argobots, Qthreads
    int level = MPI_THREAD_SINGLE;
    if (job.mpi->Query_thread(&level) != MPI_SUCCESS || level != MPI_THREAD_MULTIPLE)
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (core_find(starts[i]) != NULL)
            return true;
    }
    return false;
}

static void leave_user_level_threads_alone(enum wait_mode *wait, enum piggyback *piggyback)
{
    if (!has_user_level_threads())
        return;
    if (job.rank == 0 &&
        (*wait == WAIT_YIELD || *wait == WAIT_BLOCK || *piggyback == PIGGYBACK_HEADER))
        fprintf(stderr, "cosched: this program has user-level threads (Argobots, Qthreads) and "
                        "MPI_THREAD_MULTIPLE, so its ranks spin and send notices\n");
    *wait = WAIT_SPIN;
    if (*piggyback == PIGGYBACK_HEADER)
        *piggyback = PIGGYBACK_NOTICE;
}

// Open MPI's ULFM tells that a peer has died in the calls that wait, not in all by which the
// library would poll in their place; nor do the ranks meet at the end. The launcher says so to all of
// them.
static void leave_fault_tolerance_alone(enum wait_mode *wait, enum piggyback *piggyback)
{
    const bool *tolerates = core_find("ompi_ftmpi_enabled");
    if (tolerates == NULL || !*tolerates)
        return;
    if (job.rank == 0)
        fprintf(stderr,
                "cosched: this job runs with the MPI's fault tolerance (ULFM), so its ranks "
                "spin and send no status\n");
    job.survives_faults = true;
    *wait = WAIT_SPIN;
    *piggyback = PIGGYBACK_OFF;
}

static struct ballot own_ballot(void)
{
    const struct status_page *page = session_page();
    struct ballot ballot = {.doorbell_place = doorbell_place(DOORBELL_DIRECTORY),
                            .place = job.place,
                            .process = contention_own_process(),
                            .registered = job.registered,
                            .can = CAN_GROW | CAN_WATCH_OUT,
                            .roll_calls = half_wrapped_roll_calls(),
                            .stats = job.settings.stats};
    enum wait_mode wait = job.settings.wait;
    enum piggyback piggyback = job.settings.piggyback;
    if (page != NULL) {
        ballot.node_id = page->node_id;
        ballot.time_slice_ns = page->time_slice_ns;
        ballot.gang = page->gang != 0 && !job.joins; // its slots are agreed about
        if (wait == WAIT_DEFAULT)
            wait = page->wait == STATUS_WAIT_YIELD   ? WAIT_YIELD
                   : page->wait == STATUS_WAIT_SPIN  ? WAIT_SPIN
                   : page->wait == STATUS_WAIT_BLOCK ? WAIT_BLOCK
                                                     : WAIT_AUTO;
        if (piggyback == PIGGYBACK_DEFAULT)
            piggyback = page->piggyback == STATUS_PIGGYBACK_HEADER   ? PIGGYBACK_HEADER
                        : page->piggyback == STATUS_PIGGYBACK_NOTICE ? PIGGYBACK_NOTICE
                                                                     : PIGGYBACK_OFF;
        piggyback = where_headers_can_be(piggyback);
    }
    leave_user_level_threads_alone(&wait, &piggyback);
    leave_fault_tolerance_alone(&wait, &piggyback);
    ballot.wait = wait_ballot(wait == WAIT_DEFAULT ? WAIT_AUTO : wait);
    ballot.carries = page != NULL && (piggyback == PIGGYBACK_OFF || reserve_carrier())
                         ? piggyback
                         : PIGGYBACK_OFF;
    ballot.bypassed = bindings_bypass_us();
    return ballot;
}

bool ballots_exchange(struct ballot *ballots)
{
    struct ballot own = own_ballot();
    if (!exchange(&own, ballots, sizeof own))
        return false;
    for (int i = 0; i < job.size; i++)
        half_wrapped_take(job.rank, job.size, i, ballots[i].roll_calls);
    return true;
}

bool ballots_all_can(const struct ballot *ballots, enum ability ability)
{
    for (int i = 0; i < job.size; i++) {
        if ((ballots[i].can & ability) == 0)
            return false;
    }
    return true;
}

// The first rank whose ballot is another one than that of rank 0, or -1.
static int first_other_policy(const struct ballot *ballots)
{
    for (int i = 1; i < job.size; i++) {
        if (ballots[i].gang != ballots[0].gang)
            return i;
    }
    return -1;
}

static int first_other_slice(const struct ballot *ballots)
{
    for (int i = 1; i < job.size; i++) {
        if (ballots[i].time_slice_ns != ballots[0].time_slice_ns)
            return i;
    }
    return -1;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_SEC;
}

// Slots are spoken of by explain_lengths(). No host is asked for: older libraries would not answer.
static void explain_slices(const struct ballot *ballots, int other)
{
    if (job.rank != 0 || ballots[0].gang || ballots[other].gang || job.identity.parent != 0)
        return;
    fprintf(stderr,
            "cosched: time-slices are %.3g s long on the node of rank 0 and %.3g s on that of rank "
            "%d, so these do not switch together; set [scheduler] time_slice alike on all nodes\n",
            seconds(ballots[0].time_slice_ns), seconds(ballots[other].time_slice_ns), other);
}

bool ballots_slices_are_as_long(const struct ballot *ballots)
{
    int other = first_other_slice(ballots);
    if (other >= 0)
        explain_slices(ballots, other);
    return other < 0;
}

// For rank 0, where the rank runs.
static void ask_for_host(int rank, char host[HOST_MAX])
{
    MPI_Request request = MPI_REQUEST_NULL;
    memset(host, 0, HOST_MAX);
    if (job.rank == rank)
        gethostname(host, HOST_MAX - 1);
    if (job.mpi->Ibcast(host, HOST_MAX, MPI_BYTE, rank, job.comm, &request) == MPI_SUCCESS)
        patience_wait(&request, PATIENCE_FOR_EVER);
    host[HOST_MAX - 1] = '\0';
}

static void explain_policies(const struct ballot *ballots, int other)
{
    char host[HOST_MAX];
    ask_for_host(other, host);
    if (job.rank == 0)
        fprintf(stderr,
                "cosched: the policy is %s on the node of rank 0 and %s on %s, so the job has no "
                "slots; set [scheduler] policy alike on all nodes\n",
                ballots[0].gang ? "gang" : "another", ballots[0].gang ? "another" : "gang", host);
}

static void explain_lengths(const struct ballot *ballots, int other)
{
    char host[HOST_MAX];
    ask_for_host(other, host);
    if (job.rank == 0)
        fprintf(stderr,
                "cosched: slots are %.3g s long on the node of rank 0 and %.3g s on %s, so the job "
                "has none; set [gang] slot alike on all nodes\n",
                seconds(ballots[0].time_slice_ns), seconds(ballots[other].time_slice_ns), host);
}

// Whoever joins a job takes no part in its agreement: that is no fault of the nodes.
bool ballots_give_slots(const struct ballot *ballots)
{
    int other = first_other_policy(ballots);
    if (other >= 0 && job.identity.parent == 0)
        explain_policies(ballots, other);
    if (other >= 0 || !ballots[0].gang)
        return false;
    other = first_other_slice(ballots);
    if (other >= 0)
        explain_lengths(ballots, other);
    return other < 0;
}
