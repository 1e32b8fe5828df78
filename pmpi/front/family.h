// Which ABI the program's MPI has.
#ifndef COSCHED_PMPI_FRONT_FAMILY_H
#define COSCHED_PMPI_FRONT_FAMILY_H

// The file, beside this library, of the variant for an MPI that says this of itself
// (MPI_Get_library_version()); null: there is none.
const char *family_variant(const char *version);

#endif
