// In a launcher that does not hand LD_PRELOAD on to other nodes, the library arranges that; in any
// other program this does nothing. Open MPI's launchers forward only what an MCA parameter lists.
#include "pmpi/front/forwarding.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "OMPI_MCA_"
#define LIST   "mca_base_env_list"
// Made by mpirun itself from lines "-x NAME" of its files, which a variable takes the place of.
#define INTERNAL_LIST PREFIX LIST "_internal"

enum { PATH_BYTES = 4096 };

// What a job's processes need of the launcher's environment.
static const char *const forwarded[] = {
    "LD_PRELOAD",          "COSCHED_PIGGYBACK",    "COSCHED_WAIT",       "COSCHED_STATS",
    "COSCHED_RUNTIME_DIR", "COSCHED_INIT_TIMEOUT", "COSCHED_SPIN_LIMIT", "COSCHED_LIST",
};
enum { FORWARDED = sizeof forwarded / sizeof *forwarded };

// By the name of its file and a function of the library that it is linked to.
static enum forwarding_launcher launcher_by(const char *name)
{
    static const struct {
        const char *name, *function;
        enum forwarding_launcher launcher;
    } known[] = {
        {"orterun", "orte_init", FORWARDING_ORTE},
        {"mpirun", "orte_init", FORWARDING_ORTE},
        {"mpiexec", "orte_init", FORWARDING_ORTE},
        {"mpirun.openmpi", "orte_init", FORWARDING_ORTE},
        {"mpiexec.openmpi", "orte_init", FORWARDING_ORTE},
        {"prte", "prte_init", FORWARDING_PRRTE},
        {"prterun", "prte_init", FORWARDING_PRRTE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0 && dlsym(RTLD_DEFAULT, known[i].function) != NULL)
            return known[i].launcher;
    }
    return FORWARDING_NOBODY;
}

// When it is one, `directory` is the one above that of the launcher's file.
static enum forwarding_launcher own_launcher(char directory[PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_BYTES - 1);
    if (length <= 0)
        return FORWARDING_NOBODY;
    directory[length] = '\0';
    char *base = strrchr(directory, '/');
    if (base == NULL)
        return FORWARDING_NOBODY;
    *base++ = '\0';
    enum forwarding_launcher launcher = launcher_by(base);
    char *slash = strrchr(directory, '/');
    *(slash != NULL ? slash : directory) = '\0';
    return launcher;
}

// The value of an MCA parameter but for files: the command line's goes before the environment's.
static const char *value_of(char **arguments, const char *parameter)
{
    char variable[128];
    char **argument = forwarding_argument(FORWARDING_ORTE, arguments, parameter);
    if (argument != NULL)
        return *argument;
    snprintf(variable, sizeof variable, PREFIX "%s", parameter);
    return getenv(variable);
}

