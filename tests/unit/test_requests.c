// The table of handles against a simple model, and with threads that must not lose each other's.
#include "pmpi/variant/requests.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MODEL_KEYS = 1500, // more than the first size holds, so the table grows several times
    OPERATIONS = 60000,
    SEEDS = 8,
    THREADS = 4,
    ROUNDS = 300,
    EACH = 200, // keys that a thread has in the table at once
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *insert(struct requests *table, uintptr_t key, void *value)
{
    bool failed = true;
    void *before = requests_insert(table, key, value, &failed);
    assert_false(failed);
    return before;
}

static void an_empty_table_knows_nothing(void **state)
{
    struct requests table = {.busy = ATOMIC_FLAG_INIT};
    (void)state;
    assert_null(requests_find(&table, 0));
    assert_null(requests_take(&table, 7));
    requests_free(&table);
}

static void what_was_inserted_is_found_until_taken(void **state)
{
    struct requests table = {.busy = ATOMIC_FLAG_INIT};
    int one, two;
    (void)state;
    assert_null(insert(&table, 0, &one)); // any bits are a handle
    assert_null(insert(&table, UINTPTR_MAX, &two));
    assert_ptr_equal(requests_find(&table, 0), &one);
    assert_ptr_equal(requests_take(&table, 0), &one);
    assert_null(requests_find(&table, 0));
    assert_null(requests_take(&table, 0));
    assert_ptr_equal(requests_find(&table, UINTPTR_MAX), &two);
    requests_free(&table);
    assert_null(requests_find(&table, UINTPTR_MAX));
}

// A handle that MPI gave out again without our having seen its end.
static void a_second_insert_gives_back_the_first(void **state)
{
    struct requests table = {.busy = ATOMIC_FLAG_INIT};
    int one, two;
    (void)state;
    assert_null(insert(&table, 5, &one));
    assert_ptr_equal(insert(&table, 5, &two), &one);
    assert_ptr_equal(requests_take(&table, 5), &two);
    assert_null(requests_take(&table, 5));
    requests_free(&table);
}

// The keys of a model are few, so every key is inserted, replaced and taken many times.
static void play(uint64_t seed, unsigned insertions_in_ten, uintptr_t stride)
{
    struct requests table = {.busy = ATOMIC_FLAG_INIT};
    static char values[2][MODEL_KEYS];
    void *model[MODEL_KEYS] = {0};
    uint64_t random = seed;
    for (int i = 0; i < OPERATIONS; i++) {
        size_t number = next_random(&random) % MODEL_KEYS;
        uintptr_t key = number * stride;
        if (next_random(&random) % 10 < insertions_in_ten) {
            void *value = &values[next_random(&random) % 2][number];
            assert_ptr_equal(insert(&table, key, value), model[number]);
            model[number] = value;
        } else {
            assert_ptr_equal(requests_take(&table, key), model[number]);
            model[number] = NULL;
        }
        number = next_random(&random) % MODEL_KEYS;
        assert_ptr_equal(requests_find(&table, number * stride), model[number]);
    }
    for (size_t number = 0; number < MODEL_KEYS; number++)
        assert_ptr_equal(requests_take(&table, number * stride), model[number]);
    requests_free(&table);
}

static void random_operations_agree_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, 5, 1); // some 750 at once, all of them replaced again and again
        play(seed, 8, 16);
        play(seed, 3, (uintptr_t)1 << 20);
    }
}

// As full as the first size may get, so that runs of slots go around its end.
static void runs_around_the_end_survive_deletions(void **state)
{
    enum { FEW = 127 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS * 8; seed++) {
        struct requests table = {.busy = ATOMIC_FLAG_INIT};
        uintptr_t keys[FEW];
        uint64_t random = seed;
        for (int i = 0; i < FEW; i++) {
            keys[i] = (uintptr_t)next_random(&random);
            insert(&table, keys[i], &keys[i]);
        }
        for (int i = FEW - 1; i > 0; i--) { // out again in another order
            int other = (int)(next_random(&random) % (uint64_t)(i + 1));
            uintptr_t key = keys[other];
            assert_non_null(requests_take(&table, key));
            keys[other] = keys[i];
            for (int left = 0; left < i; left++)
                assert_non_null(requests_find(&table, keys[left]));
            assert_null(requests_find(&table, key));
        }
        requests_free(&table);
    }
}

struct worker {
    struct requests *table;
    uintptr_t first;
    int wrong;
    char values[EACH];
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EACH; i++) {
            bool failed = false;
            uintptr_t key = worker->first + (uintptr_t)i * THREADS;
            worker->wrong +=
                requests_insert(worker->table, key, &worker->values[i], &failed) != NULL || failed;
        }
        for (int i = 0; i < EACH; i++) {
            uintptr_t key = worker->first + (uintptr_t)i * THREADS;
            worker->wrong += requests_find(worker->table, key) != &worker->values[i];
            worker->wrong += requests_take(worker->table, key) != &worker->values[i];
            worker->wrong += requests_find(worker->table, key) != NULL;
        }
    }
    return NULL;
}

static void threads_keep_what_is_theirs(void **state)
{
    struct requests table = {.threaded = true, .busy = ATOMIC_FLAG_INIT};
    struct worker workers[THREADS] = {0};
    pthread_t threads[THREADS];
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++) {
        workers[i].table = &table;
        workers[i].first = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_int_equal(table.used, 0);
    requests_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_knows_nothing),
        cmocka_unit_test(what_was_inserted_is_found_until_taken),
        cmocka_unit_test(a_second_insert_gives_back_the_first),
        cmocka_unit_test(random_operations_agree_with_a_model),
        cmocka_unit_test(runs_around_the_end_survive_deletions),
        cmocka_unit_test(threads_keep_what_is_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
