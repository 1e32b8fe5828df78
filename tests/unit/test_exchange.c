// Protects the exchange of all ranks' words: after the steps that each of them takes everybody has
// everybody's, in order, and each has had few peers.
#include "pmpi/variant/exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 37 };

// Longer than what is swapped at once, and no multiple of it.
struct word {
    int rank;
    char filling[96];
};

static struct word words[RANKS_MAX][RANKS_MAX], before[RANKS_MAX][RANKS_MAX];

static int all_take_a_step(int size, int have)
{
    int count = 0;
    memcpy(before, words, sizeof words);
    for (int rank = 0; rank < size; rank++) {
        struct exchange_step step = exchange_step(rank, size, have);
        assert_in_range(step.from, 0, size - 1);
        struct exchange_step peers = exchange_step(step.from, size, have);
        assert_int_equal(peers.to, rank);
        assert_int_equal(peers.count, step.count);
        memcpy(&words[rank][have], before[step.from], (size_t)step.count * sizeof(struct word));
        count = step.count;
    }
    return count;
}

static void everybody_has_all_words(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS_MAX; size++) {
        int steps = 0;
        memset(words, 0, sizeof words);
        for (int rank = 0; rank < size; rank++) {
            words[rank][0].rank = rank;
            words[rank][0].filling[95] = (char)rank;
        }
        for (int have = 1; have < size; steps++)
            have += all_take_a_step(size, have);
        assert_true(steps < 7 && (steps == 0 || 1 << (steps - 1) < size));
        for (int rank = 0; rank < size; rank++) {
            exchange_turn(words[rank], (size_t)size, sizeof(struct word), (size_t)rank);
            for (int i = 0; i < size; i++) {
                assert_int_equal(words[rank][i].rank, i);
                assert_int_equal(words[rank][i].filling[95], (char)i);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everybody_has_all_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
