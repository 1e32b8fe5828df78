#include "cgroup-backend/signals.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"
#include "common/pidfd.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// State, parent, group, session and start time behind the name, which may hold anything; the last
// parenthesis ends it.
static bool read_stat(const char *directory, char *state, struct genealogy_process *process)
{
    char text[1024];
    if (file_read(directory, "stat", text, sizeof text, NULL) != 0)
        return false;
    const char *fields = strrchr(text, ')');
    return fields != NULL &&
           sscanf(fields,
                  ") %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%" SCNu64,
                  state, &process->parent, &process->group, &process->session,
                  &process->start_time) == 5;
}

static bool has_ended(char state)
{
    return state == 'Z' || state == 'X' || state == 'x';
}

// 'T' by a signal, 't' by a debugger.
static bool stands(char state)
{
    return state == 'T' || state == 't' || has_ended(state);
}

// A process has stopped when all its threads have: the first one to see the signal is followed by
// the others.
static bool all_threads_stand(const char *directory)
{
    cleanup_free char *path = path_join(directory, "task");
    cleanup_closedir DIR *threads = path != NULL ? opendir(path) : NULL;
    if (threads == NULL)
        return true; // gone
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        struct genealogy_process ignored;
        char state = 'X';
        if (entry->d_name[0] == '.')
            continue;
        cleanup_free char *thread = path_join(path, entry->d_name);
        if (thread != NULL && read_stat(thread, &state, &ignored) && !stands(state))
            return false;
    }
    return true;
}

// False when the process is gone or has ended.
static bool look(const char *proc, pid_t pid, struct genealogy_process *process)
{
    char directory[256], state = 'X';
    *process = (struct genealogy_process){.pid = pid};
    snprintf(directory, sizeof directory, "%s/%d", proc, (int)pid);
    if (!read_stat(directory, &state, process))
        return false;
    // A leader that has ended while other threads live is no zombie to anybody but itself.
    if (has_ended(state) && all_threads_stand(directory))
        return false;
    process->traced = state == 't';
    process->stopped = stands(state) && all_threads_stand(directory);
    return true;
}

int signals_census(const char *proc, const struct pid_list *members, struct genealogy *genealogy,
                   struct error *err)
{
    for (size_t i = 0; i < members->count; i++) {
        struct genealogy_process process;
        if (look(proc, members->pids[i], &process) && genealogy_add(genealogy, &process, err) != 0)
            return -1;
    }
    return 0;
}

// The same process as in the census, or it gets nothing. One that is gone needs nothing.
static int send(const struct genealogy_process *process, int signal, struct error *err)
{
    struct genealogy_process now;
    cleanup_close int pidfd = pidfd_of(process->pid);
    if (pidfd < 0 && errno == ESRCH)
        return 0;
    if (pidfd < 0)
        return error_errno(err, errno, "pidfd of process %d", (int)process->pid);
    if (!look("/proc", process->pid, &now) || now.start_time != process->start_time)
        return 0;
    if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0 || errno == ESRCH)
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot send %s to process %d%s", strsignal(signal),
                       (int)process->pid, code == EPERM ? " (needs CAP_KILL)" : "");
}

static void look_again(struct genealogy_process *process)
{
    struct genealogy_process now;
    process->stopped =
        !look("/proc", process->pid, &now) || now.start_time != process->start_time || now.stopped;
}

static int again(size_t left, const char *what, struct error *err)
{
    return left == 0 ? 0 : error_set(err, EAGAIN, "%zu processes %s", left, what);
}

// By its place in the order of levels.
static struct genealogy_process *at(const struct genealogy *genealogy, size_t place)
{
    return &genealogy->list[genealogy->order[place]];
}

int signals_stop(struct genealogy *genealogy, struct error *err)
{
    size_t left = 0;
    if (genealogy_find_levels(genealogy, err) != 0)
        return -1;
    for (size_t first = 0, end; first < genealogy->count; first = end) {
        end = genealogy_level_end(genealogy, first);
        for (size_t i = first; i < end; i++) {
            struct genealogy_process *process = at(genealogy, i);
            bool ready =
                process->above == GENEALOGY_NONE || genealogy->list[process->above].stopped;
            if (ready && !process->stopped && send(process, SIGSTOP, err) != 0)
                return -1;
        }
        for (size_t i = first; i < end; i++) {
            struct genealogy_process *process = at(genealogy, i);
            if (process->stopped)
                continue;
            look_again(process);
            left += !process->stopped;
        }
    }
    return again(left, "have not stopped yet", err);
}

int signals_continue(struct genealogy *genealogy, const struct genealogy *others, struct error *err)
{
    size_t left = 0;
    if (genealogy_find_levels(genealogy, err) != 0)
        return -1;
    // From the last level up: whoever waits is known before those above are asked.
    for (size_t i = genealogy->count; i-- > 0;) {
        struct genealogy_process *process = at(genealogy, i);
        // A debugger's are the debugger's.
        if (!process->traced && genealogy_find(others, process->pid, process->start_time) == NULL) {
            if (!process->waits && send(process, SIGCONT, err) != 0)
                return -1;
            if (process->stopped)
                look_again(process);
            process->waits |= process->stopped;
            left += process->stopped;
        }
        if (process->waits && process->above != GENEALOGY_NONE)
            genealogy->list[process->above].waits = true;
    }
    return again(left, "have not continued yet", err);
}

int signals_kill(struct genealogy *genealogy, struct error *err)
{
    struct error *first = err;
    int rc = 0;
    if (genealogy_find_levels(genealogy, err) != 0)
        return -1;
    for (size_t i = 0; i < genealogy->count; i++)
        if (send(at(genealogy, i), SIGKILL, first) != 0) {
            first = NULL;
            rc = -1;
        }
    return rc != 0 ? rc : again(genealogy->count, "are still there after SIGKILL", err);
}
