// The MPI's predefined handles where they are addresses of objects, as in Open MPI: found by name,
// like the MPI's functions. Left to the dynamic linker, they would have to be in everybody's sight,
// and with them all that the MPI is linked to, also where a program has opened it for a plugin
// alone. So they are no constants here.
#ifndef COSCHED_PMPI_VARIANT_PREDEFINED_H
#define COSCHED_PMPI_VARIANT_PREDEFINED_H

#include <mpi.h>

#ifdef OPEN_MPI

extern struct predefined {
#define PREDEFINED(object) void *object;
#include "pmpi/variant/predefined.def"
#undef PREDEFINED
} predefined __attribute__((visibility("hidden")));

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, object) ((type)predefined.object)

#endif

#endif
