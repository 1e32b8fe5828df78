#include "classd/worlds.h"

#include "common/protocol.h"

#include <stdlib.h>

static struct world *find(const struct worlds *worlds, uint64_t key)
{
    for (size_t i = 0; i < worlds->count; i++) {
        if (worlds->all[i].key == key)
            return &worlds->all[i];
    }
    return NULL;
}

// Null when memory is short.
static struct world *find_or_add(struct worlds *worlds, uint64_t key)
{
    struct world *world = find(worlds, key);
    if (world != NULL)
        return world;
    if (worlds->count == worlds->room) {
        size_t room = worlds->room > 0 ? 2 * worlds->room : 1;
        struct world *all = realloc(worlds->all, room * sizeof *all);
        if (all == NULL)
            return NULL;
        worlds->all = all;
        worlds->room = room;
    }
    world = &worlds->all[worlds->count++];
    *world = (struct world){.key = key};
    return world;
}

int worlds_enter(struct worlds *worlds, const struct world *said)
{
    struct world *world = find_or_add(worlds, said->key);
    if (world == NULL)
        return -1;
    world->parent = said->parent;
    world->ranks = said->ranks;
    world->processes++;
    return 0;
}

// Of those that the last classd knew.
static void forget_ended(struct worlds *worlds)
{
    size_t kept = 0;
    for (size_t i = 0; i < worlds->count; i++) {
        if (worlds->all[i].processes > 0)
            worlds->all[kept++] = worlds->all[i];
    }
    worlds->count = kept;
}

void worlds_leave(struct worlds *worlds, uint64_t key)
{
    struct world *world = find(worlds, key);
    if (world == NULL || world->processes == 0 || --world->processes > 0)
        return;
    *world = worlds->all[--worlds->count];
    if (key == 0)
        forget_ended(worlds);
}

void worlds_free(struct worlds *worlds)
{
    free(worlds->all);
    *worlds = (struct worlds){.all = NULL};
}

void worlds_keep(const struct worlds *worlds, struct status_world kept[STATUS_WORLDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < worlds->count && count < STATUS_WORLDS_MAX; i++) {
        const struct world *world = &worlds->all[i];
        if (world->key != 0)
            kept[count++] = (struct status_world){
                .key = world->key, .parent = world->parent, .ranks = world->ranks};
    }
    while (count < STATUS_WORLDS_MAX)
        kept[count++] = (struct status_world){.key = 0};
}

void worlds_take_over(struct worlds *worlds, const struct status_world kept[STATUS_WORLDS_MAX])
{
    for (size_t i = 0; i < STATUS_WORLDS_MAX && kept[i].key != 0; i++) {
        struct world *world = find_or_add(worlds, kept[i].key);
        if (world == NULL)
            return;
        world->parent = kept[i].parent;
        world->ranks = kept[i].ranks;
    }
}

bool worlds_have(const struct worlds *worlds, uint64_t key)
{
    for (size_t i = 0; key != 0 && i < worlds->count; i++) {
        if (worlds->all[i].key == key || worlds->all[i].parent == key)
            return true;
    }
    return false;
}

uint32_t worlds_ranks(const struct worlds *worlds)
{
    uint64_t whole = 0, sum = 0;
    for (size_t i = 0; i < worlds->count; i++) {
        if (worlds->all[i].key == 0)
            whole = worlds->all[i].ranks;
        else
            sum += worlds->all[i].ranks;
    }
    sum = sum > whole ? sum : whole;
    return sum < PROTOCOL_RANKS_MAX ? (uint32_t)sum : PROTOCOL_RANKS_MAX;
}

uint32_t worlds_largest(const struct worlds *worlds)
{
    uint32_t ranks = 0;
    for (size_t i = 0; i < worlds->count; i++)
        ranks = worlds->all[i].ranks > ranks ? worlds->all[i].ranks : ranks;
    return ranks;
}
