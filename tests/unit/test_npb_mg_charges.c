// Protects the right-hand side of kernel MG: the extremes of the random sequence, found part by
// part.
#include "bench/npb/mg/charges.h"

#include "bench/npb/common/random.h"
#include "bench/npb/mg/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 16, ALL = POINTS * POINTS * POINTS };
enum { FIELD = (POINTS + 2) * (POINTS + 2) * (POINTS + 2) };

static struct mg_level look(int rank, int ranks)
{
    struct mg_grid grid;
    assert_true(mg_grid_init(&grid, rank, ranks));
    return mg_grid_level(&grid, POINTS);
}

static struct mg_charges find_on_ranks(int ranks)
{
    struct mg_level level = look(0, ranks);
    struct mg_charges charges = mg_charges_find(&level);
    for (int rank = 1; rank < ranks; rank++) {
        level = look(rank, ranks);
        struct mg_charges others = mg_charges_find(&level);
        mg_charges_merge(&charges, &others);
    }
    return charges;
}

// By counting how many numbers of the whole sequence are larger, and how many smaller.
static void charges_are_the_extremes_of_the_sequence(void **unused)
{
    (void)unused;
    static double numbers[ALL], field[FIELD];
    uint64_t random = 314159265;
    npb_random_fill(&random, numbers, ALL);
    struct mg_level level = look(0, 1);
    struct mg_box box = {POINTS, POINTS, POINTS};
    struct mg_charges charges = find_on_ranks(1);
    memset(field, 0, sizeof field);
    mg_charges_place(&charges, &level, field);
    for (int p = 0; p < ALL; p++) {
        int larger = 0, smaller = 0;
        for (int q = 0; q < ALL; q++) {
            larger += numbers[q] > numbers[p];
            smaller += numbers[q] < numbers[p];
        }
        int charge = (larger < MG_CHARGES) - (smaller < MG_CHARGES);
        int x = p % POINTS, y = p / POINTS % POINTS, z = p / POINTS / POINTS;
        assert_true(field[mg_field_row(&box, y + 1, z + 1) + (size_t)x + 1] == charge);
    }
}

static void parts_of_all_ranks_give_the_same(void **unused)
{
    (void)unused;
    struct mg_charges whole = find_on_ranks(1);
    for (int ranks = 2; ranks <= ALL; ranks *= 8) {
        struct mg_charges merged = find_on_ranks(ranks);
        assert_memory_equal(&merged, &whole, sizeof whole);
    }
}

static void each_charge_is_placed_on_one_rank(void **unused)
{
    (void)unused;
    enum { RANKS = 32 };
    static double field[FIELD];
    struct mg_charges charges = find_on_ranks(1);
    int positive = 0, negative = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        struct mg_level level = look(rank, RANKS);
        memset(field, 0, sizeof field);
        mg_charges_place(&charges, &level, field);
        for (int i = 0; i < FIELD; i++) {
            positive += field[i] == 1;
            negative += field[i] == -1;
        }
    }
    assert_int_equal(positive, MG_CHARGES);
    assert_int_equal(negative, MG_CHARGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charges_are_the_extremes_of_the_sequence),
        cmocka_unit_test(parts_of_all_ranks_give_the_same),
        cmocka_unit_test(each_charge_is_placed_on_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
