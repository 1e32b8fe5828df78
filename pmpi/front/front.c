// The front: what a user names in LD_PRELOAD. It exports the wrapped MPI functions as jumps through
// front_slots, is linked to nothing but the C library, and does next to nothing until one of them
// is called; so it may be loaded into shells, launchers and programs of any MPI.
#include "pmpi/front/front.h"

#include "pmpi/front/callers.h"
#include "pmpi/front/family.h"
#include "pmpi/front/narrow.h"
#include "pmpi/front/objects.h"
#include "pmpi/front/real.h"
#include "pmpi/front/ucx.h"
#include "pmpi_front_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS (FRONT_FUNCTIONS * 2)

enum { PATH_BYTES = 4096 };

static const char *const names[FRONT_FUNCTIONS] = {FRONT_NAMES};
static const char *const prefixes[] = {[FRONT_ENTRY_MPI] = "MPI_", [FRONT_ENTRY_PMPI] = "PMPI_"};

void *front_resolve(unsigned slot, const void *caller) __attribute__((visibility("hidden")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool started;
static atomic_uint first;                  // slot by which the program's MPI is found
static _Atomic(const void *) first_caller; // and where it was called
static void *local_mpi; // an MPI that came in by dlopen(RTLD_LOCAL), where RTLD_NEXT does not look
static char directory_at_load[PATH_BYTES]; // with its slash; empty: this library's name is absolute
static _Atomic(const struct family *) family; // of the program's MPI

// Plugins may have several MPIs, each for itself: an MPI and, in a serial library, what stands in
// for one. Who begins with another than the first caller's is known by that, and from then on each
// call is asked where it comes from.
static atomic_bool several;
static void *asking[SLOTS];          // what front_slots has at first, and where calls are asked
static _Atomic(void *) aside[SLOTS]; // where those go on to that are the program's

void *front_real(enum front_entry entry, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefixes[entry], name);
    void *found = dlsym(RTLD_NEXT, symbol);
    return found == NULL && local_mpi != NULL ? dlsym(local_mpi, symbol) : found;
}

// As the program would find it: of an object that the MPI shares with it there may be a copy in the
// program.
static void *front_find(const char *symbol)
{
    return dlsym(local_mpi != NULL ? local_mpi : RTLD_DEFAULT, symbol);
}

const struct family *front_family(void)
{
    return atomic_load_explicit(&family, memory_order_relaxed);
}

int front_unsupported(void)
{
    const struct family *known = front_family();
    return known != NULL ? known->err_unsupported_operation : 16; // MPI_ERR_OTHER, or near it
}

// Stands in for a function that no MPI of the process has, and nothing else can stand in for. A
// program that was linked without this library can only have asked by a weak reference or dlsym().
static int missing_function(void)
{
    return front_unsupported();
}

static void *missing(unsigned slot)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        fprintf(stderr, "cosched: no MPI in this process has %s%s: calls of it return an error\n",
                prefixes[slot % 2], names[slot / 2]);
    return (void *)missing_function;
}

static bool has_mpi(void)
{
    return front_real(FRONT_ENTRY_PMPI, "Get_library_version") != NULL;
}

static bool begins(unsigned slot)
{
    return strcmp(names[slot / 2], "Init") == 0 || strcmp(names[slot / 2], "Init_thread") == 0;
}

static bool asks(unsigned slot)
{
    return local_mpi != NULL && (begins(slot) || atomic_load(&several));
}

static void set_slot(unsigned slot, void *target)
{
    atomic_store_explicit(asks(slot) ? &aside[slot] : &front_slots[slot], target,
                          memory_order_release);
}

static void ask_always(void)
{
    if (atomic_exchange(&several, true))
        return;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        void *target = atomic_load_explicit(&front_slots[slot], memory_order_acquire);
        if (target == asking[slot])
            continue;
        atomic_store_explicit(&aside[slot], target, memory_order_release);
        atomic_store_explicit(&front_slots[slot], asking[slot], memory_order_release);
    }
}

static void front_bypass(const char *except)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (except != NULL && strcmp(names[slot / 2], except) == 0)
            continue;
        void *real = front_real(slot % 2, names[slot / 2]);
        if (real == NULL && has_mpi())
            real = narrow_entries[slot];
        if (real != NULL)
            set_slot(slot, real);
    }
}

static const struct front_api api = {
    .version = FRONT_API_VERSION,
    .table = FRONT_TABLE,
    .real = front_real,
    .find = front_find,
    .bypass = front_bypass,
    .linger = ucx_linger,
    .when_nothing_moved = ucx_when_nothing_moved,
};

// An MPI that a program such as Python opened for itself, under whatever name: that of the caller,
// if there are several. One that does not say what it is, as stand-ins for one process do not, has
// what was asked for.
static void find_local_mpi(const char *asked, const void *caller)
{
    static const char version[] = "PMPI_Get_library_version";
    if (has_mpi())
        return;
    bool behind = dlsym(RTLD_NEXT, asked) != NULL;
    void *found = objects_find_from(caller, version);
    if (found == NULL && !behind)
        found = objects_find_from(caller, asked);
    if (found == NULL)
        found = objects_find(version, NULL);
    if (found == NULL && !behind)
        found = objects_find(asked, NULL);
    local_mpi = found != NULL ? objects_handle(found) : NULL;
}

