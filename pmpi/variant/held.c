#include "pmpi/variant/held.h"

#include "common/units.h"

#define BELIEVED_NS (120 * NS_PER_SEC)
#define TRIAL_NS    (4 * NS_PER_MS) // of CPU time: what four periods give an idle job

enum { FREE_PARTS = 10 }; // who has one of these of the time, or more, is held to no idle share

static bool believe_from(struct held *held, uint64_t now_ns)
{
    held->since_ns = now_ns;
    held->trial_ns = 0;
    return true;
}

static bool end_trial(struct held *held, uint64_t now_ns, uint64_t used_ns)
{
    if ((now_ns - held->trial_ns) / FREE_PARTS > used_ns)
        return believe_from(held, now_ns);
    held->free = true;
    return false;
}

bool held_believed(struct held *held, uint32_t epoch, uint64_t now_ns, uint64_t spent_ns)
{
    if (held->since_ns == 0 || held->epoch != epoch) {
        held->epoch = epoch;
        held->free = false;
        return believe_from(held, now_ns);
    }
    if (held->free)
        return false;
    if (held->trial_ns != 0) {
        uint64_t used_ns = spent_ns - held->trial_spent_ns;
        return used_ns >= TRIAL_NS && end_trial(held, now_ns, used_ns);
    }
    if (now_ns - held->since_ns < BELIEVED_NS)
        return true;
    held->trial_ns = now_ns;
    held->trial_spent_ns = spent_ns;
    return false;
}
