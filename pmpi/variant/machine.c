#include "pmpi/variant/machine.h"

#include <fcntl.h>
#include <unistd.h>

#define HASH_START UINT64_C(0xcbf29ce484222325) // FNV-1a
#define HASH_PRIME UINT64_C(0x100000001b3)

uint64_t machine_id_with(uint64_t id, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        id = (id ^ at[i]) * HASH_PRIME;
    return id;
}

uint64_t machine_id(void)
{
    char text[64] = "";
    ssize_t count = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        count = read(fd, text, sizeof text);
        close(fd);
    }
    if (count <= 0)
        count = gethostname(text, sizeof text - 1) == 0 ? (ssize_t)sizeof text : 0;
    return machine_id_with(HASH_START, text, (size_t)count);
}
