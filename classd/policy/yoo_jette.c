// A. B. Yoo, M. A. Jette: "An Efficient and Scalable Coscheduling Technique for Large Symmetric
// Multiprocessor Clusters". Which job holds the node is section 2.2.3; the departures, marked (a)
// to (e), (i) and (m), are argued in doc/design/main-job.md. (a), (b) and (c) are packing.c's.
#include "classd/policy/exchange.h"
#include "classd/policy/packing.h"

#define GOLDEN_SECTION UINT32_C(0x9e3779b9) // of 2^32

// The sequential class, whose slots are not as many as a job's.
static struct policy_job *sequential_class(struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].sequential)
            return &node->jobs[i];
    }
    return NULL;
}

static bool comes_before(const struct policy_job *one, const struct policy_job *other)
{
    return one->name != other->name ? one->name < other->name : one < other;
}

static bool has_place(const struct policy_job *job, uint64_t known_by)
{
    return !job->sequential && policy_takes_part(job, known_by);
}

// How many of those with a place come before this one in the order of their names.
static uint64_t place_of(const struct policy_node *node, const struct policy_job *job,
                         uint64_t known_by)
{
    uint64_t before = 0;
    for (size_t i = 0; i < node->count; i++)
        before += has_place(&node->jobs[i], known_by) && comes_before(&node->jobs[i], job);
    return before;
}

static uint64_t count_taking_part(const struct policy_node *node, uint64_t known_by)
{
    uint64_t count = 0;
    for (size_t i = 0; i < node->count; i++)
        count += policy_takes_part(&node->jobs[i], known_by);
    return count;
}

// Nobody has come or gone for two rounds. Of newcomers the slice from which they take part tells,
// on which nodes agree that one has come to just before and just after a tick.
static bool is_calm(const struct policy_node *node, uint64_t turn)
{
    uint64_t slices = 2 * count_taking_part(node, policy_known_by(node, turn));
    for (size_t i = 0; i < node->count; i++) {
        uint64_t from_turn = node->jobs[i].from_turn;
        if (from_turn != 0 && from_turn <= turn && turn - from_turn < slices)
            return false;
    }
    return node->now_ns - node->changed_ns >= slices * node->time_slice_ns;
}

// Which of `jobs` places has the slice `turn`, which is the `number`th of those that are not the
// sequential class's. One after the other, in calm times. That is no order where
// jobs come and go: with one job more the rest of the division is another for each slice, so that
// some jobs would have several turns and others none; and nodes one of which knows of the newcomer
// earlier would agree about nothing. Then the place is that of a point which goes round a circle by
// the golden section, and so comes to any part of it as often as the part is long, whatever turns
// it begins and ends with, within two rounds and a half. A newcomer on the circle takes a little of
// everybody's part.
static uint64_t place_in_turn(const struct policy_node *node, uint64_t turn, uint64_t number,
                              uint64_t jobs)
{
    if (is_calm(node, turn))
        return number % jobs;
    uint32_t point = (uint32_t)number * GOLDEN_SECTION;
    return (uint64_t)point * jobs >> 32;
}

// Whose turn it is by the number of the slice: the sequential class's slots first, all other jobs
// in the order of their names. Nodes with the same jobs agree on that without a word.
static struct policy_job *whose_turn(struct policy_node *node, uint64_t turn)
{
    struct policy_job *class_ = sequential_class(node);
    uint64_t known_by = policy_known_by(node, turn);
    uint64_t jobs = count_taking_part(node, known_by), number = turn;
    if (turn == 0)
        return NULL;
    if (class_ != NULL) {
        if (policy_sequential_turn(node, turn) || jobs == 1)
            return class_;
        number -= policy_sequential_turns_before(node, turn);
        jobs--;
    }
    uint64_t place = place_in_turn(node, turn, number, jobs);
    for (size_t i = 0; i < node->count; i++) {
        if (has_place(&node->jobs[i], known_by) &&
            place_of(node, &node->jobs[i], known_by) == place)
            return &node->jobs[i];
    }
    return NULL;
}

// Two slices and a half of lead: one that a request may win a job (e), and what turns of changing
// rounds come to. If a job lost its turn for less, nodes whose accounts differ by that much would
// choose differently until all had ended. The sequential class and a job are as far apart before
// one of them has two slots on end; and where the class has a share of the time, its account grows
// in steps of another size, so by a round of the share.
static uint64_t even_ns(const struct policy_node *node, const struct policy_job *one,
                        const struct policy_job *other)
{
    uint64_t lead_ns = 5 * (node->time_slice_ns / 2);
    if (one->sequential == other->sequential || node->sequential_share_ppm == 0)
        return lead_ns;
    return lead_ns +
           (uint64_t)((double)node->time_slice_ns * ENGINE_WHOLE_PPM / node->sequential_share_ppm);
}

// Without what jobs began with for their owners' former ones, which differs between nodes.
static uint64_t own_ns(const struct policy_job *job)
{
    return job->service_ns - job->lead_ns;
}

