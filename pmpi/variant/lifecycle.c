#include "pmpi/variant/lifecycle.h"

#include "common/units.h"
#include "pmpi/variant/agreement.h"
#include "pmpi/variant/announcement.h"
#include "pmpi/variant/ballots.h"
#include "pmpi/variant/bindings.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/clock_check.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/crowding.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/half_wrapped.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/leaders.h"
#include "pmpi/variant/numbering.h"
#include "pmpi/variant/origin.h"
#include "pmpi/variant/outsiders.h"
#include "pmpi/variant/parting.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/peers.h"
#include "pmpi/variant/session.h"
#include "pmpi/variant/strangers.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wait_choice.h"
#include "pmpi/variant/wire.h"
#include "pmpi/variant/within.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINALIZE_DRAIN_NS (10 * NS_PER_SEC)

static bool make_communicator(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.mpi->Comm_idup(MPI_COMM_WORLD, &job.comm, &request) != MPI_SUCCESS)
        return false;
    while (!patience_wait(&request, job.settings.init_timeout_ns))
        half_wrapped_end(job.rank, job.size, &request);
    job.mpi->Comm_set_errhandler(job.comm, MPI_ERRORS_RETURN);
    return true;
}

// Who was spawned joins the job of those parents or brothers who are on his node, lest they take
// turns with each other; where there are none, he does as rank 0.
static bool agree_on_job_id(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct announcement said = {.starts_ns = 0};
    char found[PROTOCOL_JOB_ID_MAX];
    job.joins = job.identity.parent != 0 &&
                session_find_job(job.settings.runtime_dir, job.identity.parent, found);
    if (job.rank == 0)
        said = job.joins ? announcement_of(found, clock_wall_ns())
                         : announcement_new(clock_wall_ns(), "/proc/self/cgroup");
    if (job.mpi->Ibcast(&said, sizeof said, MPI_BYTE, 0, job.comm, &request) != MPI_SUCCESS ||
        !patience_wait(&request, PATIENCE_FOR_EVER))
        return false;
    job.identity.starts_ns = announcement_read(&said, job.identity.job_id);
    if (!protocol_job_id_valid(job.identity.job_id))
        return false;
    if (job.joins && job.rank != 0 && strcmp(found, job.identity.job_id) == 0)
        job.joins = false; // these may be ranks of its own job, who were quicker
    if (job.joins)
        memcpy(job.identity.job_id, found, sizeof job.identity.job_id);
    return true;
}

// Some nodes have a scheduler and some have not: the first rank without one says why, for all.
static void explain_disagreement(int first, int without)
{
    char reason[200] = "";
    char host[64] = "?";
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.rank == first) {
        gethostname(host, sizeof host - 1);
        snprintf(reason, sizeof reason, "rank %d on %s: %.140s", first, host, job.error.text);
    }
    if (job.mpi->Ibcast(reason, sizeof reason, MPI_BYTE, first, job.comm, &request) == MPI_SUCCESS)
        patience_wait(&request, PATIENCE_FOR_EVER);
    reason[sizeof reason - 1] = '\0';
    if (job.rank == 0)
        fprintf(stderr,
                "cosched: %d of %d ranks have no scheduler (%s); the job runs without. classd must "
                "run on every node and take all ranks there\n",
                without, job.size, reason);
}

// Without any scheduler there is nothing to say. With one that takes nobody, once.
static void explain_refusal(void)
{
    char host[64] = "?";
    if (job.rank != 0 || !session_met())
        return;
    gethostname(host, sizeof host - 1);
    fprintf(stderr,
            "cosched: no scheduler takes this job (rank 0 on %s: %.260s); it runs without\n", host,
            job.error.text);
}

static void number_nodes(const struct ballot *ballots, struct numbering_rank *ranks, int *nodes)
{
    for (int i = 0; i < job.size; i++)
        ranks[i] = (struct numbering_rank){.node_id = ballots[i].node_id, .rank = i};
    numbering_nodes(ranks, job.size, nodes);
    job.nodes = nodes;
    job.remote = (bool *)(nodes + job.size);
    for (int i = 0; i < job.size; i++)
        job.remote[i] = nodes[i] != nodes[job.rank];
}

