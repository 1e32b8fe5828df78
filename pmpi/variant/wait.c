#include "pmpi/variant/wait.h"

#include "common/units.h"
#include "pmpi/variant/arrivals.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/courtesy.h"
#include "pmpi/variant/held.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/requests.h"
#include "pmpi/variant/wire.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

enum {
    POLLS_BEFORE_YIELD = 10,    // about what two switches between ranks that yield cost
    POLLS_BEFORE_COURTESY = 64, // what comes at once is not kept waiting
    POLLS_PER_NAP = 16,         // of an idle rank: the steps of a message that has come
    POLLS_PER_VAIN_NAP = 4,     // when nothing came in the last one
    POLLS_PER_CLOCK = 256,      // of a scheduled rank, which polls some million times a second
    LARGE_BYTES = 4096,         // a smaller message has come as a whole
};

// A scheduled rank that has waited this long tells its peers again: they may have become idle, or
// have asked for the CPU in vain.
#define STILL_WAITING_NS UINT64_C(50000000)

// Of an idle rank, between polls, unless something comes for it before; the longer one when nothing
// came in the last.
#define NAP_NS      (8 * NS_PER_MS)
#define VAIN_NAP_NS (16 * NS_PER_MS)

// How late it learns that its job is scheduled, where classd does not tell it.
#define LOOK_NS (2 * NS_PER_MS)

// A program that looks for messages by itself rings so often, besides when it finds one.
#define LOOKS_RING_NS (NS_PER_MS / 2)

bool wait_yields;
bool wait_blocks;
bool wait_adapts;
bool wait_collectives_polled;
_Atomic bool wait_whole;
_Atomic bool wait_generalized;
_Atomic bool wait_persistent;
static uint64_t yield_limit_ns; // 0: polls_before_yield
static uint32_t polls_before_yield = POLLS_BEFORE_YIELD;
static _Atomic bool strangers; // are in some intracommunicator

// The persistent requests that are large, each with its bytes in place of a pointer.
static struct requests large = {.threaded = true, .busy = ATOMIC_FLAG_INIT};

_Static_assert(PEERS_UNKNOWN == DOORBELL_ALL, "a seat is a rank in MPI_COMM_WORLD");

void wait_set_spin_limit(uint64_t spin_limit_ns)
{
    yield_limit_ns = spin_limit_ns;
    if (spin_limit_ns != 0)
        block.spin_limit_ns = spin_limit_ns;
}

void wait_yield_at_once(void)
{
    polls_before_yield = 0;
}

static void pause_scheduled(struct wait *wait, bool sleeps)
{
    if (wait->polls - wait->clocked < POLLS_PER_CLOCK && !sleeps)
        return;
    wait->clocked = wait->polls;
    uint64_t now = clock_now_ns();
    if (wait->last_word_ns == 0)
        wait->last_word_ns = now;
    if (now - wait->last_word_ns < STILL_WAITING_NS)
        return;
    wait->last_word_ns = now;
    carrier_still_waiting();
}

static bool is_held(void)
{
    static _Thread_local struct held held;
    return held_believed(&held, status_word_epoch(session_word()), clock_now_ns(),
                         clock_spent_ns());
}

// True when something came.
static bool nap(uint64_t nap_ns)
{
    int ear = session_ear();
    uint64_t step_ns = ear >= 0 ? nap_ns : LOOK_NS;
    for (uint64_t slept_ns = 0; slept_ns < nap_ns; slept_ns += step_ns) {
        if (!session_word_idle(session_word()))
            return true;
        bool heard;
        enum arrivals came = arrivals_sleep(step_ns, ear, &heard);
        if (heard)
            session_listen();
        if (came != ARRIVALS_NONE)
            return true;
    }
    return false;
}

static bool time_to_nap(const struct wait *wait)
{
    return wait->polls - wait->napped >= (wait->overslept ? POLLS_PER_VAIN_NAP : POLLS_PER_NAP);
}

