// What a user may take of the daemon's time: so many packets, fewer of those that take long, and no
// more for who leaves and comes back.
#include "classd/users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    PER_SECOND = 100,
    AT_ONCE = PER_SECOND * (USER_DEPTH_NS / NS_PER_SEC),
    UID = 1000,
};

#define NOW (10 * NS_PER_SEC)

// How many packets the user may send now.
static unsigned drain(struct user *user, uint64_t now_ns)
{
    unsigned count = 0;
    while (user_may_send(user, PER_SECOND, now_ns))
        count++;
    return count;
}

static void what_was_saved_at_once_and_then_by_the_clock(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *user = users_join(&users, UID, NOW);
    assert_int_equal(drain(user, NOW), AT_ONCE);
    assert_int_equal(drain(user, NOW + NS_PER_SEC / 4), PER_SECOND / 4);
    assert_int_equal(drain(user, NOW + 60 * NS_PER_SEC), AT_ONCE);
    users_clear(&users);
}

static void who_sends_too_much_waits(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *user = users_join(&users, UID, NOW);
    unsigned sent = 0;
    drain(user, NOW);
    for (uint64_t ms = 1; ms <= 3000; ms++)
        for (unsigned i = 0; i < 5; i++)
            sent += user_may_send(user, PER_SECOND, NOW + ms * NS_PER_MS);
    assert_in_range(sent, 3 * PER_SECOND - 1, 3 * PER_SECOND);
    users_clear(&users);
}

static void what_takes_long_counts_for_more(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *user = users_join(&users, UID, NOW);
    unsigned heard = 0;
    while (user_may_send(user, PER_SECOND, NOW)) {
        user_took(user, 10 * USER_PACKET_NS);
        heard++;
    }
    assert_int_equal(heard, AT_ONCE / 10);
    users_clear(&users);
}

static void what_is_quick_counts_as_one(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *user = users_join(&users, UID, NOW);
    unsigned heard = 0;
    for (; user_may_send(user, PER_SECOND, NOW); heard++)
        user_took(user, USER_PACKET_NS / 10);
    assert_int_equal(heard, AT_ONCE);
    users_clear(&users);
}

static void all_connections_of_a_user_have_one_account(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *one = users_join(&users, UID, NOW), *other = users_join(&users, UID + 1, NOW);
    assert_ptr_equal(users_join(&users, UID, NOW), one);
    assert_int_equal(one->connections, 2);
    assert_int_equal(drain(one, NOW), AT_ONCE);
    assert_int_equal(drain(other, NOW), AT_ONCE);
    users_clear(&users);
}

static void who_comes_back_at_once_finds_the_old_account(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *user = users_join(&users, UID, NOW);
    drain(user, NOW);
    users_leave(&users, user, PER_SECOND, NOW);
    user = users_join(&users, UID, NOW);
    assert_int_equal(drain(user, NOW), 0);
    assert_int_equal(users.gone, 0);
    users_clear(&users);
}

// However long its user has been away, and whoever else leaves meanwhile.
static void a_debt_is_remembered_until_it_is_paid(void **state)
{
    (void)state;
    struct users users = {0};
    struct user *debtor = users_join(&users, UID, NOW);
    assert_true(user_may_send(debtor, PER_SECOND, NOW));
    user_took(debtor, 20 * PER_SECOND * USER_PACKET_NS); // some twenty seconds' worth
    users_leave(&users, debtor, PER_SECOND, NOW);
    for (unsigned s = 1; s < 10; s++)
        users_leave(&users, users_join(&users, UID + 1, NOW + s * NS_PER_SEC), PER_SECOND,
                    NOW + s * NS_PER_SEC);
    debtor = users_join(&users, UID, NOW + 10 * NS_PER_SEC);
    assert_int_equal(drain(debtor, NOW + 10 * NS_PER_SEC), 0);
    users_leave(&users, debtor, PER_SECOND, NOW + 10 * NS_PER_SEC);

    struct user *last = users_join(&users, UID + 2, NOW + 30 * NS_PER_SEC);
    users_leave(&users, last, PER_SECOND, NOW + 30 * NS_PER_SEC);
    assert_int_equal(users.gone, 1); // paid, and forgotten
    users_clear(&users);
}

static void who_has_left_is_forgotten(void **state)
{
    (void)state;
    struct users users = {0};
    for (uid_t uid = UID; uid < UID + 1000; uid++)
        users_leave(&users, users_join(&users, uid, NOW), PER_SECOND, NOW);
    assert_in_range(users.gone, 1, 300); // whatever the number of user ids that somebody has
    struct user *last = users_join(&users, UID, NOW + 10 * NS_PER_SEC);
    users_leave(&users, last, PER_SECOND, NOW + 10 * NS_PER_SEC);
    assert_int_equal(users.gone, 1);
    users_clear(&users);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_at_once_and_then_by_the_clock),
        cmocka_unit_test(who_sends_too_much_waits),
        cmocka_unit_test(what_takes_long_counts_for_more),
        cmocka_unit_test(what_is_quick_counts_as_one),
        cmocka_unit_test(all_connections_of_a_user_have_one_account),
        cmocka_unit_test(who_comes_back_at_once_finds_the_old_account),
        cmocka_unit_test(a_debt_is_remembered_until_it_is_paid),
        cmocka_unit_test(who_has_left_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
