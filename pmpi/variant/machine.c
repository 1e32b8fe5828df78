#include "pmpi/variant/machine.h"

#include "common/hash.h"

#include <fcntl.h>
#include <unistd.h>

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
    return hash_with(HASH_START, text, (size_t)count);
}
