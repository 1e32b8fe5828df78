#include "pmpi/front/narrow.h"

#include "pmpi/front/real.h"

#include <stdio.h>
#include <stdlib.h>

// Of both families, and of the standard ABI.
enum { MPI_SUCCESS = 0, MPI_ERR_COUNT = 2 };

// MPI_ROOT is -3 or -4, MPI_PROC_NULL -1 or -2.
enum { ROOT_MAX = -3 };

// How many arrays of nonblocking calls stay. Those of so many calls ago are no longer read.
enum { KEPT = 4096 };

enum question { COMM_RANK, COMM_SIZE, COMM_REMOTE_SIZE, COMM_TEST_INTER, TOPO_TEST, CARTDIM_GET };

static void *find(const char *name, _Atomic(void *) *found)
{
    void *function = atomic_load_explicit(found, memory_order_relaxed);
    if (function == NULL) {
        function = front_real(FRONT_ENTRY_PMPI, name);
        atomic_store_explicit(found, function, memory_order_relaxed);
    }
    return function;
}

// A question about the communicator that has one int for its answer.
static int ask(struct narrowing *narrowing, enum question question)
{
    static const char *const names[] = {
        [COMM_RANK] = "Comm_rank",
        [COMM_SIZE] = "Comm_size",
        [COMM_REMOTE_SIZE] = "Comm_remote_size",
        [COMM_TEST_INTER] = "Comm_test_inter",
        [TOPO_TEST] = "Topo_test",
        [CARTDIM_GET] = "Cartdim_get",
    };
    static _Atomic(void *) found[sizeof names / sizeof *names];
    int answer = 0;
    int (*function)(narrow_word, int *) =
        (int (*)(narrow_word, int *))find(names[question], &found[question]);
    if (narrowing->rc == MPI_SUCCESS)
        narrowing->rc = function != NULL ? function(narrowing->comm, &answer) : front_unsupported();
    return narrowing->rc == MPI_SUCCESS ? answer : 0;
}

static int graph_neighbours(struct narrowing *narrowing)
{
    static _Atomic(void *) found;
    int neighbours = 0, rank = ask(narrowing, COMM_RANK);
    int (*count)(narrow_word, int, int *) =
        (int (*)(narrow_word, int, int *))find("Graph_neighbors_count", &found);
    if (narrowing->rc == MPI_SUCCESS)
        narrowing->rc =
            count != NULL ? count(narrowing->comm, rank, &neighbours) : front_unsupported();
    return neighbours;
}

static int dist_graph_neighbours(struct narrowing *narrowing, bool sources)
{
    static _Atomic(void *) found;
    int in = 0, out = 0, weighted = 0;
    int (*count)(narrow_word, int *, int *, int *) =
        (int (*)(narrow_word, int *, int *, int *))find("Dist_graph_neighbors_count", &found);
    if (narrowing->rc == MPI_SUCCESS)
        narrowing->rc =
            count != NULL ? count(narrowing->comm, &in, &out, &weighted) : front_unsupported();
    return sources ? in : out;
}

// Without a topology none: that is for MPI to find fault with.
static int neighbours_of(struct narrowing *narrowing, bool sources)
{
    const struct family *family = front_family();
    int topology = ask(narrowing, TOPO_TEST);
    if (family == NULL)
        narrowing->rc = front_unsupported();
    if (narrowing->rc != MPI_SUCCESS)
        return 0;
    if (topology == family->cart)
        return 2 * ask(narrowing, CARTDIM_GET);
    if (topology == family->graph)
        return graph_neighbours(narrowing);
    return topology == family->dist_graph ? dist_graph_neighbours(narrowing, sources) : 0;
}

static int length_of(struct narrowing *narrowing, enum narrow_length length)
{
    switch (length) {
    case NARROW_SOURCES:
    case NARROW_DESTINATIONS:
        return neighbours_of(narrowing, length == NARROW_SOURCES);
    case NARROW_PEERS:
        if (ask(narrowing, COMM_TEST_INTER))
            return ask(narrowing, COMM_REMOTE_SIZE);
        break;
    case NARROW_GROUP:
        break;
    }
    return ask(narrowing, COMM_SIZE);
}

static bool fits(int64_t count)
{
    return count == (int32_t)count;
}

static void refuse(struct narrowing *narrowing, int64_t count)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    narrowing->rc = MPI_ERR_COUNT;
    if (!atomic_flag_test_and_set(&told))
        fprintf(stderr,
                "cosched: this MPI has no %s, and %lld is too large for an int: the call returns "
                "MPI_ERR_COUNT\n",
                narrowing->name, (long long)count);
}

bool narrow_in_place(narrow_word buffer)
{
    return buffer == 1 || buffer == (narrow_word)-1; // Open MPI's, MPICH's; nobody's buffer
}

bool narrow_at_root(struct narrowing *narrowing, narrow_word root)
{
    if (ask(narrowing, COMM_TEST_INTER))
        return (int)root <= ROOT_MAX;
    return ask(narrowing, COMM_RANK) == (int)root;
}

void narrow_count(struct narrowing *narrowing, narrow_word count)
{
    if (narrowing->rc == MPI_SUCCESS && !fits((int64_t)count))
        refuse(narrowing, (int64_t)count);
}

void narrow_array(struct narrowing *narrowing, narrow_word *array, enum narrow_length length)
{
    const int64_t *wide = (const int64_t *)(uintptr_t)*array;
    int count = wide != NULL ? length_of(narrowing, length) : 0;
    if (narrowing->rc != MPI_SUCCESS || wide == NULL)
        return;
    int *narrow = malloc(((size_t)count + 1) * sizeof *narrow);
    if (narrow == NULL) {
        narrowing->rc = front_unsupported();
        return;
    }
    narrowing->arrays[narrowing->made++] = narrow;
    for (int i = 0; i < count; i++) {
        if (!fits(wide[i])) {
            refuse(narrowing, wide[i]);
            return;
        }
        narrow[i] = (int)wide[i];
    }
    *array = (narrow_word)(uintptr_t)narrow;
}

static void keep(int *array)
{
    static _Atomic(int *) kept[KEPT];
    static atomic_uint next;
    free(atomic_exchange(&kept[atomic_fetch_add(&next, 1) % KEPT], array));
}

int narrow_end(struct narrowing *narrowing, enum narrow_use use)
{
    for (unsigned i = 0; i < narrowing->made; i++) {
        if (use == NARROW_CALL || narrowing->rc != MPI_SUCCESS)
            free(narrowing->arrays[i]);
        else if (use == NARROW_REQUEST)
            keep(narrowing->arrays[i]);
    }
    return narrowing->rc;
}
