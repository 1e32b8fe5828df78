#include "classd/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 // Linux 6.16
#endif
#ifndef SYS_close_range
#define SYS_close_range 436 // Linux 5.9, on every architecture
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

// Whoever has reaped it.
static bool has_ended(pid_t child)
{
    return waitpid(child, NULL, WNOHANG) != 0;
}

// Null: all wait.
static pid_t *free_closer(struct inbox_left *left)
{
    for (size_t i = 0; i < INBOX_CLOSERS_MAX; i++)
        if (left->closers[i] == 0 || has_ended(left->closers[i]))
            return &left->closers[i];
    return NULL;
}

static int compare(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

// All descriptors but these are not to be held for as long as those take: connections whose other
// ends would not see that classd has gone, and the lock that the next one needs.
static void close_others(struct inbox_left *left)
{
    unsigned from = 0;
    qsort(left->fds, left->count, sizeof *left->fds, compare);
    for (size_t i = 0; i < left->count; i++) {
        if ((unsigned)left->fds[i] > from)
            syscall(SYS_close_range, from, left->fds[i] - 1, 0);
        from = (unsigned)left->fds[i] + 1;
    }
    syscall(SYS_close_range, from, ~0U, 0);
}

// In a process that ends: there nothing lingers, and if something does wait, it is not us.
void inbox_close_left(struct inbox_left *left)
{
    int gate[2];
    char byte;
    pid_t *closer = left->count > 0 ? free_closer(left) : NULL;
    if (closer == NULL || pipe2(gate, O_CLOEXEC) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        while (read(gate[0], &byte, sizeof byte) < 0 && errno == EINTR)
            ;
        close_others(left);
        _exit(0);
    }
    *closer = child > 0 ? child : 0;
    while (child > 0 && left->count > 0)
        close(left->fds[--left->count]);
    close(gate[0]);
    close(gate[1]); // the child holds the last references from here on
}

void inbox_end(struct inbox_left *left)
{
    memset(left->closers, 0, sizeof left->closers);
}

bool inbox_has_room(struct inbox_left *left)
{
    if (left->count == INBOX_LEFT_MAX)
        inbox_close_left(left);
    return left->count < INBOX_LEFT_MAX;
}

bool inbox_leave(int socket_fd, struct inbox_left *left)
{
    if (!inbox_has_room(left))
        return false;
    left->fds[left->count++] = socket_fd;
    return true;
}

bool inbox_close(int socket_fd, bool sealed, struct inbox_left *left)
{
    enum content content = NOTHING;
    if (!sealed) {
        shutdown(socket_fd, SHUT_RDWR); // nothing can be added now
        while ((content = look(socket_fd)) == PACKET || content == RESET) {
            if (content == PACKET)
                recv(socket_fd, NULL, 0, MSG_DONTWAIT);
        }
    }
    if (content == DESCRIPTORS)
        return inbox_leave(socket_fd, left);
    close(socket_fd);
    return true;
}
