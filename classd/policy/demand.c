#include "classd/policy/demand.h"

#define WHOLE_PPM   1000000.
#define NEARLY_NONE 0.1 // of a CPU: no reason to want one more
#define NEARLY_ALL  0.9 // of the time

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

// CPU time that the interactive share of the node is, in `elapsed_ns`.
static double share_of(const struct demand_rules *rules, uint64_t elapsed_ns)
{
    return (double)elapsed_ns * rules->cpus * (rules->interactive_share_ppm / WHOLE_PPM);
}

static double at_once(const struct demand_rules *rules)
{
    double burst_ns = share_of(rules, DEMAND_BURST_NS);
    return burst_ns > (double)rules->command_ns ? burst_ns : (double)rules->command_ns;
}

// What is used beyond the share adds up, what is left of it makes up for that.
static double overdraft(const struct demand *demand, double more_ns)
{
    double overdrawn_ns = demand->overdrawn_ns + more_ns;
    return overdrawn_ns > 0 ? overdrawn_ns : 0;
}

static void be_quiet(struct demand *demand, const struct demand_rules *rules, uint64_t elapsed_ns,
                     uint64_t held_ns)
{
    demand->quiet_ns += elapsed_ns;
    demand->quiet_held_ns += held_ns;
    if (demand->quiet_ns >= rules->patience_ns && demand->quiet_held_ns >= DEMAND_WINDOW_NS)
        demand->computes = false;
}

// The number is one to go by for as long as whoever is quiet counts as one who computes.
static void see_width(struct demand *demand, const struct demand_rules *rules, double cpus,
                      uint64_t now_ns)
{
    unsigned busy =
        cpus < rules->cpus ? (unsigned)cpus + (cpus > (unsigned)cpus + NEARLY_NONE) : rules->cpus;
    if (busy < demand->busy && now_ns - demand->busy_ns < rules->patience_ns)
        return;
    demand->busy = busy;
    demand->busy_ns = now_ns;
}

bool demand_observe(struct demand *demand, const struct demand_rules *rules,
                    const struct demand_look *look)
{
    uint64_t elapsed_ns = growth(look->now_ns, demand->last.now_ns);
    double used_ns = (double)growth(look->usage_ns, demand->last.usage_ns);
    double share_ns = share_of(rules, elapsed_ns);
    double overdrawn_ns = overdraft(demand, used_ns - share_ns);
    bool comes = !demand->computes && overdrawn_ns > at_once(rules);
    if (demand->looked && elapsed_ns < DEMAND_WINDOW_NS && !comes)
        return demand->computes;
    uint64_t held_ns = growth(look->held_ns, demand->last.held_ns);
    bool first = !demand->looked;
    demand->last = *look;
    demand->looked = true;
    if (first)
        return demand->computes;
    bool is_free = (double)held_ns >= NEARLY_ALL * (double)elapsed_ns;
    if (is_free)
        see_width(demand, rules, used_ns / (double)elapsed_ns, look->now_ns);
    if (!demand->computes)
        demand->overdrawn_ns = overdrawn_ns;
    if (demand->computes ? used_ns > share_ns : comes) {
        demand->computes = true;
        demand->overdrawn_ns = demand->quiet_ns = demand->quiet_held_ns = 0;
    } else if (is_free || used_ns * 2 * rules->parts < share_ns) {
        be_quiet(demand, rules, elapsed_ns, held_ns);
    }
    return demand->computes;
}

bool demand_fits(const struct demand *demand, const struct demand_rules *rules, uint64_t width)
{
    return demand->busy > 0 && width < rules->cpus && demand->busy <= rules->cpus - width;
}
