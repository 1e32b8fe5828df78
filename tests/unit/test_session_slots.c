// What a process asks of a classd of the test's own about its job's slots, and what is said again
// to one that has not heard it.
#include "tests/unit/fake_classd.h"

// Of what classd says only what there can be is taken.
static void slots_are_asked_for_and_claimed(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    assert_int_equal(session_offer(&offer), -1);
    assert_int_equal(session_claim(&choice, 1, false), 0);
    assert_int_equal(join(fake), 0);
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(offer.slots[0], SLOTS_ALL);
    assert_int_equal(offer.slots[1], 0);
    assert_int_equal(slots_count(offer.most[SLOTS_LEVELS - 1]), 7);
    assert_int_equal(offer.cut, SLOTS_ALL); // nothing was said
    assert_int_equal(slots_count(offer.room), SLOTS_ROUND);
    fake->cut = 0x11;
    fake->dummies = 12;
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(offer.cut, 0x11);
    assert_int_equal(slots_count(offer.room), 48);
    fake->dummies = 255;
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(slots_count(offer.room), 1);
    assert_int_equal(session_claim(&choice, 17, true), 0xf0);
    assert_int_equal(fake->said, 0xf0);
    session_narrow(0x30, 1);
    eventually_equal(&fake->narrowed, 1);
    assert_int_equal(fake->said, 0x30);
    assert_int_equal(session_slots(), 0);
    fake->page->slots = slots_word(0x30, 5);
    assert_int_equal(slots_of_word(session_slots()), 0x30);
    assert_int_equal(slots_term_of_word(session_slots()), 5);
}

// Questions whose answers are fetched later, between which others may be asked.
static void slots_are_asked_for_without_waiting(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    uint64_t given = 0;
    assert_false(session_ask_offer());
    assert_int_equal(join(fake), 0);
    assert_true(session_ask_offer());
    session_narrow(0x30, 1);
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    assert_int_equal(offer.slots[0], SLOTS_ALL);
    assert_int_equal(slots_count(offer.most[SLOTS_LEVELS - 1]), 7);
    assert_true(session_ask_claim(&choice, 2, true)); // has an answer that nobody fetches
    assert_true(session_ask_claim(&choice, 2, false));
    enum session_answer answer;
    while ((answer = session_claimed(&given)) == SESSION_PENDING)
        usleep(1000);
    assert_int_equal(answer, SESSION_ANSWERED);
    assert_int_equal(given, 0xf0);
    assert_int_equal(session_more_slots(), 0);
    fake->page->more_slots = 9;
    assert_int_equal(session_more_slots(), 9);
}

// What is taken is remembered for the next classd, and a node whose clock is off has no part in it:
// neither is a reason for the others to have less.
static void what_is_taken_without_an_answer_counts_as_given(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    assert_int_equal(session_claim(&choice, 1, true), 0xf0);
    assert_int_equal(session_claim(&choice, 1, false), 0);
    assert_int_equal(join(fake), 0);
    fake->keeps = 0x30;
    assert_int_equal(session_claim(&choice, 1, true), 0xc0);
    fake->page->clock.ahead_ns = 1;
    assert_int_equal(session_claim(&choice, 1, true), 0xf0);
    assert_int_equal(session_claim(&choice, 1, false), 0xc0);
}

static void an_answer_may_never_come(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    assert_int_equal(join(fake), 0);
    fake->mute = true;
    assert_true(session_ask_offer());
    for (int i = 0; i < 100; i++)
        assert_int_equal(session_offered(&offer), SESSION_PENDING);
    fake->mute = false;
    shutdown(fake->connection, SHUT_RDWR);
    while (fake->registered < 2) { // on another connection
        session_request(now(), 1);
        usleep(2000);
    }
    assert_int_equal(session_offered(&offer), SESSION_LOST);
    assert_true(session_ask_offer());
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    shutdown(fake->connection, SHUT_RDWR);
    session_ask_offer(); // nobody may be there any more
    assert_int_equal(eventually_offered(&offer), SESSION_LOST);
}

static void meet_another_classd(struct fake_classd *fake)
{
    int registered = fake->registered;
    shutdown(fake->connection, SHUT_RDWR);
    while (fake->registered == registered) {
        session_request(now(), 1);
        usleep(2000);
    }
    fake->scheduled = 0;
    while (fake->scheduled == 0) { // what was said before has been read
        session_request(now(), 1);
        usleep(2000);
    }
}

// It may have ended before it read the packet; by the page another one knows what it knew.
static void what_was_taken_is_said_to_who_has_not_heard_it(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    assert_int_equal(join(fake), 0);
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 0); // nothing was taken
    fake->mute = true;
    assert_true(session_ask_claim(&choice, 2, false));
    choice.slots = 0x30;
    assert_true(session_ask_claim(&choice, 2, true));
    usleep(20000);
    assert_int_equal(fake->claims, 0);
    fake->mute = false;
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 1);
    assert_int_equal(fake->said, 0x30);
    fake->page->slots = slots_word(0x10, 2); // it has, and another job has some by now
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 1);
}

static void what_the_clock_is_is_said_to_who_has_not_heard_it(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    session_report_clock(5, 2, 0);
    assert_int_equal(fake->clocks, 1);
    meet_another_classd(fake);
    assert_int_equal(fake->clocks, 2);
    fake->page->clock.ahead_ns = 5;
    meet_another_classd(fake);
    assert_int_equal(fake->clocks, 2);
}

// A job has another identity, and has said nothing.
static void what_one_job_has_said_is_not_said_for_the_next(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    meet_another_classd(fake);
    assert_int_equal(fake->claims + fake->clocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slots_are_asked_for_and_claimed),
        TEST(slots_are_asked_for_without_waiting),
        TEST(what_is_taken_without_an_answer_counts_as_given),
        TEST(an_answer_may_never_come),
        TEST(what_was_taken_is_said_to_who_has_not_heard_it),
        TEST(what_the_clock_is_is_said_to_who_has_not_heard_it),
        TEST(what_one_job_has_said_is_not_said_for_the_next), // after some that have said something
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
