// Policy dcs as its tests set it: a node of one CPU, short slices.
#ifndef COSCHED_TESTS_UNIT_DCS_SETTINGS_H
#define COSCHED_TESTS_UNIT_DCS_SETTINGS_H

#include "classd/policy/engine.h"

#define MS      UINT64_C(1000000)
#define SLICE   (100 * MS)
#define QUANTUM (20 * MS)

static inline struct engine_settings settings(int exponent, uint64_t constant_ns, bool calibrate)
{
    return (struct engine_settings){.policy = "dcs",
                                    .cpus = 1,
                                    .idle_share_ppm = 10000,
                                    .time_slice_ns = SLICE,
                                    .gmet_ns = SLICE,
                                    .dcs = {.exponent = exponent,
                                            .constant_ns = constant_ns,
                                            .quantum_ns = QUANTUM,
                                            .calibrate = calibrate}};
}

#endif
