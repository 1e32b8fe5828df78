#include "bench/npb/mg/class.h"

#include "bench/npb/common/check.h"

#include <stddef.h>

#define TOLERANCE 1e-8

static const struct mg_weights smoother_weak = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
static const struct mg_weights smoother_strong = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

static const struct mg_class classes[] = {
    {'S', 5, 4, &smoother_weak, 0.5307707005734e-04},
    {'W', 7, 4, &smoother_weak, 0.6467329375339e-05},
    {'A', 8, 4, &smoother_weak, 0.2433365309069e-05},
    {'B', 8, 20, &smoother_strong, 0.1800564401355e-05},
    {'C', 9, 20, &smoother_strong, 0.5706732285740e-06},
};

const struct mg_class *mg_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

bool mg_class_verify(const struct mg_class *size, double norm)
{
    return npb_check_value("norm", norm, size->norm, TOLERANCE);
}