// That of MPI 5, which is none that a variant was built for. MPICH had it before it could say so:
// then the library's name tells.
static bool has_standard_abi(void *any_function)
{
    static const char library[] = "libmpi_abi.";
    int major = -1, minor = -1;
    int (*get_version)(int *, int *) =
        (int (*)(int *, int *))front_real(FRONT_ENTRY_PMPI, "Abi_get_version");
    if (get_version != NULL && get_version(&major, &minor) == 0 && major >= 0)
        return true;
    Dl_info info;
    if (dladdr(any_function, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash != NULL ? slash + 1 : info.dli_fname, library, strlen(library)) == 0;
}

// By whom the launcher has told.
static bool is_first_rank(void)
{
    static const char *const variables[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                            "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *rank = getenv(variables[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

// To who asks whether the library was there.
static void say_unknown(const char *version)
{
    const char *asked = getenv("COSCHED_STATS");
    if (asked != NULL && strcmp(asked, "1") == 0 && is_first_rank())
        fprintf(
            stderr,
            "cosched: this MPI is none that is known (%.*s); the program runs without cosched\n",
            (int)strcspn(version, ",\n"), version);
}

static const struct family *find_family(void)
{
    static char version[8192]; // MPI_MAX_LIBRARY_VERSION_STRING of any family is at most this
    int length = 0;
    int (*get_version)(char *, int *) =
        (int (*)(char *, int *))front_real(FRONT_ENTRY_PMPI, "Get_library_version");
    if (get_version == NULL || get_version(version, &length) != 0)
        return NULL;
    version[sizeof version - 1] = '\0';
    const struct family *found = has_standard_abi((void *)get_version) ? NULL : family_of(version);
    if (found == NULL)
        say_unknown(version);
    return found;
}

static const char *own_name(void)
{
    Dl_info info;
    return dladdr((void *)front_resolve, &info) != 0 ? info.dli_fname : NULL;
}

// A relative name in LD_PRELOAD is below the directory that the program began in.
__attribute__((constructor)) static void note_directory(void)
{
    const char *name = own_name();
    int fault = errno; // is 0 when main begins
    if (name != NULL && name[0] != '/' && getcwd(directory_at_load, PATH_BYTES - 1) != NULL)
        strcat(directory_at_load, "/");
    errno = fault;
}

static bool load_variant(const struct family *found)
{
    char path[2 * PATH_BYTES];
    const char *name = own_name();
    if (name == NULL)
        return false;
    const char *slash = strrchr(name, '/');
    int length = snprintf(path, sizeof path, "%s%.*s%s", directory_at_load,
                          slash != NULL ? (int)(slash - name + 1) : 0, name, found->variant);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    front_variant_fn *start =
        handle != NULL ? (front_variant_fn *)dlsym(handle, FRONT_VARIANT_SYMBOL) : NULL;
    static void *entries[SLOTS];
    int refusal = start != NULL ? start(&api, entries, SLOTS) : FRONT_OTHER_VERSION;
    if (refusal == FRONT_MPI_TOO_OLD) {
        fprintf(stderr, "cosched: the MPI has not all functions of MPI-3; the program runs without "
                        "cosched. Use a later MPI\n");
        return false;
    }
    if (refusal != 0) {
        fprintf(stderr,
                "cosched: %s cannot be used (%s); the program runs without it. Reinstall cosched "
                "for this MPI\n",
                path, handle == NULL ? dlerror() : "it is of another version");
        return false;
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        void *entry = entries[slot] != NULL ? entries[slot] : narrow_entries[slot];
        if (entry != NULL)
            set_slot(slot, entry);
    }
    return true;
}

static void front_start(void)
{
    unsigned slot = atomic_load(&first);
    char asked[64];
    for (unsigned i = 0; i < SLOTS; i++)
        asking[i] = atomic_load_explicit(&front_slots[i], memory_order_relaxed);
    snprintf(asked, sizeof asked, "%s%s", prefixes[slot % 2], names[slot / 2]);
    find_local_mpi(asked, atomic_load(&first_caller));
    const struct family *found = find_family();
    atomic_store_explicit(&family, found, memory_order_relaxed);
    if (found == NULL || !load_variant(found))
        front_bypass(NULL);
    atomic_store_explicit(&started, true, memory_order_release);
}

// What the caller is linked to, where that is not the program's: null otherwise. A tool that was
// preloaded is before the program's, and before no other.
static void *own_of(const void *caller, unsigned slot)
{
    char symbol[64];
    void *own = NULL;
    if (callers_know(caller, slot, &own))
        return own;
    snprintf(symbol, sizeof symbol, "%s%s", prefixes[slot % 2], names[slot / 2]);
    own = objects_find_from(caller, symbol);
    if (own != NULL && own == dlsym(local_mpi, symbol))
        own = NULL;
    if (own != NULL)
        objects_handle(own); // for good: what is noted must not be unloaded
    callers_note(caller, slot, own);
    return own;
}

static void *target_of(const void *caller, unsigned slot)
{
    void *own = local_mpi != NULL ? own_of(caller, slot) : NULL;
    if (own != NULL && begins(slot))
        ask_always();
    return own != NULL ? own : atomic_load_explicit(&aside[slot], memory_order_acquire);
}

// The first call of any entry point comes here, and each that is to be asked where it comes from;
// returns where it is to go on.
void *front_resolve(unsigned slot, const void *caller)
{
    if (!atomic_load_explicit(&started, memory_order_acquire)) {
        atomic_store(&first, slot);
        atomic_store(&first_caller, caller);
        pthread_once(&once, front_start);
    }
    void *target = atomic_load_explicit(&front_slots[slot], memory_order_acquire);
    if (target != asking[slot])
        return target;
    target = target_of(caller, slot);
    if (target == NULL)
        target = front_real(slot % 2, names[slot / 2]);
    if (target == NULL)
        target = narrow_entries[slot];
    return target != NULL ? target : missing(slot);
}
