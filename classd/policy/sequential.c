// What is the sequential class's by the numbers of the slices alone, the same on all nodes; see
// policy.h.
#include "classd/policy/policy.h"

uint64_t policy_known_by(const struct policy_node *node, uint64_t turn)
{
    for (size_t i = 0; i < node->count; i++) {
        if (!node->jobs[i].sequential && node->jobs[i].from_turn <= turn)
            return turn;
    }
    return UINT64_MAX;
}

// With a fair share each of n has one part in n of the time. Of that the class has its interactive
// share in the others' slots, and the rest, (1/n - i) / (1 - i), in slots of its own. However large
// the interactive share is, it has half as many slots as a job.
static uint32_t sequential_slots_ppm(const struct policy_node *node, uint64_t count)
{
    uint64_t interactive_ppm = node->interactive_share_ppm;
    if (node->sequential_share_ppm != 0 || count == 0)
        return node->sequential_share_ppm;
    uint64_t fair_ppm = ENGINE_WHOLE_PPM / count, own_ppm = 0;
    if (fair_ppm > interactive_ppm)
        own_ppm =
            (fair_ppm - interactive_ppm) * ENGINE_WHOLE_PPM / (ENGINE_WHOLE_PPM - interactive_ppm);
    return (uint32_t)(own_ppm > fair_ppm / 2 ? own_ppm : fair_ppm / 2);
}

uint32_t policy_sequential_slots_ppm(const struct policy_node *node)
{
    return sequential_slots_ppm(node, node->count);
}

static uint32_t sequential_slots_at(const struct policy_node *node, uint64_t turn)
{
    uint64_t known_by = policy_known_by(node, turn), count = 0;
    for (size_t i = 0; i < node->count; i++)
        count += policy_takes_part(&node->jobs[i], known_by);
    return sequential_slots_ppm(node, count);
}

static uint64_t part_of(uint64_t turns, uint64_t slots_ppm)
{
    return turns / ENGINE_WHOLE_PPM * slots_ppm +
           turns % ENGINE_WHOLE_PPM * slots_ppm / ENGINE_WHOLE_PPM;
}

uint64_t policy_sequential_turns_before(const struct policy_node *node, uint64_t turn)
{
    return part_of(turn, sequential_slots_at(node, turn));
}

bool policy_sequential_turn(const struct policy_node *node, uint64_t turn)
{
    uint64_t slots_ppm = sequential_slots_at(node, turn);
    return part_of(turn + 1, slots_ppm) > part_of(turn, slots_ppm);
}
