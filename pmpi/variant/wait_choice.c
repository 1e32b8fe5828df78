#include "pmpi/variant/wait_choice.h"

#include "common/units.h"
#include "pmpi/variant/block.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/outsiders.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/peers.h"
#include "pmpi/variant/strangers.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/within.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// How the ranks wait, where they agree; otherwise as their MPI does.
void wait_choice_make(const struct ballot *ballots, struct crowding_place *places)
{
    int count[WAIT_MODES] = {0};
    for (int i = 0; i < job.size; i++)
        count[ballot_wait(&ballots[i])]++;
    for (int i = 0; i < job.size; i++)
        places[i] = ballots[i].place;
    job.crowded = crowding_anywhere(places, job.size);
    wait_blocks = count[WAIT_BLOCK] == job.size;
    wait_yields = wait_blocks || count[WAIT_YIELD] == job.size;
    wait_collectives_polled = WAIT_CAN_POLL_COLLECTIVES && wait_yields;
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
    wait_collectives_polled = WAIT_CAN_POLL_COLLECTIVES && job.crowded;
    wait_blocks = job.crowded;
}

// The ranks with which this one shares its CPUs watch out for others who compute there. Of a limit
// on CPU bandwidth, rounded up, a part is nobody's; and where there is a CPU for each rank others
// may compute on one of them only, so each looks at the one that it could have.
static bool watch_out(const struct ballot *ballots)
{
    struct contention_process *mates = calloc((size_t)job.size, sizeof *mates);
    uint32_t count = 0;
    bool watches = false;
    for (int i = 0; mates != NULL && i < job.size; i++) {
        if (ballots[i].place.cpus_id == job.place.cpus_id)
            mates[count++] = ballots[i].process;
    }
    if (mates != NULL && !job.crowded && !job.place.limited && count <= job.place.cpus)
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
    bool all = job_agree(joined && wanted);
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
    if (job.size == 1 || !ballots_all_can(ballots, CAN_WATCH_OUT))
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

// CPUs that this job's own ranks on this node can use; 0: who joins them makes no difference.
static uint32_t own_width;

// Not where another thread may be waiting while the way to wait changes.
static void watch_for_joiners(const struct ballot *ballots)
{
    int level = MPI_THREAD_MULTIPLE;
    mpi_next[1].Query_thread(&level);
    own_width = 0;
    if (level == MPI_THREAD_MULTIPLE || !wait_adapts || wait_yields || !job.registered)
        return;
    for (int i = 0; i < job.size; i++) {
        if (ballots[i].node_id == ballots[job.rank].node_id)
            own_width += ballots[i].place.width;
    }
    core_follows = true;
    core_follow();
}

bool wait_choice_quick(void)
{
    return carrier.on && !header_on && !wait_yields && !wait_blocks && !wait_collectives_polled &&
           !stats_on && !strangers_came();
}

static void follow_joiners(void)
{
    const struct status_page *page = session_page();
    if (page == NULL)
        return;
    uint32_t width = atomic_load_explicit(&page->width, memory_order_relaxed);
    bool shares = width > own_width && width > page->cpus;
    if (shares == wait_yields)
        return;
    wait_yields = shares;
    core_quick = wait_choice_quick();
    if (!shares)
        return;
    atomic_store_explicit(&carrier.settled, 0, memory_order_relaxed);
    block_without_sign();
    within_start();
}

void core_follow(void)
{
    if (outsiders_on)
        outsiders_follow();
    else if (own_width > 0)
        follow_joiners();
}

void wait_choice_start(const struct ballot *ballots)
{
    use_spin_limit();
    watch_for_joiners(ballots);
    if (wait_blocks)
        start_blocking(ballots, true);
    if (wait_adapts && wait_yields)
        watch_out(ballots);
    if (wait_adapts && !job.crowded && !job.registered)
        watch_for_outsiders(ballots);
}

void wait_choice_stop(void)
{
    own_width = 0;
    core_follows = outsiders_on;
}
