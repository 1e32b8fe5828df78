// Standard output, at the end of a program that was asked to print something.
#ifndef COSCHED_COMMON_OUTPUT_H
#define COSCHED_COMMON_OUTPUT_H

#include "common/error.h"

// Writes out what is still buffered. Returns 0, or -1 when anything printed so far did not get
// through (a full disk), so that nobody takes half of it for the whole.
int output_finish(struct error *err);

// The same, for a program that has nothing else to do: returns its exit status, and says in a line
// why it is a failure.
int output_end(const char *program);

#endif
