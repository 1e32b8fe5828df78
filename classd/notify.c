#include "classd/notify.h"

#include "common/cleanup.h"
#include "common/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

enum { PATIENCE_S = 1 };

// False where there is no systemd, or its socket cannot be named.
static bool find_socket(struct sockaddr_un *address, socklen_t *size)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t length = name != NULL ? strlen(name) : 0;
    if (length < 2 || length >= sizeof address->sun_path || (name[0] != '/' && name[0] != '@'))
        return false;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name, length);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (name[0] == '@') // an abstract one, which ends with its name, not by a zero
        address->sun_path[0] = '\0';
    return true;
}

// sd_notify() waits for as long as the queue is full, so a systemd that hangs would stop a daemon
// whose limits are in force.
static void say(const char *text, int flags)
{
    struct sockaddr_un address;
    socklen_t size;
    struct timeval patience = {.tv_sec = PATIENCE_S};
    if (!find_socket(&address, &size))
        return;
    cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return;
    // What is lost has no better place to go.
    if (sendto(fd, text, strlen(text), flags | MSG_NOSIGNAL, (const struct sockaddr *)&address,
               size) < 0)
        return;
}

static bool ready;

// Worth a moment: while a machine boots the queue may be full for a while.
void notify_ready(void)
{
    ready = true;
    say("READY=1", 0);
}

void notify_stopping(void)
{
    say("STOPPING=1", MSG_DONTWAIT);
}

// Who is not known to be ready is ended in the end, and READY may have been lost.
void notify_watchdog(void)
{
    say(ready ? "READY=1\nWATCHDOG=1" : "WATCHDOG=1", MSG_DONTWAIT);
}

uint64_t notify_watchdog_interval_ns(void)
{
    uint64_t interval_us = 0;
    if (sd_watchdog_enabled(0, &interval_us) <= 0)
        return 0;
    return interval_us * NS_PER_US / 3;
}
