// A number for some bytes, FNV-1a: the same on every node and in every version, since names of jobs
// are compared by it. Not for what somebody could choose to collide.
#ifndef COSCHED_COMMON_HASH_H
#define COSCHED_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

// What `hash` stood for, HASH_START for nothing, and these bytes behind it.
static inline uint64_t hash_with(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * HASH_PRIME;
    return hash;
}

#endif
