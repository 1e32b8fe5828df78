#include "bench/npb/is/class.h"

#include <stddef.h>
#include <stdio.h>

static const struct is_class classes[] = {
    {'S',
     16,
     11,
     9,
     {{48427, 0, 1}, {17148, 18, 1}, {23627, 346, 1}, {62548, 64917, -1}, {4431, 65463, -1}}},
    {'W',
     20,
     16,
     10,
     {{357773, 1249 - 2, 1},
      {934767, 11698 - 2, 1},
      {875723, 1039987, -1},
      {898999, 1043896, -1},
      {404505, 1048018, -1}}},
    {'A',
     23,
     19,
     10,
     {{2112377, 104 - 1, 1},
      {662041, 17523 - 1, 1},
      {5336171, 123928 - 1, 1},
      {3642833, 8288932 + 1, -1},
      {4250760, 8388264 + 1, -1}}},
    {'B',
     25,
     21,
     10,
     {{41869, 33422937, -1},
      {812306, 10244, 1},
      {5102857, 59149, 1},
      {18232239, 33135281, -1},
      {26860214, 99, 1}}},
    {'C',
     27,
     23,
     10,
     {{44172927, 61147, 1},
      {72999161, 882988, 1},
      {74326391, 266290, 1},
      {129606274, 133997595, -1},
      {21736814, 133525895, -1}}},
};

const struct is_class *is_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].name == name)
            return &classes[i];
    }
    return NULL;
}

int is_class_rank(const struct is_probe *probe, int iteration)
{
    return probe->rank + iteration * probe->step;
}

bool is_class_verify(const struct is_class *size, const struct is_findings *found)
{
    bool probes_right = found->probes_right == IS_ITERATIONS * IS_PROBES;
    bool all_placed = found->misplaced == 0 && found->keys == 1 << size->log2_keys;
    printf("  ranks of probed keys: %d of %d official  %s\n", found->probes_right,
           IS_ITERATIONS * IS_PROBES, probes_right ? "correct" : "WRONG");
    printf("  sorted by their ranks: %d keys, %d out of order  %s\n", found->keys, found->misplaced,
           all_placed ? "correct" : "WRONG");
    return probes_right && all_placed;
}
