// What was noted of a caller is never told of another, whoever writes meanwhile.
#include "pmpi/front/callers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CALLERS = 5000, SLOTS = 7, ROUNDS = 20 };

// More callers than there is room for. Each has another answer in each slot.
static char code[CALLERS];

static void *answer(size_t caller, unsigned slot)
{
    return &code[(caller * SLOTS + slot) % CALLERS];
}

static void what_was_noted_last_is_known(void **state)
{
    (void)state;
    void *own;
    assert_false(callers_know(&code[0], 0, &own));
    callers_note(&code[0], 0, &code[1]);
    assert_true(callers_know(&code[0], 0, &own));
    assert_ptr_equal(own, &code[1]);
    callers_note(&code[0], 0, NULL);
    assert_true(callers_know(&code[0], 0, &own));
    assert_null(own);
    assert_false(callers_know(&code[0], 1, &own));
    assert_false(callers_know(&code[1], 0, &own));
}

// How many answers were another's.
static void *note_and_ask(void *unused)
{
    uintptr_t wrong = 0;
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CALLERS; i++) {
            unsigned slot = (unsigned)(i + (size_t)round) % SLOTS;
            size_t asked = (i * 7919) % CALLERS;
            void *own;
            callers_note(&code[i], slot, answer(i, slot));
            if (callers_know(&code[asked], slot, &own))
                wrong += own != answer(asked, slot);
        }
    }
    return (void *)wrong;
}

static void threads_hear_no_answer_of_another(void **state)
{
    pthread_t threads[3];
    (void)state;
    callers_note(&code[0], 0, answer(0, 0));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_and_ask, NULL), 0);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        void *wrong = &wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noted_last_is_known),
        cmocka_unit_test(threads_hear_no_answer_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
