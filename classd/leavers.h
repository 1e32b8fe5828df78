// The classes of jobs that have ended and are not gone yet: whose they are, and which is due first.
// Memory only; what happens to them is leaving.c's. Nothing here takes longer than the logarithm of
// how many there are, but for the look at a user's own, which takes as long as those are many.
#ifndef COSCHED_CLASSD_LEAVERS_H
#define COSCHED_CLASSD_LEAVERS_H

#include "cgroup-backend/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct leaver {
    class_t *class_;
    uid_t uid;         // whose job it was
    bool parts;        // its processes end by themselves; its removal has not begun
    uint64_t begun_ns; // its removal
    uint64_t pause_ns; // after its next step
    uint64_t next_ns;  // of that; changed by leavers_put_off() only
    size_t place;      // leavers.c's own, as what follows
    struct leaver *next, **from;
};

typedef struct leavers leavers_t;

// With room for `most`; null when memory is short.
leavers_t *leavers_new(size_t most);
void leavers_free(leavers_t *leavers); // the classes must have been taken out; null is allowed

// Adds a copy, which owns the class from then on. Null, and the class stays the caller's, when
// there is no room or no memory.
struct leaver *leavers_add(leavers_t *leavers, const struct leaver *leaver);

// Takes it out and frees it; returns its class, the caller's from then on.
class_t *leavers_take(leavers_t *leavers, struct leaver *leaver);

void leavers_put_off(leavers_t *leavers, struct leaver *leaver, uint64_t next_ns);

size_t leavers_count(const leavers_t *leavers);

// The one whose next step is due first, or null.
struct leaver *leavers_first(const leavers_t *leavers);

// A user's, one after the other: the one behind `after`, or with null the first; null behind the
// last.
struct leaver *leavers_of(const leavers_t *leavers, uid_t uid, const struct leaver *after);

#endif
