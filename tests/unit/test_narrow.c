// A large-count function that the MPI lacks is the int one, where its counts fit, and an error
// where they do not. The MPI is one whose functions note what they are given.
#include "pmpi/front/narrow.h"
#include "pmpi/front/real.h"
#include "pmpi_front_names.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LARGE     ((int64_t)INT_MAX + 1)
#define ERR_COUNT 2

static const char *const names[] = {FRONT_NAMES};

_Atomic(void *) front_slots[FRONT_FUNCTIONS * 2];

// The communicator of the tests.
static struct {
    int rank, size, remote_size, topology, dimensions, sources, destinations;
} comm;

static const struct family mpi = {.graph = 1, .cart = 2, .dist_graph = 3};
static const struct family *known;

const struct family *front_family(void)
{
    return known;
}

int front_unsupported(void)
{
    return 44;
}

#define ANSWER(function, value)                                                                    \
    static int function(narrow_word handle, int *answer)                                           \
    {                                                                                              \
        assert_ptr_equal((void *)(uintptr_t)handle, &comm);                                        \
        *answer = (value);                                                                         \
        return 0;                                                                                  \
    }
ANSWER(comm_rank, comm.rank)
ANSWER(comm_size, comm.size)
ANSWER(comm_remote_size, comm.remote_size)
ANSWER(comm_test_inter, comm.remote_size > 0)
ANSWER(topo_test, comm.topology)
ANSWER(cartdim_get, comm.dimensions)

static int graph_neighbors_count(narrow_word handle, int rank, int *neighbours)
{
    assert_ptr_equal((void *)(uintptr_t)handle, &comm);
    assert_int_equal(rank, comm.rank);
    *neighbours = comm.sources;
    return 0;
}

static int dist_graph_neighbors_count(narrow_word handle, int *sources, int *destinations,
                                      int *weighted)
{
    assert_ptr_equal((void *)(uintptr_t)handle, &comm);
    *sources = comm.sources;
    *destinations = comm.destinations;
    *weighted = 0;
    return 0;
}

void *front_real(enum front_entry entry, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"Comm_rank", (void *)comm_rank},
        {"Comm_size", (void *)comm_size},
        {"Comm_remote_size", (void *)comm_remote_size},
        {"Comm_test_inter", (void *)comm_test_inter},
        {"Topo_test", (void *)topo_test},
        {"Cartdim_get", (void *)cartdim_get},
        {"Graph_neighbors_count", (void *)graph_neighbors_count},
        {"Dist_graph_neighbors_count", (void *)dist_graph_neighbors_count},
    };
    assert_int_equal(entry, FRONT_ENTRY_PMPI);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    }
    return NULL;
}

static unsigned slot_of(const char *name)
{
    unsigned function = 0;
    while (strcmp(names[function], name) != 0)
        assert_true(++function < FRONT_FUNCTIONS);
    return function * 2;
}

// The int function `name` is `function` from now on, under both names; returns what stands in for
// its large-count form, under the name MPI_...
static void *narrowed(const char *name, void *function)
{
    char large[64];
    snprintf(large, sizeof large, "%s_c", name);
    memset((void *)front_slots, 0, sizeof front_slots);
    front_slots[slot_of(name)] = function;
    assert_non_null(narrow_entries[slot_of(large)]);
    return narrow_entries[slot_of(large)];
}

// What the int function was given.
static struct {
    int calls, count;
    const void *buffers[2];
    const int *sent, *sent_at, *received, *received_at;
    void *last;
} seen;

static int begin(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    memset(&comm, 0, sizeof comm);
    comm.size = 3;
    known = &mpi;
    return 0;
}

static int object; // a handle that is an address, as Open MPI's are

static int mpi_send(const void *buffer, int count, void *type, int dest, int tag, void *handle)
{
    seen.calls++;
    seen.count = count;
    seen.buffers[0] = buffer;
    assert_ptr_equal(type, &object);
    assert_int_equal(dest, -2);
    assert_int_equal(tag, 7);
    assert_ptr_equal(handle, &comm);
    return 5;
}

typedef int send_large(const void *, int64_t, void *, int, int, void *);

