#include "classd/users.h"

#include <stdlib.h>

enum { GONE_MAX = 256 }; // entries of users without a connection

#define FORGET_NS (2 * NS_PER_SEC)

// What may be sent at once.
static double most_packets(uint64_t per_second)
{
    return (double)per_second * (double)USER_DEPTH_NS / (double)NS_PER_SEC;
}

static double packets_at(const struct user *user, uint64_t per_second, uint64_t now_ns)
{
    double packets = user->packets, most = most_packets(per_second);
    if (now_ns > user->filled_ns)
        packets += (double)per_second * (double)(now_ns - user->filled_ns) / (double)NS_PER_SEC;
    return packets < most ? packets : most;
}

// Who comes back would find the account of a newcomer.
static bool is_as_new(const struct user *user, uint64_t per_second, uint64_t now_ns)
{
    return now_ns - user->left_ns >= FORGET_NS &&
           packets_at(user, per_second, now_ns) >= most_packets(per_second);
}

static void forget_one(struct users *users, struct user **at)
{
    struct user *user = *at;
    *at = user->next;
    users->gone--;
    free(user);
}

// Debts are remembered until they are paid, while there is room for them.
static void forget(struct users *users, uint64_t per_second, uint64_t now_ns)
{
    for (struct user **at = &users->first; *at != NULL;)
        if ((*at)->connections == 0 && is_as_new(*at, per_second, now_ns))
            forget_one(users, at);
        else
            at = &(*at)->next;
    for (struct user **at = &users->first; *at != NULL && users->gone > GONE_MAX;)
        if ((*at)->connections == 0)
            forget_one(users, at);
        else
            at = &(*at)->next;
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
    user->filled_ns =
        now_ns > USER_DEPTH_NS ? now_ns - USER_DEPTH_NS : 0; // full at the first packet
    users->first = user;
    return user;
}

void users_leave(struct users *users, struct user *user, uint64_t per_second, uint64_t now_ns)
{
    if (--user->connections > 0)
        return;
    user->left_ns = now_ns;
    users->gone++;
    forget(users, per_second, now_ns);
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
    user->packets = packets_at(user, per_second, now_ns);
    user->filled_ns = now_ns;
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
