#include "pmpi/variant/courtesy.h"

#include "common/units.h"

#define PART 10 // of the time, one of these

// About what a program of two small ranks computes until it registers, with its launcher.
#define CREDIT_MOST_NS ((int64_t)(100 * NS_PER_MS))

// A yield that is over sooner has found nobody, or somebody as polite.
#define UNNOTICED_NS (50 * NS_PER_US)

bool courtesy_allows(struct courtesy *courtesy, uint64_t now_ns)
{
    uint64_t grown_ns = (now_ns - courtesy->counted_ns) / PART;
    if (courtesy->counted_ns == 0 || grown_ns >= (uint64_t)(CREDIT_MOST_NS - courtesy->credit_ns)) {
        courtesy->credit_ns = CREDIT_MOST_NS;
        courtesy->counted_ns = now_ns;
    } else {
        courtesy->credit_ns += (int64_t)grown_ns;
        courtesy->counted_ns += grown_ns * PART;
    }
    return courtesy->credit_ns > 0;
}

void courtesy_took(struct courtesy *courtesy, uint64_t took_ns)
{
    if (took_ns < UNNOTICED_NS)
        return;
    // Whoever was suspended meanwhile, for hours maybe, has given nothing away for so long.
    courtesy->credit_ns -= took_ns < (uint64_t)CREDIT_MOST_NS ? (int64_t)took_ns : CREDIT_MOST_NS;
}
