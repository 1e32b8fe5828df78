// Sets of CPUs. Pure.
#ifndef COSCHED_CLASSD_POLICY_CPUS_H
#define COSCHED_CLASSD_POLICY_CPUS_H

#include "classd/policy/engine.h"

static inline uint64_t cpus_count(const struct engine_cpus *set)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < ENGINE_CPU_WORDS; i++)
        count += (uint64_t)__builtin_popcountll(set->words[i]);
    return count;
}

// Adds the others to the set.
static inline void cpus_unite(struct engine_cpus *set, const struct engine_cpus *others)
{
    for (unsigned i = 0; i < ENGINE_CPU_WORDS; i++)
        set->words[i] |= others->words[i];
}

static inline bool cpus_within(const struct engine_cpus *set, const struct engine_cpus *larger)
{
    for (unsigned i = 0; i < ENGINE_CPU_WORDS; i++) {
        if ((set->words[i] & ~larger->words[i]) != 0)
            return false;
    }
    return true;
}

static inline bool cpus_meet(const struct engine_cpus *one, const struct engine_cpus *other)
{
    for (unsigned i = 0; i < ENGINE_CPU_WORDS; i++) {
        if ((one->words[i] & other->words[i]) != 0)
            return true;
    }
    return false;
}

static inline bool cpus_same(const struct engine_cpus *one, const struct engine_cpus *other)
{
    return cpus_within(one, other) && cpus_within(other, one);
}

#endif
