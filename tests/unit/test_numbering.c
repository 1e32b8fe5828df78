// Every rank's node is known by the first rank there, however the ranks are placed, and without
// looking at all ranks for each.
#include "pmpi/variant/numbering.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS_MAX = 1000, MANY = 1 << 16 };

typedef int comparison(const void *, const void *);
void __real_qsort(void *base, size_t count, size_t size, comparison *compare);
void __wrap_qsort(void *base, size_t count, size_t size, comparison *compare);

static comparison *counted;
static size_t comparisons;

static int count(const void *a, const void *b)
{
    comparisons++;
    return counted(a, b);
}

void __wrap_qsort(void *base, size_t length, size_t size, comparison *compare)
{
    counted = compare;
    __real_qsort(base, length, size, count);
}

static int naive(const uint64_t *node_ids, int rank)
{
    int first = 0;
    while (node_ids[first] != node_ids[rank])
        first++;
    return first;
}

static void number(const uint64_t *node_ids, int ranks, int *nodes)
{
    struct numbering_rank *order = calloc((size_t)ranks + 1, sizeof *order);
    for (int i = 0; i < ranks; i++)
        order[i] = (struct numbering_rank){node_ids[i], i};
    numbering_nodes(order, ranks, nodes);
    free(order);
}

static void assert_numbered(const uint64_t *node_ids, int ranks)
{
    int nodes[RANKS_MAX];
    number(node_ids, ranks, nodes);
    for (int i = 0; i < ranks; i++)
        assert_int_equal(nodes[i], naive(node_ids, i));
}

// Ids are hashes, so the first rank's is not the least.
static uint64_t id_of(int node)
{
    return ((uint64_t)node + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void blocks_and_cycles(void **state)
{
    static const int sizes[] = {0, 1, 2, 7, 64, RANKS_MAX};
    static const int widths[] = {1, 2, 3, 16, RANKS_MAX};
    uint64_t blocks[RANKS_MAX], cycles[RANKS_MAX];
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            for (int i = 0; i < sizes[s]; i++) {
                blocks[i] = id_of(i / widths[w]);
                cycles[i] = id_of(i % widths[w]);
            }
            assert_numbered(blocks, sizes[s]);
            assert_numbered(cycles, sizes[s]);
        }
    }
}

static void any_placement(void **state)
{
    uint64_t node_ids[RANKS_MAX], seed = 5;
    (void)state;
    for (int round = 0; round < 200; round++) {
        int ranks = 1 + (int)random_below(&seed, RANKS_MAX);
        int some = 1 + (int)random_below(&seed, (uint64_t)ranks);
        for (int i = 0; i < ranks; i++)
            node_ids[i] = id_of((int)random_below(&seed, (uint64_t)some));
        assert_numbered(node_ids, ranks);
    }
}

static void many_ranks_are_little_work(void **state)
{
    uint64_t *node_ids = calloc(MANY, sizeof *node_ids);
    int *nodes = calloc(MANY, sizeof *nodes);
    (void)state;
    for (int width = 1; width <= MANY; width *= 16) {
        for (int i = 0; i < MANY; i++)
            node_ids[i] = id_of(i / width);
        comparisons = 0;
        number(node_ids, MANY, nodes);
        assert_in_range(comparisons, 1, MANY * 2 * 16); // 16: log2(MANY)
        for (int i = 0; i < MANY; i++)
            assert_int_equal(nodes[i], i - i % width);
    }
    free(nodes);
    free(node_ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_cycles),
        cmocka_unit_test(any_placement),
        cmocka_unit_test(many_ranks_are_little_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