static void take_nap(struct wait *wait)
{
    wait->napped = wait->polls;
    if (is_held())
        wait->overslept = !nap(wait->overslept ? VAIN_NAP_NS : NAP_NS);
}

// An idle rank has one millisecond of CPU time in a hundred. Spent on polls, it is gone when a
// message comes, and the job stays idle here until the next hundred begin. So the rank sleeps; and
// what it does not spend, the scheduled job has.
static void pause_idle(struct wait *wait)
{
    if (!time_to_nap(wait))
        return;
    carrier_idle_look();
    take_nap(wait);
}

void wait_nap_while_idle(struct wait *wait)
{
    if (carrier.on && time_to_nap(wait) && session_word_idle(session_word()))
        take_nap(wait);
}

static bool time_to_yield(struct wait *wait)
{
    if (yield_limit_ns == 0)
        return wait->polls > polls_before_yield;
    uint64_t now = clock_now_ns();
    if (wait->yield_after_ns == 0)
        wait->yield_after_ns = now + yield_limit_ns;
    return now >= wait->yield_after_ns;
}

// One that is held to its share does not learn who else computes.
static void note_yield(struct wait *wait)
{
    uint64_t before = wait->yielded_ns;
    wait->yielded_ns = clock_now_ns();
    if (session_word_idle(session_word()))
        contention_forget();
    else
        contention_yielded(wait->yielded_ns, wait->yielded_ns - before);
}

static void prepare_yield(struct wait *wait)
{
    wait->yields++;
    doorbell_ring_now_and_then(wait->yields, wait->yields == 1 ? wait->peer : DOORBELL_ALL);
    if (wait_adapts && wait->yielded_ns == 0)
        wait->yielded_ns = clock_now_ns();
}

static void pause_yielding(struct wait *wait)
{
    if (!time_to_yield(wait))
        return;
    prepare_yield(wait);
    sched_yield();
    stats_add(STATS_YIELDS, 1);
    if (wait_adapts)
        note_yield(wait);
}

// A scheduled rank that has a CPU of its own, of a job that shares its nodes: see courtesy.h.
static bool is_courteous(const struct wait *wait)
{
    uint64_t word = session_word();
    return wait_adapts && carrier.on && wait->polls > POLLS_BEFORE_COURTESY &&
           session_word_contended(word) && !session_word_idle(word);
}

static void yield_by_courtesy(void)
{
    static _Thread_local struct courtesy courtesy;
    uint64_t before_ns = clock_now_ns();
    if (!courtesy_allows(&courtesy, before_ns))
        return;
    sched_yield();
    stats_add(STATS_YIELDS, 1);
    courtesy_took(&courtesy, clock_now_ns() - before_ns);
}

bool wait_yields_within(struct wait *wait)
{
    wait->polls++;
    if (doorbell_announced)
        doorbell_withdraw();
    if (wait_adapts && wait->yielded_ns != 0)
        note_yield(wait);
    if (!time_to_yield(wait))
        return false;
    prepare_yield(wait);
    stats_add(STATS_YIELDS, 1);
    return true;
}

bool wait_sleeps_now(void)
{
    return wait_blocks && (!wait_adapts || contention_known()) &&
           !(carrier.on && session_word_idle(session_word()));
}

static void give_away(struct wait *wait, bool sleeps)
{
    if (sleeps) {
        wait->yielded_ns = 0;
        block_pause(&wait->block, wait->peer);
        return;
    }
    if (doorbell_announced)
        doorbell_withdraw();
    if (wait_yields)
        pause_yielding(wait);
    else if (is_courteous(wait))
        yield_by_courtesy();
}

// True: first it is looked whether the last poll has brought what is waited for. Else the CPU would
// be given away beside a message that is there, and a sleeper not be rung that has not slept yet.
static bool is_to_look_again(struct wait *wait)
{
    wait->looked = wait->looks_first && !wait->looked;
    return wait->looked;
}

