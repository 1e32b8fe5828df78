#include "pmpi/variant/lifecycle.h"

#include "common/units.h"
#include "pmpi/variant/agreement.h"
#include "pmpi/variant/announcement.h"
#include "pmpi/variant/bindings.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/clock_check.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/crowding.h"
#include "pmpi/variant/half_wrapped.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/leaders.h"
#include "pmpi/variant/numbering.h"
#include "pmpi/variant/outsiders.h"
#include "pmpi/variant/parting.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/session.h"
#include "pmpi/variant/settings.h"
#include "pmpi/variant/strangers.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wire.h"
#include "pmpi/variant/within.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FINALIZE_DRAIN_NS (10 * NS_PER_SEC)

// What this library can do, and an older one could not. What all have to do alike is done only
// where all can.
enum ability {
    CAN_GROW = 1 << 0,      // look for more slots later
    CAN_WATCH_OUT = 1 << 1, // for outsiders
};

// What each rank tells all others at MPI_Init.
struct ballot {
    uint64_t node_id;
    uint64_t doorbell_place;
    struct crowding_place place;
    struct contention_process process;
    uint8_t registered;
    uint8_t wait;    // enum wait_mode
    uint8_t carries; // enum piggyback
    uint8_t stats;
    uint8_t bypassed;   // Fortran calls of this program do not come by here
    uint8_t gang;       // the node gives slots, and this library asks for them
    uint8_t can;        // enum ability
    uint8_t roll_calls; // see half_wrapped.h
    uint64_t time_slice_ns;
};

static struct {
    const struct mpi_next *mpi; // null: the job has not started
    MPI_Comm comm;              // private duplicate of MPI_COMM_WORLD
    int rank;
    int size;
    struct settings settings;
    struct session_identity identity;
    struct crowding_place place; // before the scheduler has moved this process
    const int *nodes;            // while the job starts, by rank: the first rank on the same node
    bool *remote;                // likewise: is it another than this one's?
    struct error error;          // why this rank has no scheduler
    bool registered;
    bool crowded;       // somewhere ranks share their CPUs with each other
    bool meets_at_last; // see meet_at_last()
} job;

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

static bool agree_on_job_id(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct announcement said = {.starts_ns = 0};
    if (job.rank == 0)
        said = announcement_new(clock_wall_ns());
    if (job.mpi->Ibcast(&said, sizeof said, MPI_BYTE, 0, job.comm, &request) != MPI_SUCCESS ||
        !patience_wait(&request, PATIENCE_FOR_EVER))
        return false;
    job.identity.starts_ns = announcement_read(&said, job.identity.job_id);
    return protocol_job_id_valid(job.identity.job_id);
}

// A library that polls other collectives than this one must not be taken for one like it, nor take
// this one for it: the modes have other numbers here, and what has none spins.
enum { POLLED_SET = WAIT_MODES };

static uint8_t wait_ballot(enum wait_mode mode)
{
    return (uint8_t)(mode == WAIT_SPIN ? mode : mode + POLLED_SET);
}

static enum wait_mode wait_of_ballot(uint8_t number)
{
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

static void release_carrier(void)
{
    carrier_release();
    peers_stop();
}

// MPI-4.1 has functions that complete requests, and attach buffers, in ways that the table does not
// know: a header that none of ours takes off would be data of the program's.
static enum piggyback without_unknown_functions(enum piggyback piggyback)
{
    if (piggyback != PIGGYBACK_HEADER || !core_mpi_has("Request_get_status_all"))
        return piggyback;
    if (job.rank == 0)
        fprintf(stderr, "cosched: piggyback = header does not know all functions of this MPI "
                        "(MPI-4.1); all ranks send notices\n");
    return PIGGYBACK_NOTICE;
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
        ballot.gang = page->gang != 0;
        if (wait == WAIT_DEFAULT)
            wait = page->wait == STATUS_WAIT_YIELD   ? WAIT_YIELD
                   : page->wait == STATUS_WAIT_SPIN  ? WAIT_SPIN
                   : page->wait == STATUS_WAIT_BLOCK ? WAIT_BLOCK
                                                     : WAIT_AUTO;
        if (piggyback == PIGGYBACK_DEFAULT)
            piggyback = page->piggyback == STATUS_PIGGYBACK_HEADER   ? PIGGYBACK_HEADER
                        : page->piggyback == STATUS_PIGGYBACK_NOTICE ? PIGGYBACK_NOTICE
                                                                     : PIGGYBACK_OFF;
        piggyback = without_unknown_functions(piggyback);
    }
    ballot.wait = wait_ballot(wait == WAIT_DEFAULT ? WAIT_AUTO : wait);
    ballot.carries = page != NULL && (piggyback == PIGGYBACK_OFF || reserve_carrier())
                         ? piggyback
                         : PIGGYBACK_OFF;
    ballot.bypassed = bindings_bypass_us();
    return ballot;
}

