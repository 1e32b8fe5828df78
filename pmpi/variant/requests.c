#include "pmpi/variant/requests.h"

#include <sched.h>
#include <stdlib.h>

enum { FIRST_SIZE = 256 };

static void lock(struct requests *table)
{
    while (table->threaded && atomic_flag_test_and_set_explicit(&table->busy, memory_order_acquire))
        sched_yield();
}

static void unlock(struct requests *table)
{
    if (table->threaded)
        atomic_flag_clear_explicit(&table->busy, memory_order_release);
}

// Only the holder of the lock changes the number; others may read it.
static size_t used(const struct requests *table)
{
    return atomic_load_explicit(&table->used, memory_order_relaxed);
}

static void set_used(struct requests *table, size_t number)
{
    atomic_store_explicit(&table->used, number, memory_order_relaxed);
}

static size_t home(const struct requests *table, uintptr_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (table->size - 1);
}

// The slot of the key, or the free one where it belongs. The table has a free slot.
static size_t locate(const struct requests *table, uintptr_t key)
{
    size_t at = home(table, key);
    while (table->slots[at].value != NULL && table->slots[at].key != key)
        at = (at + 1) & (table->size - 1);
    return at;
}

static bool grow(struct requests *table)
{
    struct requests larger = {.size = table->size == 0 ? FIRST_SIZE : table->size * 2};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < table->size; i++) {
        if (table->slots[i].value != NULL)
            larger.slots[locate(&larger, table->slots[i].key)] = table->slots[i];
    }
    free(table->slots);
    table->slots = larger.slots;
    table->size = larger.size;
    return true;
}

void *requests_insert(struct requests *table, uintptr_t key, void *value, bool *failed)
{
    void *before = NULL;
    lock(table);
    *failed = used(table) * 2 >= table->size && !grow(table) && used(table) + 1 >= table->size;
    if (!*failed) {
        struct requests_slot *slot = &table->slots[locate(table, key)];
        before = slot->value;
        set_used(table, used(table) + (before == NULL));
        *slot = (struct requests_slot){key, value};
    }
    unlock(table);
    return before;
}

void *requests_find(struct requests *table, uintptr_t key)
{
    void *value = NULL;
    lock(table);
    if (used(table) > 0)
        value = table->slots[locate(table, key)].value;
    unlock(table);
    return value;
}

// Moves later slots of the run into the gap where they may stand there.
static void close_gap(struct requests *table, size_t gap)
{
    size_t mask = table->size - 1;
    for (size_t at = (gap + 1) & mask; table->slots[at].value != NULL; at = (at + 1) & mask) {
        size_t wanted = home(table, table->slots[at].key);
        if (((at - wanted) & mask) < ((at - gap) & mask))
            continue;
        table->slots[gap] = table->slots[at];
        gap = at;
    }
    table->slots[gap].value = NULL;
}

void *requests_take(struct requests *table, uintptr_t key)
{
    void *value = NULL;
    lock(table);
    if (used(table) > 0) {
        size_t at = locate(table, key);
        value = table->slots[at].value;
        if (value != NULL) {
            close_gap(table, at);
            set_used(table, used(table) - 1);
        }
    }
    unlock(table);
    return value;
}

void requests_free(struct requests *table)
{
    free(table->slots);
    table->slots = NULL;
    table->size = 0;
    set_used(table, 0);
}