// Files that are not there list nothing. What cannot be read twice may list anything.
static bool file_lists(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool regular = fstatat(fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISREG(status.st_mode);
    bool lists = !regular;
    FILE *file = regular ? fdopen(fd, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    while (file != NULL && !lists && getline(&line, &room, file) >= 0)
        lists = forwarding_line_lists(line);
    free(line);
    if (file != NULL)
        fclose(file);
    else
        close(fd);
    return lists;
}

static bool file_below_lists(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    int length =
        directory != NULL ? snprintf(path, sizeof path, "%s/%s", directory, name) : PATH_BYTES;
    return length < PATH_BYTES && file_lists(path);
}

// Of files that the user names, as mpirun finds them: in its own folder of such files, too.
static bool some_file_lists(const char *files, const char *prefix)
{
    char *names = files != NULL ? strdup(files) : NULL, *rest = names, *name;
    bool lists = false;
    while (rest != NULL && !lists && (name = strsep(&rest, ",:")) != NULL) {
        char path[PATH_BYTES];
        int length =
            snprintf(path, sizeof path, "%s/share/openmpi/amca-param-sets/%s", prefix, name);
        lists = file_lists(name) || (length < PATH_BYTES && file_lists(path));
    }
    free(names);
    return lists;
}

// Where the configuration is depends on how Open MPI was built: its own default, Debian's,
// Fedora's.
static bool default_files_list(const char *prefix)
{
    static const char name[] = "openmpi-mca-params.conf";
    const char *moved = getenv("OPAL_PREFIX");
    char directory[PATH_BYTES];
    int length = snprintf(directory, sizeof directory, "%s/etc", moved != NULL ? moved : prefix);
    return file_below_lists(getenv("HOME"), ".openmpi/mca-params.conf") ||
           file_below_lists(getenv("OPAL_SYSCONFDIR"), name) ||
           (length < PATH_BYTES && file_below_lists(directory, name)) ||
           file_below_lists("/etc/openmpi", name) || file_below_lists("/etc/openmpi-x86_64", name);
}

static bool files_list(char **arguments, const char *prefix)
{
    static const char *const options[][2] = {{"am", "mca_base_param_file_prefix"},
                                             {"tune", "mca_base_envar_file_prefix"}};
    const char *instead = value_of(arguments, "mca_base_param_files");
    if (instead == NULL)
        instead = value_of(arguments, "mca_param_files");
    bool lists = instead != NULL ? some_file_lists(instead, prefix) : default_files_list(prefix);
    for (size_t i = 0; i < sizeof options / sizeof *options && !lists; i++) {
        char **option = forwarding_option(arguments, options[i][0]);
        lists =
            some_file_lists(option != NULL ? *option : value_of(arguments, options[i][1]), prefix);
    }
    return lists;
}

// Puts the longer list in place of the value, in memory that stays. The launcher takes quotes off.
static void extend_argument(char **value, char delimiter, const char *const *entries)
{
    size_t length = strlen(*value);
    bool quoted = length > 1 && (*value)[0] == '"' && (*value)[length - 1] == '"';
    char *list = quoted ? strndup(*value + 1, length - 2) : strdup(*value);
    char *joined = list != NULL ? forwarding_join(list, delimiter, entries) : NULL;
    if (joined != NULL)
        *value = joined;
    free(list);
}

static void extend_variable(const char *variable, char delimiter, const char *const *names)
{
    const char *old = getenv(variable);
    char *joined = forwarding_join(old != NULL ? old : "", delimiter, names);
    if (joined != NULL)
        setenv(variable, joined, 1);
    free(joined);
}

static bool extend_users_list(char **arguments, const char *const *names)
{
    const char *delimiter = value_of(arguments, LIST "_delimiter");
    bool readable = delimiter == NULL || strlen(delimiter) == 1;
    bool given = getenv(PREFIX LIST) != NULL;
    if (given && readable)
        extend_variable(PREFIX LIST, delimiter != NULL ? *delimiter : ';', names);
    char **value = arguments;
    while ((value = forwarding_argument(FORWARDING_ORTE, value, LIST)) != NULL) {
        given = true;
        if (readable)
            extend_argument(value, delimiter != NULL ? *delimiter : ';', names);
    }
    return given;
}

// The user's own list and the internal one exclude each other, so the one in use is extended; what
// files say is left to them.
static void forward_in_orte(char **arguments, const char *prefix)
{
    const char *names[FORWARDED + 1] = {NULL};
    for (size_t i = 0, count = 0; i < FORWARDED; i++) {
        if (getenv(forwarded[i]) != NULL)
            names[count++] = forwarded[i];
    }
    if (files_list(arguments, prefix) || extend_users_list(arguments, names))
        unsetenv(INTERNAL_LIST); // of a launcher that this one runs under
    else
        extend_variable(INTERNAL_LIST, ';', names);
}

// "NAME=VALUE" of the environment in memory that stays; null: it is not set, or no list can have
// it.
static const char *entry_of(const char *name)
{
    const char *value = getenv(name);
    char *entry = NULL;
    if (value == NULL || strchr(value, ';') != NULL || asprintf(&entry, "%s=%s", name, value) < 0)
        return NULL;
    return entry;
}

// Lists add up, but for that in the environment and the command line's, which takes its place.
// Entries end with ";" always.
static void forward_in_prrte(char **arguments)
{
    const char *entries[FORWARDED + 1] = {NULL}, *old = getenv(PREFIX LIST);
    for (size_t i = 0, count = 0; i < FORWARDED; i++) {
        entries[count] = entry_of(forwarded[i]);
        count += entries[count] != NULL;
    }
    char *joined = forwarding_join_anew(old != NULL ? old : "", entries);
    if (joined != NULL)
        setenv(PREFIX LIST, joined, 1);
    free(joined);
    char **value = arguments;
    while ((value = forwarding_argument(FORWARDING_PRRTE, value, LIST)) != NULL)
        extend_argument(value, ';', entries);
}

// glibc hands the command line to constructors, in the memory that main has it in.
__attribute__((constructor)) static void launcher_forward(int argc, char **argv)
{
    char prefix[PATH_BYTES];
    int fault = errno; // is 0 when main begins
    enum forwarding_launcher launcher = argc < 1 ? FORWARDING_NOBODY : own_launcher(prefix);
    if (launcher == FORWARDING_ORTE)
        forward_in_orte(argv, prefix);
    else if (launcher == FORWARDING_PRRTE)
        forward_in_prrte(argv);
    errno = fault;
}