static bool exchange_ballots(struct ballot *ballots)
{
    struct ballot own = own_ballot();
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.mpi->Iallgather(&own, sizeof own, MPI_BYTE, ballots, sizeof own, MPI_BYTE, job.comm,
                            &request) != MPI_SUCCESS ||
        !patience_wait(&request, PATIENCE_FOR_EVER))
        return false;
    for (int i = 0; i < job.size; i++)
        half_wrapped_take(job.rank, job.size, i, ballots[i].roll_calls);
    return true;
}

// Does it hold on every rank?
static bool agree(int holds)
{
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    return job.mpi->Iallreduce(&holds, &all, 1, MPI_INT, MPI_MIN, job.comm, &request) ==
               MPI_SUCCESS &&
           patience_wait(&request, PATIENCE_FOR_EVER) && all != 0;
}

// Some nodes have a scheduler and some have not: the first rank without one says why, for all.
static void explain_disagreement(int first, int without)
{
    char reason[200] = "";
    char host[64] = "?";
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.rank == first) {
        gethostname(host, sizeof host - 1);
        snprintf(reason, sizeof reason, "rank %d on %s: %.120s", first, host, job.error.text);
    }
    if (job.mpi->Ibcast(reason, sizeof reason, MPI_BYTE, first, job.comm, &request) == MPI_SUCCESS)
        patience_wait(&request, PATIENCE_FOR_EVER);
    reason[sizeof reason - 1] = '\0';
    if (job.rank == 0)
        fprintf(
            stderr,
            "cosched: %d of %d ranks have no scheduler (%s); the job runs without. Start classd "
            "on every node\n",
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
            "cosched: no scheduler takes this job (rank 0 on %s: %.120s); it runs without\n", host,
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
    if (headers && agree(carrier.on))
        header_start(job.comm, job.rank);
    else
        carrier.headers = false;
}

// How the ranks wait, where they agree; otherwise as their MPI does.
static void choose_wait(const struct ballot *ballots, struct crowding_place *places)
{
    int count[WAIT_MODES] = {0};
    for (int i = 0; i < job.size; i++)
        count[wait_of_ballot(ballots[i].wait)]++;
    for (int i = 0; i < job.size; i++)
        places[i] = ballots[i].place;
    job.crowded = crowding_anywhere(places, job.size);
    wait_blocks = count[WAIT_BLOCK] == job.size;
    wait_yields = wait_collectives_polled = wait_blocks || count[WAIT_YIELD] == job.size;
    if (count[WAIT_AUTO] != job.size) {
        if (job.rank == 0 && !wait_yields && count[WAIT_SPIN] != job.size)
            fprintf(
                stderr,
                "cosched: %d of %d ranks have COSCHED_WAIT=yield, %d auto, %d block, %d spin; all "
                "of them spin. Set the same for all\n",
                count[WAIT_YIELD], job.size, count[WAIT_AUTO], count[WAIT_BLOCK], count[WAIT_SPIN]);
        return;
    }
    wait_adapts = true;
    wait_yields = crowding_at(places, job.size, &job.place);
    wait_collectives_polled = job.crowded;
    wait_blocks = job.crowded;
}

// The ranks with which this one shares its CPUs watch out for others who compute there. Of a limit
// on CPU bandwidth, rounded up, a part is nobody's; and where there are more CPUs than ranks some
// may be idle, so each looks at the one that it could have.
static bool watch_out(const struct ballot *ballots)
{
    struct contention_process *mates = calloc((size_t)job.size, sizeof *mates);
    uint32_t count = 0;
    bool watches = false;
    for (int i = 0; mates != NULL && i < job.size; i++) {
        if (ballots[i].place.cpus_id == job.place.cpus_id)
            mates[count++] = ballots[i].process;
    }
    if (mates != NULL && !job.crowded && !job.place.limited && count < job.place.cpus)
        watches = contention_start(&ballots[job.rank].process, 1, 1, NULL);
    else if (mates != NULL && !job.place.limited)
        watches =
            contention_start(mates, (int)count, job.place.cpus,
                             doorbell.room != NULL ? &doorbell.room->contended_until_ns : NULL);
    free(mates);
    return watches;
}

