#include "pmpi/variant/clock_check.h"

#include "common/clock.h"
#include "pmpi/variant/clock_majority.h"
#include "pmpi/variant/exchange.h"
#include "pmpi/variant/session.h"

#include <stdlib.h>
#include <sys/timex.h>

enum { ROUNDS = 3 };

// What each rank tells all others in the end.
struct stamps {
    uint64_t entered_ns[ROUNDS];
    uint64_t left_ns[ROUNDS];
    uint64_t time_slice_ns;
    uint64_t synchronised; // 0 or 1
};

static struct {
    struct clock_check_job job;
    MPI_Request request;
    int round;
    int have_room, all_have_room;
    struct stamps stamps;
    struct stamps *all;           // by rank
    struct clock_reading *clocks; // of the nodes, and as many to work with
} own;

static bool kernel_says_synchronised(void)
{
    struct timex state = {0};
    int rc = adjtimex(&state);
    return rc >= 0 && rc != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

// Nobody knows the result before everybody has come. It also says whether all have memory for what
// follows: those that have not could take no part in it.
static void meet(void)
{
    own.all_have_room = 0;
    own.stamps.entered_ns[own.round] = clock_wall_ns();
    if (mpi_next[1].Iallreduce(&own.have_room, &own.all_have_room, 1, MPI_INT, MPI_MIN,
                               own.job.comm, &own.request) != MPI_SUCCESS)
        own.request = MPI_REQUEST_NULL;
}

void clock_check_start(const struct clock_check_job *job)
{
    size_t size = (size_t)job->size;
    own.job = *job;
    own.round = 0;
    own.stamps = (struct stamps){.time_slice_ns = job->time_slice_ns,
                                 .synchronised = kernel_says_synchronised()};
    own.all = calloc(size, sizeof *own.all);
    own.clocks = calloc(size, 2 * sizeof *own.clocks);
    own.have_room = own.all != NULL && own.clocks != NULL;
    meet();
}

MPI_Request *clock_check_request(void)
{
    return &own.request;
}

// A node's clock was at that moment between the last of its ranks' entries and the first of their
// ends.
static void narrow(struct clock_reading *reading, const struct stamps *stamps, int round)
{
    if (stamps->entered_ns[round] > reading->earliest_ns)
        reading->earliest_ns = stamps->entered_ns[round];
    if (stamps->left_ns[round] < reading->latest_ns)
        reading->latest_ns = stamps->left_ns[round];
    reading->synchronised = stamps->synchronised == 1;
}

// The nodes' clocks, in the order of their first ranks. One that was set meanwhile tells nothing.
static size_t read_clocks(int round)
{
    size_t count = 0;
    for (int i = 0; i < own.job.size; i++)
        own.clocks[i] = (struct clock_reading){.latest_ns = UINT64_MAX};
    for (int i = 0; i < own.job.size; i++)
        narrow(&own.clocks[own.job.nodes[i]], &own.all[i], round);
    for (int i = 0; i < own.job.size; i++) {
        struct clock_reading reading = own.clocks[i];
        if (own.job.nodes[i] != i)
            continue;
        if (reading.earliest_ns > reading.latest_ns)
            reading = (struct clock_reading){0};
        own.clocks[count++] = reading;
    }
    return count;
}

// How little is known of the clock of which least is known.
static uint64_t width_of(int round)
{
    size_t count = read_clocks(round);
    uint64_t widest_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct clock_reading *clock = &own.clocks[i];
        uint64_t width_ns =
            clock->latest_ns != 0 ? clock->latest_ns - clock->earliest_ns : UINT64_MAX;
        if (width_ns > widest_ns)
            widest_ns = width_ns;
    }
    return widest_ns;
}

static int closest_round(void)
{
    int best = 0;
    for (int round = 1; round < ROUNDS; round++) {
        if (width_of(round) < width_of(best))
            best = round;
    }
    return best;
}

// A tenth of a slot: by so much less a job has its nodes together.
static uint64_t tolerance_ns(void)
{
    uint64_t shortest_ns = UINT64_MAX;
    for (int i = 0; i < own.job.size; i++) {
        if (own.all[i].time_slice_ns < shortest_ns)
            shortest_ns = own.all[i].time_slice_ns;
    }
    return shortest_ns / 10;
}

static size_t place_of_own_node(void)
{
    size_t before = 0;
    for (int i = 0; i < own.job.rank; i++)
        before += own.job.nodes[i] == i;
    return before;
}

// The one who speaks for the node tells its classd, if there is something to tell.
static void judge(void)
{
    if (own.job.nodes[own.job.rank] != own.job.rank)
        return;
    uint64_t tolerable_ns = tolerance_ns();
    size_t count = read_clocks(closest_round()), place = place_of_own_node();
    struct clock_majority majority =
        clock_majority_of(own.clocks, count, tolerable_ns, own.clocks + count);
    int64_t off_ns = clock_off_ns(&own.clocks[place], &majority, own.clocks, count, tolerable_ns);
    if (off_ns != 0)
        session_report_clock(off_ns, count, majority.agreeing);
}

static bool finish(void)
{
    free(own.all);
    free(own.clocks);
    own.all = NULL;
    own.clocks = NULL;
    return true;
}

bool clock_check_go_on(void)
{
    own.stamps.left_ns[own.round++] = clock_wall_ns();
    if (!own.all_have_room)
        return finish();
    if (own.round < ROUNDS) {
        meet();
        return false;
    }
    if (exchange(&own.stamps, own.all, sizeof own.stamps))
        judge();
    return finish();
}