void wait_pause(struct wait *wait)
{
    wait->polls++;
    if (is_to_look_again(wait))
        return;
    bool sleeps = wait_sleeps_now();
    if (carrier.on) {
        carrier_look();
        if (session_word_idle(session_word()))
            pause_idle(wait);
        else
            pause_scheduled(wait, sleeps);
    }
    give_away(wait, sleeps);
}

void wait_pause_within(struct wait *wait, bool sleeps)
{
    wait->polls++;
    give_away(wait, sleeps);
}

void wait_tested_in_vain(void)
{
    static _Atomic uint64_t rang_ns;
    if (doorbell_announced)
        doorbell_withdraw();
    doorbell_fence(); // what the test has moved comes first
    if (atomic_load_explicit(&doorbell.room->asleep, memory_order_relaxed) == 0)
        return;
    uint64_t now = clock_now_ns();
    if (now - atomic_load_explicit(&rang_ns, memory_order_relaxed) < LOOKS_RING_NS)
        return;
    atomic_store_explicit(&rang_ns, now, memory_order_relaxed);
    doorbell_ring(DOORBELL_ALL);
}

#ifdef OPEN_MPI

void wait_progress(void)
{
    static _Atomic(void *) progress; // itself: there is none
    void *found = atomic_load_explicit(&progress, memory_order_relaxed);
    if (found == NULL) {
        found = core_find("opal_progress");
        if (found == NULL)
            found = &progress;
        atomic_store_explicit(&progress, found, memory_order_relaxed);
    }
    if (found != &progress)
        ((int (*)(void))found)();
}

#else

void wait_progress(void)
{
}

#endif

bool wait_polls_on(MPI_Comm comm)
{
    return peers_intra(comm) &&
           (!atomic_load_explicit(&strangers, memory_order_relaxed) || peers_ours(comm));
}

void wait_merged(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && !peers_ours(comm))
        atomic_store_explicit(&strangers, true, memory_order_relaxed);
}

#ifndef OPEN_MPI

// Predefined, but with gaps, so that they are not among the basic ones: those of MPI_MINLOC.
static bool is_pair(MPI_Datatype type)
{
    return type == MPI_DOUBLE_INT || type == MPI_FLOAT_INT || type == MPI_2INT ||
           type == MPI_LONG_INT || type == MPI_SHORT_INT || type == MPI_LONG_DOUBLE_INT;
}

#endif

// Whether a type that MPI has not seen yet is one. Asked for its size MPI would tell of a wrong one
// to MPI_COMM_WORLD's error handler, though the call to come has a communicator with another. So it
// is tried in a request on the private one, where nobody is told, which is never started.
static bool is_type(MPI_Datatype type)
{
    if (wire_basic_size(type) != 0)
        return true;
    if (type == MPI_DATATYPE_NULL || type == (MPI_Datatype)0)
        return false;
#ifndef OPEN_MPI // where any other handle is taken for one
    static const char anything = 0;
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Request trial = MPI_REQUEST_NULL;
    if (is_pair(type))
        return true;
    if (mpi->Send_init(&anything, 1, type, job.rank, 0, job.comm, &trial) != MPI_SUCCESS)
        return false;
    mpi->Request_free(&trial);
#endif
    return true;
}

static uint64_t bytes_of(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == MPI_DATATYPE_NULL || next->Type_size_x(type, &size) != MPI_SUCCESS || size <= 0 ||
        count <= 0)
        return 0;
    return count < INT64_MAX / size ? (uint64_t)(count * size) : INT64_MAX;
}

void wait_expects_message(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    block_expect(bytes_of(next, count, type));
}

void wait_will_expect(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    if (is_type(type))
        block_expect(bytes_of(next, count, type));
}

// The handle may have been that of another request, which was freed.
void wait_keeps(const struct mpi_next *next, MPI_Request request, MPI_Count count,
                MPI_Datatype type)
{
    uint64_t bytes = bytes_of(next, count, type);
    bool failed;
    if (bytes >= BLOCK_LARGE_BYTES)
        requests_insert(&large, (uintptr_t)request, (void *)(uintptr_t)bytes, &failed);
    else
        wait_forgets(&request);
}

