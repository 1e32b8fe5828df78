// Gang scheduling after B. B. Zhou, X. Qu, R. P. Brent: "Effective Scheduling in a Mixed Parallel
// and Sequential Computing Environment" (the servant, the manager) and Ousterhout's matrix: who is
// out is decided by the number of the slot, which nodes know from the clock. Which slots are a
// job's is the office's to know. The departures are argued in doc/design/gang.md.
#include "classd/policy/office.h"
#include "classd/policy/packing.h"
#include "classd/policy/round.h"

// Why a job is to be out in this slot.
enum right {
    FILLER,  // nobody else needs the room
    OWNER,   // the slot is its own
    OVERDUE, // it has waited for longer than it should have to
};

// From one slot of the set to the next, at most.
static unsigned longest_gap(uint64_t slots)
{
    unsigned gap = 0, longest = 0;
    for (unsigned s = 0; s < 2 * ENGINE_ROUND; s++) {
        gap++;
        if (slots >> s % ENGINE_ROUND & 1) {
            longest = gap > longest ? gap : longest;
            gap = 0;
        }
    }
    return longest;
}

// Who has no slots waits for as long as there are jobs. Who has some waits from one to the next,
// and for those whose turn that is not: longer only where the clock is set, stands, or leaps over
// its slots time and again, or where they are always those in which somebody else is overdue. As
// of all who are overdue the one that has waited longest goes first, nobody waits for longer than
// that and once for each other job.
static bool is_overdue(const struct policy_node *node, const struct policy_job *job, uint64_t slots)
{
    // Not before it has waited a slot: who comes, or is continued, before each of them and goes
    // again would have them all.
    uint64_t slot_ns = node->time_slice_ns - node->time_slice_ns / 8;
    if (slots == 0)
        return job->slices_waited != 0 && job->slices_waited + 1 >= job->most_jobs &&
               node->now_ns - job->runnable_ns >= slot_ns;
    return job->slices_waited > job->most_jobs &&
           job->slices_waited - job->most_jobs >= longest_gap(slots);
}

// With a fair share the sequential class holds no slots, since their number would change with that
// of the jobs: it goes first in those that yoo-jette would give it. Their pattern begins one slot
// later in each round, as it might else fall on the same job's slots each time.
static bool is_its_turn(const struct policy_node *node, const struct policy_job *job)
{
    return job->sequential && node->sequential_share_ppm == 0 &&
           policy_sequential_turn(node, node->last_turn + node->last_turn / ENGINE_ROUND);
}

static enum right right_of(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t slots = office_slots(node, job);
    if (is_overdue(node, job, slots) || is_its_turn(node, job))
        return OVERDUE;
    return slots >> node->last_turn % ENGINE_ROUND & 1 ? OWNER : FILLER;
}

// Who fills a slot is drawn by its number and the jobs' names. So whoever wins against all others
// of all its nodes is out on all of them, though they have different jobs and do not ask each
// other.
static uint64_t lot_of(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t lot = job->name ^ node->last_turn * UINT64_C(0x9e3779b97f4a7c15);
    lot = (lot ^ lot >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    lot = (lot ^ lot >> 27) * UINT64_C(0x94d049bb133111eb);
    return lot ^ lot >> 31;
}

static bool goes_before(const struct policy_node *node, const struct policy_job *one,
                        const struct policy_job *other)
{
    enum right right = right_of(node, one);
    if (right != right_of(node, other))
        return right > right_of(node, other);
    if (right == OVERDUE && one->slices_waited != other->slices_waited)
        return one->slices_waited > other->slices_waited;
    unsigned list = round_list(node, one), other_list = round_list(node, other);
    if (right == FILLER && list != other_list)
        return list < other_list; // short jobs first
    uint64_t lot = lot_of(node, one), other_lot = lot_of(node, other);
    return lot != other_lot ? lot > other_lot : one < other;
}

static void fill(struct policy_node *node)
{
    struct policy_job *first;
    do {
        struct room set = packing_room(node);
        first = NULL;
        for (size_t i = 0; i < node->count; i++) {
            struct policy_job *job = &node->jobs[i];
            if (!job->next && (first == NULL || goes_before(node, job, first)) &&
                room_fits(node, &set, job))
                first = job;
        }
        if (first != NULL) {
            first->next = true;
            first->first =
                right_of(node, first) == OVERDUE; // nobody knows that any more when it is out
        }
    } while (first != NULL);
}

// Without a clock that the nodes share, or slots that were agreed about, this is yoo-jette.
static bool has_slots(const struct policy_node *node)
{
    bool agreed = false;
    for (size_t i = 0; i < node->count; i++)
        agreed |= node->jobs[i].slots != 0;
    return agreed && node->last_turn != 0;
}

// The manager: the servant goes to whose slot it is.
static void on_tick(struct policy_node *node)
{
    if (!has_slots(node)) {
        policy_yoo_jette.on_tick(node);
        return;
    }
    packing_begin_slice(node);
    fill(node);
}

static bool is_last(const struct policy_node *node, const struct policy_job *one,
                    const struct policy_job *other)
{
    return other == NULL || goes_before(node, other, one);
}

static struct policy_job *last_member(struct policy_node *node, bool first)
{
    struct policy_job *last = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (job->next && job->first == first && is_last(node, job, last))
            last = job;
    }
    return last;
}

