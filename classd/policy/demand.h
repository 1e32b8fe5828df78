// Whether somebody computes in the sequential class, told from its CPU time alone. Pure. It takes
// part in the turns only while somebody does: else MPI jobs have the whole node. And whether a job
// does; its interactive share is then what it may use without being told to be awake.
//
// Who comes: a class that has used more than its interactive share of the node for a while, or so
// much more that it comes to the same. A command now and then is nobody who computes. Who goes: one
// that was quiet for a few time-slices, and also while it held the node: using no more than its
// share while nothing held it to that, as it needs no slots then, or less than half of it. What it
// uses of it beyond that while it is held to it tells nothing. So one that would use more, or is
// starved by ranks that spin, is not taken for quiet before it had a slot of its own.
//
// And on how many CPUs: where these are left over by the jobs, it takes no part, as jobs that fit
// on the node together do not. That shows only while nothing holds it.
#ifndef COSCHED_CLASSD_POLICY_DEMAND_H
#define COSCHED_CLASSD_POLICY_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

// Looks that come sooner after one another than this are left out, but for who has already used so
// much that it is somebody who computes. A little less than a second of the caller's timer, which
// may be early.
#define DEMAND_WINDOW_NS UINT64_C(900000000)

// As much as its share in so long may be used at once.
#define DEMAND_BURST_NS UINT64_C(2000000000)

// CPU time that a command takes, an interpreter that starts for instance: on a small node more than
// the share in so long. Less than what somebody has in a second who computes beside one rank.
#define DEMAND_COMMAND_NS UINT64_C(300000000)

// How long it must be quiet: people who compile and look at the outcome pause for seconds, however
// long a slice is, and the jobs wait in vain meanwhile.
#define DEMAND_PATIENCE_SLICES 3
#define DEMAND_PATIENCE_MAX_NS UINT64_C(10000000000)

struct demand_rules {
    unsigned cpus;
    unsigned parts; // the groups that the share is divided among, of which one alone may be busy
    uint32_t interactive_share_ppm;
    uint64_t patience_ns; // for so long it must be quiet
    uint64_t command_ns; // may be used at once where that is more than the share in DEMAND_BURST_NS
};

// The patience with the sequential class.
static inline uint64_t demand_patience_ns(uint64_t time_slice_ns)
{
    uint64_t slices_ns = DEMAND_PATIENCE_SLICES * time_slice_ns;
    return slices_ns < DEMAND_PATIENCE_MAX_NS ? slices_ns : DEMAND_PATIENCE_MAX_NS;
}

struct demand_look {
    uint64_t now_ns;
    uint64_t usage_ns; // CPU time of the class in all
    uint64_t held_ns;  // for how long it has held the node in all: also while it takes no part
};

// All zeros at first; of a job, about which the same is asked the other way round,
// DEMAND_OF_A_NEWCOMER.
struct demand {
    bool computes;    // the answer
    unsigned busy;    // CPUs that it uses when nothing holds it, rounded up; 0: not known
    uint64_t busy_ns; // when it last used so many
    bool looked;
    struct demand_look last;
    double overdrawn_ns; // CPU time beyond the share that was not made up for yet
    uint64_t quiet_ns;
    uint64_t quiet_held_ns; // of that while it held the node
};

#define DEMAND_OF_A_NEWCOMER ((struct demand){.computes = true})

// One look; returns demand->computes. Totals that go back count as a new beginning.
bool demand_observe(struct demand *demand, const struct demand_rules *rules,
                    const struct demand_look *look);

// Whether those who compute find room beside jobs that are so wide together.
bool demand_fits(const struct demand *demand, const struct demand_rules *rules, uint64_t width);

#endif