void wait_begins(int count, const MPI_Request *requests)
{
    if (!wait_blocks || requests_none(&large))
        return;
    for (int i = 0; i < count; i++)
        block_expect((uintptr_t)requests_find(&large, (uintptr_t)requests[i]));
}

void wait_forgets(const MPI_Request *request)
{
    if (!requests_none(&large) && request != NULL)
        requests_take(&large, (uintptr_t)*request);
}

bool wait_is_small(const struct mpi_next *next, MPI_Comm comm, MPI_Count count, MPI_Datatype type,
                   bool blocks)
{
    int ranks = 1;
    uint64_t bytes = is_type(type) ? bytes_of(next, count, type) : 0;
    return bytes <= INT_MAX && (!blocks || (next->Comm_size(comm, &ranks) == MPI_SUCCESS &&
                                            bytes * (uint64_t)ranks <= INT_MAX));
}

#ifdef OPEN_MPI

enum found { COMPLETE, UNDER_WAY, INACTIVE, BROKEN };

// MPI_Testall and MPI_Testany tell no fault of a persistent request, MPI_Testsome does. *rc is the
// request's own, or why it is none.
static enum found complete_one(const struct mpi_next *next, MPI_Request *request,
                               MPI_Status *status, int *rc)
{
    int count = 0, index;
    *rc = next->Testsome(1, request, &count, &index, status);
    if (count == MPI_UNDEFINED)
        return INACTIVE;
    if (count == 0)
        return *rc == MPI_SUCCESS ? UNDER_WAY : BROKEN;
    if (*rc == MPI_ERR_IN_STATUS)
        *rc = status->MPI_ERROR;
    return COMPLETE;
}

static bool may_be_persistent(void)
{
    return (wait_persistent || wait_whole) && !wait_generalized;
}

bool wait_for_any(const struct mpi_next *next, int count, MPI_Request *requests, int *index,
                  MPI_Status *status, int *rc)
{
    struct wait wait = wait_new_looking_first(PEERS_UNKNOWN);
    bool active = may_be_persistent() && requests != NULL && index != NULL;
    while (active) {
        active = false;
        for (int i = 0; i < count; i++) {
            MPI_Status own;
            enum found found = complete_one(next, &requests[i], &own, rc);
            if (found == BROKEN)
                return true;
            active |= found == UNDER_WAY;
            if (found != COMPLETE)
                continue;
            *index = i;
            if (status != MPI_STATUS_IGNORE) {
                own.MPI_ERROR = status->MPI_ERROR;
                *status = own;
            }
            return true;
        }
        wait_pause(&wait);
    }
    return false;
}

// One after the other; who looks at many has waited for all of them in the end.
static bool complete_all(const struct mpi_next *next, int count, MPI_Request *requests,
                         MPI_Status *statuses, int *rc)
{
    struct wait wait = wait_new_looking_first(PEERS_UNKNOWN);
    bool failed = false;
    for (int i = 0; i < count; i++) {
        enum found found;
        int flag;
        wait.looked = false;
        statuses[i].MPI_ERROR = MPI_SUCCESS;
        while ((found = complete_one(next, &requests[i], &statuses[i], rc)) == UNDER_WAY)
            wait_pause(&wait);
        if (found == BROKEN)
            return true;
        if (found == INACTIVE)
            *rc = next->Test(&requests[i], &flag, &statuses[i]);
        if (found == INACTIVE || *rc != MPI_SUCCESS) // else there may be a fault that was swallowed
            statuses[i].MPI_ERROR = *rc;
        failed |= *rc != MPI_SUCCESS;
    }
    *rc = failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
    return true;
}

