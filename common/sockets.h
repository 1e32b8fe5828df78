// Calls on sockets as the kernel has them. A program may have functions of its own that are named
// connect() or send(), which take the place of the C library's in all that is loaded into it. And
// no thread is cancelled in the midst of these.
#ifndef COSCHED_COMMON_SOCKETS_H
#define COSCHED_COMMON_SOCKETS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int sockets_make(int domain, int type)
{
    return (int)syscall(SYS_socket, domain, type, 0);
}

static inline int sockets_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return (int)syscall(SYS_connect, fd, address, length);
}

static inline ssize_t sockets_send(int fd, const void *bytes, size_t size, int flags)
{
    return syscall(SYS_sendto, fd, bytes, size, flags, NULL, (socklen_t)0);
}

static inline ssize_t sockets_receive(int fd, void *bytes, size_t size, int flags)
{
    return syscall(SYS_recvfrom, fd, bytes, size, flags, NULL, NULL);
}

static inline ssize_t sockets_receive_message(int fd, struct msghdr *message, int flags)
{
    return syscall(SYS_recvmsg, fd, message, flags);
}

#endif
