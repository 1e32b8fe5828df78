#include "classd/policy/phase.h"

static uint64_t from_multiple(uint64_t time_ns, uint64_t period_ns)
{
    uint64_t after_ns = time_ns % period_ns;
    return after_ns < period_ns - after_ns ? after_ns : period_ns - after_ns;
}

// How far from the multiples of the wall clock the periods begin now. UINT64_MAX: not known.
static uint64_t off_ns(const struct phase *phase, uint64_t period_ns,
                       const struct phase_moment *moment)
{
    if (phase->period_ns != period_ns || phase->begun_ns > moment->now_ns)
        return UINT64_MAX;
    uint64_t ago_ns = (moment->now_ns - phase->begun_ns) % period_ns;
    return from_multiple(moment->wall_ns % period_ns + period_ns - ago_ns, period_ns);
}

// A little longer than the longest that a period can still be running.
static bool can_begin(const struct phase *phase, uint64_t period_ns, uint64_t now_ns)
{
    uint64_t running_ns = phase->longest_ns != 0 ? phase->longest_ns : period_ns;
    return phase->free && now_ns >= phase->free_since_ns &&
           now_ns - phase->free_since_ns >= running_ns + PHASE_PRECISION_NS;
}

bool phase_due(const struct phase *phase, uint64_t period_ns, const struct phase_moment *moment)
{
    if (moment->wall_ns == 0 || period_ns < PHASE_SHORTEST_NS ||
        !can_begin(phase, period_ns, moment->now_ns))
        return false;
    uint64_t late_ns = from_multiple(moment->wall_ns, period_ns);
    uint64_t present_ns = off_ns(phase, period_ns, moment);
    // Better by what can be told apart, and good enough to be worth it.
    return late_ns <= period_ns / 20 && present_ns > late_ns + PHASE_PRECISION_NS;
}

void phase_limited(struct phase *phase, uint64_t period_ns, bool begun, uint64_t now_ns)
{
    phase->free = false;
    if (phase->length_ns != period_ns)
        phase->since_ns = now_ns;
    phase->length_ns = period_ns;
    if (begun || phase->longest_ns < period_ns)
        phase->longest_ns = period_ns;
    if (begun)
        phase->begun_ns = now_ns;
    if (begun)
        phase->period_ns = period_ns;
    else if (phase->period_ns != period_ns)
        phase->period_ns = 0;
}

void phase_freed(struct phase *phase, uint64_t now_ns)
{
    // One of another length was over by then.
    if (now_ns - phase->since_ns >= phase->longest_ns)
        phase->longest_ns = phase->length_ns;
    if (!phase->free)
        phase->free_since_ns = now_ns;
    phase->free = true;
}
