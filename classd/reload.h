// Reading the configuration again while jobs run.
#ifndef COSCHED_CLASSD_RELOAD_H
#define COSCHED_CLASSD_RELOAD_H

#include "common/config.h"
#include "common/error.h"

// Loads `file` over *config, all of it or nothing. Refused: a file with an error, and one that
// changes what cannot change under running jobs; err->text names file, line or key, and the remedy.
// Returns 0 or -1.
int reload(const char *file, struct config *config, struct error *err);

#endif
