#include "bench/npb/mg/charges.h"

#include "bench/npb/common/random.h"
#include "bench/npb/mg/field.h"

#include <math.h>

#define SEED 314159265

static void offer(struct mg_peaks *peaks, double height, double point)
{
    int place = MG_CHARGES;
    while (place > 0 && height > peaks->height[place - 1])
        place--;
    for (int i = MG_CHARGES - 1; i > place; i--) {
        peaks->height[i] = peaks->height[i - 1];
        peaks->point[i] = peaks->point[i - 1];
    }
    if (place < MG_CHARGES) {
        peaks->height[place] = height;
        peaks->point[place] = point;
    }
}

static struct mg_charges no_charges(void)
{
    struct mg_charges none = {0};
    for (int sign = 0; sign < 2; sign++) {
        for (int i = 0; i < MG_CHARGES; i++)
            none.peaks[sign].height[i] = -HUGE_VAL;
    }
    return none;
}

struct mg_charges mg_charges_find(const struct mg_level *level)
{
    struct mg_charges found = no_charges();
    const struct npb_span *x = &level->part[0], *y = &level->part[1], *z = &level->part[2];
    double row[MG_MOST_POINTS];
    for (int j = z->start; j < z->start + z->count; j++) {
        for (int k = y->start; k < y->start + y->count; k++) {
            uint64_t first =
                ((uint64_t)j * level->points + (uint64_t)k) * level->points + (uint64_t)x->start;
            uint64_t random = npb_random_skip(SEED, first);
            npb_random_fill(&random, row, (size_t)x->count);
            for (int i = 0; i < x->count; i++) {
                offer(&found.peaks[0], row[i], (double)first + i);
                offer(&found.peaks[1], -row[i], (double)first + i);
            }
        }
    }
    return found;
}

void mg_charges_merge(struct mg_charges *charges, const struct mg_charges *others)
{
    for (int sign = 0; sign < 2; sign++) {
        const struct mg_peaks *from = &others->peaks[sign];
        for (int i = 0; i < MG_CHARGES; i++)
            offer(&charges->peaks[sign], from->height[i], from->point[i]);
    }
}

// True, and the place in the part counted from 0, if the coordinate is here.
static bool find_in_part(const struct npb_span *part, int coordinate, int *place)
{
    *place = coordinate - part->start;
    return *place >= 0 && *place < part->count;
}

void mg_charges_place(const struct mg_charges *charges, const struct mg_level *level, double *field)
{
    struct mg_box box = {level->part[0].count, level->part[1].count, level->part[2].count};
    for (int sign = 0; sign < 2; sign++) {
        for (int i = 0; i < MG_CHARGES; i++) {
            int64_t point = (int64_t)charges->peaks[sign].point[i], points = level->points;
            int x, y, z;
            bool here = find_in_part(&level->part[0], (int)(point % points), &x);
            here &= find_in_part(&level->part[1], (int)(point / points % points), &y);
            here &= find_in_part(&level->part[2], (int)(point / points / points), &z);
            if (here)
                field[mg_field_row(&box, y + 1, z + 1) + (size_t)x + 1] = sign == 0 ? 1 : -1;
        }
    }
}
