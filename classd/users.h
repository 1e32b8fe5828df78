// The users who are connected, and how much of the daemon's time each may take: so many
// connections, and so many packets a second. One table of at most as many entries as there are
// connections.
#ifndef COSCHED_CLASSD_USERS_H
#define COSCHED_CLASSD_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user {
    uid_t uid;
    uint64_t connections;
    double packets; // that it may send at once, now
    uint64_t filled_ns;
    struct user *next;
};

struct users {
    struct user *first;
};

// The user's entry, with one connection more; null when memory is short. Ended by users_leave().
struct user *users_join(struct users *users, uid_t uid, uint64_t now_ns);

// One connection less; the last one frees the entry.
void users_leave(struct users *users, struct user *user);

// Takes one packet from what the user may send: `per_second` of them, a second's worth at once.
// False when there is none left; it is worth asking again a little later.
bool user_may_send(struct user *user, uint64_t per_second, uint64_t now_ns);

#endif
