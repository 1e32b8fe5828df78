#include "pmpi/variant/freshness.h"

// At the border of two slices, or right after this rank has come out, what is heard may be a slice
// off, or many: only several in a row tell that a clock is off.
enum { IN_A_ROW = 4 };

// By so many slices no node that is heard is ahead. What seems to be is from half of all numbers
// ago or longer.
enum { AHEAD_MOST = 64 };

// Numbers go from 1 to UINT16_MAX and begin again.
static int behind_by(uint16_t here, uint16_t said)
{
    int behind = (here + UINT16_MAX - said) % UINT16_MAX;
    return behind <= UINT16_MAX / 2 ? behind : behind - UINT16_MAX;
}

static int behind(const struct freshness *freshness)
{
    return atomic_load_explicit(&freshness->behind, memory_order_relaxed);
}

bool freshness_is_news(const struct freshness *freshness, uint16_t here, uint16_t said)
{
    return here != 0 && said != 0 &&
           (behind_by(here, said) != behind(freshness) ||
            atomic_load_explicit(&freshness->times, memory_order_relaxed) > 0);
}

void freshness_learn(struct freshness *freshness, uint16_t here, uint16_t said)
{
    if (!freshness_is_news(freshness, here, said))
        return;
    int by = behind_by(here, said);
    unsigned before = atomic_load_explicit(&freshness->times, memory_order_relaxed);
    unsigned times = by == behind(freshness) ? 0 : by == freshness->other ? before + 1 : 1;
    freshness->other = by;
    if (times == IN_A_ROW)
        atomic_store_explicit(&freshness->behind, by, memory_order_relaxed);
    atomic_store_explicit(&freshness->times, times % IN_A_ROW, memory_order_relaxed);
}

bool freshness_is_stale(const struct freshness *freshness, uint16_t here, uint16_t said)
{
    int more = behind_by(here, said) - behind(freshness);
    return here != 0 && said != 0 && (more > 0 || more < -AHEAD_MOST);
}
