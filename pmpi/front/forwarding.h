// Which environment variables Open MPI's mpirun hands on to other nodes: the MCA parameter
// mca_base_env_list, on its command line, in its environment and in its files of parameters. Pure.
#ifndef COSCHED_PMPI_FRONT_FORWARDING_H
#define COSCHED_PMPI_FRONT_FORWARDING_H

#include <stdbool.h>

// Where the value of an MCA parameter stands in what is left of a null-terminated command line
// (-mca, --mca, -gmca or --gmca, then name and value); null: nowhere. As mpirun does, this looks up
// to the first ":" only, and does not know where the program's own arguments begin.
char **forwarding_argument(char **arguments, const char *parameter);

// The same for an option with one value, with one dash or two.
char **forwarding_option(char **arguments, const char *option);

// The list with those names (null-terminated) that it lacks. The caller frees it. Null when it
// lacks none, or memory is short.
char *forwarding_join(const char *list, char delimiter, const char *const *names);

// Does this line of a file of parameters list variables, or say how lists are read?
bool forwarding_line_lists(const char *line);

#endif
