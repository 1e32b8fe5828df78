#include "pmpi/front/ucx.h"

#include "common/clock.h"
#include "pmpi/front/objects.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

// Of a table of workers, MPICH's one, or as many as it has virtual interfaces. A worker is in the
// places from that of its address on, or not in the table.
enum { PLACE_BITS = 9, PLACES = 1 << PLACE_BITS, PROBES = 8 };

#define YIELD_NS NS_PER_MS
#define NAP_NS   (50 * NS_PER_US)

// UCX's headers are not needed for the little that is used. Its status is a packed enum.
typedef signed char ucx_status;
enum { UCX_OK = 0, UCX_ERR_UNSUPPORTED = -22 };

#define EXPORTED __attribute__((visibility("default")))
EXPORTED ucx_status ucp_worker_create(void *context, const void *params, void **worker);
EXPORTED void ucp_worker_destroy(void *worker);
EXPORTED void *ucp_disconnect_nb(void *connection);
EXPORTED unsigned ucp_worker_progress(void *worker);

typedef unsigned progress_function(void *worker);

// Each with the function of its own UCX: a process may have several. And with the object that had
// it made: others than an MPI use UCX, by threads of their own. Who sees the worker sees both.
static struct place {
    _Atomic(void *) worker;
    _Atomic(progress_function *) progress;
    _Atomic(const void *) user;
} places[PLACES];

static _Atomic uint32_t connections_left;
static _Atomic uint64_t linger_ns;

static void (*_Atomic when_nothing_moved)(void);

// As wheels for Python rename what they bring along: libucp-5c599099.so.0.0.0.
static bool is_ucp(const char *file)
{
    return strncmp(file, "libucp.so", 9) == 0 ||
           (strncmp(file, "libucp-", 7) == 0 && strstr(file, ".so") != NULL);
}

// What the caller would have reached without this library: behind it, or where a program such as
// Python has opened UCX's user for itself, in what that is linked to.
static void *find(const char *name, const void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        found = objects_find_from(caller, name);
    return found != NULL ? found : objects_find(name, is_ucp);
}

// Where the object begins that the address lies in; null: it is of none.
static const void *object_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static struct place *place_of(const void *worker, unsigned probe)
{
    uint64_t hash = ((uint64_t)(uintptr_t)worker >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &places[((hash >> (64 - PLACE_BITS)) + probe) % PLACES];
}

static void take_out(void *worker)
{
    for (unsigned i = 0; i < PROBES; i++) {
        void *expected = worker;
        if (atomic_compare_exchange_strong(&place_of(worker, i)->worker, &expected, NULL))
            return;
    }
}

// A place is taken by what is no worker until the function is there.
static void add(void *worker, progress_function *progress, const void *user)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct place *place = place_of(worker, i);
        void *expected = NULL;
        if (!atomic_compare_exchange_strong(&place->worker, &expected, &places))
            continue;
        atomic_store_explicit(&place->progress, progress, memory_order_relaxed);
        atomic_store_explicit(&place->user, user, memory_order_relaxed);
        atomic_store_explicit(&place->worker, worker, memory_order_release);
        return;
    }
}

static unsigned no_progress(void *worker)
{
    (void)worker;
    return 0;
}

static progress_function *find_progress(const void *caller)
{
    progress_function *found = (progress_function *)find("ucp_worker_progress", caller);
    return found != NULL ? found : no_progress;
}

// The function that was found for the worker as it was made, or null.
static progress_function *known_progress(void *worker)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct place *place = place_of(worker, i);
        if (atomic_load_explicit(&place->worker, memory_order_acquire) == worker)
            return atomic_load_explicit(&place->progress, memory_order_relaxed);
    }
    return NULL;
}

ucx_status ucp_worker_create(void *context, const void *params, void **worker)
{
    const void *caller = __builtin_return_address(0);
    ucx_status (*create)(void *, const void *, void **) =
        (ucx_status(*)(void *, const void *, void **))find("ucp_worker_create", caller);
    ucx_status status = create != NULL ? create(context, params, worker) : UCX_ERR_UNSUPPORTED;
    if (status == UCX_OK) {
        take_out(*worker); // of a UCX that went without destroying it
        add(*worker, find_progress(caller), object_of(caller));
    }
    return status;
}

// The worker's own UCX knows best where to go on.
void ucp_worker_destroy(void *worker)
{
    const void *caller = __builtin_return_address(0);
    progress_function *own = known_progress(worker);
    void (*destroy)(void *) =
        (void (*)(void *))find("ucp_worker_destroy", own != NULL ? (const void *)own : caller);
    take_out(worker);
    if (destroy != NULL)
        destroy(worker);
}

void ucx_when_nothing_moved(void (*look)(void))
{
    atomic_store_explicit(&when_nothing_moved, look, memory_order_release);
}

// MPICH polls by this without end: mostly one look at the table.
unsigned ucp_worker_progress(void *worker)
{
    progress_function *own = known_progress(worker);
    if (own == NULL)
        own = find_progress(__builtin_return_address(0));
    unsigned moved = own(worker);
    if (moved == 0) {
        void (*look)(void) = atomic_load_explicit(&when_nothing_moved, memory_order_acquire);
        if (look != NULL)
            look();
    }
    return moved;
}

static unsigned progress_all_of(const void *user)
{
    unsigned moved = 0;
    for (size_t i = 0; i < PLACES; i++) {
        void *worker = atomic_load_explicit(&places[i].worker, memory_order_acquire);
        if (worker != NULL && worker != &places &&
            atomic_load_explicit(&places[i].user, memory_order_relaxed) == user)
            moved += atomic_load_explicit(&places[i].progress, memory_order_relaxed)(worker);
    }
    return moved;
}

// Gives the CPU away between answers: those who have not asked yet need it.
static void answer_for(uint64_t long_ns, const void *user)
{
    uint64_t begin_ns = clock_now_ns(), elapsed_ns = 0;
    for (; elapsed_ns < long_ns; elapsed_ns = clock_now_ns() - begin_ns) {
        if (progress_all_of(user) > 0)
            continue;
        if (elapsed_ns < YIELD_NS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static bool was_last(void)
{
    uint32_t left = atomic_load(&connections_left);
    while (left > 0 && !atomic_compare_exchange_weak(&connections_left, &left, left - 1)) {
    }
    return left == 1;
}

void *ucp_disconnect_nb(void *connection)
{
    const void *caller = __builtin_return_address(0);
    void *(*disconnect)(void *) = (void *(*)(void *))find("ucp_disconnect_nb", caller);
    void *request = disconnect != NULL ? disconnect(connection) : NULL;
    if (was_last())
        answer_for(atomic_load(&linger_ns), object_of(caller));
    return request;
}

void ucx_linger(uint32_t connections, uint64_t long_ns)
{
    atomic_store(&linger_ns, long_ns);
    atomic_store(&connections_left, connections);
}
