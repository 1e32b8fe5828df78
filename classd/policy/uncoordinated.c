// Observe only: every job runs whenever the operating system lets it, as if there were no cosched,
// but the accounts are kept. The baseline that the paper compares with (section 3).
#include "classd/policy/policy.h"

const struct policy policy_uncoordinated = {
    .name = "uncoordinated",
};
