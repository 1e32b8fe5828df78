// Protects what a rank that speaks for its node sends, to whom, and what it asks of its classd: the
// carrier, the session and all other ranks are the test's.
#include "pmpi/variant/agreement.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/growth.h"
#include "pmpi/variant/leaders.h"
#include "pmpi/variant/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEADERS = 12, MAIL = 16 };

struct mpi_next mpi_next[2];

struct letter {
    int rank;
    struct growth_message message;
    int length;
};

static struct {
    int leaders[LEADERS];
    struct letter in[MAIL], out[MAIL];
    int in_count, in_next, out_count;
    bool held; // what was sent is not received
    bool deaf; // classd cannot be asked
    bool slow; // it has not answered yet
    bool gone; // it will not
    bool poor; // it has nothing to offer
    int offers, reserved, claimed;
    uint64_t last;
    uint8_t more;
} world;

static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)status;
    *flag = !world.held;
    if (*flag)
        *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int wait_for(MPI_Request *request, MPI_Status *status)
{
    (void)status;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

bool carrier_isend(const void *bytes, int count, int peer, int tag, MPI_Request *request)
{
    struct letter *letter = &world.out[world.out_count++];
    (void)tag;
    assert_in_range(world.out_count, 1, MAIL);
    assert_int_equal(count, sizeof letter->message);
    letter->rank = peer;
    memcpy(&letter->message, bytes, sizeof letter->message);
    *request = MPI_REQUEST_NULL + 1;
    return true;
}

int carrier_receive(void *bytes, int room, int tag)
{
    (void)tag;
    if (world.in_next == world.in_count)
        return -1;
    const struct letter *letter = &world.in[world.in_next++];
    memcpy(bytes, &letter->message, (size_t)(letter->length < room ? letter->length : room));
    return letter->rank;
}

bool session_ask_offer(void)
{
    world.offers += !world.deaf;
    return !world.deaf;
}

bool session_ask_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    (void)term;
    world.reserved += !world.deaf && !final;
    world.claimed += !world.deaf && final;
    world.last = choice->slots;
    return !world.deaf;
}

static enum session_answer answer(void)
{
    return world.slow ? SESSION_PENDING : world.gone ? SESSION_LOST : SESSION_ANSWERED;
}

enum session_answer session_offered(struct slots_offer *offer)
{
    if (answer() == SESSION_ANSWERED)
        *offer = world.poor ? slots_offer_nothing() : slots_offer_any();
    return answer();
}

enum session_answer session_claimed(uint64_t *given)
{
    if (answer() == SESSION_ANSWERED)
        *given = world.last;
    return answer();
}

uint64_t session_slots(void)
{
    return slots_word(1, 1);
}

uint8_t session_more_slots(void)
{
    return world.more;
}

uint64_t agreement_seed(const char *job_id)
{
    (void)job_id;
    return 1;
}

// Ranks 0, 10, 20, ... each on a node of its own; this one is `rank`.
static void start(int rank)
{
    memset(&world, 0, sizeof world);
    mpi_next[1].Test = test;
    mpi_next[1].Wait = wait_for;
    for (int i = 0; i < LEADERS; i++)
        world.leaders[i] = 10 * i;
    leaders_start(world.leaders, LEADERS, rank, "job");
}

static void arrives(int from, enum growth_kind kind, uint64_t slots)
{
    struct letter *letter = &world.in[world.in_count++];
    assert_in_range(world.in_count, 1, MAIL);
    *letter = (struct letter){.rank = from, .length = sizeof letter->message};
    letter->message = (struct growth_message){
        .kind = (uint8_t)kind, .slots = slots, .term = 2, .offer = slots_offer_any()};
}

static void assert_sent(int number, int to, enum growth_kind kind)
{
    assert_in_range(number, 0, world.out_count - 1);
    assert_int_equal(world.out[number].rank, to);
    assert_int_equal(world.out[number].message.kind, kind);
}

static void the_root_begins_once_for_each_sign(void **state)
{
    (void)state;
    start(0);
    leaders_look();
    assert_int_equal(world.out_count, 0);
    world.more = 5;
    leaders_look();
    assert_int_equal(world.out_count, 8); // to its children
    assert_sent(0, 10, GROWTH_BEGIN);
    assert_sent(7, 80, GROWTH_BEGIN);
    assert_int_equal(world.offers, 1);
    world.more = 6; // while it is under way
    leaders_look();
    assert_int_equal(world.out_count, 8);
}

static void what_was_fruitless_is_not_begun_again(void **state)
{
    (void)state;
    start(0);
    world.more = 5;
    leaders_look();
    world.poor = true;
    for (int child = 10; child <= 80; child += 10)
        arrives(child, GROWTH_OFFER, 0);
    leaders_look();
    leaders_look();
    assert_int_equal(world.offers, 1);
    assert_int_equal(world.reserved, 0);
    world.out_count = 0;
    world.more = 6;
    leaders_look();
    assert_int_equal(world.offers, 2);
}

