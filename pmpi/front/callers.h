// What is known of who calls which function, where that must be asked of each call. A caller is the
// address to which its call returns.
#ifndef COSCHED_PMPI_FRONT_CALLERS_H
#define COSCHED_PMPI_FRONT_CALLERS_H

#include <stdbool.h>

// False when nothing is known; else *own is what was noted last of this caller and slot.
bool callers_know(const void *caller, unsigned slot, void **own);

// May put something else out of mind.
void callers_note(const void *caller, unsigned slot, void *own);

#endif
