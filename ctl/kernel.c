#include "ctl/kernel.h"

#include <stdio.h>

enum { NUMBER = 1000 };

enum kernel_kind kernel_kind(const char *release)
{
    unsigned major = 0, minor = 0, patch = 0;
    if (sscanf(release, "%u.%u.%u", &major, &minor, &patch) < 2)
        return KERNEL_UNKNOWN;
    unsigned version = major * NUMBER + minor;
    if (version < 5 * NUMBER + 3)
        return KERNEL_TOO_OLD;
    if (version < 5 * NUMBER + 14)
        return KERNEL_WITHOUT_KILL;
    if (version < 6 * NUMBER + 13 || version > 6 * NUMBER + 19)
        return KERNEL_GOOD;
    return version == 6 * NUMBER + 18 && patch >= 45 ? KERNEL_GOOD : KERNEL_STARVES_OTHERS;
}
