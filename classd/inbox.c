#include "classd/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 // Linux 6.16
#endif

bool inbox_seal(int listener_fd)
{
    const int off = 0, on = 1;
    if (setsockopt(listener_fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) == 0)
        return true;
    // With credentials an empty packet is told from the end of the connection.
    setsockopt(listener_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    return false;
}

enum content { NOTHING, HUNG_UP, RESET, PACKET, DESCRIPTORS };

static enum content look(int socket_fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))]; // no room for a descriptor
    } control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(socket_fd, &message, MSG_PEEK | MSG_DONTWAIT) < 0)
        return errno == EAGAIN || errno == EINTR ? NOTHING : errno == ECONNRESET ? RESET : HUNG_UP;
    if (message.msg_flags & MSG_CTRUNC)
        return DESCRIPTORS;
    return message.msg_controllen > 0 ? PACKET : HUNG_UP;
}

ssize_t inbox_take(int socket_fd, bool sealed, void *bytes, size_t size)
{
    enum content content = sealed ? PACKET : look(socket_fd);
    if (content == DESCRIPTORS || content == RESET) { // the kernel would not say RESET again
        errno = content == RESET ? ECONNRESET : EPERM;
        return -1;
    }
    return recv(socket_fd, bytes, size, MSG_DONTWAIT);
}

// Closes it in a process that ends: there nothing lingers, and if something does wait, it is not
// us. Better a lost descriptor than waiting, when there can be no such process.
static void close_by_child(int socket_fd)
{
    int gate[2];
    char byte;
    if (pipe2(gate, O_CLOEXEC) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        while (read(gate[0], &byte, sizeof byte) < 0 && errno == EINTR)
            ;
        _exit(0);
    }
    if (child > 0)
        close(socket_fd);
    close(gate[0]);
    close(gate[1]); // the child holds the last reference from here on
}

void inbox_close(int socket_fd, bool sealed)
{
    enum content content = NOTHING;
    if (!sealed) {
        shutdown(socket_fd, SHUT_RDWR); // nothing can be added now
        while ((content = look(socket_fd)) == PACKET)
            recv(socket_fd, NULL, 0, MSG_DONTWAIT);
    }
    if (content == DESCRIPTORS)
        close_by_child(socket_fd);
    else
        close(socket_fd);
}
