#include "pmpi/variant/clock_majority.h"

#include <stdlib.h>

static bool known(const struct clock_reading *clock)
{
    return clock->latest_ns != 0 && clock->earliest_ns <= clock->latest_ns &&
           clock->latest_ns <= INT64_MAX;
}

int64_t clock_apart_ns(const struct clock_reading *one, const struct clock_reading *other)
{
    if (!known(one) || !known(other))
        return 0;
    if (one->earliest_ns > other->latest_ns)
        return (int64_t)(one->earliest_ns - other->latest_ns);
    if (other->earliest_ns > one->latest_ns)
        return -(int64_t)(other->earliest_ns - one->latest_ns);
    return 0;
}

static uint64_t amount(int64_t ns)
{
    return (uint64_t)(ns < 0 ? -ns : ns);
}

static int by_middle(const void *left, const void *right)
{
    const struct clock_reading *one = left, *other = right;
    uint64_t one_ns = one->earliest_ns / 2 + one->latest_ns / 2;
    uint64_t other_ns = other->earliest_ns / 2 + other->latest_ns / 2;
    return (one_ns > other_ns) - (one_ns < other_ns);
}

static size_t count_near(const struct clock_reading *clocks, size_t count,
                         const struct clock_reading *middle, uint64_t tolerance_ns)
{
    size_t near = 0;
    for (size_t i = 0; i < count; i++)
        near += amount(clock_apart_ns(&clocks[i], middle)) <= tolerance_ns;
    return near;
}

// What more than half have in common has the median among it. Clocks of which nothing is known are
// for nobody and against nobody.
static bool find_middle(const struct clock_reading *clocks, size_t count, bool synchronised_only,
                        uint64_t tolerance_ns, struct clock_reading *room,
                        struct clock_reading *middle)
{
    size_t voters = 0;
    for (size_t i = 0; i < count; i++) {
        if (known(&clocks[i]) && (clocks[i].synchronised || !synchronised_only))
            room[voters++] = clocks[i];
    }
    if (voters == 0)
        return false;
    qsort(room, voters, sizeof *room, by_middle);
    *middle = room[voters / 2];
    return 2 * count_near(room, voters, middle, tolerance_ns) > voters;
}

struct clock_majority clock_majority_of(const struct clock_reading *clocks, size_t count,
                                        uint64_t tolerance_ns, struct clock_reading *room)
{
    struct clock_majority majority = {0};
    if (find_middle(clocks, count, false, tolerance_ns, room, &majority.middle) ||
        find_middle(clocks, count, true, tolerance_ns, room, &majority.middle))
        majority.agreeing = count_near(clocks, count, &majority.middle, tolerance_ns);
    return majority;
}

int64_t clock_off_ns(const struct clock_reading *clock, const struct clock_majority *majority,
                     const struct clock_reading *clocks, size_t count, uint64_t tolerance_ns)
{
    int64_t off_ns = 0;
    if (majority->agreeing > 0)
        off_ns = clock_apart_ns(clock, &majority->middle);
    for (size_t i = 0; majority->agreeing == 0 && i < count; i++) {
        int64_t apart_ns = clock_apart_ns(clock, &clocks[i]);
        if (amount(apart_ns) > amount(off_ns))
            off_ns = apart_ns;
    }
    return amount(off_ns) > tolerance_ns ? off_ns : 0;
}
