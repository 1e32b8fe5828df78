#include "pmpi/variant/origin.h"

#include "common/hash.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

// Open MPI tells spawned processes where to meet their parents, as NAME.RANK:TAG.
static uint64_t parent_by_port(void)
{
    const char *port = getenv("OMPI_PARENT_PORT");
    const char *tag = port != NULL ? strrchr(port, ':') : NULL;
    if (tag == NULL)
        return 0;
    for (const char *rank = tag; rank > port; rank--) {
        if (*rank == '.')
            return number(port, (size_t)(rank - port));
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
