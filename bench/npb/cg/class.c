#include "bench/npb/cg/class.h"

#include "bench/npb/common/check.h"

#include <stddef.h>

#define TOLERANCE 1e-10

static const struct cg_class classes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},     {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},   {'B', 75000, 13, 75, 60, 22.712745482631},
    {'C', 150000, 15, 75, 110, 28.973605592845},
};

const struct cg_class *cg_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

bool cg_class_verify(const struct cg_class *size, double zeta)
{
    return npb_check_value("zeta", zeta, size->zeta, TOLERANCE);
}
