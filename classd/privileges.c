#include "classd/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

int privileges_drop(struct error *err)
{
    if (capng_get_caps_process() < 0)
        return error_set(err, EPERM, "capabilities cannot be read");
    const unsigned wanted[] = {CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_NICE};
    bool keeps[sizeof wanted / sizeof *wanted];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        keeps[i] = capng_have_capability(CAPNG_PERMITTED, wanted[i]) != 0;
    bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
    capng_clear(CAPNG_SELECT_ALL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (keeps[i])
            capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                         wanted[i]);
    }
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0)
        return error_errno(err, errno, "give up capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, errno, "give up new privileges");
    return 0;
}

bool privileges_reach_all_groups(void)
{
    return geteuid() == 0 || (capng_get_caps_process() == 0 &&
                              capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE) != 0);
}
