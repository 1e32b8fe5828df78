// A table from MPI handles (requests, messages) to what the library keeps of them: open addressing,
// linear probing, no tombstones. Safe for concurrent threads while `threaded` is set.
#ifndef COSCHED_PMPI_VARIANT_REQUESTS_H
#define COSCHED_PMPI_VARIANT_REQUESTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct requests_slot {
    uintptr_t key;
    void *value; // null: free
};

struct requests {
    struct requests_slot *slots;
    size_t size; // a power of two, or 0
    _Atomic size_t used;
    bool threaded;
    atomic_flag busy;
};

// Adds a handle. Returns what was known under it before, or null. On lack of memory *failed is set.
void *requests_insert(struct requests *table, uintptr_t key, void *value, bool *failed);

// What is known under a handle, or null.
void *requests_find(struct requests *table, uintptr_t key);

// The same, and removes it.
void *requests_take(struct requests *table, uintptr_t key);

// Is nothing in it? What a thread itself has inserted, or been told of, it sees.
static inline bool requests_none(const struct requests *table)
{
    return atomic_load_explicit(&table->used, memory_order_relaxed) == 0;
}

// Frees the table's own memory; what it refers to is the caller's.
void requests_free(struct requests *table);

#endif
