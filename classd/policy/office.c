// The office of Zhou, Qu & Brent with Ousterhout's rows as sets; section 3 of doc/design/gang.md.
#include "classd/policy/office.h"

#include "classd/policy/round.h"

static bool has(uint64_t slots, unsigned slot)
{
    return slots >> slot & 1;
}

static uint8_t count_of(uint64_t slots)
{
    return (uint8_t)__builtin_popcountll(slots);
}

uint64_t office_slots(const struct policy_node *node, const struct policy_job *job)
{
    return job->sequential ? round_dummies(node) : job->slots;
}

static uint64_t promised_to(const struct policy_node *node, const struct policy_job *job)
{
    return node->now_ns < job->promised_until_ns ? job->promised : 0;
}

static uint64_t promised_to_others(const struct policy_node *node, const struct policy_job *but)
{
    uint64_t promised = 0;
    for (size_t i = 0; i < node->count; i++)
        promised |= &node->jobs[i] != but ? promised_to(node, &node->jobs[i]) : 0;
    return promised;
}

// Who holds a slot or was promised it, but `but`, and does not yield.
struct holders {
    size_t count;
    uint64_t width;
};

static bool holds(const struct policy_node *node, const struct policy_job *job, unsigned slot)
{
    return has(office_slots(node, job) | promised_to(node, job), slot);
}

static bool fits(const struct policy_node *node, const struct policy_job *job,
                 const struct holders *holders)
{
    return holders->count == 0 || holders->width + policy_room_of(node, job) <= policy_room(node);
}

static void add_holder(const struct policy_node *node, const struct policy_job *job,
                       struct holders *holders)
{
    holders->count++;
    holders->width += policy_room_of(node, job);
}

// How many slots a job has for sure: what is promised to another it may lose.
static uint8_t sure_count(const struct policy_node *node, const struct policy_job *job,
                          uint64_t promised)
{
    return count_of(office_slots(node, job) & ~promised);
}

// So many of 60 are a part of the slots that jobs have, without the sequential class's.
static uint8_t part_of_jobs(const struct policy_node *node, uint8_t due)
{
    unsigned room = ENGINE_ROUND - count_of(round_dummies(node)), part = due * room / ENGINE_ROUND;
    return part > 0 || due == 0 ? (uint8_t)part : 1;
}

// What a job of a list of longer slots gives, it gives in whole pieces, as long as it has some.
static unsigned gives_at_once(const struct policy_node *node, const struct policy_job *job,
                              uint8_t due)
{
    unsigned length = round_length(node, job);
    return length <= due ? length : 1;
}

static bool can_give(const struct policy_node *node, const struct policy_job *job,
                     uint64_t promised, uint8_t due)
{
    return !job->sequential &&
           sure_count(node, job, promised) >= due + gives_at_once(node, job, due);
}

// The pieces of the job's own list, but for cuts through a piece that another job holds.
uint64_t office_cut(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t cut = round_cut(node, job);
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        uint64_t goes_on = other->slots & other->slots << 1;
        if (other != job && !other->sequential)
            cut &= ~(goes_on & ~round_cut(node, other));
    }
    return cut | 1;
}

// The slots in which the job fits beside all who cannot be taken from.
static uint64_t within_reach(const struct policy_node *node, const struct policy_job *job,
                             uint8_t due)
{
    uint64_t promised = promised_to_others(node, job), slots = 0, dummies = round_dummies(node);
    struct holders staying[ENGINE_ROUND] = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other == job)
            continue;
        bool gives = can_give(node, other, promised, due);
        for (unsigned s = 0; s < ENGINE_ROUND; s++) {
            if (holds(node, other, s) && (!gives || has(promised, s)))
                add_holder(node, other, &staying[s]);
        }
    }
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (!has(dummies, s) && fits(node, job, &staying[s]))
            slots |= UINT64_C(1) << s;
    }
    return slots;
}

struct office_offer office_offer(const struct policy_node *node, const struct policy_job *job,
                                 uint8_t due)
{
    uint64_t promised = promised_to_others(node, job);
    uint64_t most = count_of(within_reach(node, job, ENGINE_ROUND)); // nobody has more
    due = part_of_jobs(node, due);
    uint64_t slots = within_reach(node, job, due);
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        unsigned length = gives_at_once(node, other, due);
        if (other != job && can_give(node, other, promised, due))
            most += (sure_count(node, other, promised) - due) / length * length;
    }
    uint8_t count = count_of(slots);
    return (struct office_offer){.slots = slots, .most = most < count ? (uint8_t)most : count};
}