// But who leaves before each tick, and comes again under a name that has the turn, would have them
// all: where the owner's former jobs were clearly ahead, another owner's go first.
static bool is_ahead_by_former(const struct policy_node *node, const struct policy_job *job,
                               const struct policy_job *other)
{
    uint64_t clear_ns = 3 * (node->time_slice_ns / 2);
    return job->lead_ns > clear_ns && other->owner != job->owner && !other->sequential &&
           job->service_ns > other->service_ns && job->service_ns - other->service_ns > clear_ns;
}

static bool is_even(const struct policy_node *node, const struct policy_job *job)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (!room_compete(node, job, other))
            continue;
        if (own_ns(job) > own_ns(other) && own_ns(job) - own_ns(other) > even_ns(node, job, other))
            return false;
        if (is_ahead_by_former(node, job, other))
            return false;
    }
    return true;
}

// (i) Turns by the clock: where accounts differ by no more than two slices and a half, the
// number of the slice decides and not who has waited longest. Two nodes that once chose differently
// would else go on to do so, each giving every job its slice in turn, and jobs that speak in
// collectives only send few requests that would bring them together. Accounts that differ by less
// than GMET are equal.
static bool has_turn(const struct policy_node *node, const struct policy_job *by_clock)
{
    return by_clock != NULL && is_even(node, by_clock);
}

// (m) Or whoever has its turn for one that it has had of his.
static struct policy_job *in_exchange(struct policy_node *node, struct policy_job *job)
{
    struct policy_job *other = exchange_turn(node, job);
    return other != NULL && is_even(node, other) ? other : job;
}

// The next one in the order of names, and after the last the first.
static struct policy_job *next_by_name(struct policy_node *node, const struct policy_job *job)
{
    struct policy_job *first = NULL, *next = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *other = &node->jobs[i];
        if (first == NULL || comes_before(other, first))
            first = other;
        if (comes_before(job, other) && (next == NULL || comes_before(other, next)))
            next = other;
    }
    return next != NULL ? next : first;
}

// (b) Beside the first the others in the same order, so that nodes agree on the whole set.
static void fill_in_turn(struct policy_node *node, const struct policy_job *first)
{
    if (node->turn == 0)
        return;
    uint64_t known_by = policy_known_by(node, node->turn);
    struct room set = packing_room(node);
    for (struct policy_job *job = next_by_name(node, first); job != first;
         job = next_by_name(node, job)) {
        if (job->next || !policy_takes_part(job, known_by) || !room_fits(node, &set, job) ||
            !is_even(node, job))
            continue;
        job->next = true;
        room_add(node, &set, job);
    }
}

static bool is_empty(const struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].next)
            return false;
    }
    return true;
}

// CMDREG and CMDOUT. Where the job that held the node has ended, the number of the slice decides as
// at its beginning, so nodes that it has ended on go on alike.
static void on_change(struct policy_node *node)
{
    packing_make_fit(node, node->gmet_ns);
    struct policy_job *job = is_empty(node) ? whose_turn(node, node->last_turn) : NULL;
    if (has_turn(node, job))
        packing_give_slice(node, job);
    packing_fill(node, node->gmet_ns);
}

// CMDCSW: "schedule a job that has received the least CPU time", (i) unless the clock says
// another, (c) unless others have waited too long for that, and (b) those that fit beside it.
static void on_tick(struct policy_node *node)
{
    packing_begin_slice(node);
    struct policy_job *by_clock = whose_turn(node, node->turn), *job;
    if (has_turn(node, by_clock))
        job = packing_choose(node, in_exchange(node, by_clock), POLICY_ROUNDS_MOST);
    else
        job = packing_choose(node, packing_least_served(node, node->gmet_ns), 1);
    exchange_begin_slice(node, by_clock, job);
    fill_in_turn(node, job);
    packing_fill(node, node->gmet_ns);
}

// (e) Fairness bound: a job with much traffic could else hold the node for all but GMET of each
// slice. One slice of lead is allowed, because coscheduling with the peers is worth more than
// order.
static bool too_far_ahead(const struct policy_node *node, const struct policy_job *requester)
{
    uint64_t least_ns = 0;
    return packing_displaces(node, &least_ns) && requester->service_ns > least_ns &&
           requester->service_ns - least_ns > node->time_slice_ns;
}

// CMDSCH: "if currently scheduled job has run at least for the GMET, schedule the requesting job".
// (b) With a set, only as many go as must, and each of them has had its GMET; the others are not
// asked. (d) A discarded request is forgotten, as in the paper: the library repeats it.
static enum engine_outcome on_request(struct policy_node *node, struct policy_job *requester)
{
    requester->next = true;
    if (!packing_make_room(node, node->gmet_ns, node->gmet_ns))
        return packing_discard(node, ENGINE_DISCARDED_GMET);
    // Where jobs come and go, the order does so, too, and tells nothing about the next turn.
    if (is_calm(node, node->last_turn))
        exchange_note_request(node, requester);
    if (too_far_ahead(node, requester))
        return packing_discard(node, ENGINE_DISCARDED_FAIR);
    packing_fill(node, node->gmet_ns);
    return ENGINE_GRANTED;
}

const struct policy policy_yoo_jette = {
    .name = "yoo-jette",
    .counts_held = true,
    .coordinates = true,
    .on_change = on_change,
    .on_tick = on_tick,
    .on_request = on_request,
};
