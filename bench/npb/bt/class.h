// What NAS prescribes for BT.
#ifndef COSCHED_BENCH_BT_CLASS_H
#define COSCHED_BENCH_BT_CLASS_H

#include "bench/npb/adi/class.h"

extern const struct adi_class bt_classes[ADI_CLASSES];

#endif
