// A. B. Yoo, M. A. Jette: "An Efficient and Scalable Coscheduling Technique for Large Symmetric
// Multiprocessor Clusters". Which job holds the node is section 2.2.3; the departures, marked (a)
// to (e) and (i), are argued in doc/design/main-job.md. (a), (b) and (c) are packing.c's.
#include "classd/policy/packing.h"

// Accounts that differ by less than GMET are equal.
static void on_change(struct policy_node *node)
{
    packing_on_change(node, node->gmet_ns);
}

// Whose turn it is by the number of the slice, all jobs in the order of their names. Nodes with the
// same jobs agree on that without a word.
static struct policy_job *whose_turn(struct policy_node *node)
{
    for (size_t i = 0; i < node->count && node->turn != 0; i++) {
        uint64_t before = 0;
        for (size_t k = 0; k < node->count; k++) {
            const struct policy_job *other = &node->jobs[k];
            before +=
                other->name < node->jobs[i].name || (other->name == node->jobs[i].name && k < i);
        }
        if (before == node->turn % node->count)
            return &node->jobs[i];
    }
    return NULL;
}

// (i) Turns by the clock: where accounts differ by no more than half a slice, the number of the
// slice decides and not who has waited longest. Two nodes that once chose differently would else go
// on to do so, each giving every job its slice in turn, and jobs that speak in collectives only
// send few requests that would bring them together.
static struct policy_job *next_in_turn(struct policy_node *node)
{
    struct policy_job *turn = whose_turn(node);
    uint64_t least_ns = packing_least_service_ns(node);
    if (turn != NULL && turn->service_ns - least_ns <= node->time_slice_ns / 2)
        return turn;
    return packing_least_served(node, node->gmet_ns);
}

// CMDCSW: "schedule a job that has received the least CPU time", (c) unless others have waited too
// long for that, and (b) those that fit beside it.
static void on_tick(struct policy_node *node)
{
    packing_begin_slice(node);
    packing_choose(node, next_in_turn(node), node->gmet_ns);
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
