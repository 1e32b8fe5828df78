// The office of Zhou, Qu & Brent with Ousterhout's rows as sets; section 3 of doc/design/gang.md.
#include "classd/policy/office.h"

#include "classd/policy/contest.h"
#include "classd/policy/holders.h"
#include "classd/policy/round.h"
#include "classd/policy/standing.h"

uint64_t office_slots(const struct policy_node *node, const struct policy_job *job)
{
    return job->sequential ? round_dummies(node) : job->slots;
}

// How many slots a job has for sure: what is promised to another it may lose.
static uint8_t sure_count(const struct policy_node *node, const struct policy_job *job,
                          uint64_t promised)
{
    return round_count(office_slots(node, job) & ~promised);
}

// So many of 60 are a part of the slots that jobs have, without the sequential class's.
static uint8_t part_of_jobs(const struct policy_node *node, uint8_t due)
{
    unsigned room = ENGINE_ROUND - round_count(round_dummies(node)),
             part = due * room / ENGINE_ROUND;
    return part > 0 || due == 0 ? (uint8_t)part : 1;
}

// What a job of a list of longer slots gives, it gives in whole pieces, as long as it has some.
static unsigned gives_at_once(const struct policy_node *node, const struct policy_job *job,
                              uint8_t due)
{
    unsigned length = round_length(node, job);
    return length <= due ? length : 1;
}

// How many slots a job can give to one that is to leave others so many, and has `has_count`.
static unsigned can_give(const struct policy_node *node, const struct policy_job *job,
                         uint64_t promised, uint8_t due, uint8_t has_count)
{
    unsigned length = gives_at_once(node, job, due), sure = sure_count(node, job, promised);
    unsigned keep = standing_keeps(node, job, due > has_count ? due : has_count);
    return job->sequential || sure < keep ? 0 : (sure - keep) / length * length;
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
    uint64_t promised = holders_promised_beside(node, job), slots = 0,
             dummies = round_dummies(node);
    struct room staying[ENGINE_ROUND] = {0};
    uint8_t has_count = round_count(standing_slots(node, job));
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other == job)
            continue;
        bool gives = can_give(node, other, promised, due, has_count) > 0;
        for (unsigned s = 0; s < ENGINE_ROUND; s++) {
            if (holders_include(node, other, s) && (!gives || round_has(promised, s)))
                room_add(node, &staying[s], other);
        }
    }
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (!round_has(dummies, s) && room_fits(node, &staying[s], job))
            slots |= UINT64_C(1) << s;
    }
    return slots;
}

static struct office_offer uncontested(const struct policy_node *node, const struct policy_job *job,
                                       uint8_t due)
{
    uint64_t promised = holders_promised_beside(node, job);
    uint64_t most = round_count(within_reach(node, job, ENGINE_ROUND)); // nobody has more
    due = part_of_jobs(node, due);
    uint64_t slots = within_reach(node, job, due);
    uint8_t has_count = round_count(standing_slots(node, job));
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        most += other != job ? can_give(node, other, promised, due, has_count) : 0;
    }
    uint8_t count = round_count(slots);
    return (struct office_offer){.slots = slots, .most = most < count ? (uint8_t)most : count};
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

struct office_offer office_offer(struct policy_node *node, const struct policy_job *job,
                                 uint8_t due)
{
    // Else the job would have the rest of it reserved on its other nodes, for nothing.
    if (!may_be_promised(node, job))
        return (struct office_offer){.slots = job->slots, .most = round_count(job->slots)};
    if (holders_promised_beside(node, job) == 0)
        return uncontested(node, job, due);
    uint64_t counted = standing_slots(node, job);
    struct contest contest = {.wish = ENGINE_ALL_SLOTS,
                              .own = counted | within_reach(node, job, ENGINE_ROUND),
                              .counted = counted,
                              .due = part_of_jobs(node, due)};
    contest_take(node, job, contest_won(node, job, &contest));
    struct office_offer offer = uncontested(node, job, due);
    contest_end(node, 0);
    return offer;
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
        if (other != but && !other->sequential && !other->yields && round_has(other->slots, slot) &&
            left > most && left > standing_keeps(node, other, keep)) {
            most = left;
            best = other;
        }
    }
    return best;
}

// Of those that yield, who is not in the way after all: of others' CPUs, or of what others leave.
static void spare(struct policy_node *node, const struct policy_job *job, unsigned slot)
{
    struct room holders = holders_beside(node, job, slot);
    room_add(node, &holders, job);
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *other = &node->jobs[i];
        if (!other->yields || !room_fits(node, &holders, other))
            continue;
        other->yields = false;
        room_add(node, &holders, other);
    }
}

// Marks those as yielding that must for the job to fit into the slot; false when that cannot be.
static bool make_room(struct policy_node *node, const struct policy_job *job, unsigned slot,
                      uint64_t promised, unsigned keep)
{
    if (round_has(round_dummies(node), slot))
        return false;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].yields = false;
    for (;;) {
        struct room holders = holders_beside(node, job, slot);
        if (room_fits(node, &holders, job)) {
            spare(node, job, slot);
            return true;
        }
        struct policy_job *victim =
            round_has(promised, slot) ? NULL : richest(node, job, slot, promised, keep);
        if (victim == NULL)
            return false;
        victim->yields = true;
    }
}