static void counts_that_fit_are_handed_on(void **state)
{
    (void)state;
    send_large *send = (send_large *)narrowed("Send", (void *)mpi_send);
    static const int64_t counts[] = {0, 1, -1, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_int_equal(send(&seen, counts[i], &object, -2, 7, &comm), 5);
        assert_int_equal(seen.count, counts[i]);
    }
    assert_ptr_equal(seen.buffers[0], &seen);
    assert_int_equal(seen.calls, 5);
}

static void a_count_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    send_large *send = (send_large *)narrowed("Send", (void *)mpi_send);
    assert_int_equal(send(&seen, LARGE, &object, -2, 7, &comm), ERR_COUNT);
    assert_int_equal(send(&seen, (int64_t)1 << 32, &object, -2, 7, &comm), ERR_COUNT);
    assert_int_equal(seen.calls, 0);
}

static void each_name_has_its_own(void **state)
{
    (void)state;
    unsigned large = slot_of("Send_c"), slot = slot_of("Send");
    narrowed("Send", NULL);
    front_slots[slot + 1] = (void *)mpi_send;
    assert_int_equal(((send_large *)narrow_entries[large + 1])(&seen, 1, &object, -2, 7, &comm), 5);
    assert_null(narrow_entries[slot]);
    for (unsigned i = 0; i < FRONT_FUNCTIONS; i++) {
        size_t length = strlen(names[i]);
        bool is_large = length > 2 && strcmp(names[i] + length - 2, "_c") == 0;
        assert_int_equal(narrow_entries[2 * i] != NULL, is_large);
        assert_int_equal(narrow_entries[2 * i + 1] != NULL, is_large);
    }
}

static int mpi_buffer_detach(void *buffer, int *size)
{
    seen.buffers[0] = buffer;
    *size = -32766;
    return 0;
}

static void what_comes_back_is_widened(void **state)
{
    (void)state;
    int (*detach)(void *, int64_t *) =
        (int (*)(void *, int64_t *))narrowed("Buffer_detach", (void *)mpi_buffer_detach);
    int64_t size = LARGE;
    assert_int_equal(detach(&object, &size), 0);
    assert_int_equal(size, -32766);
    assert_ptr_equal(seen.buffers[0], &object);
}

static int mpi_gatherv(const void *sendbuf, int sendcount, void *sendtype, void *recvbuf,
                       const int recvcounts[], const int displs[], void *recvtype, int root,
                       void *handle)
{
    (void)sendtype, (void)recvtype, (void)root;
    seen.calls++;
    seen.count = sendcount;
    seen.buffers[0] = sendbuf;
    seen.buffers[1] = recvbuf;
    seen.received = recvcounts;
    seen.last = handle;
    for (int i = 0; comm.rank == root && i < comm.size; i++) {
        assert_int_equal(recvcounts[i], i + 1);
        assert_int_equal(displs[i], -10 * i);
    }
    return 0;
}

typedef int gatherv_large(const void *, int64_t, void *, void *, const int64_t *, const int64_t *,
                          void *, int, void *);

static const int64_t counts[] = {1, 2, 3, LARGE}, places[] = {0, -10, -20, LARGE};

static void arrays_are_narrowed_where_they_mean_something(void **state)
{
    (void)state;
    gatherv_large *gatherv = (gatherv_large *)narrowed("Gatherv", (void *)mpi_gatherv);
    const void *in_place = (void *)1;
    comm.rank = 1;
    assert_int_equal(gatherv(in_place, LARGE, NULL, &seen, counts, places, NULL, 1, &comm), 0);
    assert_ptr_equal(seen.buffers[0], in_place);
    assert_ptr_equal(seen.buffers[1], &seen);
    assert_ptr_equal(seen.last, &comm);
    const int64_t *rubbish = (const int64_t *)8; // what an uninitialised variable has
    assert_int_equal(gatherv(&object, 1, NULL, NULL, rubbish, rubbish, NULL, 0, &comm), 0);
    assert_ptr_equal(seen.received, rubbish);
    assert_int_equal(seen.calls, 2);
    assert_int_equal(gatherv(&object, LARGE, NULL, NULL, rubbish, rubbish, NULL, 0, &comm),
                     ERR_COUNT);
    comm.size = 4;
    assert_int_equal(gatherv(&object, 1, NULL, NULL, counts, places, NULL, 1, &comm), ERR_COUNT);
    assert_int_equal(seen.calls, 2);
}

