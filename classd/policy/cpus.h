// Sets of CPUs, of which the first `words` words are looked at, the others being empty. Pure.
#ifndef COSCHED_CLASSD_POLICY_CPUS_H
#define COSCHED_CLASSD_POLICY_CPUS_H

#include "classd/policy/engine.h"

static inline uint64_t cpus_count(const struct engine_cpus *set, unsigned words)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(set->words[i]);
    return count;
}

// How many words have any.
static inline unsigned cpus_words(const struct engine_cpus *set)
{
    unsigned words = ENGINE_CPU_WORDS;
    while (words > 0 && set->words[words - 1] == 0)
        words--;
    return words;
}

// Adds the others to the set.
static inline void cpus_unite(struct engine_cpus *set, const struct engine_cpus *others,
                              unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        set->words[i] |= others->words[i];
}

static inline bool cpus_within(const struct engine_cpus *set, const struct engine_cpus *larger,
                               unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        if ((set->words[i] & ~larger->words[i]) != 0)
            return false;
    }
    return true;
}

static inline bool cpus_meet(const struct engine_cpus *one, const struct engine_cpus *other,
                             unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        if ((one->words[i] & other->words[i]) != 0)
            return true;
    }
    return false;
}

static inline bool cpus_same(const struct engine_cpus *one, const struct engine_cpus *other,
                             unsigned words)
{
    return cpus_within(one, other, words) && cpus_within(other, one, words);
}

#endif
