// A. B. Yoo, M. A. Jette: "An Efficient and Scalable Coscheduling Technique for Large Symmetric
// Multiprocessor Clusters". Which job holds the node is section 2.2.3; the departures, marked (a)
// to (e) and (i), are argued in doc/design/main-job.md. (a), (b) and (c) are packing.c's.
#include "classd/policy/packing.h"

// The sequential class, whose slots are not as many as a job's.
static struct policy_job *sequential_class(struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].sequential)
            return &node->jobs[i];
    }
    return NULL;
}

// How many of the slices before this one are its own: spread as evenly as whole slices can be.
static uint64_t slots_before(const struct policy_node *node, uint64_t turn)
{
    uint64_t slots_ppm = policy_sequential_slots_ppm(node);
    return turn / ENGINE_WHOLE_PPM * slots_ppm +
           turn % ENGINE_WHOLE_PPM * slots_ppm / ENGINE_WHOLE_PPM;
}

// How many jobs but `but` come before this one in the order of their names.
static uint64_t place_of(const struct policy_node *node, size_t index, const struct policy_job *but)
{
    const struct policy_job *job = &node->jobs[index];
    uint64_t before = 0;
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        before +=
            other != but && (other->name < job->name || (other->name == job->name && i < index));
    }
    return before;
}

// Whose turn it is by the number of the slice: the sequential class's slots first, all other jobs
// in the order of their names. Nodes with the same jobs agree on that without a word.
static struct policy_job *whose_turn(struct policy_node *node, uint64_t turn)
{
    struct policy_job *class_ = sequential_class(node);
    uint64_t jobs = node->count;
    if (turn == 0)
        return NULL;
    if (class_ != NULL) {
        uint64_t slots = slots_before(node, turn);
        if (slots_before(node, turn + 1) > slots || jobs == 1)
            return class_;
        turn -= slots;
        jobs--;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (&node->jobs[i] != class_ && place_of(node, i, class_) == turn % jobs)
            return &node->jobs[i];
    }
    return NULL;
}

// A slice and a half of lead. A request may win a job one slice more than the others have (e); if
// it lost its turn for that, nodes whose accounts differ by it would choose differently until all
// had ended. The sequential class and a job are as far apart before one of them has two slots on
// end; and where the class has a share of the time, its account grows in steps of another size, so
// by a round of the share.
static uint64_t even_ns(const struct policy_node *node, const struct policy_job *one,
                        const struct policy_job *other)
{
    uint64_t lead_ns = 3 * (node->time_slice_ns / 2);
    if (one->sequential == other->sequential || node->sequential_share_ppm == 0)
        return lead_ns;
    return lead_ns +
           (uint64_t)((double)node->time_slice_ns * ENGINE_WHOLE_PPM / node->sequential_share_ppm);
}

static bool is_even(const struct policy_node *node, const struct policy_job *job)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (job->service_ns > other->service_ns &&
            job->service_ns - other->service_ns > even_ns(node, job, other))
            return false;
    }
    return true;
}

// (i) Turns by the clock: where accounts differ by no more than a slice and a half, the number of
// the slice decides and not who has waited longest. Two nodes that once chose differently would
// else go on to do so, each giving every job its slice in turn, and jobs that speak in collectives
// only send few requests that would bring them together. Accounts that differ by less than GMET are
// equal.
static struct policy_job *next_in_turn(struct policy_node *node, uint64_t turn)
{
    struct policy_job *next = whose_turn(node, turn);
    if (next != NULL && is_even(node, next))
        return next;
    return packing_least_served(node, node->gmet_ns);
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
    packing_make_room(node, 0, node->gmet_ns);
    if (is_empty(node))
        next_in_turn(node, node->last_turn)->next = true;
    packing_fill(node, node->gmet_ns);
}

// CMDCSW: "schedule a job that has received the least CPU time", (c) unless others have waited too
// long for that, and (b) those that fit beside it.
static void on_tick(struct policy_node *node)
{
    packing_begin_slice(node);
    packing_choose(node, next_in_turn(node, node->turn), node->gmet_ns);
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
    if (too_far_ahead(node, requester))
        return packing_discard(node, ENGINE_DISCARDED_FAIR);
    packing_fill(node, node->gmet_ns);
    return ENGINE_GRANTED;
}

const struct policy policy_yoo_jette = {
    .name = "yoo-jette",
    .crowded = packing_crowded,
    .on_change = on_change,
    .on_tick = on_tick,
    .on_request = on_request,
};
