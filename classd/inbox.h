// What clients put into their sockets. A packet may carry descriptors, and who drops the last
// reference to one waits for all that its closing takes: a TCP socket can be made to linger for
// hours. classd must never be the one who waits.
#ifndef COSCHED_CLASSD_INBOX_H
#define COSCHED_CLASSD_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Has the kernel refuse descriptors on every connection to the socket, which does not listen yet:
// the sender is told EPERM. True when it does (Linux 6.16); else the functions below, which are to
// be told so by `sealed`, look into each packet before they take it.
bool inbox_seal(int listener_fd);

// Takes one packet, without waiting. Returns its length, 0 when the client has hung up, or -1 with
// errno: EAGAIN when there is none, EPERM when it carries descriptors; that one stays where it is;
// ECONNRESET, said once, when the client has hung up and left something unread: packets may follow.
ssize_t inbox_take(int socket_fd, bool sealed, void *bytes, size_t size);

// Sockets whose closing may have to wait for what is in them, and the processes that wait for
// others. What is passed may be a file of the client's own file system: then a process waits for as
// long as the client likes, and cannot be killed. All zeros at first.
enum { INBOX_LEFT_MAX = 128, INBOX_CLOSERS_MAX = 8 };
struct inbox_left {
    int fds[INBOX_LEFT_MAX];
    size_t count;
    pid_t closers[INBOX_CLOSERS_MAX]; // 0: none
};

// Closes the connection with all that is in it; or adds it to *left, when that may take long. Those
// are closed when there is no more room, or by inbox_close_left(). False when there is no room for
// it, as all processes wait: it is still open, and the caller's.
bool inbox_close(int socket_fd, bool sealed, struct inbox_left *left);

// The same of any socket: false when there is no room for it.
bool inbox_leave(int socket_fd, struct inbox_left *left);

// Whether there is room for one more. Makes some, where that can be done.
bool inbox_has_room(struct inbox_left *left);

// Closes them in a process of their own. That costs classd as much for all as for one, and clients
// can have it done at will: so it is not to be called often. Who stays, as there can be no such
// process now, is for the next time.
void inbox_close_left(struct inbox_left *left);

// From now on there may be further processes than those that wait: else classd, when it ends, would
// drop the last references itself.
void inbox_end(struct inbox_left *left);

#endif
