#include "pmpi/variant/patience.h"

#include "pmpi/variant/doorbell.h"

#include <sched.h>
#include <time.h>

enum { POLLS_AT_ONCE = 100 };

#define YIELD_NS     NS_PER_MS // an exchange of ranks that are all there is over by then
#define NAP_LEAST_NS (16 * NS_PER_US)
#define NAP_MOST_NS  NS_PER_MS
#define STEP_MOST_NS                                                                               \
    (100 * NS_PER_MS) // between two looks at the clock; what is more, it was stopped

static void nap(struct patience *patience)
{
    uint64_t twice = patience->nap_ns * 2;
    patience->nap_ns = twice < NAP_LEAST_NS  ? NAP_LEAST_NS
                       : twice > NAP_MOST_NS ? NAP_MOST_NS
                                             : twice;
    nanosleep(&(struct timespec){.tv_nsec = (long)patience->nap_ns}, NULL);
}

static void count_time(struct patience *patience)
{
    uint64_t now = clock_now_ns();
    uint64_t step_ns = patience->looked_ns != 0 ? now - patience->looked_ns : 0;
    patience->looked_ns = now;
    patience->waited_ns += step_ns < STEP_MOST_NS ? step_ns : STEP_MOST_NS;
}

bool patience_pause(struct patience *patience, uint64_t timeout_ns)
{
    if (patience->polls++ < POLLS_AT_ONCE)
        return true;
    count_time(patience);
    if (patience->waited_ns >= timeout_ns)
        return false;
    // Ranks may still sleep in some call, when this is the end.
    doorbell_ring_now_and_then(++patience->pauses, DOORBELL_ALL);
    if (patience->waited_ns < YIELD_NS)
        sched_yield();
    else
        nap(patience);
    return true;
}

bool patience_wait(MPI_Request *request, uint64_t timeout_ns)
{
    struct patience patience = {0};
    int flag = 0;
    while (mpi_next[1].Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag) {
        if (!patience_pause(&patience, timeout_ns))
            return false;
    }
    return flag != 0;
}
