// coschedctl doctor: what on this node would keep cosched from working, each with its remedy.
#ifndef COSCHED_CTL_DOCTOR_H
#define COSCHED_CTL_DOCTOR_H

#include "common/config.h"

// Prints one line per finding. Returns how many things do not work; what is only worth knowing does
// not count.
int doctor_run(const struct config *config);

#endif
