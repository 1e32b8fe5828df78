// Limits of classes whose periods begin at the same moments on all nodes. When they are to is
// decided in policy/phase.
#ifndef COSCHED_CLASSD_PERIODS_H
#define COSCHED_CLASSD_PERIODS_H

#include "cgroup-backend/backend.h"
#include "classd/policy/phase.h"

// As class_set_share(), and has the periods begin now where that is due. `phase` is of this class,
// and knows what becomes of it as long as its share is set here only.
int periods_set_share(struct phase *phase, const struct phase_moment *moment, class_t *class_,
                      uint32_t share_ppm, struct error *err);

#endif
