// Which machine this is, by a number that is the same for all its processes.
#ifndef COSCHED_PMPI_VARIANT_MACHINE_H
#define COSCHED_PMPI_VARIANT_MACHINE_H

#include <stdint.h>

// The boot's number, not the host's name: containers have names of their own, and share CPUs and
// memory all the same.
uint64_t machine_id(void);

#endif
