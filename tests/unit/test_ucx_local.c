// UCX that was opened for its user alone, under another name, works as without the library: also
// two of them, each with its own workers.
#include "pmpi/front/ucx.h"

#include "common/clock.h"
#include "tests/unit/mock_ucx.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

unsigned ucp_worker_progress(void *worker);
void ucp_worker_destroy(void *worker);

// One user of a UCX, and that UCX.
static struct user {
    signed char (*create)(void **worker);
    void (*destroy)(void *worker);
    unsigned (*progress)(void *worker);
    void *(*disconnect)(void *connection);
    int *progressed, *destroyed, *disconnected;
    unsigned *moves;
} users[2];

static int opened, listing;

void *__real_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags);
int __real_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data);

// Another thread's dlopen() holds the one lock and waits for the other.
void *__wrap_dlopen(const char *file, int flags)
{
    assert_int_equal(listing, 0);
    opened++;
    return __real_dlopen(file, flags);
}

int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data)
{
    listing++;
    int result = __real_dl_iterate_phdr(look, data);
    listing--;
    return result;
}

static void open_user(struct user *user, const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    *(void **)&user->create = dlsym(handle, "user_create");
    *(void **)&user->destroy = dlsym(handle, "user_destroy");
    *(void **)&user->progress = dlsym(handle, "user_progress");
    *(void **)&user->disconnect = dlsym(handle, "user_disconnect");
    user->progressed = dlsym(handle, "mock_ucx_progressed");
    user->destroyed = dlsym(handle, "mock_ucx_destroyed");
    user->disconnected = dlsym(handle, "mock_ucx_disconnected");
    user->moves = dlsym(handle, "mock_ucx_moves");
    assert_non_null(user->create);
    assert_non_null(user->moves);
}

static int open_users(void **state)
{
    (void)state;
    open_user(&users[0], USER_1234);
    open_user(&users[1], USER_5678);
    assert_ptr_not_equal(users[0].progressed, users[1].progressed);
    *users[0].moves = 3;
    *users[1].moves = 5;
    return 0;
}

static void each_user_reaches_its_own(void **state)
{
    (void)state;
    void *workers[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(users[i].create(&workers[i]), 0);
        assert_ptr_equal(workers[i], &users[i].progressed[0]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(users[i].progress(workers[i]), *users[i].moves);
        assert_int_equal(users[i].progressed[0], 1);
        int connection;
        assert_ptr_equal(users[i].disconnect(&connection), &connection);
        assert_int_equal(*users[i].disconnected, 1);
    }
    for (int i = 0; i < 2; i++) {
        users[i].destroy(workers[i]);
        assert_int_equal(*users[i].destroyed, 1);
    }
}

static void polls_open_nothing(void **state)
{
    (void)state;
    void *workers[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(users[i].create(&workers[i]), 0);
    int before = opened;
    for (int i = 0; i < 100; i++)
        assert_int_equal(users[i % 2].progress(workers[i % 2]), *users[i % 2].moves);
    assert_int_equal(opened, before);
    for (int i = 0; i < 2; i++)
        users[i].destroy(workers[i]);
}

// From an object that is linked to none: to the first that there is.
static void an_unknown_caller_reaches_one_by_its_name(void **state)
{
    (void)state;
    int worker = 0;
    assert_int_equal(ucp_worker_progress(&worker), *users[0].moves);
    assert_int_equal(worker, 1);
}

static void a_worker_is_destroyed_by_its_own_whoever_asks(void **state)
{
    (void)state;
    void *worker;
    assert_int_equal(users[1].create(&worker), 0);
    int before = *users[1].destroyed;
    ucp_worker_destroy(worker);
    assert_int_equal(*users[1].destroyed, before + 1);
}

// The other's may be in the hands of another thread.
static void who_closes_answers_by_its_own_workers_alone(void **state)
{
    (void)state;
    for (int closing = 0; closing < 2; closing++) {
        void *workers[2];
        for (int i = 0; i < 2; i++) {
            assert_int_equal(users[i].create(&workers[i]), 0);
            *(int *)workers[i] = 0;
            *users[i].moves = 0;
        }
        int connection;
        ucx_linger(1, NS_PER_MS);
        users[closing].disconnect(&connection);
        assert_true(*(int *)workers[closing] > 0);
        assert_int_equal(*(int *)workers[1 - closing], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_user_reaches_its_own),
        cmocka_unit_test(polls_open_nothing),
        cmocka_unit_test(an_unknown_caller_reaches_one_by_its_name),
        cmocka_unit_test(a_worker_is_destroyed_by_its_own_whoever_asks),
        cmocka_unit_test(who_closes_answers_by_its_own_workers_alone),
    };
    return cmocka_run_group_tests(tests, open_users, NULL);
}
