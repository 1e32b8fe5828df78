// A directory for the files of an input, and what an input may not leave behind.
#ifndef COSCHED_TESTS_FUZZ_SCRATCH_H
#define COSCHED_TESTS_FUZZ_SCRATCH_H

#include <stddef.h>

// The path of an empty directory, in memory where that is possible: one for all inputs of a
// program, removed at its end.
const char *scratch_path(void);

// A descriptor of it, the caller's.
int scratch_open(void);

void scratch_write(int directory, const char *name, const void *bytes, size_t size);

// How many entries a directory has.
unsigned scratch_count(int directory);

// Removes everything in a directory, and in the directories below it.
void scratch_wipe(int directory);

// How many descriptors this process has open.
unsigned scratch_descriptors(void);

#endif