static void nobody_else_begins(void **state)
{
    (void)state;
    start(10);
    world.more = 5;
    leaders_look();
    assert_int_equal(world.out_count + world.offers, 0);
    start(11); // does not speak for its node
    world.more = 5;
    arrives(0, GROWTH_BEGIN, 0);
    leaders_look();
    assert_int_equal(world.out_count + world.offers + world.in_next, 0);
    leaders_stop();
}

static void a_node_does_its_part(void **state)
{
    (void)state;
    start(10); // its children are 90, 100 and 110
    arrives(0, GROWTH_BEGIN, 0);
    leaders_look();
    assert_int_equal(world.out_count, 3);
    assert_sent(2, 110, GROWTH_BEGIN);
    for (int child = 90; child <= 110; child += 10)
        arrives(child, GROWTH_OFFER, 0);
    leaders_look();
    assert_sent(3, 0, GROWTH_OFFER);
    arrives(0, GROWTH_WISH, 0xff);
    leaders_look();
    assert_int_equal(world.reserved, 1);
    assert_int_equal(world.last, 0xff);
    for (int child = 90; child <= 110; child += 10)
        arrives(child, GROWTH_GIVEN, 0xf0);
    leaders_look();
    assert_sent(7, 0, GROWTH_GIVEN);
    assert_int_equal(world.out[7].message.slots, 0xf0);
    arrives(0, GROWTH_TAKE, 0xf0);
    leaders_look();
    assert_int_equal(world.claimed, 1);
    assert_sent(10, 110, GROWTH_TAKE);
    leaders_stop();
}

static void strangers_are_not_heard(void **state)
{
    (void)state;
    start(10);
    arrives(20, GROWTH_BEGIN, 0);
    arrives(90, GROWTH_TAKE, 1);
    arrives(0, GROWTH_BEGIN, 0);
    world.in[2].length = 0; // less than a message
    leaders_look();
    assert_int_equal(world.in_next, 3);
    assert_int_equal(world.out_count + world.offers + world.claimed, 0);
}

// Whatever the node's classd does, the call goes on.
static void a_slow_classd_is_not_waited_for(void **state)
{
    (void)state;
    start(110);
    arrives(10, GROWTH_BEGIN, 0);
    world.slow = true;
    for (int i = 0; i < 5; i++)
        leaders_look();
    assert_int_equal(world.offers, 1);
    assert_int_equal(world.out_count, 0);
    world.slow = false;
    leaders_look();
    assert_sent(0, 10, GROWTH_OFFER);
    assert_int_equal(world.out[0].message.offer.slots[0] & SLOTS_ALL, SLOTS_ALL);
}

static void a_lost_answer_offers_nothing(void **state)
{
    (void)state;
    start(110);
    arrives(10, GROWTH_BEGIN, 0);
    world.gone = true;
    leaders_look();
    leaders_look();
    assert_sent(0, 10, GROWTH_OFFER);
    assert_int_equal(world.out[0].message.offer.slots[0], 0);
}

// What has been agreed on is said until it can be, and nothing overtakes it.
static void a_claim_is_not_lost(void **state)
{
    (void)state;
    start(110);
    world.deaf = true;
    arrives(10, GROWTH_TAKE, 0xff);
    arrives(10, GROWTH_BEGIN, 0);
    leaders_look();
    leaders_look();
    assert_int_equal(world.claimed, 0);
    world.deaf = false;
    leaders_look();
    assert_int_equal(world.claimed, 1);
    assert_int_equal(world.offers, 1);
}

static void who_is_not_read_says_no_more(void **state)
{
    (void)state;
    start(110);
    arrives(10, GROWTH_BEGIN, 0);
    leaders_look();
    leaders_look();
    world.held = true;
    arrives(10, GROWTH_WISH, 0xff);
    leaders_look();
    assert_int_equal(world.reserved, 0);
    world.held = false;
    leaders_look();
    assert_int_equal(world.reserved, 1);
}

static void at_the_end_everything_is_received_and_nothing_sent(void **state)
{
    (void)state;
    start(10);
    arrives(0, GROWTH_BEGIN, 0);
    arrives(90, GROWTH_OFFER, 0);
    leaders_drain();
    leaders_look();
    assert_int_equal(world.in_next, 2);
    assert_int_equal(world.out_count + world.offers, 0);
    leaders_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_begins_once_for_each_sign),
        cmocka_unit_test(what_was_fruitless_is_not_begun_again),
        cmocka_unit_test(nobody_else_begins),
        cmocka_unit_test(a_node_does_its_part),
        cmocka_unit_test(strangers_are_not_heard),
        cmocka_unit_test(a_slow_classd_is_not_waited_for),
        cmocka_unit_test(a_lost_answer_offers_nothing),
        cmocka_unit_test(a_claim_is_not_lost),
        cmocka_unit_test(who_is_not_read_says_no_more),
        cmocka_unit_test(at_the_end_everything_is_received_and_nothing_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