static void use_spin_limit(void)
{
    const struct status_page *page = session_page();
    uint64_t limit_ns = job.settings.spin_limit_ns;
    if (limit_ns == SETTINGS_UNSET)
        limit_ns = page != NULL ? page->spin_limit_ns : 0;
    wait_set_spin_limit(limit_ns <= NS_PER_SEC ? limit_ns : 0);
}

static bool all_can(const struct ballot *ballots, enum ability ability)
{
    for (int i = 0; i < job.size; i++) {
        if ((ballots[i].can & ability) == 0)
            return false;
    }
    return true;
}

// Whether all ranks can have one doorbell.
static bool all_in_one_place(const struct ballot *ballots)
{
    for (int i = 1; i < job.size; i++) {
        if (ballots[i].doorbell_place != ballots[0].doorbell_place)
            return false;
    }
    return ballots[0].doorbell_place != 0;
}

// Rank 0 makes the segment, the others join it, and then nobody else can. All ranks, or none, as
// where one of them does not want it.
static bool agree_on_doorbell(bool wanted)
{
    char name[DOORBELL_NAME_MAX] = "";
    struct error err = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    bool created = job.rank == 0 && doorbell_create(DOORBELL_DIRECTORY, job.size, name, &err) == 0;
    bool told =
        job.mpi->Ibcast(name, sizeof name, MPI_BYTE, 0, job.comm, &request) == MPI_SUCCESS &&
        patience_wait(&request, PATIENCE_FOR_EVER) && name[sizeof name - 1] == '\0' &&
        name[0] != '\0' && strchr(name, '/') == NULL;
    bool joined = job.rank == 0 ? created
                                : told && doorbell_join(DOORBELL_DIRECTORY, name, job.size,
                                                        job.rank, &err) == 0;
    bool all = agree(joined && wanted);
    if (created)
        doorbell_remove(DOORBELL_DIRECTORY, name);
    if (!all)
        doorbell_leave();
    return all;
}

// Ranks that do not know each other's places in other communicators ring for everybody.
static void know_peers(void)
{
    int *nodes = peers_world_size == 0 ? calloc((size_t)job.size, sizeof *nodes) : NULL;
    if (nodes != NULL)
        peers_start(nodes, job.size);
    free(nodes);
}

// How a rank that sleeps is to be woken, by where its peers are. What concerns all ranks is
// computed alike on all. A doorbell only if all of them want one.
static void start_blocking(const struct ballot *ballots, bool wanted)
{
    int here = 0;
    for (int i = 0; i < job.size; i++)
        here += ballots[i].doorbell_place == ballots[job.rank].doorbell_place;
    if (all_in_one_place(ballots) && agree_on_doorbell(wanted)) {
        know_peers();
        block.sign = BLOCK_BY_DOORBELL;
    } else {
        block.sign = here == 1 ? BLOCK_BY_SOCKETS : BLOCK_BY_TIME;
    }
    if (strangers_came())
        block_without_sign();
}

// Ranks that have a CPU each spin until somebody else computes there, and can go on in another way
// then. Not where they could not tell when they had better sleep than yield, nor below a limit on
// CPU bandwidth: who has used that up seems to stand in line.
static void watch_for_outsiders(const struct ballot *ballots)
{
    if (job.size == 1 || !all_can(ballots, CAN_WATCH_OUT))
        return;
    bool possible = outsiders_possible() && watch_out(ballots);
    start_blocking(ballots, possible);
    if (block.sign != BLOCK_BY_DOORBELL)
        block_without_sign();
    else if (possible)
        watch_out(ballots); // and tell each other
    if (possible)
        outsiders_start();
}

