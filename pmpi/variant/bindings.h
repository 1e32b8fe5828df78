// Do Fortran programs' calls come by this library? With the MPIs of today they do, since their
// Fortran bindings call MPI_X or PMPI_X. One whose bindings went straight to its insides would send
// messages without headers.
#ifndef COSCHED_PMPI_VARIANT_BINDINGS_H
#define COSCHED_PMPI_VARIANT_BINDINGS_H

#include <stdbool.h>

// True when this program has Fortran bindings whose calls are not seen here. Sends to and receives
// from MPI_PROC_NULL, nothing else. Between MPI_Init and the first call of the program.
bool bindings_bypass_us(void);

#endif
