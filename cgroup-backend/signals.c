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
// parenthesis ends it. 1, 0 when it is gone, or -1 when that cannot be told.
static int read_stat(const char *directory, char *state, struct genealogy_process *process,
                     struct error *err)
{
    char text[1024];
    struct error fault = {0};
    if (file_read(directory, "stat", text, sizeof text, &fault) != 0) {
        bool gone = fault.code == ENOENT || fault.code == ESRCH;
        return gone ? 0 : error_set(err, fault.code, "%s", fault.text);
    }
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
// the others. 1, 0, or -1 when that cannot be told. `lives`: one of those looked at has not ended.
static int all_threads_stand(const char *directory, size_t *looked_at, bool *lives,
                             struct error *err)
{
    *lives = false;
    cleanup_free char *path = path_join(directory, "task");
    cleanup_closedir DIR *threads = path != NULL ? opendir(path) : NULL;
    if (threads == NULL)
        return path != NULL && errno == ENOENT ? 1 : error_errno(err, errno, "%s/task", directory);
    for (struct dirent *entry;
         *looked_at <= SIGNALS_THREADS_MAX && (entry = readdir(threads)) != NULL;) {
        struct genealogy_process ignored;
        char state = 'X';
        if (entry->d_name[0] == '.')
            continue;
        ++*looked_at;
        cleanup_free char *thread = path_join(path, entry->d_name);
        int seen = thread != NULL ? read_stat(thread, &state, &ignored, err)
                                  : error_errno(err, ENOMEM, "%s", path);
        if (seen < 0 || (seen > 0 && !stands(state)))
            return seen < 0 ? -1 : 0;
        *lives |= !has_ended(state);
    }
    return 1;
}

// Beside its first one.
static bool has_other_threads(const char *directory)
{
    int count = 0;
    cleanup_free char *path = path_join(directory, "task");
    cleanup_closedir DIR *threads = path != NULL ? opendir(path) : NULL;
    for (struct dirent *entry; threads != NULL && count < 2 && (entry = readdir(threads)) != NULL;)
        count += entry->d_name[0] != '.';
    return count > 1;
}

// 1, 0 when the process is gone or has ended, or -1 when that cannot be told: whoever may have been
// stopped is not to be forgotten for want of descriptors, or as /proc hides him.
static int look(const char *proc, pid_t pid, struct genealogy_process *process, size_t *threads,
                struct error *err)
{
    char directory[256], state = 'X';
    *process = (struct genealogy_process){.pid = pid};
    snprintf(directory, sizeof directory, "%s/%d", proc, (int)pid);
    int seen = read_stat(directory, &state, process, err);
    if (seen == 0 && pidfd_hidden(pid))
        return error_set(err, EACCES, "%s hides process %d, see hidepid in proc(5)", proc,
                         (int)pid);
    if (seen <= 0)
        return seen;
    bool lives = true;
    int stand = stands(state) ? all_threads_stand(directory, threads, &lives, err) : 0;
    if (stand < 0)
        return -1;
    // A leader that has ended while other threads live, stopped or not, is no zombie to anybody but
    // itself.
    if (has_ended(state) && stand > 0 && !lives &&
        (*threads <= SIGNALS_THREADS_MAX || !has_other_threads(directory)))
        return 0;
    process->traced = state == 't';
    process->stopped = stand > 0;
    return 1;
}

int signals_census(const char *proc, const struct pid_list *members, struct genealogy *genealogy,
                   struct error *err)
{
    for (size_t i = 0; i < members->count; i++) {
        struct genealogy_process process;
        int seen = look(proc, members->pids[i], &process, &genealogy->threads, err);
        if (seen < 0 || (seen > 0 && genealogy_add(genealogy, &process, err) != 0))
            return -1;
    }
    return 0;
}

// The same process as in the census, or it gets nothing. One that is gone needs nothing.
static int send(struct genealogy *genealogy, const struct genealogy_process *process, int signal,
                struct error *err)
{
    struct genealogy_process now;
    cleanup_close int pidfd = pidfd_of(process->pid);
    if (pidfd < 0 && errno == ESRCH)
        return 0;
    if (pidfd < 0)
        return error_errno(err, errno, "pidfd of process %d", (int)process->pid);
    int seen = look("/proc", process->pid, &now, &genealogy->threads, err);
    if (seen <= 0 || now.start_time != process->start_time)
        return seen < 0 ? -1 : 0;
    if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0 || errno == ESRCH)
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot send %s to process %d%s", strsignal(signal),
                       (int)process->pid, code == EPERM ? " (needs CAP_KILL)" : "");
}

// Where it cannot be told, it is as it was: the next pass looks.
static void look_again(struct genealogy *genealogy, struct genealogy_process *process)
{
    struct genealogy_process now;
    int seen = look("/proc", process->pid, &now, &genealogy->threads, NULL);
    if (seen >= 0)
        process->stopped = seen == 0 || now.start_time != process->start_time || now.stopped;
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
            if (ready && !process->stopped && send(genealogy, process, SIGSTOP, err) != 0)
                return -1;
        }
        for (size_t i = first; i < end; i++) {
            struct genealogy_process *process = at(genealogy, i);
            if (process->stopped)
                continue;
            look_again(genealogy, process);
            left += !process->stopped;
        }
    }
    return again(left, "have not stopped yet", err);
}

int signals_continue(struct genealogy *genealogy, const struct genealogy *others, struct error *err)
{
    size_t left = 0;
    struct error *first = err;
    int rc = 0;
    if (genealogy_find_levels(genealogy, err) != 0)
        return -1;
    // From the last level up: whoever waits is known before those above are asked.
    for (size_t i = genealogy->count; i-- > 0;) {
        struct genealogy_process *process = at(genealogy, i);
        if (genealogy_find(others, process->pid, process->start_time) == NULL) {
            if (!process->waits && send(genealogy, process, SIGCONT, first) != 0) {
                first = NULL; // no reason to leave those above it stopped
                rc = -1;
            } else if (!process->traced) {
                if (process->stopped)
                    look_again(genealogy, process);
                process->waits |= process->stopped;
                left += process->stopped;
            } // else it goes on when its debugger lets it, and then not into a stop of ours
        }
        if (process->waits && process->above != GENEALOGY_NONE)
            genealogy->list[process->above].waits = true;
    }
    return rc != 0 ? rc : again(left, "have not continued yet", err);
}

int signals_kill(struct genealogy *genealogy, struct error *err)
{
    struct error *first = err;
    int rc = 0;
    if (genealogy_find_levels(genealogy, err) != 0)
        return -1;
    for (size_t i = 0; i < genealogy->count; i++)
        if (send(genealogy, at(genealogy, i), SIGKILL, first) != 0) {
            first = NULL;
            rc = -1;
        }
    return rc != 0 ? rc : again(genealogy->count, "are still there after SIGKILL", err);
}
