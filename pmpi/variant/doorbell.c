#include "pmpi/variant/doorbell.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAME_BEGINS "cosched-"

enum {
    NAME_DIGITS = 16,
    LEFT_S = 3600,    // nobody is about to join a segment that is so old
    LOOKS_MAX = 4096, // into what others leave in the directory
};

struct doorbell doorbell;
_Thread_local bool doorbell_announced;
static _Thread_local uint32_t rings_before; // this thread announced itself

// Threads of this process that have announced themselves.
static _Atomic int announced_here;

static size_t room_bytes(int seats)
{
    return sizeof(struct doorbell_room) + (size_t)seats * sizeof(struct doorbell_seat);
}

uint64_t doorbell_place(const char *directory)
{
    struct stat status;
    uid_t user = geteuid();
    if (fstatat(AT_FDCWD, directory, &status, 0) < 0 || !S_ISDIR(status.st_mode))
        return 0;
    uint64_t id = hash_with(machine_id(), &status.st_dev, sizeof status.st_dev);
    id = hash_with(id, &status.st_ino, sizeof status.st_ino);
    id = hash_with(id, &user, sizeof user);
    return id != 0 ? id : 1;
}

static int open_at(const char *directory, const char *name, int flags, struct error *err)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = at < 0 ? -1 : openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    int fault = errno;
    if (at >= 0)
        close(at);
    return fd < 0 ? error_errno(err, fault, "doorbell %s/%s", directory, name) : fd;
}

// Takes the descriptor, which is not needed once the memory is there.
static int map(int fd, int seats, int own, struct error *err)
{
    void *memory = mmap(NULL, room_bytes(seats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int fault = errno;
    close(fd);
    if (memory == MAP_FAILED)
        return error_errno(err, fault, "doorbell");
    doorbell = (struct doorbell){.room = memory, .seats = seats, .own = own};
    // Nobody looks at it before all ranks have come.
    atomic_store_explicit(&doorbell.room->outsiders.word, STATUS_WORD_FREE, memory_order_release);
    return 0;
}

static bool is_name(const char *name)
{
    const char *digits = name + strlen(NAME_BEGINS);
    return strncmp(name, NAME_BEGINS, strlen(NAME_BEGINS)) == 0 && strlen(digits) == NAME_DIGITS &&
           strspn(digits, "0123456789abcdef") == NAME_DIGITS;
}

static bool is_left(int at, const char *name)
{
    struct stat status;
    time_t now = (time_t)(clock_wall_ns() / NS_PER_SEC);
    return fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid() && status.st_mtime < now - LEFT_S;
}

// Those of jobs of this user that were killed before their ranks had joined.
static void remove_left(const char *directory)
{
    DIR *names = opendir(directory);
    if (names == NULL)
        return;
    struct dirent *entry;
    for (int i = 0; i < LOOKS_MAX && (entry = readdir(names)) != NULL; i++) {
        if (is_name(entry->d_name) && is_left(dirfd(names), entry->d_name))
            unlinkat(dirfd(names), entry->d_name, 0);
    }
    closedir(names);
}

int doorbell_create(const char *directory, int seats, char name[DOORBELL_NAME_MAX],
                    struct error *err)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        return error_errno(err, errno, "doorbell: no random name");
    snprintf(name, DOORBELL_NAME_MAX, NAME_BEGINS "%0*" PRIx64, NAME_DIGITS, random);
    remove_left(directory);
    int fd = open_at(directory, name, O_RDWR | O_CREAT | O_EXCL, err);
    if (fd < 0)
        return -1;
    // Memory that is promised only would raise SIGBUS in the program where there is none left.
    int fault = posix_fallocate(fd, 0, (off_t)room_bytes(seats));
    if (fault != 0) {
        close(fd);
        error_errno(err, fault, "doorbell %s/%s", directory, name);
    } else {
        fault = map(fd, seats, 0, err);
    }
    if (fault != 0)
        doorbell_remove(directory, name);
    return fault == 0 ? 0 : -1;
}

int doorbell_join(const char *directory, const char *name, int seats, int own, struct error *err)
{
    struct stat status;
    int fd = open_at(directory, name, O_RDWR, err);
    if (fd < 0)
        return -1;
    if (fstatat(fd, "", &status, AT_EMPTY_PATH) < 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid() || (status.st_mode & 077) != 0 ||
        status.st_size != (off_t)room_bytes(seats)) {
        close(fd);
        return error_set(err, EPERM, "doorbell %s/%s is not this job's", directory, name);
    }
    return map(fd, seats, own, err);
}

void doorbell_remove(const char *directory, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path)
        unlinkat(AT_FDCWD, path, 0);
}

void doorbell_leave(void)
{
    struct doorbell_room *room = doorbell.room;
    doorbell.room = NULL;
    if (room != NULL)
        munmap(room, room_bytes(doorbell.seats));
}

static void wake(struct doorbell_seat *seat)
{
    atomic_fetch_add_explicit(&seat->rings, 1, memory_order_release);
    syscall(SYS_futex, &seat->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// True when the seat's rank was asleep, which it counts as no more: whoever makes it so rings,
// once.
static bool rouse(struct doorbell_seat *seat)
{
    if (atomic_load_explicit(&seat->asleep, memory_order_relaxed) == 0 ||
        atomic_exchange_explicit(&seat->asleep, 0, memory_order_seq_cst) == 0)
        return false;
    atomic_fetch_sub_explicit(&doorbell.room->asleep, 1, memory_order_relaxed);
    return true;
}

static void ring(int seat)
{
    if (rouse(&doorbell.room->seats[seat]))
        wake(&doorbell.room->seats[seat]);
}

void doorbell_ring_those(int seat)
{
    if (seat != DOORBELL_ALL) {
        ring(seat);
        ring(doorbell.own);
        return;
    }
    for (int i = 0; i < doorbell.seats; i++)
        ring(i);
}

void doorbell_announce(void)
{
    struct doorbell_room *room = doorbell.room;
    struct doorbell_seat *seat = &room->seats[doorbell.own];
    rings_before = atomic_load_explicit(&seat->rings, memory_order_acquire);
    doorbell_announced = true;
    atomic_fetch_add_explicit(&announced_here, 1, memory_order_seq_cst);
    // The number of seats is raised first: killed in between, it is too high, which costs others a
    // look, and never too low.
    atomic_fetch_add_explicit(&room->asleep, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&seat->asleep, 1, memory_order_seq_cst) != 0)
        atomic_fetch_sub_explicit(&room->asleep, 1, memory_order_relaxed);
    doorbell_fence();
}

void doorbell_withdraw(void)
{
    struct doorbell_seat *seat = &doorbell.room->seats[doorbell.own];
    doorbell_announced = false;
    atomic_fetch_sub_explicit(&announced_here, 1, memory_order_seq_cst);
    // Other threads of this process that sleep say so anew.
    if (rouse(seat) && atomic_load_explicit(&announced_here, memory_order_seq_cst) > 0)
        wake(seat);
}

bool doorbell_sleep(uint64_t most_ns)
{
    struct doorbell_seat *seat = &doorbell.room->seats[doorbell.own];
    struct timespec most = {.tv_sec = (time_t)(most_ns / NS_PER_SEC),
                            .tv_nsec = (long)(most_ns % NS_PER_SEC)};
    syscall(SYS_futex, &seat->rings, FUTEX_WAIT, rings_before, &most, NULL, 0);
    bool rung = atomic_load_explicit(&seat->rings, memory_order_acquire) != rings_before;
    doorbell_withdraw();
    return rung;
}
