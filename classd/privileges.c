#include "classd/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

int privileges_drop(struct error *err)
{
    if (capng_get_caps_process() < 0)
        return error_set(err, EPERM, "capabilities cannot be read");
    bool keeps = capng_have_capability(CAPNG_PERMITTED, CAP_DAC_OVERRIDE) != 0;
    bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
    capng_clear(CAPNG_SELECT_ALL);
    if (keeps)
        capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                     CAP_DAC_OVERRIDE);
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0)
        return error_errno(err, errno, "give up capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, errno, "give up new privileges");
    return 0;
}
