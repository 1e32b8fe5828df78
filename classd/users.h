// The users who are connected, and how much of the daemon's time each may take: so many
// connections, so many packets a second, and so much CPU time. One table of at most as many entries
// as there are connections, and some of users who have left with a debt.
#ifndef COSCHED_CLASSD_USERS_H
#define COSCHED_CLASSD_USERS_H

#include "common/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A packet that takes longer to handle counts as several: making a class costs some ten times
// what a request does.
#define USER_PACKET_NS (25 * NS_PER_US)

// What is not sent is saved for so long: some hundred ranks of a job register at once, each at the
// cost of ten or twenty packets, and have the register's time limit for it, which is shorter.
#define USER_DEPTH_NS (4 * NS_PER_SEC)

struct user {
    uid_t uid;
    uint64_t connections;
    double packets; // that it may send at once, now; negative after one that took long
    uint64_t filled_ns;
    uint64_t left_ns; // when the last connection ended, if there is none
    struct user *next;
};

struct users {
    struct user *first;
    size_t gone; // of them, without a connection
};

// The user's entry, with one connection more; null when memory is short. Ended by users_leave().
struct user *users_join(struct users *users, uid_t uid, uint64_t now_ns);

// One connection less. The entry outlives the last one until, at `per_second`, it is what a
// newcomer gets, so that who comes back finds no better account; the pointer is not to be used any
// more.
void users_leave(struct users *users, struct user *user, uint64_t per_second, uint64_t now_ns);

// Frees all entries.
void users_clear(struct users *users);

// Takes one packet from what the user may send: `per_second` of them, USER_DEPTH_NS' worth at once.
// False when there is none left; it is worth asking again a little later.
bool user_may_send(struct user *user, uint64_t per_second, uint64_t now_ns);

// Takes what the packet has cost beyond USER_PACKET_NS of CPU time.
void user_took(struct user *user, uint64_t spent_ns);

#endif