// With what all ranks have reserved. An older library finds out only now whether it has the memory,
// and asks the others where headers are to travel.
static void start_carrier(bool headers)
{
    peers_start(job.nodes, job.size);
    carrier_start(job.comm, job.size, job.remote, headers);
    if (headers && job_agree(carrier.on))
        header_start(job.comm, job.rank);
    else
        carrier.headers = false;
}

static bool nodes_differ(void)
{
    for (int i = 1; i < job.size; i++) {
        if (job.nodes[i] != 0)
            return true;
    }
    return false;
}

// All or nobody: what the ballots of all ranks lead to is computed alike on every rank.
static void act_on_ballots(const struct ballot *ballots)
{
    int registered = 0, carriers = 0, headers = 0, bypassed = 0, first_without = -1;
    for (int i = 0; i < job.size; i++) {
        registered += ballots[i].registered;
        carriers += ballots[i].carries >= PIGGYBACK_NOTICE;
        headers += ballots[i].carries == PIGGYBACK_HEADER;
        bypassed += ballots[i].bypassed;
        stats_on |= ballots[i].stats != 0;
        if (!ballots[i].registered && first_without < 0)
            first_without = i;
    }
    if (registered != 0 && registered != job.size)
        explain_disagreement(first_without, job.size - registered);
    if (registered == 0)
        explain_refusal();
    if (registered != job.size) {
        session_leave();
        job.registered = false;
        return;
    }
    if (bypassed > 0 && job.rank == 0)
        fprintf(
            stderr,
            "cosched: Fortran calls of this MPI do not pass through libcosched_pmpi.so (found on "
            "%d of %d ranks); no status travels with this job's messages\n",
            bypassed, job.size);
    if (headers != 0 && headers != job.size && carriers == job.size && job.rank == 0)
        fprintf(stderr,
                "cosched: only %d of %d ranks have piggyback = header; all of them send notices\n",
                headers, job.size);
    carrier_slots = ballots_give_slots(ballots);
    carrier_turns = ballots_slices_are_as_long(ballots);
    if (carriers == job.size && nodes_differ() && bypassed == 0)
        start_carrier(headers == job.size);
}

// The nodes of a job that shares out slots must have the same time of day. What becomes of one that
// has not is its classd's business.
static void compare_clocks(void)
{
    clock_check_start(&(struct clock_check_job){.comm = job.comm,
                                                .rank = job.rank,
                                                .size = job.size,
                                                .nodes = job.nodes,
                                                .time_slice_ns = session_page()->time_slice_ns});
    while (patience_wait(clock_check_request(), PATIENCE_FOR_EVER) && !clock_check_go_on())
        continue;
}

// One rank of each node speaks for it.
static void agree_on_slots(void)
{
    agreement_start(job.comm, job.nodes[job.rank] == job.rank, job.identity.job_id);
    while (patience_wait(agreement_request(), PATIENCE_FOR_EVER) && !agreement_go_on())
        continue;
    if (carrier.on)
        carrier_agreed(agreement_word());
}

// Sets that differ from node to node would stay so where no notice tells of it; without slots the
// job has its turns as under yoo-jette.
static void look_for_slots(void)
{
    if (!nodes_differ()) {
        agree_on_slots();
        return;
    }
    if (carrier.on) {
        compare_clocks();
        agree_on_slots();
    } else if (job.rank == 0) {
        fprintf(stderr, "cosched: without a status on its messages this job has no slots under "
                        "policy gang, only turns (libcosched_pmpi(7), COSCHED_PIGGYBACK)\n");
    }
}

// Who can look for more slots later: jobs on several nodes whose notices go everywhere. On one node
// classd needs nobody's word.
static void start_leaders(const struct ballot *ballots)
{
    int *leaders = calloc((size_t)job.size, sizeof *leaders);
    int count = 0;
    for (int i = 0; leaders != NULL && i < job.size; i++) {
        if (job.nodes[i] == i)
            leaders[count++] = i;
    }
    if (ballots_all_can(ballots, CAN_GROW))
        leaders_start(leaders, count, job.rank, job.identity.job_id);
    free(leaders);
}

