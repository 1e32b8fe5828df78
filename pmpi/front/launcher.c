// In a launcher that does not hand LD_PRELOAD on to other nodes, the library arranges that; in any
// other program this does nothing. Open MPI's mpirun forwards only what an MCA parameter lists.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USER_LIST     "OMPI_MCA_mca_base_env_list"
#define INTERNAL_LIST "OMPI_MCA_mca_base_env_list_internal"

// What a job's processes need of the launcher's environment.
static const char *const forwarded[] = {
    "LD_PRELOAD",          "COSCHED_PIGGYBACK",    "COSCHED_WAIT",       "COSCHED_STATS",
    "COSCHED_RUNTIME_DIR", "COSCHED_INIT_TIMEOUT", "COSCHED_SPIN_LIMIT", "COSCHED_LIST",
};

static bool in_openmpi_launcher(void)
{
    static const char *const names[] = {"orterun", "mpirun", "mpiexec", "mpirun.openmpi",
                                        "mpiexec.openmpi"};
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(base, names[i]) == 0)
            return dlsym(RTLD_DEFAULT, "orte_init") != NULL;
    }
    return false;
}

__attribute__((constructor)) static void launcher_forward(void)
{
    if (!in_openmpi_launcher())
        return;
    // The user's own list and the internal one exclude each other, so the one in use is extended.
    const char *variable = getenv(USER_LIST) != NULL ? USER_LIST : INTERNAL_LIST;
    const char *old = getenv(variable);
    char list[4096];
    int used = snprintf(list, sizeof list, "%s", old != NULL ? old : "");
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        if (getenv(forwarded[i]) == NULL || (old != NULL && strstr(old, forwarded[i]) != NULL))
            continue;
        if (used < 0 || (size_t)used >= sizeof list)
            return;
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", used > 0 ? ";" : "",
                         forwarded[i]);
    }
    if (used > 0 && (size_t)used < sizeof list)
        setenv(variable, list, 1);
}
