#include "cgroup-backend/affinity.h"

#include "common/cleanup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    THREADS_MAX = 1024,
    MASK_BYTES_MAX = 1024, // 8192 CPUs, the most that a kernel can be built for
};

void affinity_free(struct affinity *affinity)
{
    free(affinity->threads);
    free(affinity->masks);
    *affinity = (struct affinity){0};
}

// How many bytes the kernel has written; 0: there is no such thread. (The wrapper of glibc does not
// say how many there are.)
static size_t read_mask(pid_t thread, unsigned char mask[MASK_BYTES_MAX])
{
    long bytes = syscall(SYS_sched_getaffinity, thread, (size_t)MASK_BYTES_MAX, mask);
    return bytes > 0 ? (size_t)bytes : 0;
}

static bool make_room(struct affinity *affinity)
{
    if (affinity->count < affinity->room)
        return true;
    size_t room = affinity->room > 0 ? 2 * affinity->room : 16;
    pid_t *threads = realloc(affinity->threads, room * sizeof *threads);
    if (threads == NULL)
        return false;
    affinity->threads = threads;
    unsigned char *masks = realloc(affinity->masks, room * affinity->mask_bytes);
    if (masks == NULL)
        return false;
    affinity->masks = masks;
    affinity->room = room;
    return true;
}

static void note_thread(struct affinity *affinity, pid_t thread)
{
    unsigned char mask[MASK_BYTES_MAX];
    size_t bytes = read_mask(thread, mask);
    if (bytes == 0)
        return;
    if (affinity->mask_bytes == 0)
        affinity->mask_bytes = bytes;
    if (bytes != affinity->mask_bytes || !make_room(affinity))
        return;
    memcpy(affinity->masks + affinity->count * bytes, mask, bytes);
    affinity->threads[affinity->count++] = thread;
}

static DIR *threads_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return opendir(path);
}

// 0 behind the last one.
static pid_t next_thread(DIR *threads)
{
    struct dirent *entry;
    while ((entry = readdir(threads)) != NULL)
        if (atoi(entry->d_name) > 0)
            return (pid_t)atoi(entry->d_name);
    return 0;
}

void affinity_note(pid_t pid, struct affinity *affinity)
{
    affinity_free(affinity);
    cleanup_closedir DIR *threads = threads_of(pid);
    pid_t thread;
    while (threads != NULL && affinity->count < THREADS_MAX && (thread = next_thread(threads)) != 0)
        note_thread(affinity, thread);
}

// Numbers are used again: by then the thread is none of the process any more.
static bool is_thread_of(pid_t pid, pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)thread);
    return access(path, F_OK) == 0;
}

static const unsigned char *mask_of(const struct affinity *affinity, size_t i)
{
    return affinity->masks + i * affinity->mask_bytes;
}

static bool differs(const struct affinity *affinity, const unsigned char *mask,
                    const unsigned char *other)
{
    return memcmp(mask, other, affinity->mask_bytes) != 0;
}

// The kernel only widens. Where there are CPUs that were not noted in place of some that were,
// somebody has chosen them meanwhile, and they are his.
static bool was_widened(const struct affinity *affinity, const unsigned char *mask, size_t i)
{
    const unsigned char *noted = mask_of(affinity, i);
    for (size_t k = 0; k < affinity->mask_bytes; k++)
        if ((mask[k] & noted[k]) != noted[k])
            return false;
    return differs(affinity, mask, noted);
}

static bool is_noted(const struct affinity *affinity, pid_t thread)
{
    for (size_t i = 0; i < affinity->count; i++)
        if (affinity->threads[i] == thread)
            return true;
    return false;
}

// Who was born after the look, and unbound with the others, which had one mask.
static void bind_newcomers(pid_t pid, const struct affinity *affinity, const unsigned char *unbound)
{
    unsigned char mask[MASK_BYTES_MAX];
    cleanup_closedir DIR *threads = threads_of(pid);
    pid_t thread;
    for (size_t i = 1; i < affinity->count; i++)
        if (differs(affinity, mask_of(affinity, i), mask_of(affinity, 0)))
            return;
    for (int looks = 0; threads != NULL && looks < THREADS_MAX; looks++) {
        if ((thread = next_thread(threads)) == 0)
            return;
        if (!is_noted(affinity, thread) && read_mask(thread, mask) == affinity->mask_bytes &&
            !differs(affinity, mask, unbound))
            syscall(SYS_sched_setaffinity, thread, affinity->mask_bytes, mask_of(affinity, 0));
    }
}

void affinity_restore(pid_t pid, const struct affinity *affinity)
{
    unsigned char mask[MASK_BYTES_MAX], unbound[MASK_BYTES_MAX];
    bool restored = false;
    for (size_t i = 0; i < affinity->count; i++) {
        if (read_mask(affinity->threads[i], mask) != affinity->mask_bytes ||
            !was_widened(affinity, mask, i) || !is_thread_of(pid, affinity->threads[i]))
            continue;
        memcpy(unbound, mask, affinity->mask_bytes);
        restored |= syscall(SYS_sched_setaffinity, affinity->threads[i], affinity->mask_bytes,
                            mask_of(affinity, i)) >= 0;
    }
    if (restored && affinity->count < THREADS_MAX)
        bind_newcomers(pid, affinity, unbound);
}
