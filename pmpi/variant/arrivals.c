#include "pmpi/variant/arrivals.h"

#include "common/clock.h"

#include <dirent.h>
#include <linux/tcp.h> // the C library's tcp_info ends too early
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    SOCKETS_MAX = 256,
    LOOKS_MAX = 4, // in a row that found data of which nobody had taken any
};

// Connections come and go; a new one is missed for so long at most, as if it gave no sign. In a
// process with very many descriptors for longer: to look takes one of so many parts of its time.
#define LOOK_UP_INTERVAL_NS (NS_PER_SEC / 2)
#define LOOK_UP_PARTS       100

// Of a thread, while another one sleeps on the sockets and would be told in its place.
#define BESIDE_ANOTHER_NS (2 * NS_PER_MS)

static struct {
    struct pollfd sockets[SOCKETS_MAX + 1]; // the ear is the last
    uint8_t looks[SOCKETS_MAX];             // in a row that found data nobody takes
    uint64_t taken[SOCKETS_MAX];            // bytes, at the last look that found any
    nfds_t count;
    uint64_t next_look_up_ns;
    atomic_flag busy; // one thread at a time
} own = {.busy = ATOMIC_FLAG_INIT};

static int option(int fd, int name)
{
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static bool is_stream_socket(int fd)
{
    int domain = option(fd, SO_DOMAIN);
    return (domain == AF_INET || domain == AF_INET6) && option(fd, SO_TYPE) == SOCK_STREAM;
}

static void add(int fd)
{
    own.sockets[own.count] = (struct pollfd){.fd = fd, .events = POLLIN};
    own.taken[own.count] = 0;
    own.looks[own.count++] = 0;
}

static void look_up_sockets(void)
{
    DIR *directory = opendir("/proc/self/fd");
    own.count = 0;
    if (directory == NULL)
        return;
    for (struct dirent *entry; own.count < SOCKETS_MAX && (entry = readdir(directory)) != NULL;) {
        char *end = NULL;
        long fd = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && is_stream_socket((int)fd))
            add((int)fd);
    }
    closedir(directory);
}

// How many bytes have been taken off a connection so far; 0 where the kernel does not tell.
static uint64_t taken_from(int fd)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    int there = 0;
    if (ioctl(fd, FIONREAD, &there) != 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
        return 0;
    return (uint64_t)info.tcpi_bytes_received - (uint64_t)there;
}

// Has nobody taken any of the data that is there, look after look? In the midst of a long message
// there is some each time, however fast it is taken.
static bool is_left_alone(nfds_t i)
{
    uint64_t taken = taken_from(own.sockets[i].fd);
    if (taken != own.taken[i])
        own.looks[i] = 0;
    own.taken[i] = taken;
    if (own.looks[i] == LOOKS_MAX)
        return true;
    own.looks[i]++;
    return false;
}

// True when a socket has data that somebody is to take. Leaves those with data out of the next
// poll, in which those count, too, that could take no more and can then.
static bool look(void)
{
    bool fresh = false;
    for (nfds_t i = 0; i < own.count; i++) {
        if (own.sockets[i].fd < 0)
            own.sockets[i].fd = ~own.sockets[i].fd;
        own.sockets[i].events = POLLIN | POLLOUT;
    }
    struct timespec at_once = {0};
    if (ppoll(own.sockets, own.count, &at_once, NULL) < 0)
        return true;
    for (nfds_t i = 0; i < own.count; i++) {
        if ((own.sockets[i].revents & POLLOUT) != 0)
            own.sockets[i].events = POLLIN;
        if ((own.sockets[i].revents & ~POLLOUT) == 0) {
            own.looks[i] = 0;
            continue;
        }
        fresh |= !is_left_alone(i);
        own.sockets[i].fd = ~own.sockets[i].fd; // poll() ignores a negative number
    }
    return fresh;
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
                             .tv_nsec = (long)(ns % NS_PER_SEC)};
}

static bool sleep_on_all(uint64_t most_ns, int ear, bool *heard)
{
    struct timespec most = time_of(most_ns);
    struct pollfd *last = &own.sockets[own.count];
    *last = (struct pollfd){.fd = ear, .events = POLLIN};
    bool came = ppoll(own.sockets, own.count + 1, &most, NULL) != 0;
    *heard = came && last->revents != 0;
    return came;
}

enum arrivals arrivals_sleep(uint64_t most_ns, int ear, bool *heard)
{
    *heard = false;
    if (atomic_flag_test_and_set_explicit(&own.busy, memory_order_acquire)) {
        struct timespec most = time_of(most_ns < BESIDE_ANOTHER_NS ? most_ns : BESIDE_ANOTHER_NS);
        nanosleep(&most, NULL);
        return ARRIVALS_UNKNOWN;
    }
    uint64_t now = clock_now_ns();
    if (now >= own.next_look_up_ns) {
        uint64_t spent_ns = clock_spent_ns();
        look_up_sockets();
        uint64_t rest_ns = (clock_spent_ns() - spent_ns) * LOOK_UP_PARTS;
        own.next_look_up_ns = now + (rest_ns > LOOK_UP_INTERVAL_NS ? rest_ns : LOOK_UP_INTERVAL_NS);
    }
    bool came = look() || sleep_on_all(most_ns, ear, heard);
    atomic_flag_clear_explicit(&own.busy, memory_order_release);
    return came ? ARRIVALS_CAME : ARRIVALS_NONE;
}
