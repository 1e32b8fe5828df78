#include "bench/npb/ep/class.h"

#include "bench/npb/common/check.h"

#include <stddef.h>

#define TOLERANCE 1e-8

static const struct ep_class classes[] = {
    {'S', 24, -3.247834652034740e3, -6.958407078382297e3},
    {'W', 25, -2.863319731645753e3, -6.320053679109499e3},
    {'A', 28, -4.295875165629892e3, -1.580732573678431e4},
    {'B', 30, 4.033815542441498e4, -2.660669192809235e4},
    {'C', 32, 4.764367927995374e4, -8.084072988043731e4},
};

const struct ep_class *ep_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

bool ep_class_verify(const struct ep_class *size, double sum_x, double sum_y)
{
    bool x = npb_check_value("sum x", sum_x, size->sum_x, TOLERANCE);
    bool y = npb_check_value("sum y", sum_y, size->sum_y, TOLERANCE);
    return x && y;
}
