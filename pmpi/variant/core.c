#include "pmpi/variant/core.h"

#include "pmpi/front/family.h"
#include "pmpi/front/front.h"

#ifdef OPEN_MPI
#define FRONT_TAKES_FOR(name) FAMILY_OPENMPI_##name
#else
#define FRONT_TAKES_FOR(name) FAMILY_MPICH_##name
#endif
#define FRONT_KNOWS(name)                                                                          \
    _Static_assert((int)FRONT_TAKES_FOR(name) == (int)MPI_##name,                                  \
                   "the front, which has no MPI's header, knows MPI_" #name)
FRONT_KNOWS(GRAPH);
FRONT_KNOWS(CART);
FRONT_KNOWS(DIST_GRAPH);
FRONT_KNOWS(ERR_UNSUPPORTED_OPERATION);

struct mpi_next mpi_next[2];
bool core_active;
bool core_quick;
bool core_follows;
_Thread_local int core_depth;
_Thread_local uintptr_t core_frame;
_Thread_local bool core_within;
bool stats_on;
_Atomic uint64_t stats_counters[STATS_COUNTERS];

static const struct front_api *front;

void core_bypass(void)
{
    front->bypass("Finalize");
}

bool core_mpi_has(const char *name)
{
    return front->real(FRONT_ENTRY_PMPI, name) != NULL;
}

void *core_find(const char *symbol)
{
    return front->find(symbol);
}

void core_linger(uint32_t connections, uint64_t linger_ns)
{
    front->linger(connections, linger_ns);
}

void core_when_nothing_moved(void (*look)(void))
{
    front->when_nothing_moved(look);
}

#ifdef OPEN_MPI

struct predefined predefined;

static bool find_predefined(void)
{
    static const char *const names[] = {
#define PREDEFINED(object) #object,
#include "pmpi/variant/predefined.def"
#undef PREDEFINED
    };
    void **objects = (void **)&predefined;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        objects[i] = front->find(names[i]);
        if (objects[i] == NULL)
            return false;
    }
    return true;
}

#else

static bool find_predefined(void)
{
    return true;
}

#endif

front_variant_fn cosched_pmpi_variant __attribute__((visibility("default")));

int cosched_pmpi_variant(const struct front_api *api, void **entries, size_t count)
{
    static const char *const names[MPI_NEXT_FUNCTIONS] = {MPI_NEXT_NAMES};
    static const unsigned char since[MPI_NEXT_FUNCTIONS] = {MPI_NEXT_SINCE};
    if (api->version != FRONT_API_VERSION || api->table != MPI_NEXT_TABLE ||
        count != MPI_NEXT_WRAPPED * 2)
        return FRONT_OTHER_VERSION;
    _Static_assert(sizeof(struct mpi_next) == MPI_NEXT_FUNCTIONS * sizeof(void *),
                   "the structure is also an array in the order of the names");
    front = api;
    if (!find_predefined())
        return FRONT_MPI_TOO_OLD;
    for (int entry = 0; entry < 2; entry++) {
        void **functions = (void **)&mpi_next[entry];
        for (size_t i = 0; i < MPI_NEXT_FUNCTIONS; i++) {
            functions[i] = api->real((enum front_entry)entry, names[i]);
            // MPI-3 is what every MPI of today has; without all of it there is no service.
            if (functions[i] == NULL && since[i] <= 3)
                return FRONT_MPI_TOO_OLD;
        }
    }
    // Wrapped functions come first, in the same order. One that the MPI lacks stays missing.
    for (size_t i = 0; i < count; i++)
        entries[i] = ((void **)&mpi_next[i % 2])[i / 2] != NULL ? core_entries[i] : NULL;
    return 0;
}
