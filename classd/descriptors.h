// How many descriptors classd may have open.
#ifndef COSCHED_CLASSD_DESCRIPTORS_H
#define COSCHED_CLASSD_DESCRIPTORS_H

#include "common/config.h"

// Raises the soft limit to config_descriptors(), or to the hard limit, and says so where that is
// too low. A limit that is larger stays.
void descriptors_allow(const struct config *config);

#endif
