#include "pmpi/front/ucx.h"

#include "common/clock.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

// More at once are not known; MPICH has one, or as many as it has virtual interfaces.
enum { WORKERS_MAX = 64 };

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

static _Atomic(void *) workers[WORKERS_MAX];
static _Atomic uint32_t connections_left;
static _Atomic uint64_t linger_ns;

typedef unsigned progress_function(void *worker);

static _Atomic(progress_function *) ucx_progress; // UCX's own; null: not found yet
static void (*_Atomic when_nothing_moved)(void);

static int is_ucp(struct dl_phdr_info *object, size_t size, void *handle)
{
    (void)size;
    const char *slash = strrchr(object->dlpi_name, '/');
    if (strncmp(slash != NULL ? slash + 1 : object->dlpi_name, "libucp.so", 9) != 0)
        return 0;
    *(void **)handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)handle != NULL;
}

// Behind this library, or where a program such as Python has opened its MPI for itself.
static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name), *handle = NULL;
    if (found == NULL && dl_iterate_phdr(is_ucp, &handle) != 0)
        found = dlsym(handle, name);
    return found;
}

static void replace(void *old, void *new)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        void *expected = old;
        if (atomic_compare_exchange_strong(&workers[i], &expected, new))
            return;
    }
}

static unsigned no_progress(void *worker)
{
    (void)worker;
    return 0;
}

static progress_function *find_progress(void)
{
    progress_function *found = (progress_function *)find("ucp_worker_progress");
    if (found == NULL)
        return no_progress;
    atomic_store_explicit(&ucx_progress, found, memory_order_relaxed);
    return found;
}

static progress_function *own_progress(void)
{
    progress_function *own = atomic_load_explicit(&ucx_progress, memory_order_relaxed);
    return own != NULL ? own : find_progress();
}

// UCX may have gone since the last worker, and come back elsewhere: so its progress is found anew.
ucx_status ucp_worker_create(void *context, const void *params, void **worker)
{
    ucx_status (*create)(void *, const void *, void **) =
        (ucx_status(*)(void *, const void *, void **))find("ucp_worker_create");
    ucx_status status = create != NULL ? create(context, params, worker) : UCX_ERR_UNSUPPORTED;
    if (status == UCX_OK) {
        find_progress();
        replace(NULL, *worker);
    }
    return status;
}

void ucp_worker_destroy(void *worker)
{
    void (*destroy)(void *) = (void (*)(void *))find("ucp_worker_destroy");
    replace(worker, NULL);
    if (destroy != NULL)
        destroy(worker);
}

void ucx_when_nothing_moved(void (*look)(void))
{
    atomic_store_explicit(&when_nothing_moved, look, memory_order_release);
}

unsigned ucp_worker_progress(void *worker)
{
    unsigned moved = own_progress()(worker);
    if (moved == 0) {
        void (*look)(void) = atomic_load_explicit(&when_nothing_moved, memory_order_acquire);
        if (look != NULL)
            look();
    }
    return moved;
}

static unsigned progress_all(progress_function *function)
{
    unsigned moved = 0;
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        void *worker = atomic_load(&workers[i]);
        moved += worker != NULL ? function(worker) : 0;
    }
    return moved;
}

// Gives the CPU away between answers: those who have not asked yet need it.
static void answer_for(uint64_t long_ns)
{
    progress_function *function = own_progress();
    uint64_t begin_ns = clock_now_ns(), elapsed_ns = 0;
    for (; elapsed_ns < long_ns; elapsed_ns = clock_now_ns() - begin_ns) {
        if (progress_all(function) > 0)
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
    void *(*disconnect)(void *) = (void *(*)(void *))find("ucp_disconnect_nb");
    void *request = disconnect != NULL ? disconnect(connection) : NULL;
    if (was_last())
        answer_for(atomic_load(&linger_ns));
    return request;
}

void ucx_linger(uint32_t connections, uint64_t long_ns)
{
    atomic_store(&linger_ns, long_ns);
    atomic_store(&connections_left, connections);
}
