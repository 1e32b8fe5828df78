// What NAS prescribes for SP.
#ifndef COSCHED_BENCH_SP_CLASS_H
#define COSCHED_BENCH_SP_CLASS_H

#include "bench/npb/adi/class.h"

extern const struct adi_class sp_classes[ADI_CLASSES];

#endif
