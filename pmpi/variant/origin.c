#include "pmpi/variant/origin.h"

#include "common/hash.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 }; // PMIX_MAX_NSLEN is 255

// The launcher's names are its own: those of two launchers may be the same. So its server on this
// node counts, too, by its address.
static uint64_t number(const char *name, size_t length)
{
    const char *server = getenv("PMIX_SERVER_URI2");
    uint64_t hash = HASH_START;
    if (server != NULL)
        hash = hash_with(hash, server, strlen(server) + 1);
    hash = hash_with(hash, name, length);
    return hash != 0 ? hash : 1;
}

// Of Open MPI 5's launcher a name is BASE@N with a BASE of the launcher's; in ports there stands a
// number in its place, whose lower half is N.
static uint64_t number_by_port(const char *name, size_t length)
{
    const char *own = getenv("PMIX_NAMESPACE"), *at = own != NULL ? strrchr(own, '@') : NULL;
    char full[NAME_BYTES], *end = NULL;
    unsigned long job = strtoul(name, &end, 10);
    if (at == NULL || end != name + length)
        return number(name, length);
    int written = snprintf(full, sizeof full, "%.*s@%lu", (int)(at - own), own, job & UINT16_MAX);
    return written > 0 && (size_t)written < sizeof full ? number(full, (size_t)written) : 0;
}

// Open MPI tells spawned processes where to meet their parents, as NAME.RANK:TAG.
static uint64_t parent_by_port(void)
{
    const char *port = getenv("OMPI_PARENT_PORT");
    const char *tag = port != NULL ? strrchr(port, ':') : NULL;
    if (tag == NULL)
        return 0;
    port += *port == '"'; // Open MPI 5 quotes it
    for (const char *rank = tag; rank > port; rank--) {
        if (*rank == '.')
            return number_by_port(port, (size_t)(rank - port));
    }
    return 0;
}

struct origin origin_of(bool spawned)
{
    const char *name = getenv("PMIX_NAMESPACE");
    struct origin origin = {0};
    if (name != NULL && *name != '\0')
        origin.world = number(name, strlen(name));
    if (spawned)
        origin.parent = parent_by_port();
    return origin;
}