// After a process came or went. By rights, as at the tick, and last who was overdue then: else
// whoever grows in each slot would have those of others.
static void make_fit(struct policy_node *node)
{
    while (packing_room(node).over) {
        struct policy_job *last = last_member(node, false);
        if (last == NULL)
            last = last_member(node, true);
        last->next = false;
    }
}

static void on_change(struct policy_node *node)
{
    office_settle(node);
    if (!has_slots(node)) {
        policy_yoo_jette.on_change(node);
        return;
    }
    make_fit(node);
    fill(node);
}

// How long a job that is out has been so in this slot.
static uint64_t out_ns(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t since_ns =
        job->scheduled_since_ns > node->tick_ns ? job->scheduled_since_ns : node->tick_ns;
    return node->now_ns - since_ns;
}

// A job that has used next to nothing of its slot so far waits for something: less than a tenth of
// its CPUs, and of a wide job's half of one, as it may be busy with what it does not do in
// parallel. The sequential class never does.
static bool waits(const struct policy_node *node, const struct policy_job *job)
{
    enum { PART = 10, CPUS_MOST = 5 };
    uint64_t cpus = policy_usable_cpus(node, job);
    uint64_t least_ns = out_ns(node, job) / PART * (cpus < CPUS_MOST ? cpus : CPUS_MOST);
    return !job->sequential && job->slice_used_ns * cpus <= least_ns;
}

// Whoever is out for no right of his own goes when he has had GMET, and so does an owner who has
// had that and does not use it. Who has no slots has no other turns than those in which he was
// overdue, and who was overdue when the slot began has waited for it.
static bool gives_way(const struct policy_node *node, const struct policy_job *job)
{
    bool filler = office_slots(node, job) != 0 && !job->first && right_of(node, job) == FILLER;
    return job->next && job->scheduled && out_ns(node, job) >= node->gmet_ns &&
           (filler || waits(node, job));
}

static bool make_room(struct policy_node *node, struct policy_job *requester)
{
    requester->next = false;
    while (!packing_fits(node, requester)) {
        struct policy_job *last = NULL;
        for (size_t i = 0; i < node->count; i++) {
            if (gives_way(node, &node->jobs[i]) && is_last(node, &node->jobs[i], last))
                last = &node->jobs[i];
        }
        if (last == NULL)
            return false;
        last->next = false;
    }
    requester->next = true;
    return true;
}

// CMDSCH fills slots that are empty or whose job waits.
static enum engine_outcome on_request(struct policy_node *node, struct policy_job *requester)
{
    if (!has_slots(node))
        return policy_yoo_jette.on_request(node, requester);
    if (!make_room(node, requester))
        return packing_discard(node, ENGINE_DISCARDED_SLOT);
    fill(node);
    return ENGINE_GRANTED;
}

const struct policy policy_gang = {
    .name = "gang",
    .counts_held = true,
    .coordinates = true,
    .on_change = on_change,
    .on_tick = on_tick,
    .on_request = on_request,
};
