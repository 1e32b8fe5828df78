#include "ctl/user.h"

#include <inttypes.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>

void user_name(uint32_t uid, char name[USER_NAME_MAX])
{
    const struct passwd *entry = getpwuid(uid);
    if (entry == NULL || snprintf(name, USER_NAME_MAX, "%s", entry->pw_name) >= USER_NAME_MAX)
        snprintf(name, USER_NAME_MAX, "%" PRIu32, uid);
}
