#include "pmpi/variant/peers.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// Communicators in use at once. Far more than an MPI has; memory is touched only where it is used.
#define SLOTS (1u << 17)

enum {
    AT_ONCE = 64,      // ranks translated
    UNASKED = INT_MIN, // a rank that the MPI was not asked about
    SPANS = 1,         // members on several nodes, all of them of MPI_COMM_WORLD
    OURS = 2,          // no member is outside of MPI_COMM_WORLD
    ALL_ASKED = 4,
};

// Whom the ranks of some communicators with the same members mean. Some MPIs take a step for each
// pair of members to tell it of all, so that they are asked about those only who are talked to.
struct roster {
    unsigned uses;   // entries; under the lock
    MPI_Group group; // MPI_GROUP_NULL: nothing is to be asked
    int size;
    _Atomic int is; // SPANS, OURS, ALL_ASKED
    _Atomic int world_ranks[];
};

// What is known of a communicator. Entries are added under the lock and read without it: the key is
// published last. An entry is removed only with its communicator, which no other thread may then be
// using.
struct entry {
    _Atomic uintptr_t key; // the handle's bits + 1; 0: free, REMOVED: was used
    struct roster *roster;
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

static int translate(MPI_Group group, int count, const int *ranks, int *world_ranks)
{
    int rc = mpi_next[1].Group_translate_ranks(group, count, ranks, world_group, world_ranks);
    for (int i = 0; i < count; i++) {
        if (rc != MPI_SUCCESS || world_ranks[i] == MPI_UNDEFINED)
            world_ranks[i] = PEERS_UNKNOWN;
    }
    return rc;
}

static int ask(struct roster *roster, int rank)
{
    int world_rank = PEERS_UNKNOWN;
    translate(roster->group, 1, &rank, &world_rank);
    atomic_store_explicit(&roster->world_ranks[rank], world_rank, memory_order_relaxed);
    return world_rank;
}

static int world_rank_of(struct roster *roster, int rank)
{
    int world_rank = atomic_load_explicit(&roster->world_ranks[rank], memory_order_relaxed);
    return world_rank == UNASKED ? ask(roster, rank) : world_rank;
}

// Some at once, as one by one takes an MPI longer that goes through a list each time.
static void ask_about_all(struct roster *roster)
{
    int ranks[AT_ONCE], world_ranks[AT_ONCE];
    for (int first = 0; first < roster->size; first += AT_ONCE) {
        int count = roster->size - first < AT_ONCE ? roster->size - first : AT_ONCE;
        for (int i = 0; i < count; i++)
            ranks[i] = first + i;
        translate(roster->group, count, ranks, world_ranks);
        for (int i = 0; i < count; i++)
            atomic_store_explicit(&roster->world_ranks[first + i], world_ranks[i],
                                  memory_order_relaxed);
    }
}

// Whether all ranks are known, and in *differ, whether on several nodes: *node starts as -1.
static bool known(struct roster *roster, int *node, bool *differ)
{
    for (int i = 0; i < roster->size; i++) {
        int rank = world_rank_of(roster, i);
        if (rank < 0 || rank >= peers_world_size)
            return false;
        *differ = *differ || (*node >= 0 && *node != nodes[rank]);
        *node = nodes[rank];
    }
    return true;
}

static int what_is(bool all_known, bool differ)
{
    return ALL_ASKED | (all_known ? OURS : 0) | (all_known && differ ? SPANS : 0);
}

static bool is(const struct entry *entry, int what)
{
    struct roster *roster = entry->roster;
    int found = atomic_load_explicit(&roster->is, memory_order_relaxed);
    if (!(found & ALL_ASKED)) {
        int node = -1;
        bool differ = false;
        ask_about_all(roster);
        bool all_known = known(roster, &node, &differ);
        found = what_is(all_known, differ);
        atomic_store_explicit(&roster->is, found, memory_order_relaxed);
    }
    return found & what;
}

// Of as many as the group has; null without memory. The group is the roster's then.
static struct roster *roster_new(MPI_Group group, int size)
{
    struct roster *roster = malloc(sizeof *roster + (size_t)size * sizeof *roster->world_ranks);
    if (roster == NULL)
        return NULL;
    *roster = (struct roster){.group = group, .size = size};
    for (int i = 0; i < size; i++)
        roster->world_ranks[i] = group == MPI_GROUP_NULL ? i : UNASKED;
    return roster;
}

static struct roster *roster_of(int (*get_group)(MPI_Comm, MPI_Group *), MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Group group = MPI_GROUP_NULL;
    struct roster *roster = NULL;
    int size = 0;
    if (get_group(comm, &group) != MPI_SUCCESS)
        return NULL;
    if (mpi->Group_size(group, &size) == MPI_SUCCESS && size > 0)
        roster = roster_new(group, size);
    if (roster == NULL)
        mpi->Group_free(&group);
    return roster;
}

// One use less; the caller holds the lock, or nobody else is there. Returns what is to be freed
// without it, as that calls MPI.
static struct roster *roster_let_go(struct roster *roster)
{
    return roster != NULL && --roster->uses == 0 ? roster : NULL;
}

static void roster_free(struct roster *roster)
{
    if (roster == NULL)
        return;
    if (roster->group != MPI_GROUP_NULL)
        mpi_next[1].Group_free(&roster->group);
    free(roster);
}

static void note_taken(struct entry *entry)
{
    if (entry->taken)
        return;
    entry->taken = true;
    entry->taken_before = last_taken;
    last_taken = entry;
}

// Takes one use of the roster.
static void add(MPI_Comm comm, struct roster *roster, bool inter)
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
    roster->uses++;
    if (entry != NULL) { // one that is known already was freed where the library did not see it
        struct roster *before = entry->roster;
        entry->roster = roster;
        entry->inter = inter;
        atomic_store_explicit(&entry->neighbours_done, false, memory_order_relaxed);
        atomic_store_explicit(&entry->key, key_of(comm), memory_order_release);
        roster = before;
    }
    roster = roster_let_go(roster);
    pthread_mutex_unlock(&lock);
    roster_free(roster);
}

