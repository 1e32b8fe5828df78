// What must hold of sets of slots and of who is out after every event of random histories.
#include "tests/unit/gang_node.h"
#include "tests/unit/random.h"

struct random_node {
    struct node node;
    uint64_t random;
    uint32_t widths[8]; // 0: not here
    char context[64];
};

static uint64_t draw(struct random_node *r, uint64_t below)
{
    return random_below(&r->random, below);
}

#define CHECK(condition) CALLER_CHECK(&r->node.caller, condition)

// What of the node the job takes while it is out.
static unsigned room_of(const struct random_node *r, unsigned i)
{
    unsigned cpus = r->node.caller.settings.cpus;
    return r->widths[i] < cpus ? r->widths[i] : cpus;
}

static unsigned room(const struct random_node *r)
{
    return r->node.caller.settings.cpus * r->node.caller.settings.servants;
}

// The holders of a slot fit together, as far as they are one set.
static void check_sets(struct random_node *r)
{
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        unsigned holders = 0, width = 0;
        for (unsigned i = 0; i < 8; i++) {
            if (r->widths[i] == 0 || (slots_of(&r->node, A + i) >> s & 1) == 0)
                continue;
            holders++;
            width += room_of(r, i);
        }
        CHECK(holders <= 1 || width <= room(r));
    }
}

static bool is_limited(const struct random_node *r)
{
    unsigned jobs = 0, width = 0;
    for (unsigned i = 0; i < 8; i++) {
        jobs += r->widths[i] != 0;
        width += room_of(r, i);
    }
    return jobs > 1 && width > room(r);
}

// Who is out fits, nobody else would fit beside them, and in a new slot its owners are out, unless
// somebody without slots has waited for it.
static void check_out(struct random_node *r, bool tick_)
{
    unsigned out = 0, width = 0;
    bool all_placed = true;
    for (unsigned i = 0; i < 8; i++) {
        if (r->widths[i] == 0)
            continue;
        all_placed = all_placed && slots_of(&r->node, A + i) != 0;
        out += is_out(&r->node, A + i);
        width += is_out(&r->node, A + i) ? room_of(r, i) : 0;
    }
    CHECK(out == 0 || out == 1 || width <= room(r) || !is_limited(r));
    for (unsigned i = 0; i < 8; i++) {
        if (r->widths[i] == 0 || is_out(&r->node, A + i))
            continue;
        CHECK(out > 0 && width + room_of(r, i) > room(r));
        CHECK(!tick_ || !all_placed ||
              (slots_of(&r->node, A + i) >> r->node.turn % ENGINE_ROUND & 1) == 0);
    }
}

// Nobody who lost slots by it has more than one slot fewer than the claimant.
static void random_claim(struct random_node *r, unsigned claimant, uint64_t wish)
{
    uint64_t before[8] = {0};
    for (unsigned i = 0; i < 8; i++)
        before[i] = r->widths[i] != 0 ? slots_of(&r->node, A + i) : 0;
    uint64_t given = claim(&r->node, A + claimant, wish);
    CHECK((given & ~wish) == 0 && slots_of(&r->node, A + claimant) == given);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t left = before[i] != 0 && i != claimant ? slots_of(&r->node, A + i) : before[i];
        CHECK(left == before[i] || count_of(left) + 1 >= count_of(given));
    }
}

static void come_or_go(struct random_node *r, unsigned i)
{
    if (r->widths[i] == 0 || draw(r, 4) == 0) {
        uint32_t width = (uint32_t)(1 + draw(r, 3));
        r->widths[i] += width;
        enter(&r->node, A + i, width);
    } else {
        caller_event(&r->node.caller, ENGINE_EXIT, A + i, r->widths[i], 0);
        struct engine_job_view view;
        r->widths[i] = engine_job_find(r->node.caller.engine, A + i, &view) ? view.width : 0;
    }
}

static void random_step(struct random_node *r)
{
    unsigned i = (unsigned)draw(r, 8), kind = (unsigned)draw(r, 20);
    uint64_t wish = draw(r, UINT64_MAX) & (draw(r, 2) == 0 ? draw(r, UINT64_MAX) : UINT64_MAX);
    bool ticked = false;
    r->node.caller.now_ns += draw(r, SLOT);
    if (kind < 3) {
        come_or_go(r, i);
    } else if (kind < 10) {
        tick(&r->node);
        ticked = is_limited(r);
    } else if (r->widths[i] == 0) {
        return;
    } else if (kind < 13) {
        served(&r->node, A + i, draw(r, r->node.caller.now_ns + 1));
        request_after(&r->node, A + i, 0);
    } else if (kind < 16) {
        uint64_t given = promise(&r->node, A + i, wish, (uint8_t)draw(r, 61));
        CHECK((given & ~wish) == 0);
    } else {
        random_claim(r, i, wish);
    }
    if (is_limited(r))
        check_sets(r);
    check_out(r, ticked);
}

static void run_history(uint64_t seed)
{
    struct random_node r = {.random = seed};
    unsigned cpus = (unsigned)(1 + draw(&r, 6));
    struct engine_settings settings = with_servants(cpus, (unsigned)(1 + draw(&r, 3)));
    settings.list_count = 2;
    settings.lists[1].slots = (unsigned)draw(&r, 8);
    r.node = scene(settings, 0, 0);
    snprintf(r.context, sizeof r.context, "COSCHED_TEST_SEED=%llu", (unsigned long long)seed);
    r.node.caller.context = r.context;
    for (unsigned k = 0; k < 400; k++)
        random_step(&r);
    node_close(&r.node);
}

static void test_random_sets(void **state)
{
    (void)state;
    random_run_histories(run_history, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
