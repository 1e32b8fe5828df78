// Which environment variables Open MPI's launcher hands on to other nodes: the MCA parameter
// mca_base_env_list, on its command line, in its environment and, of some, in its files of
// parameters. Pure.
#ifndef COSCHED_PMPI_FRONT_FORWARDING_H
#define COSCHED_PMPI_FRONT_FORWARDING_H

#include <stdbool.h>

enum forwarding_launcher {
    FORWARDING_NOBODY,
    FORWARDING_ORTE,  // Open MPI up to 4: mpirun
    FORWARDING_PRRTE, // Open MPI 5: prte, which its mpirun becomes
};

// Where the value of an MCA parameter stands in what is left of a null-terminated command line
// (--mca or --gmca, with PRRTE also --omca or --gomca, with one dash or two, then name and value);
// null: nowhere. As the launcher does, this looks up to the first ":" only with ORTE, and never
// knows where the program's own arguments begin.
char **forwarding_argument(enum forwarding_launcher launcher, char **arguments,
                           const char *parameter);

// The same of ORTE for an option with one value, with one dash or two.
char **forwarding_option(char **arguments, const char *option);

// The list with those entries, NAME or NAME=VALUE (null-terminated), whose names it lacks. The
// caller frees it. Null when it lacks none, or memory is short.
char *forwarding_join(const char *list, char delimiter, const char *const *entries);

// The same for PRRTE's list in the environment, which processes that it starts inherit, and so a
// launcher that one of them starts: what this function has added there before gives way. Entries
// must be NAME=VALUE: a name alone that is no longer set ends that launcher.
char *forwarding_join_anew(const char *list, const char *const *entries);

// Does this line of a file of parameters list variables, or say how lists are read?
bool forwarding_line_lists(const char *line);

#endif