// Without asking MPI.
static void learn_world(void)
{
    int node = -1;
    bool differ = false;
    struct roster *roster = roster_new(MPI_GROUP_NULL, peers_world_size);
    if (roster == NULL)
        return;
    bool all_known = known(roster, &node, &differ);
    atomic_store_explicit(&roster->is, what_is(all_known, differ), memory_order_relaxed);
    add(MPI_COMM_WORLD, roster, false);
}

// The local group counts as well. All are asked about at once: there are few such communicators.
static void look_at_both_sides(MPI_Comm comm, struct roster *remote)
{
    int node = -1;
    bool differ = false, all_known = false;
    struct roster *local = roster_of(mpi_next[1].Comm_group, comm);
    if (local != NULL) {
        ask_about_all(local);
        all_known = known(local, &node, &differ);
        roster_free(local);
    }
    ask_about_all(remote);
    all_known = all_known && known(remote, &node, &differ);
    atomic_store_explicit(&remote->is, what_is(all_known, differ), memory_order_relaxed);
}

void peers_learn(MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    int inter = 0;
    if (entries == NULL || comm == MPI_COMM_NULL ||
        mpi->Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return;
    struct roster *roster = roster_of(inter ? mpi->Comm_remote_group : mpi->Comm_group, comm);
    if (roster != NULL && inter)
        look_at_both_sides(comm, roster);
    if (roster != NULL)
        add(comm, roster, inter != 0);
}

// False where `like` is not known.
static bool learn_like(MPI_Comm comm, MPI_Comm like)
{
    const struct entry *model = find(like);
    if (model == NULL || comm == MPI_COMM_NULL)
        return false;
    add(comm, model->roster, model->inter);
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
    for (struct entry *entry = last_taken; entry != NULL; entry = entry->taken_before)
        roster_free(roster_let_go(entry->roster));
    if (has_world_group)
        mpi_next[1].Group_free(&world_group);
    has_world_group = false;
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
    return entry != NULL && rank < entry->roster->size ? world_rank_of(entry->roster, rank)
                                                       : PEERS_UNKNOWN;
}

bool peers_find_spans(MPI_Comm comm)
{
    const struct entry *entry = find(comm);
    return entry != NULL && is(entry, SPANS);
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
    return entry != NULL ? is(entry, OURS) : ask_whether_ours(comm);
}

bool peers_neighbours_once(MPI_Comm comm, bool (*each)(int world_rank))
{
    struct entry *entry = find(comm);
    int rank = 0;
    bool all = true;
    if (entry == NULL || atomic_load_explicit(&entry->neighbours_done, memory_order_relaxed) ||
        mpi_next[1].Comm_rank(comm, &rank) != MPI_SUCCESS)
        return true;
    for (int bit = 1; bit < entry->roster->size; bit *= 2) {
        int neighbour = rank ^ bit;
        int world_rank = neighbour < entry->roster->size ? world_rank_of(entry->roster, neighbour)
                                                         : PEERS_UNKNOWN;
        if (world_rank >= 0)
            all = each(world_rank) && all;
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
    struct roster *last = NULL;
    if (comm == MPI_COMM_NULL)
        return false;
    pthread_mutex_lock(&lock);
    struct entry *entry = find(comm);
    if (entry != NULL) {
        last = roster_let_go(entry->roster);
        entry->roster = NULL;
        used--;
        atomic_store_explicit(&entry->key, REMOVED, memory_order_relaxed);
        clear_removed((unsigned)(entry - entries));
    }
    pthread_mutex_unlock(&lock);
    roster_free(last);
    return entry != NULL;
}