// MPI_Testall tells no fault of a persistent request, nor does MPI_Waitall of one that is complete,
// where there are statuses. Others are looked at one by one, and MPI_Waitall says what it has to
// say when all are complete: no call tells of a fault before.
bool wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests,
                  MPI_Status *statuses, int *rc)
{
    struct wait wait = wait_new();
    if (count > 0 && requests != NULL && statuses != NULL && statuses != MPI_STATUSES_IGNORE &&
        may_be_persistent())
        return complete_all(next, count, requests, statuses, rc);
    for (int i = 0; !wait_generalized && requests != NULL && i < count; i++) {
        int flag = 0, seen;
        while ((seen = next->Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE)) ==
                   MPI_SUCCESS &&
               !flag)
            wait_pause(&wait);
        if (seen != MPI_SUCCESS)
            return false;
    }
    return false;
}

#else

enum { STATUSES_AT_HAND = 64 };

// Its fault is in the status, whatever a handler of the program's leaves of it.
static void wait_for_pending(const struct mpi_next *next, MPI_Request *request, MPI_Status *status)
{
    struct wait wait = wait_new();
    int flag = 0, rc;
    status->MPI_ERROR = MPI_SUCCESS;
    while ((flag = WAIT_UNTOLD, rc = next->Testall(1, request, &flag, status)) == MPI_SUCCESS &&
           !flag)
        wait_pause(&wait);
    if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)
        status->MPI_ERROR = rc;
}

// MPI_Testall tells of a fault before all are complete, MPI_Waitall afterwards. And from 4.2 on the
// first leaves what is complete then in its place, faults included, which would be told again.
static void wait_for_rest(const struct mpi_next *next, int count, MPI_Request *requests,
                          MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        int flag = 0;
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            wait_for_pending(next, &requests[i], &statuses[i]);
        else
            next->Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
}

// Whether it has told of a fault, which a handler of the program's may have made a success of.
static bool some_pending(int count, const MPI_Request *requests, const MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL && statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            return true;
    }
    return false;
}

// MPI_Testall is not quite the same: it does not set MPI_ERROR of who has succeeded; and where
// statuses are ignored, it completes all of more than 64 requests in the way of the last ones
// (MPICH 4.0 to 4.3), persistent ones as if they were none. With persistent collectives it fails,
// and requests looked at one by one are completed thereby (4.2) or never (those of MPI-IO, 4.0).
bool wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests,
                  MPI_Status *statuses, int *rc)
{
    MPI_Status at_hand[STATUSES_AT_HAND], *made = NULL;
    if (wait_whole || wait_generalized || (count > 0 && (requests == NULL || statuses == NULL)))
        return false;
    if (statuses == MPI_STATUSES_IGNORE && count > STATUSES_AT_HAND &&
        (made = malloc((size_t)count * sizeof *made)) == NULL)
        return false;
    if (statuses == MPI_STATUSES_IGNORE)
        statuses = made != NULL ? made : at_hand;
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    struct wait wait = wait_new();
    int flag = 0;
    while ((flag = WAIT_UNTOLD, *rc = next->Testall(count, requests, &flag, statuses)) ==
               MPI_SUCCESS &&
           !flag && !some_pending(count, requests, statuses))
        wait_pause(&wait);
    if (*rc == MPI_ERR_IN_STATUS ? flag <= 0 : *rc == MPI_SUCCESS && flag == 0)
        wait_for_rest(next, count, requests, statuses);
    free(made);
    return true;
}

bool wait_for_any(const struct mpi_next *next, int count, MPI_Request *requests, int *index,
                  MPI_Status *status, int *rc)
{
    (void)next, (void)count, (void)requests, (void)index, (void)status, (void)rc;
    return false;
}

#endif

int wait_request(const struct mpi_next *next, MPI_Request *request, MPI_Status *status, int peer)
{
    struct wait wait = wait_new_for(peer);
    int flag = 0, rc;
    while ((flag = WAIT_UNTOLD, rc = next->Test(request, &flag, status)) == MPI_SUCCESS && !flag)
        wait_pause(&wait);
    return rc;
}

