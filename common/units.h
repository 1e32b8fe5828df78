// Numbers with units as people write them in the configuration.
#ifndef COSCHED_COMMON_UNITS_H
#define COSCHED_COMMON_UNITS_H

#include "common/error.h"

#include <stdint.h>

#define NS_PER_US  UINT64_C(1000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)

// Shares are counted in parts per million of a node, so that 1 % is an exact number.
#define SHARE_WHOLE_PPM 1000000u

// "15s", "500ms", "250us", "2min", "1.5s" -> nanoseconds. A number without a unit is an error,
// since nobody can know what was meant. Returns 0 or -1 with the remedy in err; ERANGE: it is
// longer than can be counted.
int units_parse_duration(const char *text, uint64_t *duration_ns, struct error *err);

// "1%", "0.5%" -> parts per million. Returns 0 or -1 with the remedy in err.
int units_parse_share(const char *text, uint32_t *share_ppm, struct error *err);

// A decimal whole number, no unit, no sign. Returns 0 or -1 with the remedy in err; ERANGE: it is
// larger than can be counted.
int units_parse_count(const char *text, uint64_t *count, struct error *err);

// A decimal whole number with or without a minus sign, no unit. Returns 0 or -1 with the remedy in
// err; ERANGE: it is further from 0 than can be counted.
int units_parse_integer(const char *text, int64_t *integer, struct error *err);

// The shortest exact text that units_parse_duration() reads back to the same value.
void units_format_duration(uint64_t duration_ns, char *buffer, unsigned size);

// The shortest exact text that units_parse_share() reads back to the same value.
void units_format_share(uint32_t share_ppm, char *buffer, unsigned size);

#endif
