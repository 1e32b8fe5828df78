// What root, or the user of this process, alone can have put into a directory: only that is acted
// upon with their rights.
#ifndef COSCHED_COMMON_TRUST_H
#define COSCHED_COMMON_TRUST_H

#include "common/error.h"

// Opens the runtime directory `path`. Returns a descriptor, which the caller closes, or -1: EPERM
// when others can change what is in it.
int trust_open(const char *path, struct error *err);

#endif
