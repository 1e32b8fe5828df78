#include "pmpi/front/callers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    PLACE_BITS = 10,
    PLACES = 1 << PLACE_BITS,
    PROBES = 4, // two callers of the same place would take it from each other with every call
};

// Who sees a key before and after its answer has seen what belongs to it.
static struct place {
    _Atomic uint64_t key; // 0: none, or it is being written
    _Atomic(void *) own;
} places[PLACES];

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

// Addresses of a process's own have less than 48 bits.
static uint64_t key_of(const void *caller, unsigned slot)
{
    return (uint64_t)(uintptr_t)caller ^ (uint64_t)(slot + 1) << 48;
}

static struct place *place_of(uint64_t key, unsigned probe)
{
    return &places[((key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS)) + probe) % PLACES];
}

// Where the key is, or can be put.
static struct place *find(uint64_t key)
{
    struct place *free = NULL;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct place *place = place_of(key, probe);
        uint64_t there = atomic_load(&place->key);
        if (there == key)
            return place;
        if (there == 0 && free == NULL)
            free = place;
    }
    return free != NULL ? free : place_of(key, 0);
}

bool callers_know(const void *caller, unsigned slot, void **own)
{
    uint64_t key = key_of(caller, slot);
    struct place *place = find(key);
    if (atomic_load(&place->key) != key)
        return false;
    *own = atomic_load(&place->own);
    return atomic_load(&place->key) == key;
}

void callers_note(const void *caller, unsigned slot, void *own)
{
    uint64_t key = key_of(caller, slot);
    pthread_mutex_lock(&writing);
    struct place *place = find(key);
    atomic_store(&place->key, 0);
    atomic_store(&place->own, own);
    atomic_store(&place->key, key);
    pthread_mutex_unlock(&writing);
}
