// The objects that are loaded into the process: also those opened with RTLD_LOCAL, as Python does,
// where dlsym(RTLD_NEXT) does not look. Nothing found here is this library's own.
#ifndef COSCHED_PMPI_FRONT_OBJECTS_H
#define COSCHED_PMPI_FRONT_OBJECTS_H

#include <stdbool.h>

// Where the symbol is, in the first object (by the order of loading) that has it, itself or by what
// it is linked to. Only objects whose file's name `wanted` (null: any) agrees to are looked at.
// Null: nowhere.
void *objects_find(const char *symbol, bool (*wanted)(const char *file));

// Where the symbol is for the object that `address` lies in, by what that is linked to itself;
// null: nowhere.
void *objects_find_from(const void *address, const char *symbol);

// A handle of the object that `address` lies in, for dlsym(); it stays loaded. Null: it cannot be
// had.
void *objects_handle(const void *address);

#endif
