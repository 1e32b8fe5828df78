#include "classd/policy/round.h"

static unsigned length_of(const struct policy_node *node, unsigned list)
{
    return list < node->list_count && node->lists[list].slots > 1 ? node->lists[list].slots : 1;
}

unsigned round_list(const struct policy_node *node, const struct policy_job *job)
{
    unsigned list = job->list, last = node->list_count > 0 ? node->list_count - 1 : 0;
    while (list < last && node->now_ns - job->came_ns >= node->lists[list].until_ns)
        list++;
    return list < last ? list : last;
}

unsigned round_length(const struct policy_node *node, const struct policy_job *job)
{
    return job->sequential ? 1 : length_of(node, round_list(node, job));
}

struct layout {
    uint64_t dummies;
    uint64_t runs; // where those of the longest list begin
};

static unsigned dummy_count(const struct policy_node *node)
{
    uint64_t share_ppm = node->sequential_share_ppm;
    uint64_t count = (share_ppm * ENGINE_ROUND + ENGINE_WHOLE_PPM / 2) / ENGINE_WHOLE_PPM;
    if (share_ppm == 0)
        return 0;
    return count < 1 ? 1 : count < ENGINE_ROUND ? (unsigned)count : ENGINE_ROUND - 1;
}

// Dummies and runs of the longest list, dummies evenly among them. What is left of the round
// for a run that is not whole, comes last.
static struct layout lay_out(const struct policy_node *node)
{
    struct layout layout = {0};
    unsigned longest = length_of(node, node->list_count > 0 ? node->list_count - 1 : 0);
    unsigned dummies = dummy_count(node), jobs = ENGINE_ROUND - dummies;
    unsigned units = dummies + (jobs + longest - 1) / longest;
    for (unsigned unit = 0, slot = 0; slot < ENGINE_ROUND; unit++) {
        bool dummy = (unit + 1) * dummies / units > unit * dummies / units;
        *(dummy ? &layout.dummies : &layout.runs) |= UINT64_C(1) << slot;
        slot += dummy ? 1 : jobs < longest ? jobs : longest;
        jobs -= dummy ? 0 : jobs < longest ? jobs : longest;
    }
    return layout;
}

uint64_t round_dummies(const struct policy_node *node)
{
    return node->sequential_share_ppm != 0 ? lay_out(node).dummies : 0;
}

uint64_t round_cut(const struct policy_node *node, const struct policy_job *job)
{
    unsigned length = round_length(node, job), in_run = 0;
    struct layout layout = lay_out(node);
    uint64_t cut = layout.dummies | layout.runs;
    for (unsigned slot = 0; slot < ENGINE_ROUND; slot++) {
        if ((cut >> slot & 1) != 0 || in_run == length) {
            cut |= UINT64_C(1) << slot;
            in_run = 0;
        }
        in_run++;
    }
    return cut;
}

uint64_t round_piece(uint64_t cut, unsigned slot)
{
    uint64_t piece = UINT64_C(1) << slot;
    while (++slot < ENGINE_ROUND && (cut >> slot & 1) == 0)
        piece |= UINT64_C(1) << slot;
    return piece;
}
