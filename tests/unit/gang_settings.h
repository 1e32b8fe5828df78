// Policy gang as its tests set it: slots of 100 ms.
#ifndef COSCHED_TESTS_UNIT_GANG_SETTINGS_H
#define COSCHED_TESTS_UNIT_GANG_SETTINGS_H

#include "classd/policy/engine.h"

#define MS    UINT64_C(1000000)
#define SLOT  (100 * MS)
#define GMET  (30 * MS)
#define EVENS UINT64_C(0x555555555555555)
#define ODDS  UINT64_C(0xaaaaaaaaaaaaaaa)

static inline struct engine_settings gang_settings(unsigned cpus)
{
    return (struct engine_settings){.policy = "gang",
                                    .cpus = cpus,
                                    .idle_share_ppm = 10000,
                                    .time_slice_ns = SLOT,
                                    .gmet_ns = GMET};
}

static inline uint64_t gang_name(engine_job_t job)
{
    return job * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
