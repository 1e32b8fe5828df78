#include "classd/periods.h"

// 1: the periods began.
static int limit(struct phase *phase, const struct phase_moment *moment, class_t *class_,
                 uint32_t share_ppm, struct error *err)
{
    if (phase_due(phase, class_period_ns(class_, share_ppm), moment))
        return class_begin_periods(class_, share_ppm, err);
    return class_set_share(class_, share_ppm, err);
}

int periods_set_share(struct phase *phase, const struct phase_moment *moment, class_t *class_,
                      uint32_t share_ppm, struct error *err)
{
    if (share_ppm == BACKEND_UNLIMITED) {
        int rc = class_set_share(class_, share_ppm, err);
        if (rc == 0)
            phase_freed(phase, moment->now_ns);
        return rc;
    }
    int begun = limit(phase, moment, class_, share_ppm, err);
    // After a failure nobody knows.
    phase_limited(phase, class_period_ns(class_, share_ppm), begun > 0, moment->now_ns);
    return begun < 0 ? -1 : 0;
}
