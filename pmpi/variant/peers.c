#include "pmpi/variant/peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SLOTS 4096u // of communicators in use at once; beyond that peers are unknown, a lost hint

// A communicator's ranks. Entries are added under the lock and read without it: the key is
// published last. An entry is removed only with its communicator, which no other thread may then be
// using.
struct entry {
    _Atomic uintptr_t key; // the handle's bits + 1; 0: free, REMOVED: was used
    int size;
    int *world_ranks;
    _Atomic bool neighbours_done;
};

#define REMOVED UINTPTR_MAX

static struct entry *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Group world_group = MPI_GROUP_NULL;
static unsigned used;

static uintptr_t key_of(MPI_Comm comm)
{
    return (uintptr_t)comm + 1;
}

static unsigned first_slot(uintptr_t key)
{
    return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52) % SLOTS;
}

int peers_start(void)
{
    entries = calloc(SLOTS, sizeof *entries);
    if (entries == NULL)
        return -1;
    if (mpi_next[1].Comm_group(MPI_COMM_WORLD, &world_group) != MPI_SUCCESS)
        return -1;
    return 0;
}

void peers_stop(void)
{
    if (world_group != MPI_GROUP_NULL)
        mpi_next[1].Group_free(&world_group);
    for (unsigned i = 0; entries != NULL && i < SLOTS; i++)
        free(entries[i].world_ranks);
    free(entries);
    entries = NULL;
}

static struct entry *find(MPI_Comm comm)
{
    uintptr_t key = key_of(comm);
    unsigned slot = first_slot(key);
    for (unsigned i = 0; entries != NULL && i < SLOTS; i++, slot = (slot + 1) % SLOTS) {
        uintptr_t at = atomic_load_explicit(&entries[slot].key, memory_order_acquire);
        if (at == key)
            return &entries[slot];
        if (at == 0)
            return NULL;
    }
    return NULL;
}

// The world ranks of those whom ranks in this communicator mean: the remote group of an
// intercommunicator. Null on any failure.
static int *translate(MPI_Comm comm, int *size)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Group group = MPI_GROUP_NULL;
    int inter = 0;
    int *ranks = NULL, *numbers = NULL;
    if (mpi->Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return NULL;
    int rc = inter ? mpi->Comm_remote_group(comm, &group) : mpi->Comm_group(comm, &group);
    if (rc != MPI_SUCCESS || mpi->Group_size(group, size) != MPI_SUCCESS || *size <= 0)
        goto done;
    ranks = malloc((size_t)*size * sizeof *ranks);
    numbers = malloc((size_t)*size * sizeof *numbers);
    for (int i = 0; numbers != NULL && i < *size; i++)
        numbers[i] = i;
    if (ranks == NULL || numbers == NULL ||
        mpi->Group_translate_ranks(group, *size, numbers, world_group, ranks) != MPI_SUCCESS) {
        free(ranks);
        ranks = NULL;
    }
    for (int i = 0; ranks != NULL && i < *size; i++) {
        if (ranks[i] == MPI_UNDEFINED)
            ranks[i] = PEERS_UNKNOWN;
    }
done:
    free(numbers);
    if (group != MPI_GROUP_NULL)
        mpi->Group_free(&group);
    return ranks;
}

static struct entry *add(MPI_Comm comm)
{
    int size = 0;
    struct entry *entry = NULL;
    if (entries == NULL || comm == MPI_COMM_NULL)
        return NULL;
    int *ranks = translate(comm, &size);
    if (ranks == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    entry = find(comm);
    unsigned slot = first_slot(key_of(comm));
    for (unsigned i = 0; entry == NULL && used < SLOTS / 2 && i < SLOTS; i++) {
        uintptr_t at = atomic_load_explicit(&entries[slot].key, memory_order_relaxed);
        if (at == 0 || at == REMOVED) {
            entry = &entries[slot];
            entry->size = size;
            entry->world_ranks = ranks;
            atomic_store_explicit(&entry->neighbours_done, false, memory_order_relaxed);
            used++;
            atomic_store_explicit(&entry->key, key_of(comm), memory_order_release);
            ranks = NULL;
        }
        slot = (slot + 1) % SLOTS;
    }
    pthread_mutex_unlock(&lock);
    free(ranks);
    return entry;
}

static struct entry *find_or_add(MPI_Comm comm)
{
    struct entry *entry = find(comm);
    return entry != NULL ? entry : add(comm);
}

int peers_find(MPI_Comm comm, int rank)
{
    const struct entry *entry = find_or_add(comm);
    return entry != NULL && rank < entry->size ? entry->world_ranks[rank] : PEERS_UNKNOWN;
}

void peers_neighbours_once(MPI_Comm comm, void (*each)(int world_rank))
{
    struct entry *entry = find_or_add(comm);
    int rank = 0;
    if (entry == NULL || atomic_load_explicit(&entry->neighbours_done, memory_order_relaxed) ||
        atomic_exchange_explicit(&entry->neighbours_done, true, memory_order_relaxed) ||
        mpi_next[1].Comm_rank(comm, &rank) != MPI_SUCCESS)
        return;
    for (int bit = 1; bit < entry->size; bit *= 2) {
        int neighbour = rank ^ bit;
        if (neighbour < entry->size && entry->world_ranks[neighbour] >= 0)
            each(entry->world_ranks[neighbour]);
    }
}

void peers_forget(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = find(comm);
    if (entry != NULL) {
        atomic_store_explicit(&entry->key, REMOVED, memory_order_relaxed);
        free(entry->world_ranks);
        entry->world_ranks = NULL;
        used--;
    }
    pthread_mutex_unlock(&lock);
}