// False where a node has no slots to give, by another policy or an older classd.
static bool all_give_slots(const struct ballot *ballots)
{
    for (int i = 0; i < job.size; i++) {
        if (!ballots[i].gang)
            return false;
    }
    return true;
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
static bool slices_are_as_long(const struct ballot *ballots)
{
    for (int i = 0; i < job.size; i++) {
        if (ballots[i].time_slice_ns != ballots[0].time_slice_ns)
            return false;
    }
    return true;
}

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
    carrier_slots = all_give_slots(ballots);
    carrier_turns = slices_are_as_long(ballots);
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
    if (all_can(ballots, CAN_GROW))
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
    if (job.mpi->Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL)
        strangers_come();
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
    if (!make_communicator() || !agree_on_job_id()) {
        free(ballots);
        return;
    }
    meet_at_last();
    look_for_parent();
    job.identity.runtime_dir = job.settings.runtime_dir;
    memcpy(job.identity.list, job.settings.list, sizeof job.identity.list);
    job.identity.rank = (uint32_t)job.rank;
    job.identity.ranks = (uint32_t)job.size;
    job.place = crowding_own_place();
    job.identity.width = job.place.width;
    job.registered = session_register(&job.identity, &job.error) == 0;
    if (ballots != NULL && exchange_ballots(ballots)) {
        struct crowding_place *places = (struct crowding_place *)(ballots + job.size);
        choose_wait(ballots, places);
        struct numbering_rank *ranks = (struct numbering_rank *)(places + job.size);
        number_nodes(ballots, ranks, (int *)(ranks + job.size));
        act_on_ballots(ballots);
        if (!carrier.on)
            release_carrier();
        if (job.registered && carrier_slots) {
            if (nodes_differ())
                compare_clocks();
            agree_on_slots();
        }
        if (carrier.on && carrier_slots)
            start_leaders(ballots);
        use_spin_limit();
        if (wait_blocks)
            start_blocking(ballots, true);
        if (wait_adapts && wait_yields)
            watch_out(ballots);
        if (wait_adapts && !job.crowded && !job.registered)
            watch_for_outsiders(ballots);
    }
    free(ballots);
    job.nodes = NULL;
    job.remote = NULL;
    if (wait_yields || carrier.on)
        within_start();
    core_active = carrier.on || wait_yields || wait_collectives_polled || stats_on || outsiders_on;
    core_quick = carrier.on && !header_on && !wait_yields && !wait_collectives_polled && !stats_on;
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

// The ranks meet before the real MPI_Finalize, and then leave the job's turn to others: taking MPI
// down takes a while and little CPU time, unless strangers are waited for. Where MPICH could hang
// the private communicator is not given back: MPI_Comm_free sends messages, which take the ranks
// apart again.
static void part(bool parts)
{
    enum parting_state state = parting_meet(job.comm, PARTING_ANSWERS);
    if (parts)
        session_part();
    contention_stop();
    doorbell_leave();
    peers_stop();
    if (PARTING_ANSWERS)
        parting_linger(job.size, state, job.crowded, parts);
    else
        job.mpi->Comm_free(&job.comm);
}

// No notice is left on its way when MPI ends: all ranks learn how many were sent to them, and
// receive exactly those.
static void finish_carrier(void)
{
    int expected = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.mpi->Ireduce_scatter_block(carrier_sent(), &expected, 1, MPI_INT, MPI_SUM, job.comm,
                                       &request) == MPI_SUCCESS &&
        patience_wait(&request, PATIENCE_FOR_EVER)) {
        struct patience patience = {0};
        carrier_drain();
        while (carrier_received() < expected && patience_pause(&patience, FINALIZE_DRAIN_NS))
            carrier_drain();
    }
    carrier_stop();
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
            " to their end %" PRIu64 "\n",
            job.identity.job_id, job.size,
            header_on    ? "header"
            : carrier.on ? "notice"
                         : "off",
            wait_blocks && !wait_adapts ? "block"
            : wait_collectives_polled   ? "yield"
                                        : "spin",
            all[STATS_MESSAGES], all[STATS_NOTICES], all[STATS_REQUESTS],
            (double)all[STATS_WAITED_NS] / 1e9, (double)all[STATS_OWN_NS] / 1e9, all[STATS_YIELDS],
            all[STATS_SLEEPS], all[STATS_OVERSLEPT]);
}

// Who has not come by here for every call may be connected to strangers.
static void leave_job(void)
{
    bool parts = core_active && !bindings_bypass_us() && !strangers_came();
    core_active = core_quick = false;
    within_stop();
    outsiders_stop();
    if (job.mpi == NULL || job.comm == MPI_COMM_NULL)
        return;
    // Here, as nobody waits for this rank when it parts. Who is on one node with all of its peers
    // has not looked.
    session_check_generation(session_word());
    if (stats_on)
        print_stats();
    if (header_on)
        header_stop();
    if (carrier.on)
        finish_carrier();
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