static int copy_nothing(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)comm, (void)keyval, (void)state, (void)value, (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

static void leave_job(void);

static int leave_at_last(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value, (void)state;
    core_go_in();
    leave_job();
    return MPI_SUCCESS;
}

// MPI_Finalize first deletes what is attached to MPI_COMM_SELF, in the opposite order to that in
// which it came, and MPI is still whole for a program that is told of it: it may tell other ranks,
// who do not finalize before. So the ranks meet when what was attached first is deleted.
static void meet_at_last(void)
{
    int keyval = MPI_KEYVAL_INVALID;
    if (job.mpi->Comm_create_keyval(copy_nothing, leave_at_last, &keyval, NULL) != MPI_SUCCESS)
        return;
    job.meets_at_last = job.mpi->Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS;
    job.mpi->Comm_free_keyval(&keyval);
}

static void look_for_parent(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    bool spawned = job.mpi->Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
    if (spawned)
        strangers_come();
    struct origin origin = origin_of(spawned);
    job.identity.world = origin.world;
    job.identity.parent = origin.parent;
}

static void job_start(void)
{
    const struct mpi_next *mpi = job.mpi = &mpi_next[1];
    job.comm = MPI_COMM_NULL;
    settings_read(&job.settings);
    if (mpi->Comm_rank(MPI_COMM_WORLD, &job.rank) != MPI_SUCCESS ||
        mpi->Comm_size(MPI_COMM_WORLD, &job.size) != MPI_SUCCESS)
        return;
    if (job.settings.complaint[0] != '\0' && job.rank == 0)
        fprintf(stderr, "cosched: %s\n", job.settings.complaint);
    struct ballot *ballots =
        calloc((size_t)job.size, sizeof *ballots + sizeof(struct crowding_place) +
                                     sizeof(struct numbering_rank) + sizeof(int) + sizeof(bool));
    look_for_parent();
    if (!make_communicator() || !job_meet(ballots != NULL) || !agree_on_job_id()) {
        free(ballots);
        return;
    }
    meet_at_last();
    job.identity.runtime_dir = job.settings.runtime_dir;
    memcpy(job.identity.list, job.settings.list, sizeof job.identity.list);
    job.identity.rank = (uint32_t)job.rank;
    job.identity.ranks = (uint32_t)job.size;
    job.place = crowding_own_place(job.settings.runtime_dir);
    job.identity.width = job.place.width;
    job.registered = session_register(&job.identity, &job.error) == 0;
    if (ballots_exchange(ballots)) {
        struct crowding_place *places = (struct crowding_place *)(ballots + job.size);
        wait_choice_make(ballots, places);
        struct numbering_rank *ranks = (struct numbering_rank *)(places + job.size);
        number_nodes(ballots, ranks, (int *)(ranks + job.size));
        act_on_ballots(ballots);
        if (!carrier.on)
            ballots_release_carrier();
        if (job.registered && carrier_slots)
            look_for_slots();
        if (carrier.on && carrier_slots)
            start_leaders(ballots);
        wait_choice_start(ballots);
    }
    free(ballots);
    job.nodes = NULL;
    job.remote = NULL;
    if (wait_yields || carrier.on)
        within_start();
    // One that does not share its CPU rings for those that do, and sleep.
    core_active = carrier.on || wait_yields || wait_blocks || wait_collectives_polled || stats_on ||
                  outsiders_on;
    core_quick = wait_choice_quick();
    if (!core_active)
        core_bypass();
    else
        wire_start();
}

// In a call of the program to one of the functions below, which an MPI may make of each other. The
// depth of calls does not tell: one that an error handler has left, by an exception or a jump, is
// never at its end, and the other ranks come to the library's part of MPI_Finalize all the same.
static _Thread_local bool inside;

static void enter(void)
{
    inside = true;
    core_go_in();
}

static int leave(int rc)
{
    core_come_out();
    inside = false;
    return rc;
}

int lifecycle_Init(const struct mpi_next *next, int *argc, char ***argv)
{
    if (inside)
        return next->Init(argc, argv);
    enter();
    session_prepare();
    int rc = next->Init(argc, argv);
    if (rc == MPI_SUCCESS)
        job_start();
    return leave(rc);
}

int lifecycle_Init_thread(const struct mpi_next *next, int *argc, char ***argv, int required,
                          int *provided)
{
    if (inside)
        return next->Init_thread(argc, argv, required, provided);
    enter();
    session_prepare();
    int rc = next->Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        job_start();
    return leave(rc);
}

static bool threads_may_wait(void)
{
    int level = MPI_THREAD_MULTIPLE;
    job.mpi->Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

// The ranks meet before the real MPI_Finalize, and then leave the job's turn to others: taking MPI
// down takes a while and little CPU time, unless strangers are waited for. Where MPICH could hang
// the private communicator is not given back: MPI_Comm_free sends messages, which take the ranks
// apart again.
static void part(bool parts)
{
    if (job.survives_faults) { // so without a word
        contention_stop();
        if (!threads_may_wait())
            doorbell_leave();
        peers_stop();
        return;
    }
    enum parting_state state = parting_meet(job.comm, PARTING_ANSWERS);
    if (PARTING_ANSWERS)
        parting_take_unreceived();
    if (parts)
        session_part();
    contention_stop();
    // A thread that waits on a session's communicator may sleep there, or be about to.
    if (!threads_may_wait())
        doorbell_leave();
    peers_stop();
    if (PARTING_ANSWERS)
        parting_linger(job.size, state, job.crowded, parts);
    else
        job.mpi->Comm_free(&job.comm);
}

// No notice is left on its way when MPI ends: all ranks learn how many were sent to them, and
// receive exactly those. By a reduction of everybody's numbers, as Open MPI scatters by sends of
// one rank to all others.
static void finish_carrier(void)
{
    int *sent = carrier_sent();
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.mpi->Iallreduce(MPI_IN_PLACE, sent, job.size, MPI_INT, MPI_SUM, job.comm, &request) ==
            MPI_SUCCESS &&
        patience_wait(&request, PATIENCE_FOR_EVER)) {
        struct patience patience = {0};
        carrier_drain();
        while (carrier_received() < sent[job.rank] && patience_pause(&patience, FINALIZE_DRAIN_NS))
            carrier_drain();
    }
    carrier_stop();
}

// What all ranks do, though outsiders may have this one yield.
static const char *wait_name(void)
{
    if (wait_blocks && !wait_adapts)
        return "block";
    return (wait_adapts ? job.crowded : wait_yields) ? "yield" : "spin";
}

static void print_stats(void)
{
    uint64_t own[STATS_COUNTERS], all[STATS_COUNTERS] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < STATS_COUNTERS; i++)
        own[i] = atomic_load_explicit(&stats_counters[i], memory_order_relaxed);
    if (job.mpi->Ireduce(own, all, STATS_COUNTERS, MPI_UINT64_T, MPI_SUM, 0, job.comm, &request) !=
            MPI_SUCCESS ||
        !patience_wait(&request, PATIENCE_FOR_EVER) || job.rank != 0)
        return;
    fprintf(stderr,
            "cosched: job %s ranks %d carrier %s wait %s: messages %" PRIu64 " notices %" PRIu64
            " requests %" PRIu64 " waited %.3f s library %.3f s yields %" PRIu64 " sleeps %" PRIu64
            " to their end %" PRIu64 " scheduler %s\n",
            job.identity.job_id, job.size,
            header_on    ? "header"
            : carrier.on ? "notice"
                         : "off",
            wait_name(), all[STATS_MESSAGES], all[STATS_NOTICES], all[STATS_REQUESTS],
            (double)all[STATS_WAITED_NS] / 1e9, (double)all[STATS_OWN_NS] / 1e9, all[STATS_YIELDS],
            all[STATS_SLEEPS], all[STATS_OVERSLEPT], job.registered ? "yes" : "no");
}

// Who has not come by here for every call may be connected to strangers.
static void leave_job(void)
{
    bool parts = core_active && !bindings_bypass_us() && !strangers_came();
    core_active = core_quick = false;
    within_stop();
    outsiders_stop();
    wait_choice_stop();
    if (job.mpi == NULL || job.comm == MPI_COMM_NULL)
        return;
    // Here, as nobody waits for this rank when it parts. Who is on one node with all of its peers
    // has not looked.
    session_check_generation(session_word());
    if (stats_on && !job.survives_faults)
        print_stats();
    if (header_on)
        header_stop();
    if (carrier.on)
        finish_carrier();
    orphans_look(); // of messages that others have sent late
    part(parts);
}

// Calls that a program makes when what it has attached is deleted are its own, like all others.
int lifecycle_Finalize(const struct mpi_next *next)
{
    if (inside)
        return next->Finalize();
    inside = true;
    core_come_out(); // of a call that an error handler has left
    if (!job.meets_at_last) {
        core_go_in();
        leave_job();
    }
    int rc = next->Finalize();
    session_exit();
    return leave(rc);
}
