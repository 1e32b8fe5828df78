#include "bench/npb/adi/class.h"

#include "bench/npb/cfd/verify.h"

#include <stddef.h>

const struct adi_class *adi_class_find(const struct adi_class *classes, char name)
{
    for (int i = 0; i < ADI_CLASSES; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

bool adi_class_verify(const struct adi_class *size, const double residual[CFD_QUANTITIES],
                      const double error[CFD_QUANTITIES])
{
    bool right_residual = cfd_verify_norms("residual", residual, size->residual);
    bool right_error = cfd_verify_norms("error", error, size->error);
    return right_residual && right_error;
}
