#include "classd/users.h"

#include <stdlib.h>

enum { GONE_MAX = 256 }; // entries of users without a connection

// By then the account of who has left is full again.
#define FORGET_NS (2 * NS_PER_SEC)

static void forget(struct users *users, uint64_t now_ns)
{
    for (struct user **at = &users->first; *at != NULL;) {
        struct user *user = *at;
        if (user->connections > 0 ||
            (now_ns - user->left_ns < FORGET_NS && users->gone <= GONE_MAX)) {
            at = &user->next;
            continue;
        }
        *at = user->next;
        users->gone--;
        free(user);
    }
}

struct user *users_join(struct users *users, uid_t uid, uint64_t now_ns)
{
    for (struct user *user = users->first; user != NULL; user = user->next) {
        if (user->uid == uid) {
            users->gone -= user->connections == 0;
            user->connections++;
            return user;
        }
    }
    struct user *user = calloc(1, sizeof *user);
    if (user == NULL)
        return NULL;
    *user = (struct user){.uid = uid, .connections = 1, .next = users->first};
    user->filled_ns = now_ns > NS_PER_SEC ? now_ns - NS_PER_SEC : 0; // full at the first packet
    users->first = user;
    return user;
}

void users_leave(struct users *users, struct user *user, uint64_t now_ns)
{
    if (--user->connections > 0)
        return;
    user->left_ns = now_ns;
    users->gone++;
    forget(users, now_ns);
}

void users_clear(struct users *users)
{
    while (users->first != NULL) {
        struct user *user = users->first;
        users->first = user->next;
        free(user);
    }
    users->gone = 0;
}

bool user_may_send(struct user *user, uint64_t per_second, uint64_t now_ns)
{
    double most = (double)per_second;
    if (now_ns > user->filled_ns)
        user->packets += most * (double)(now_ns - user->filled_ns) / (double)NS_PER_SEC;
    user->filled_ns = now_ns;
    if (user->packets > most)
        user->packets = most;
    if (user->packets < 1)
        return false;
    user->packets--;
    return true;
}

void user_took(struct user *user, uint64_t spent_ns)
{
    if (spent_ns > USER_PACKET_NS)
        user->packets -= (double)(spent_ns - USER_PACKET_NS) / (double)USER_PACKET_NS;
}
