#include "pmpi/variant/orphans.h"

#include "common/units.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/wire.h"

#include <sched.h>

#define WAIT_NS NS_PER_SEC

enum { AT_ONCE = 64 };

_Atomic bool orphans_exist;

// No function of MPI's is called while this is held.
static struct {
    struct wire *first, **end;
    unsigned count;
    unsigned look_at; // from so many on those that free some look after them
    atomic_flag busy;
} line = {.end = &line.first, .look_at = AT_ONCE, .busy = ATOMIC_FLAG_INIT};

static void take(void)
{
    while (atomic_flag_test_and_set_explicit(&line.busy, memory_order_acquire))
        sched_yield();
}

static void give_back(void)
{
    atomic_store_explicit(&orphans_exist, line.count != 0, memory_order_relaxed);
    atomic_flag_clear_explicit(&line.busy, memory_order_release);
}

// True: there are many.
static bool append(struct wire *wire)
{
    take();
    wire->next = NULL;
    *line.end = wire;
    line.end = &wire->next;
    bool many = ++line.count >= line.look_at;
    give_back();
    return many;
}

static struct wire *take_first(void)
{
    take();
    struct wire *wire = line.first;
    if (wire != NULL) {
        line.first = wire->next;
        line.count--;
        if (line.first == NULL)
            line.end = &line.first;
    }
    give_back();
    return wire;
}

static unsigned count(void)
{
    take();
    unsigned found = line.count;
    give_back();
    return found;
}

// Each look costs as much as there are.
static void choose_next_look(void)
{
    take();
    line.look_at = 2 * line.count + AT_ONCE;
    give_back();
}

static bool is_under_way(struct wire *wire)
{
    int flag = 0;
    MPI_Status status;
    int rc = mpi_next[1].Test(&wire->request, &flag, &status);
    if (rc == MPI_SUCCESS && !flag)
        return true;
    if (wire->incoming)
        header_arrived(wire, rc, &status);
    if (wire->request != MPI_REQUEST_NULL)
        mpi_next[1].Request_free(&wire->request);
    header_release(wire);
    return false;
}

// One by one, so that a handler that jumps takes along the one of its error, and no other.
void orphans_look(void)
{
    struct wire *wire;
    if (!atomic_load_explicit(&orphans_exist, memory_order_relaxed))
        return;
    for (unsigned left = count(); left > 0 && (wire = take_first()) != NULL; left--) {
        if (is_under_way(wire))
            append(wire);
    }
    choose_next_look();
}

void orphans_add(struct wire *wire, MPI_Request *request)
{
    wire->request = *request;
    *request = MPI_REQUEST_NULL;
    if (append(wire))
        orphans_look();
}

static bool has_of(MPI_Comm comm)
{
    bool found = false;
    take();
    for (struct wire *wire = line.first; wire != NULL && !found; wire = wire->next)
        found = wire->comm == comm || wire->comm == MPI_COMM_NULL;
    give_back();
    return found;
}

// One that another thread is just looking at is not seen.
void orphans_settle(const MPI_Comm *comm)
{
    struct patience patience = {0};
    if (!atomic_load_explicit(&orphans_exist, memory_order_relaxed) || !core_active ||
        comm == NULL || *comm == MPI_COMM_NULL || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF)
        return;
    orphans_look();
    while (has_of(*comm)) {
        patience_pause(&patience, PATIENCE_FOR_EVER);
        orphans_look();
    }
}

void orphans_wait(void)
{
    struct patience patience = {0};
    orphans_look();
    while (atomic_load_explicit(&orphans_exist, memory_order_relaxed) &&
           patience_pause(&patience, WAIT_NS))
        orphans_look();
}