static struct holders holders_left(const struct policy_node *node, const struct policy_job *but,
                                   unsigned slot)
{
    struct holders holders = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other != but && !other->yields && holds(node, other, slot))
            add_holder(node, other, &holders);
    }
    return holders;
}

// Of those that hold the slot, who has most left beyond `keep`.
static struct policy_job *richest(struct policy_node *node, const struct policy_job *but,
                                  unsigned slot, uint64_t promised, unsigned keep)
{
    struct policy_job *best = NULL;
    unsigned most = keep;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *other = &node->jobs[i];
        unsigned left = sure_count(node, other, promised);
        unsigned taken = other->taken + other->taken_at_once;
        left = left > taken ? left - taken : 0;
        if (other != but && !other->sequential && !other->yields && has(other->slots, slot) &&
            left > most) {
            most = left;
            best = other;
        }
    }
    return best;
}

// Marks those as yielding that must for the job to fit into the slot; false when that cannot be.
static bool make_room(struct policy_node *node, const struct policy_job *job, unsigned slot,
                      uint64_t promised, unsigned keep)
{
    if (has(round_dummies(node), slot))
        return false;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].yields = false;
    for (;;) {
        struct holders holders = holders_left(node, job, slot);
        if (fits(node, job, &holders))
            return true;
        struct policy_job *victim =
            has(promised, slot) ? NULL : richest(node, job, slot, promised, keep);
        if (victim == NULL)
            return false;
        victim->yields = true;
    }
}

// What is taken from one job is to be spread evenly, too, and alike on all nodes.
static unsigned nth_slot(unsigned n)
{
    enum { STRIDE = 37 }; // by about the golden ratio of the round, and prime to it
    return n * STRIDE % ENGINE_ROUND;
}

static uint64_t promise_ns(const struct policy_node *node)
{
    return OFFICE_PROMISE_ROUNDS * ENGINE_ROUND * node->time_slice_ns;
}

// From when the job is first promised something until it takes some of that, gives it up, or the
// time is over: whatever it reserves or loses meanwhile.
static bool in_promise_period(const struct policy_node *node, const struct policy_job *job)
{
    return node->now_ns < job->promised_until_ns;
}

// A job that reserves for nothing would keep others off by doing so again and again.
static bool may_be_promised(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t lasted_ns = job->promised_until_ns - job->promised_since_ns;
    return in_promise_period(node, job) || node->now_ns - job->promised_until_ns >= lasted_ns;
}

// All of the piece, or nothing of it; `has_count` is what the job has beside it.
static bool give_piece(struct policy_node *node, const struct policy_job *job, uint64_t piece,
                       uint64_t promised, uint8_t due, unsigned has_count)
{
    bool given = true;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].taken_at_once = 0;
    for (unsigned slot = 0; given && slot < ENGINE_ROUND; slot++) {
        if (!has(piece, slot))
            continue;
        given = make_room(node, job, slot, promised, has_count > due ? has_count : due);
        has_count++;
        for (size_t i = 0; given && i < node->count; i++)
            node->jobs[i].taken_at_once += node->jobs[i].yields;
    }
    for (size_t i = 0; i < node->count; i++) {
        node->jobs[i].taken += given ? node->jobs[i].taken_at_once : 0;
        node->jobs[i].taken_at_once = 0;
    }
    return given;
}

static unsigned longest_piece(uint64_t cut)
{
    unsigned longest = 0, length = 0;
    for (unsigned slot = 0; slot < ENGINE_ROUND; slot++) {
        length = has(cut, slot) ? 1 : length + 1;
        longest = length > longest ? length : longest;
    }
    return longest;
}