static void between_groups_the_root_says_so(void **state)
{
    (void)state;
    gatherv_large *gatherv = (gatherv_large *)narrowed("Gatherv", (void *)mpi_gatherv);
    comm.remote_size = 2;
    comm.size = 0;
    for (int root = -4; root <= -3; root++) {
        assert_int_equal(gatherv(NULL, 0, NULL, NULL, counts, places, NULL, root, &comm), 0);
        assert_ptr_not_equal(seen.received, counts);
    }
    for (int root = -2; root <= 0; root++) {
        assert_int_equal(gatherv(NULL, 0, NULL, NULL, counts, places, NULL, root, &comm), 0);
        assert_ptr_equal(seen.received, counts);
    }
}

static int mpi_exchange(const void *sendbuf, const int sendcounts[], const int sdispls[],
                        void *sendtype, void *recvbuf, const int recvcounts[], const int rdispls[],
                        void *recvtype, void *handle, void **request)
{
    (void)sendbuf, (void)sendtype, (void)recvbuf, (void)recvtype;
    seen.calls++;
    seen.sent = sendcounts;
    seen.sent_at = sdispls;
    seen.received = recvcounts;
    seen.received_at = rdispls;
    seen.last = handle;
    *request = &object;
    return 0;
}

typedef int exchange_large(const void *, const int64_t *, const int64_t *, void *, void *,
                           const int64_t *, const int64_t *, void *, void *, void **);

static void assert_narrow(const int *narrow, const int64_t *wide, int length)
{
    assert_ptr_not_equal(narrow, wide);
    for (int i = 0; i < length; i++)
        assert_int_equal(narrow[i], wide[i]);
}

static void arrays_stay_after_a_nonblocking_call(void **state)
{
    (void)state;
    exchange_large *exchange = (exchange_large *)narrowed("Ialltoallv", (void *)mpi_exchange);
    void *request = NULL;
    assert_int_equal(
        exchange(&seen, counts, places, NULL, &seen, counts, places, NULL, &comm, &request), 0);
    assert_ptr_equal(request, &object);
    assert_ptr_equal(seen.last, &comm);
    assert_narrow(seen.sent, counts, 3);
    assert_narrow(seen.sent_at, places, 3);
    assert_narrow(seen.received, counts, 3);
    assert_narrow(seen.received_at, places, 3);
    assert_int_equal(
        exchange((void *)-1, NULL, NULL, NULL, &seen, counts, places, NULL, &comm, &request), 0);
    assert_null(seen.sent);
    assert_narrow(seen.received, counts, 3);
}

static void neighbours_are_counted_as_the_topology_says(void **state)
{
    (void)state;
    exchange_large *exchange =
        (exchange_large *)narrowed("Ineighbor_alltoallv", (void *)mpi_exchange);
    static const struct {
        int topology, dimensions, sources, destinations, received, sent;
    } cases[] = {{1, 0, 3, 0, 3, 3}, {2, 1, 0, 0, 2, 2}, {3, 0, 0, 3, 0, 3}, {3, 0, 2, 1, 2, 1}};
    void *request;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        comm.topology = cases[i].topology;
        comm.dimensions = cases[i].dimensions;
        comm.sources = cases[i].sources;
        comm.destinations = cases[i].destinations;
        assert_int_equal(
            exchange(NULL, counts, places, NULL, NULL, counts, places, NULL, &comm, &request), 0);
        assert_narrow(seen.received, counts, cases[i].received);
        assert_narrow(seen.sent_at, places, cases[i].sent);
    }
    known = NULL;
    assert_int_equal(
        exchange(NULL, counts, places, NULL, NULL, counts, places, NULL, &comm, &request), 44);
    assert_int_equal(seen.calls, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(counts_that_fit_are_handed_on, begin),
        cmocka_unit_test_setup(a_count_that_does_not_fit_is_an_error, begin),
        cmocka_unit_test_setup(each_name_has_its_own, begin),
        cmocka_unit_test_setup(what_comes_back_is_widened, begin),
        cmocka_unit_test_setup(arrays_are_narrowed_where_they_mean_something, begin),
        cmocka_unit_test_setup(between_groups_the_root_says_so, begin),
        cmocka_unit_test_setup(arrays_stay_after_a_nonblocking_call, begin),
        cmocka_unit_test_setup(neighbours_are_counted_as_the_topology_says, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