int wait_send(const struct mpi_next *next, MPI_Request *request, MPI_Comm comm, int dest)
{
    int peer = peers_world_rank(comm, dest);
    doorbell_ring(peer);
    return wait_request(next, request, MPI_STATUS_IGNORE, peer);
}

#ifdef OPEN_MPI

// MPI_Recv returns the fault of the message whatever a handler of the program's leaves of it,
// MPI_Test does not.
static int wait_received(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                         int peer)
{
    struct wait wait = wait_new_looking_first(peer);
    MPI_Status own;
    enum found found;
    int rc;
    while ((found = complete_one(next, request, &own, &rc)) == UNDER_WAY)
        wait_pause(&wait);
    if (found != COMPLETE)
        return rc;
    rc = own.MPI_ERROR;
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
    return rc;
}

#else

#define wait_received wait_request

#endif

int wait_receive(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                 MPI_Comm comm, int source)
{
    int peer = peers_world_rank(comm, source);
    doorbell_ring(peer);
    return wait_received(next, request, status, peer);
}

#ifdef OPEN_MPI

bool wait_can_probe(const struct mpi_next *next, int source, int tag, MPI_Comm comm, int *rc)
{
    (void)next, (void)source, (void)tag, (void)comm;
    *rc = MPI_SUCCESS;
    return true;
}

#else

// A handler of the program's may call a fault a success, and then each look would be one.
bool wait_can_probe(const struct mpi_next *next, int source, int tag, MPI_Comm comm, int *rc)
{
    MPI_Request trial = MPI_REQUEST_NULL;
    *rc = next->Recv_init(NULL, 0, MPI_BYTE, source, tag, comm, &trial);
    if (*rc != MPI_SUCCESS || trial == MPI_REQUEST_NULL)
        return false;
    next->Request_free(&trial);
    return true;
}

// Bytes of a message that is large, and fits; else 0.
static uint64_t large_that_fits(const struct mpi_next *next, const MPI_Status *status,
                                MPI_Count count, MPI_Datatype type)
{
    MPI_Count bytes = 0, size = 0;
    bool fits = next->Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
                bytes > LARGE_BYTES && next->Type_size_x(type, &size) == MPI_SUCCESS && size > 0 &&
                bytes / size <= count && bytes <= count * size;
    return fits ? (uint64_t)bytes : 0;
}

int wait_for_message(const struct mpi_next *next, MPI_Request *trial, int source, int tag,
                     MPI_Comm comm, MPI_Count count, MPI_Datatype type, bool *apart)
{
    struct wait wait = wait_new_looking_first(peers_world_rank(comm, source));
    MPI_Status status;
    int flag = 0, rc;
    next->Request_free(trial);
    while ((rc = next->Iprobe(source, tag, comm, &flag, &status)) == MPI_SUCCESS && !flag) {
        wait_progress();
        wait_pause(&wait);
    }
    uint64_t bytes =
        wait_blocks && rc == MPI_SUCCESS ? large_that_fits(next, &status, count, type) : 0;
    block_expect(bytes);
    *apart = bytes > 0;
    return rc;
}

#endif

static bool is_truncated(const struct mpi_next *next, int rc)
{
    int class = MPI_SUCCESS;
    return next->Error_class(rc, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

// A message that was too long says nothing of the send, whose buffer is the program's again, or
// freed, when this returns. After another fault nobody may be there to take it, so it is left.
int wait_sent(const struct mpi_next *next, int rc, MPI_Request *trial, MPI_Request *send)
{
    if (*trial != MPI_REQUEST_NULL)
        next->Request_free(trial);
    if (*send == MPI_REQUEST_NULL)
        return rc;
    if (rc == MPI_SUCCESS)
        return wait_request(next, send, MPI_STATUS_IGNORE, PEERS_UNKNOWN);
    if (is_truncated(next, rc))
        wait_request(next, send, MPI_STATUS_IGNORE, PEERS_UNKNOWN);
    return rc;
}
