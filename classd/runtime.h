// The runtime directory: one classd at a time, and the little that it remembers over restarts
// beside the status pages.
#ifndef COSCHED_CLASSD_RUNTIME_H
#define COSCHED_CLASSD_RUNTIME_H

#include "common/error.h"

#include <stdint.h>

typedef struct runtime runtime_t;

// Makes the directory (mode 0755, its parent must exist) where it is missing, locks it against a
// second classd (EWOULDBLOCK), and raises the generation. Ended with runtime_close(), which keeps
// the files and gives up the lock.
int runtime_open(const char *path, runtime_t **runtime, struct error *err);
void runtime_close(runtime_t *runtime);

int runtime_directory(const runtime_t *runtime);       // a descriptor; it stays the runtime's
uint64_t runtime_node_id(const runtime_t *runtime);    // random, the same over restarts, not 0
uint16_t runtime_generation(const runtime_t *runtime); // one more than the last classd's, never 0

#endif
