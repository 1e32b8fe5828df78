#include "classd/leavers.h"

#include <stdlib.h>

enum { BUCKET_BITS = 8 };

struct leavers {
    struct leaver *buckets[1 << BUCKET_BITS]; // by user
    size_t most;
    size_t count;
    struct leaver *heap[]; // nobody is due before the one at (place - 1) / 2
};

leavers_t *leavers_new(size_t most)
{
    struct leavers *made = calloc(1, sizeof *made + most * sizeof(struct leaver *));
    if (made != NULL)
        made->most = most;
    return made;
}

void leavers_free(leavers_t *leavers)
{
    free(leavers);
}

static size_t bucket_of(uid_t uid)
{
    return (uint32_t)uid * UINT32_C(2654435761) >> (32 - BUCKET_BITS);
}

// ---- who is due

static void put(struct leavers *leavers, size_t place, struct leaver *leaver)
{
    leavers->heap[place] = leaver;
    leaver->place = place;
}

static void rise(struct leavers *leavers, struct leaver *leaver)
{
    size_t place = leaver->place;
    for (size_t up; place > 0; place = up) {
        up = (place - 1) / 2;
        if (leavers->heap[up]->next_ns <= leaver->next_ns)
            break;
        put(leavers, place, leavers->heap[up]);
    }
    put(leavers, place, leaver);
}

static void sink(struct leavers *leavers, struct leaver *leaver)
{
    size_t place = leaver->place;
    for (size_t down; (down = 2 * place + 1) < leavers->count; place = down) {
        if (down + 1 < leavers->count &&
            leavers->heap[down + 1]->next_ns < leavers->heap[down]->next_ns)
            down++;
        if (leaver->next_ns <= leavers->heap[down]->next_ns)
            break;
        put(leavers, place, leavers->heap[down]);
    }
    put(leavers, place, leaver);
}

void leavers_put_off(leavers_t *leavers, struct leaver *leaver, uint64_t next_ns)
{
    leaver->next_ns = next_ns;
    rise(leavers, leaver);
    sink(leavers, leaver);
}

struct leaver *leavers_first(const leavers_t *leavers)
{
    return leavers->count > 0 ? leavers->heap[0] : NULL;
}

// ---- who is there

struct leaver *leavers_add(leavers_t *leavers, const struct leaver *leaver)
{
    struct leaver **bucket = &leavers->buckets[bucket_of(leaver->uid)];
    struct leaver *made = leavers->count < leavers->most ? malloc(sizeof *made) : NULL;
    if (made == NULL)
        return NULL;
    *made = *leaver;
    made->next = *bucket;
    made->from = bucket;
    if (made->next != NULL)
        made->next->from = &made->next;
    *bucket = made;
    put(leavers, leavers->count++, made);
    rise(leavers, made);
    return made;
}

class_t *leavers_take(leavers_t *leavers, struct leaver *leaver)
{
    class_t *class_ = leaver->class_;
    *leaver->from = leaver->next;
    if (leaver->next != NULL)
        leaver->next->from = leaver->from;
    struct leaver *last = leavers->heap[--leavers->count];
    if (last != leaver) {
        put(leavers, leaver->place, last);
        leavers_put_off(leavers, last, last->next_ns);
    }
    free(leaver);
    return class_;
}

size_t leavers_count(const leavers_t *leavers)
{
    return leavers->count;
}

struct leaver *leavers_of(const leavers_t *leavers, uid_t uid, const struct leaver *after)
{
    struct leaver *one = after != NULL ? after->next : leavers->buckets[bucket_of(uid)];
    while (one != NULL && one->uid != uid)
        one = one->next;
    return one;
}