// All of the piece, or nothing of it; `has_count` is what the job has beside it.
static bool give_piece(struct policy_node *node, const struct policy_job *job, uint64_t piece,
                       uint64_t promised, uint8_t due, unsigned has_count)
{
    bool given = true;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].taken_at_once = 0;
    for (unsigned slot = 0; given && slot < ENGINE_ROUND; slot++) {
        if (!round_has(piece, slot))
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
        length = round_has(cut, slot) ? 1 : length + 1;
        longest = length > longest ? length : longest;
    }
    return longest;
}

// What of the wish can be had beside what is promised to others.
static uint64_t give_all(struct policy_node *node, const struct policy_job *job, uint64_t wish,
                         uint8_t due)
{
    uint64_t promised = holders_promised_beside(node, job);
    uint64_t given = wish & within_reach(node, job, ENGINE_ROUND), cut = office_cut(node, job);
    cut = longest_piece(cut) <= due ? cut : ENGINE_ALL_SLOTS; // see slots_choose()
    uint64_t counted = standing_slots(node, job); // wished for or not: it can have these
    unsigned limit = standing_most(node, job);
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].taken = 0;
    // What is taken from one job is to be spread evenly, too.
    for (unsigned n = 0; n < ENGINE_ROUND; n++) {
        uint64_t piece = round_has(cut, round_nth(n)) ? round_piece(cut, round_nth(n)) : 0;
        uint64_t more = piece & wish & ~given;
        if ((more & ~job->slots) != 0 && round_count(given | job->slots | more) > limit)
            continue;
        if (give_piece(node, job, more, promised, due, round_count(given | counted)))
            given |= more;
    }
    return given;
}

uint64_t office_promise(struct policy_node *node, struct policy_job *job, uint64_t wish,
                        uint8_t due)
{
    if (!may_be_promised(node, job))
        return 0;
    job->promised = job->won_away = 0;
    due = part_of_jobs(node, due);
    uint64_t own = standing_slots(node, job) | (wish & within_reach(node, job, ENGINE_ROUND));
    struct contest contest = {.wish = wish, .own = own, .counted = own, .due = due};
    contest_take(node, job, contest_won(node, job, &contest));
    uint64_t given = give_all(node, job, wish, due);
    contest_end(node, given);
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
        if (!node->jobs[i].yields)
            continue;
        node->jobs[i].slots &= ~(UINT64_C(1) << slot);
        node->jobs[i].lost = true;
    }
}

// Until the job has `limit` with those that it has been given.
static uint64_t take_all(struct policy_node *node, const struct policy_job *job, uint64_t slots,
                         uint64_t others, unsigned keep, unsigned limit)
{
    uint64_t given = 0;
    for (unsigned s = 0; s < ENGINE_ROUND && round_count(given) < limit; s++) {
        if (!round_has(slots, s) || !make_room(node, job, s, others, keep))
            continue;
        given |= UINT64_C(1) << s;
        take(node, s);
    }
    return given;
}

// Those of `slots` that are free or promised and held by somebody who can lose them.
static uint64_t within_promise(struct policy_node *node, const struct policy_job *job,
                               uint64_t slots, uint64_t promised, uint64_t others)
{
    uint64_t within = 0;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        unsigned keep =
            round_has(promised, s) ? 0 : ENGINE_ROUND; // what is not promised must be free
        if (round_has(slots, s) && make_room(node, job, s, others, keep))
            within |= UINT64_C(1) << s;
    }
    return within;
}

static void end_promise(const struct policy_node *node, struct policy_job *job, bool used)
{
    if (used)
        job->promised_since_ns = job->promised_until_ns = 0;
    else if (in_promise_period(node, job))
        job->promised_until_ns = node->now_ns; // and nothing before as long again as it was
    job->promised = 0;
}

// A promise was fair by what jobs had then, and by a part of what is claimed: so it is weighed
// again. One less than the claimant may be left, as the promise gives one slot after the other.
uint64_t office_claim(struct policy_node *node, struct policy_job *job, uint64_t slots,
                      uint32_t term)
{
    uint64_t promised = holders_promised(node, job) & slots, own = job->slots, asked = slots;
    uint64_t others = holders_promised_beside(node, job), counted = standing_slots(node, job);
    for (size_t i = 0; i < node->count; i++) {
        node->jobs[i].taken = 0;
        node->jobs[i].lost = false;
    }
    slots = within_promise(node, job, slots, promised, others);
    unsigned keep = round_count(slots | counted), limit = standing_most(node, job);
    keep = keep > 0 ? keep - 1 : 0;
    uint64_t given = take_all(node, job, slots & own, others, keep, ENGINE_ROUND);
    unsigned more = limit > round_count(given) ? limit - round_count(given) : 0;
    given |= take_all(node, job, slots & ~own, others, keep, more);
    job->slots = given;
    job->term = term;
    standing_give_up(node, job, own);
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].lost)
            standing_note_loss(node, &node->jobs[i]);
    }
    // What another won is not what it lets others wait for.
    end_promise(node, job, (given & promised) != 0 || (asked & job->won_away) != 0);
    job->won_away = 0;
    return given;
}
