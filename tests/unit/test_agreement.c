// Protects how a job's ranks come by slots: one rank against an MPI and a classd of the test's own,
// which plays all other ranks by what their reductions yield.
#include "pmpi/variant/agreement.h"
#include "pmpi/variant/session.h"
#include "tests/unit/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { REDUCTIONS = 16 };

struct mpi_next mpi_next[2];

static struct {
    int offer_status; // of this node's classd
    struct slots_offer offer;
    uint64_t reserves; // what it reserves at most
    uint64_t takes[3]; // and what it gives of that, each time
    struct slots_offer others;
    uint64_t others_given[REDUCTIONS]; // by reduction
    int reductions, offers, reserved, taken;
    struct slots_choice last, final;
    uint32_t term;
    bool fails; // MPI does
} world;

static int reduce(const void *own, void *result, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    assert_int_equal(datatype, MPI_UINT64_T);
    assert_int_equal(op, MPI_BAND);
    uint64_t others[SLOTS_OFFER_WORDS] = {world.others_given[world.reductions++]};
    if (world.fails)
        return MPI_ERR_OTHER;
    if (count != 1)
        memcpy(others, &world.others, sizeof others);
    for (int i = 0; i < count; i++)
        ((uint64_t *)result)[i] = ((const uint64_t *)own)[i] & others[i];
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int session_offer(struct slots_offer *offer)
{
    world.offers++;
    if (world.offer_status == 0)
        *offer = world.offer;
    return world.offer_status;
}

uint64_t session_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    world.term = term;
    if (final)
        world.final = *choice;
    else
        world.last = *choice;
    uint64_t given = choice->slots & (final ? world.takes[world.taken % 3] : world.reserves);
    world.reserved += !final;
    world.taken += final;
    return given;
}

// Everything is to be had everywhere.
static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    mpi_next[1].Iallreduce = reduce;
    world.offer = world.others = offer_of(SLOTS_ALL);
    world.reserves = SLOTS_ALL;
    for (int i = 0; i < 3; i++)
        world.takes[i] = SLOTS_ALL;
    for (int i = 0; i < REDUCTIONS; i++)
        world.others_given[i] = SLOTS_ALL;
    return 0;
}

static int agree(bool asks)
{
    int steps = 1;
    agreement_start(MPI_COMM_WORLD, asks, "job");
    while (!agreement_go_on())
        assert_in_range(++steps, 1, 9);
    return steps;
}

static void what_all_nodes_give_is_taken(void **state)
{
    (void)state;
    world.others = offer_of(0xff0);
    world.reserves = 0x0ff;
    agree(true);
    assert_int_equal(world.last.slots, 0xff0);
    assert_int_equal(world.final.slots, 0x0f0);
    assert_int_equal(world.taken, 1);
    assert_int_equal(agreement_word(), slots_word(0x0f0, world.term));
}

static void who_does_not_ask_only_reduces(void **state)
{
    (void)state;
    agree(false);
    assert_int_equal(world.reductions, 3);
    assert_int_equal(world.offers + world.reserved + world.taken, 0);
}

static void ranks_of_all_kinds_reduce_alike(void **state)
{
    (void)state;
    for (int tried = 0; tried < 4; tried++) {
        int reductions[2];
        uint64_t words[2];
        for (int asks = 0; asks < 2; asks++) {
            begin(state);
            for (int i = 0; i < 2 * tried; i++)
                world.others_given[i] = 0;
            agree(asks);
            reductions[asks] = world.reductions;
            words[asks] = slots_of_word(agreement_word());
        }
        assert_int_equal(reductions[0], reductions[1]);
        assert_int_equal(words[0], words[1]);
    }
}

// Two nodes that gave different jobs what both wanted: not at once the end of it.
static void a_collision_is_tried_again(void **state)
{
    (void)state;
    world.others_given[1] = 0;
    agree(true);
    assert_int_equal(world.offers, 2);
    assert_int_equal(world.final.slots, SLOTS_ALL);

    begin(state);
    memset(world.others_given, 0, sizeof world.others_given);
    agree(true);
    assert_int_equal(world.offers, 3);
    assert_int_equal(world.final.slots, 0);
    assert_int_equal(world.taken, 1);
}

// Somebody was given some of them before they were taken.
static void what_was_taken_is_less_and_more_is_asked_for(void **state)
{
    (void)state;
    world.takes[0] = 0xff;
    agree(true);
    assert_int_equal(world.offers, 2);
    assert_int_equal(world.taken, 2);
    assert_int_equal(agreement_word(), slots_word(SLOTS_ALL, world.term));
    assert_int_equal(world.reductions, 6);

    // In vain, and what it has it keeps.
    begin(state);
    world.takes[0] = 0xff;
    world.others_given[4] = world.others_given[6] = 0xf;
    agree(true);
    assert_int_equal(world.offers, 3);
    assert_int_equal(world.final.slots, 0xff);
    assert_int_equal(agreement_word(), slots_word(0xff, world.term));
}

// Part of what was chosen is not to be had: there may be something else.
static void what_is_lacking_is_asked_for_again(void **state)
{
    (void)state;
    world.others_given[1] = 0xff;
    agree(true);
    assert_int_equal(world.offers, 2);
    assert_int_equal(world.taken, 1);
    assert_int_equal(world.final.slots, SLOTS_ALL);
}

static void a_silent_node_offers_nothing(void **state)
{
    (void)state;
    world.offer_status = -1;
    agree(true);
    assert_int_equal(world.last.slots, 0);
    assert_int_equal(world.final.slots, 0);
    assert_int_equal(world.offers, 1); // and is not asked again
}

static void agreements_are_numbered(void **state)
{
    agree(true);
    uint32_t last = world.term;
    for (int i = 0; i < 40; i++) {
        begin(state);
        agree(true);
        assert_int_not_equal(world.term, last);
        assert_in_range(world.term, 1, SLOTS_TERMS - 1);
        last = world.term;
    }
}

static void a_failing_mpi_ends_it(void **state)
{
    (void)state;
    world.fails = true;
    agree(true);
    assert_int_equal(world.final.slots, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_all_nodes_give_is_taken),
        TEST(who_does_not_ask_only_reduces),
        TEST(ranks_of_all_kinds_reduce_alike),
        TEST(a_collision_is_tried_again),
        TEST(what_was_taken_is_less_and_more_is_asked_for),
        TEST(what_is_lacking_is_asked_for_again),
        TEST(a_silent_node_offers_nothing),
        TEST(agreements_are_numbered),
        TEST(a_failing_mpi_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
