#include "pmpi/variant/peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// Communicators in use at once. Far more than an MPI has; memory is touched only where it is used.
#define SLOTS (1u << 17)

enum { AT_ONCE = 64 }; // ranks translated

// What is known of a communicator. Entries are added under the lock and read without it: the key is
// published last. An entry is removed only with its communicator, which no other thread may then be
// using.
struct entry {
    _Atomic uintptr_t key; // the handle's bits + 1; 0: free, REMOVED: was used
    int size;
    int *world_ranks; // of those whom ranks in this communicator mean
    bool spans;
    bool ours; // no member is outside of MPI_COMM_WORLD
    bool inter;
    _Atomic bool neighbours_done;
    struct entry *taken_before; // of those that were ever taken
    bool taken;
};

#define REMOVED UINTPTR_MAX

static struct entry *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int peers_world_size;

static MPI_Group world_group;
static bool has_world_group;
static int *nodes; // of each world rank
static unsigned used;
static struct entry *last_taken;

static uintptr_t key_of(MPI_Comm comm)
{
    return (uintptr_t)comm + 1;
}

static unsigned first_slot(uintptr_t key)
{
    return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % SLOTS;
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

// The world ranks of a group's members. Null on any failure.
static int *translate(MPI_Group group, int *size)
{
    const struct mpi_next *mpi = &mpi_next[1];
    if (mpi->Group_size(group, size) != MPI_SUCCESS || *size <= 0)
        return NULL;
    int *ranks = malloc((size_t)*size * sizeof *ranks);
    int *numbers = malloc((size_t)*size * sizeof *numbers);
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
    free(numbers);
    return ranks;
}

static int *world_ranks_of(int (*get_group)(MPI_Comm, MPI_Group *), MPI_Comm comm, int *size)
{
    MPI_Group group = MPI_GROUP_NULL;
    if (get_group(comm, &group) != MPI_SUCCESS)
        return NULL;
    int *ranks = translate(group, size);
    mpi_next[1].Group_free(&group);
    return ranks;
}

// Looks whether all ranks are known and on one node: *node starts as -1.
static bool known(const int *ranks, int size, int *node, bool *differ)
{
    for (int i = 0; i < size; i++) {
        if (ranks[i] < 0 || ranks[i] >= peers_world_size)
            return false;
        *differ = *differ || (*node >= 0 && *node != nodes[ranks[i]]);
        *node = nodes[ranks[i]];
    }
    return true;
}

static void note_taken(struct entry *entry)
{
    if (entry->taken)
        return;
    entry->taken = true;
    entry->taken_before = last_taken;
    last_taken = entry;
}

// Takes `ranks`; all else is as in `is`.
static void add(MPI_Comm comm, int *ranks, const struct entry *is)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = find(comm);
    unsigned slot = first_slot(key_of(comm));
    for (unsigned i = 0; entry == NULL && used < SLOTS / 4 * 3 && i < SLOTS; i++) {
        uintptr_t at = atomic_load_explicit(&entries[slot].key, memory_order_relaxed);
        if (at == 0 || at == REMOVED) {
            entry = &entries[slot];
            note_taken(entry);
            used++;
        }
        slot = (slot + 1) % SLOTS;
    }
    if (entry != NULL) { // one that is known already was freed where the library did not see it
        free(entry->world_ranks);
        entry->size = is->size;
        entry->world_ranks = ranks;
        entry->spans = is->spans;
        entry->ours = is->ours;
        entry->inter = is->inter;
        atomic_store_explicit(&entry->neighbours_done, false, memory_order_relaxed);
        atomic_store_explicit(&entry->key, key_of(comm), memory_order_release);
        ranks = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(ranks);
}

// Without asking MPI, some of which compare each rank of a group with each of the other.
static void learn_world(void)
{
    int node = -1;
    bool differ = false;
    int *ranks = malloc((size_t)peers_world_size * sizeof *ranks);
    for (int i = 0; ranks != NULL && i < peers_world_size; i++)
        ranks[i] = i;
    if (ranks != NULL)
        add(MPI_COMM_WORLD, ranks,
            &(struct entry){.size = peers_world_size,
                            .spans = known(ranks, peers_world_size, &node, &differ) && differ,
                            .ours = true});
}

void peers_learn(MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    int inter = 0, size = 0, node = -1;
    bool differ = false;
    if (entries == NULL || comm == MPI_COMM_NULL ||
        mpi->Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return;
    int *ranks = world_ranks_of(mpi->Comm_group, comm, &size);
    bool all_known = ranks != NULL && known(ranks, size, &node, &differ);
    if (inter) {
        free(ranks);
        ranks = world_ranks_of(mpi->Comm_remote_group, comm, &size);
        all_known = all_known && ranks != NULL && known(ranks, size, &node, &differ);
    }
    if (ranks != NULL)
        add(comm, ranks,
            &(struct entry){.size = size,
                            .spans = all_known && differ,
                            .ours = all_known,
                            .inter = inter != 0});
}

// False where `like` is not known.
static bool learn_like(MPI_Comm comm, MPI_Comm like)
{
    const struct entry *model = find(like);
    if (model == NULL || comm == MPI_COMM_NULL)
        return false;
    int *ranks = malloc((size_t)model->size * sizeof *ranks);
    for (int i = 0; ranks != NULL && i < model->size; i++)
        ranks[i] = model->world_ranks[i];
    if (ranks != NULL)
        add(comm, ranks, model);
    return true;
}

void peers_learn_like(MPI_Comm comm, MPI_Comm like)
{
    learn_like(comm, like);
}

void peers_learn_duplicate(MPI_Comm comm, MPI_Comm of)
{
    if (!learn_like(comm, of))
        peers_learn(comm);
}

int peers_reserve(int size)
{
    entries = calloc(SLOTS, sizeof *entries);
    nodes = malloc((size_t)size * sizeof *nodes);
    has_world_group = mpi_next[1].Comm_group(MPI_COMM_WORLD, &world_group) == MPI_SUCCESS;
    if (entries != NULL && nodes != NULL && has_world_group)
        return 0;
    peers_stop();
    return -1;
}

int peers_start(const int *node_of, int size)
{
    if (entries == NULL && peers_reserve(size) != 0)
        return -1;
    for (int i = 0; i < size; i++)
        nodes[i] = node_of[i];
    peers_world_size = size;
    learn_world();
    peers_learn(MPI_COMM_SELF);
    return 0;
}

void peers_stop(void)
{
    if (has_world_group)
        mpi_next[1].Group_free(&world_group);
    has_world_group = false;
    for (struct entry *entry = last_taken; entry != NULL; entry = entry->taken_before)
        free(entry->world_ranks);
    last_taken = NULL;
    used = 0;
    free(entries);
    free(nodes);
    entries = NULL;
    nodes = NULL;
}

int peers_find(MPI_Comm comm, int rank)
{
    const struct entry *entry = find(comm);
    return entry != NULL && rank < entry->size ? entry->world_ranks[rank] : PEERS_UNKNOWN;
}

bool peers_find_spans(MPI_Comm comm)
{
    const struct entry *entry = find(comm);
    return entry != NULL && entry->spans;
}

bool peers_intra(MPI_Comm comm)
{
    const struct entry *entry = find(comm);
    int inter = 0;
    if (entry != NULL)
        return !entry->inter;
    return comm != MPI_COMM_NULL && mpi_next[1].Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
           !inter;
}

// Without memory of its own: where that is short on one member, it would decide by itself.
static bool all_in(MPI_Group group, MPI_Group world)
{
    const struct mpi_next *mpi = &mpi_next[1];
    int size = 0, numbers[AT_ONCE], ranks[AT_ONCE];
    if (mpi->Group_size(group, &size) != MPI_SUCCESS)
        return false;
    for (int first = 0; first < size; first += AT_ONCE) {
        int count = size - first < AT_ONCE ? size - first : AT_ONCE;
        for (int i = 0; i < count; i++)
            numbers[i] = first + i;
        if (mpi->Group_translate_ranks(group, count, numbers, world, ranks) != MPI_SUCCESS)
            return false;
        for (int i = 0; i < count; i++) {
            if (ranks[i] == MPI_UNDEFINED)
                return false;
        }
    }
    return true;
}

static bool side_in(int (*get_group)(MPI_Comm, MPI_Group *), MPI_Comm comm, MPI_Group world)
{
    MPI_Group members = MPI_GROUP_NULL;
    bool in = get_group(comm, &members) == MPI_SUCCESS && all_in(members, world);
    if (members != MPI_GROUP_NULL)
        mpi_next[1].Group_free(&members);
    return in;
}

static bool ask_whether_ours(MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Group world = MPI_GROUP_NULL;
    int inter = 0;
    bool ours = mpi->Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
                side_in(mpi->Comm_group, comm, world) &&
                mpi->Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
                (!inter || side_in(mpi->Comm_remote_group, comm, world));
    if (world != MPI_GROUP_NULL)
        mpi->Group_free(&world);
    return ours;
}

bool peers_ours(MPI_Comm comm)
{
    const struct entry *entry = find(comm);
    return entry != NULL ? entry->ours : ask_whether_ours(comm);
}

bool peers_neighbours_once(MPI_Comm comm, bool (*each)(int world_rank))
{
    struct entry *entry = find(comm);
    int rank = 0;
    bool all = true;
    if (entry == NULL || atomic_load_explicit(&entry->neighbours_done, memory_order_relaxed) ||
        mpi_next[1].Comm_rank(comm, &rank) != MPI_SUCCESS)
        return true;
    for (int bit = 1; bit < entry->size; bit *= 2) {
        int neighbour = rank ^ bit;
        if (neighbour < entry->size && entry->world_ranks[neighbour] >= 0)
            all = each(entry->world_ranks[neighbour]) && all;
    }
    atomic_store_explicit(&entry->neighbours_done, all, memory_order_relaxed);
    return all;
}

// Removed entries at the end of a run are free again: else, after many communicators, a look at an
// unknown one would go through all of them.
static void clear_removed(unsigned slot)
{
    if (atomic_load_explicit(&entries[(slot + 1) % SLOTS].key, memory_order_relaxed) != 0)
        return;
    for (; atomic_load_explicit(&entries[slot].key, memory_order_relaxed) == REMOVED;
         slot = (slot + SLOTS - 1) % SLOTS)
        atomic_store_explicit(&entries[slot].key, 0, memory_order_relaxed);
}

bool peers_forget(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return false;
    pthread_mutex_lock(&lock);
    struct entry *entry = find(comm);
    if (entry != NULL) {
        free(entry->world_ranks);
        entry->world_ranks = NULL;
        used--;
        atomic_store_explicit(&entry->key, REMOVED, memory_order_relaxed);
        clear_removed((unsigned)(entry - entries));
    }
    pthread_mutex_unlock(&lock);
    return entry != NULL;
}
