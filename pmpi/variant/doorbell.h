// The doorbell: how a rank that sleeps is woken by another one of its job on the same machine. A
// segment of shared memory has a seat for each rank; a rank that is about to sleep says so in its
// seat, and who may have moved something for it rings there. Nobody asleep: one load, no system
// call.
//
// No ring is lost. The sleeper says that it sleeps and then polls once more (twice, where a poll
// looks before it makes progress: wait.h); the ringer moves the
// message and then looks who sleeps; a full barrier stands between the two steps on either side, so
// at least one of them sees what the other did (Dekker). And the seat's bell is a futex that counts
// rings: a ring between that last poll and the sleep is seen by the kernel. Every sleep is bounded
// all the same.
//
// What stands in the segment is only ever compared and counted, never an index or a length: a peer
// that has gone mad, or was killed at any moment, costs others a system call or one sleep too long.
#ifndef COSCHED_PMPI_VARIANT_DOORBELL_H
#define COSCHED_PMPI_VARIANT_DOORBELL_H

#include "common/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOORBELL_DIRECTORY "/dev/shm"
#define DOORBELL_NAME_MAX  32
#define DOORBELL_ALL       (-1) // in place of a seat

struct doorbell_seat {
    _Alignas(64) _Atomic uint32_t rings; // a futex
    _Atomic uint32_t asleep;             // a thread of this rank sleeps, or is about to
};

// What ranks know of others who compute on their CPUs: see outsiders.h.
struct outsiders_said {
    _Alignas(64) _Atomic uint64_t word; // which every call looks at
    _Alignas(64) _Atomic uint64_t until_ns;
};

struct doorbell_room {
    _Alignas(64) _Atomic uint32_t asleep; // seats of which that holds, or more
    _Atomic uint64_t contended_until_ns;  // see contention.h
    struct outsiders_said outsiders;
    struct doorbell_seat seats[];
};

struct doorbell {
    struct doorbell_room *room; // null: there is no doorbell
    int seats;
    int own;
};

extern struct doorbell doorbell __attribute__((visibility("hidden")));

// This thread has said that it is about to sleep.
extern _Thread_local bool doorbell_announced __attribute__((tls_model("initial-exec")));

// A number that is the same for processes of one user that see one `directory`, on one machine;
// 0 where there is none.
uint64_t doorbell_place(const char *directory);

// Makes the segment of a job, under a name that nobody can guess and that is written to `name`, and
// takes seat 0. It can be opened by this user only, and is there until doorbell_remove(): if the
// job is killed before that, until the user's next one is made an hour later or more. Returns 0 or
// -1, and then no file is left.
int doorbell_create(const char *directory, int seats, char name[DOORBELL_NAME_MAX],
                    struct error *err);

// Takes seat `own` in the segment of that name, which must be this user's, of the right size, and
// nobody else's to open. Returns 0 or -1.
int doorbell_join(const char *directory, const char *name, int seats, int own, struct error *err);

// Takes the name away, as soon as everybody has joined: the segment lives as long as a process has
// it.
void doorbell_remove(const char *directory, const char *name);

// Gives the seat up.
void doorbell_leave(void);

// Between moving a message and looking who sleeps, and between saying so and the last poll.
static inline void doorbell_fence(void)
{
#ifdef __SANITIZE_THREAD__ // knows no fences, and no memory that several processes share
    static _Atomic int nothing;
    atomic_fetch_add_explicit(&nothing, 1, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

void doorbell_ring_those(int seat);

// This process has done what a sleeping peer may have been waiting for. `seat` is whom it did it
// for, DOORBELL_ALL: anybody. Threads of this process, whose requests it may have completed, are
// always meant too.
static inline void doorbell_ring(int seat)
{
    struct doorbell_room *room = doorbell.room;
    if (room == NULL)
        return;
    doorbell_fence();
    uint32_t asleep =
        seat == DOORBELL_ALL
            ? atomic_load_explicit(&room->asleep, memory_order_relaxed)
            : atomic_load_explicit(&room->seats[seat].asleep, memory_order_relaxed) |
                  atomic_load_explicit(&room->seats[doorbell.own].asleep, memory_order_relaxed);
    if (asleep != 0)
        doorbell_ring_those(seat);
}

// After each pause of a wait, the first of which is 1. It may last long and have answered somebody
// who sleeps at any time: he is rung for more and more seldom, or he would not get to sleep.
static inline void doorbell_ring_now_and_then(uint32_t pause, int seat)
{
    if ((pause & (pause - 1)) == 0)
        doorbell_ring(seat);
}

// This thread is about to sleep: it polls once more and then calls doorbell_sleep() or else, having
// found something, doorbell_withdraw().
void doorbell_announce(void);

// Sleeps until somebody has rung since the announcement, at most so long. True: somebody has.
bool doorbell_sleep(uint64_t most_ns);

void doorbell_withdraw(void);

#endif