uint64_t office_promise(struct policy_node *node, struct policy_job *job, uint64_t wish,
                        uint8_t due)
{
    due = part_of_jobs(node, due);
    uint64_t promised = promised_to_others(node, job);
    if (!may_be_promised(node, job))
        return 0;
    job->promised = 0;
    uint64_t given = wish & within_reach(node, job, ENGINE_ROUND), cut = office_cut(node, job);
    cut = longest_piece(cut) <= due ? cut : ENGINE_ALL_SLOTS; // see slots_choose()
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].taken = 0;
    for (unsigned n = 0; n < ENGINE_ROUND; n++) {
        uint64_t piece = has(cut, nth_slot(n)) ? round_piece(cut, nth_slot(n)) : 0;
        uint8_t has_count = count_of(given | job->slots); // wished for or not: it can keep its own
        if (give_piece(node, job, piece & wish & ~given, promised, due, has_count))
            given |= piece & wish;
    }
    job->promised = given & ~job->slots; // its own are its own, and others may be given of them
    if (job->promised != 0 && !in_promise_period(node, job)) {
        job->promised_since_ns = node->now_ns;
        job->promised_until_ns = node->now_ns + promise_ns(node);
    }
    return given;
}

static void take(struct policy_node *node, unsigned slot)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].yields)
            node->jobs[i].slots &= ~(UINT64_C(1) << slot);
    }
}

// Those of `slots` that are free or promised and held by somebody who can lose them.
static uint64_t within_promise(struct policy_node *node, const struct policy_job *job,
                               uint64_t slots, uint64_t promised, uint64_t others)
{
    uint64_t within = 0;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        unsigned keep = has(promised, s) ? 0 : ENGINE_ROUND; // what is not promised must be free
        if (has(slots, s) && make_room(node, job, s, others, keep))
            within |= UINT64_C(1) << s;
    }
    return within;
}

// A promise was fair by what jobs had then, and by a part of what is claimed: so it is weighed
// again. One less than the claimant may be left, as the promise gives one slot after the other.
uint64_t office_claim(struct policy_node *node, struct policy_job *job, uint64_t slots,
                      uint32_t term)
{
    uint64_t promised = promised_to(node, job) & slots, given = 0;
    uint64_t others = promised_to_others(node, job);
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].taken = 0;
    slots = within_promise(node, job, slots, promised, others);
    uint8_t most = count_of(slots);
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (!has(slots, s) || !make_room(node, job, s, others, most - 1u))
            continue;
        given |= UINT64_C(1) << s;
        take(node, s);
    }
    job->slots = given;
    job->term = term;
    if ((given & promised) != 0)
        job->promised_since_ns = job->promised_until_ns = 0;
    else if (in_promise_period(node, job))
        job->promised_until_ns = node->now_ns; // and nothing before as long again as it was
    job->promised = 0;
    return given;
}

// Who has fewer, so that growing wider is no way to take slots from others; then by name, which
// users choose.
static bool stays_before(const struct policy_job *one, const struct policy_job *other)
{
    if (one->sequential != other->sequential)
        return one->sequential;
    if (count_of(one->slots) != count_of(other->slots))
        return count_of(one->slots) < count_of(other->slots);
    if (one->name != other->name)
        return one->name < other->name;
    return one < other;
}

// The first in line of those that hold the slot and are not among the ones that stay.
static struct policy_job *first_holder(struct policy_node *node, unsigned slot)
{
    struct policy_job *first = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (!job->yields && has(office_slots(node, job), slot) &&
            (first == NULL || stays_before(job, first)))
            first = job;
    }
    return first;
}

static void settle_slot(struct policy_node *node, unsigned slot)
{
    struct holders staying = {0};
    struct policy_job *job;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].yields = false;
    while ((job = first_holder(node, slot)) != NULL) {
        job->yields = true; // out of the line
        if (fits(node, job, &staying))
            add_holder(node, job, &staying);
        else
            job->slots &= ~(UINT64_C(1) << slot);
    }
}

static bool overbooked(const struct policy_node *node, unsigned slot)
{
    struct holders holders = {0};
    for (size_t i = 0; i < node->count; i++) {
        if (has(office_slots(node, &node->jobs[i]), slot))
            add_holder(node, &node->jobs[i], &holders);
    }
    return holders.count > 1 && holders.width > policy_room(node);
}

void office_settle(struct policy_node *node)
{
    uint64_t dummies = round_dummies(node); // of which the share may have changed
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].slots &= ~dummies;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (overbooked(node, s))
            settle_slot(node, s);
    }
}
