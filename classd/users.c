#include "classd/users.h"

#include "common/units.h"

#include <stdlib.h>

struct user *users_join(struct users *users, uid_t uid, uint64_t now_ns)
{
    for (struct user *user = users->first; user != NULL; user = user->next) {
        if (user->uid == uid) {
            user->connections++;
            return user;
        }
    }
    struct user *user = calloc(1, sizeof *user);
    if (user == NULL)
        return NULL;
    *user = (struct user){.uid = uid, .connections = 1, .next = users->first};
    // Full at the first packet, and not again for who leaves and comes back at once: a new
    // connection costs more than the packets that it could gain.
    user->filled_ns = now_ns > NS_PER_SEC ? now_ns - NS_PER_SEC : 0;
    users->first = user;
    return user;
}

void users_leave(struct users *users, struct user *user)
{
    if (--user->connections > 0)
        return;
    struct user **at = &users->first;
    while (*at != user)
        at = &(*at)->next;
    *at = user->next;
    free(user);
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
