#include "common/trust.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int trust_open(const char *path, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return error_errno(err, errno, "runtime directory %s", path);
    if ((status.st_uid != 0 && status.st_uid != geteuid()) || (status.st_mode & 022) != 0)
        return error_set(err, EPERM,
                         "runtime directory %s can be changed by others; it must belong to root "
                         "and have mode 0755",
                         path);
    int kept = fd;
    fd = -1;
    return kept;
}
