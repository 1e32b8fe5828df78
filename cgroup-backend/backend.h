// Classes as cgroups: what Tru64's class scheduler was to Yoo & Jette (section 2.2.2), made of CPU
// bandwidth control. This interface knows processes, names and shares, nothing of jobs' meaning.
//
// Two implementations: cgroup v2 (cpu.max, cpu.stat, cgroup.freeze, cgroup.kill) and cgroup v1
// (cpu.cfs_quota_us, cpuacct.usage, freezer). A third, in memory, serves unit tests. libcgroup
// finds the hierarchies and makes groups; the limit, which changes on every switch, is
// written through a descriptor that stays open.
//
// A class is a group below `root`, into which processes are moved, or a group that somebody else
// has made, in place: for the job alone, or one that the admin has named. Nothing outside the
// subtree `root` is ever changed, except the limits of classes in place, on v2 which groups above
// pass the cpu controller on, and that a removed class's last processes return to where they came
// from.
#ifndef COSCHED_CGROUP_BACKEND_BACKEND_H
#define COSCHED_CGROUP_BACKEND_BACKEND_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BACKEND_NAME_MAX 96 // of a class, terminating zero included

// A share that stands for "no limit".
#define BACKEND_UNLIMITED UINT32_MAX

struct process_id; // processes.h
typedef struct backend backend_t;
typedef struct backend_class class_t;

struct backend_settings {
    const char *kind;   // "auto", "v2" or "v1"
    const char *root;   // relative to the hierarchy's mount point, e.g. "cosched" or "lab/node0"
    unsigned cpus;      // CPUs of the node: a share of 100 % is this many CPUs
    uint64_t period_ns; // of bandwidth limits, 1 ms to 1 s; longer for the smallest shares
    // Directory in which the groups are remembered whose classes are in place, the daemon's runtime
    // directory; null, or one that others than root and this process's user can change: there are
    // none.
    const char *records;
    // To lift limits, or to look: no group is made, neither the root nor a class (ENOENT), and the
    // root may be one in which no class could be made any more. No record goes, and
    // nothing is written that was not asked for.
    bool as_it_is;
    // To lift limits once more: who was stopped has been continued, and by no scheduler stopped
    // since.
    bool once_more;
};

// Finds the hierarchies and makes the root group where it is missing (`as_it_is`). Errors name
// the missing controller or permission and the remedy. The caller ends it with backend_close().
int backend_open(const struct backend_settings *settings, backend_t **backend, struct error *err);

// Releases memory and descriptors; groups, limits and processes stay as they are. Null is allowed.
void backend_close(backend_t *backend);

// "v2", "v1" or "test".
const char *backend_name(const backend_t *backend);

// Makes the class `name` ([A-Za-z0-9_.-], not starting with a dot), without a limit, or opens it as
// it is when it exists already (adoption: members and limit stay). Release with class_close() or
// class_remove(). On error nothing was made; so also when the record of its suspension cannot be
// read now, which stays for the next time.
int class_open(backend_t *backend, const char *name, class_t **class_, struct error *err);

// A process, of the real user id `uid`, whose job's class may be in place.
struct class_home {
    pid_t pid;
    uid_t uid;
    bool any; // the group need not be one that a known resource manager makes
};

// Makes the class `name` of the group in which the process lives, if that was made for one job and
// nobody else lives there: ENOENT, or EXDEV, EBUSY, EPERM, ENOTSUP when it may not be limited. The
// limit stays as it is. class_place() then checks (EXDEV) and moves nobody, class_set_share() keeps
// within the group's own limit, "unlimited" is that one, and EXDEV means that the group is not the
// job's alone any more and has its own limit again. class_remove() restores and leaves the group.
// class_open() opens it again; freezing and killing are its manager's (ENOTSUP).
int class_open_in_place(backend_t *backend, const char *name, const struct class_home *home,
                        class_t **class_, struct error *err);

// Makes the class `name` of the group `group`, relative to the mount points, whoever lives in it:
// ENOENT, EINVAL, or EBUSY, EPERM, ENOTSUP when it may not be limited. As above, but for what is
// about a job: nobody is placed in it and it is not displaced (ENOTSUP).
int class_open_named(backend_t *backend, const char *name, const char *group, class_t **class_,
                     struct error *err);

bool class_is_in_place(const class_t *class_);

// Whether a resource manager signals, suspends and ends the process by the group in which it lives,
// in any hierarchy where classes have groups, so that it must stay there: a step of Slurm's. False
// of one that has gone.
bool backend_keeps(backend_t *backend, pid_t pid);

// Whether the manager of a class in place has frozen its group; false of other classes, and where
// that cannot be known.
bool class_is_stopped_by_manager(const class_t *class_);

// Whether the class is in place in the group of a batch script, which may launch other jobs there.
bool class_is_of_script(const class_t *class_);

// Makes the class one of its own below the root, still without processes, and gives the group back
// as it was. On error the class stays in place.
int class_displace(class_t **class_, struct error *err);

// Releases memory and descriptors; the group stays. Null is allowed.
void class_close(class_t *class_);

const char *class_name(const class_t *class_);

// Moves a process with all its threads, its wrappers below the launcher that started it, and the
// descendants of all these (seed 001, M2) into the class. Processes that end meanwhile are no
// error, unless `pid` itself is gone: ESRCH. Whoever has a class already stays there.
// E2BIG: there are too many of them, and none is moved.
int class_place(class_t *class_, pid_t pid, struct error *err);

// The same for the process that has this start time (field 22 of /proc/PID/stat), not whoever has
// its number by now: ESRCH, and whom a move by number has caught all the same goes back.
int class_place_known(class_t *class_, pid_t pid, uint64_t start_time, struct error *err);

// Moves the rest of a job whose class has been displaced: these processes, and what descends from
// them, with the bounds of one class_place() for all. Who is gone is no error. E2BIG: these are
// moved, but not all of their descendants are; another fault: the others are moved.
int class_place_others(class_t *class_, const struct process_id *whom, size_t count,
                       struct error *err);

// Whether the process lives in the class, at the cost of one process, however many do.
bool class_holds(const class_t *class_, pid_t pid);

// Moves one process, with its threads, back to the group that the first process placed here came
// from (to the hierarchy's root when that is gone or not known).
int class_expel(class_t *class_, pid_t pid, struct error *err);

// Limits the class to share_ppm parts per million of the node's CPUs, or lifts the limit with
// BACKEND_UNLIMITED. One pwrite, on v1 three where the period becomes another. A share below what
// the kernel can enforce in the period has a longer one, and is raised where that is too short.
int class_set_share(class_t *class_, uint32_t share_ppm, struct error *err);

// The same, and has the periods of the limit begin now, to within a millisecond: 1. It cannot be
// done for a class that had a limit during the last period, since the kernel goes on with that one;
// who knows that it had none calls this. 0: the class is limited, its periods begin as before.
int class_begin_periods(class_t *class_, uint32_t share_ppm, struct error *err);

// How long the periods of this share are that class_begin_periods() can begin; 0: those of this
// class it cannot.
uint64_t class_period_ns(const class_t *class_, uint32_t share_ppm);

// CPU time that the class has consumed since it was made, user and system, in ns.
int class_usage(class_t *class_, uint64_t *usage_ns, struct error *err);

// Process ids in the class, at most `limit` of them into pids; *count gets how many there are.
int class_members(class_t *class_, pid_t *pids, size_t limit, size_t *count, struct error *err);

// Stop and continue all processes of the class; returns when the kernel has accepted it.
int class_freeze(class_t *class_, struct error *err);
int class_thaw(class_t *class_, struct error *err);

// Sends SIGKILL to every process of the class, until none is left or err says why not.
int class_kill(class_t *class_, struct error *err);

// ---- process tracking (Franke, Moreira & Pattnaik: task suspend, resume and kill)
//
// Each call makes one pass and waits for nothing. EAGAIN asks for another one, after the retry
// interval, or class_freezer_pause_ns(). A process needs CPU time to stop, to continue and to die,
// so the caller lifts the class's limit for that time.

enum class_means {
    CLASS_BY_SHARE = 1, // nothing here: the caller limits the class. Recorded only
    CLASS_BY_FREEZER,   // the whole class
    CLASS_BY_SIGNALS,   // SIGSTOP top-down, SIGCONT bottom-up
};

// What is suspended, and how. The process `root` with its descendants, or with 0 the whole class.
struct class_suspension {
    enum class_means means;
    pid_t root;
    uint64_t root_start; // its start time, field 22 of /proc/PID/stat
};

// Whether the class can be suspended by the freezer.
bool class_has_freezer(const class_t *class_);

// How long it is until the next pass is worth making, after `passes` of them by the freezer: most
// processes stop as soon as they have a CPU. `interval_ns` is the retry interval, and the longest.
uint64_t class_freezer_pause_ns(unsigned passes, uint64_t interval_ns);

// Suspends, as often as it is called: whoever came meanwhile is suspended, too. The suspension is
// recorded before its first effect and belongs to the class until class_resume(). 0 when all
// stand still; EBUSY when it is suspended otherwise; ENOTSUP; ESRCH when `root` is not of the
// class. After any other error than EAGAIN class_resume() undoes what was done.
int class_suspend(class_t *class_, const struct class_suspension *how, struct error *err);

// Undoes the suspension, but does not continue who had stopped before. 0 when all run, also when
// there was none: a class that stayed frozen for another reason thaws.
int class_resume(class_t *class_, struct error *err);

// Before its owner ends: one pass over who was stopped by signals, by what the class itself knows,
// as its record may be gone with the runtime directory. The class stays suspended.
void class_let_run(class_t *class_);

// Thaws who was frozen to be killed, and could not be thawed then.
void class_thaw_late(class_t *class_);

// True when the class is suspended, or a former daemon was asked to suspend it; then *how.
bool class_suspended(const class_t *class_, struct class_suspension *how);

// Sends SIGKILL to the process `root` with its descendants, or with 0 to the whole class. 0 when
// none of them is left. EBUSY for a part of a class that is frozen. A pass that cannot hold the
// subtree still kills nobody, lest children of theirs are not found any more, unless `at_once`: for
// the last pass, after which nobody must stand still. Until then a freezer goes on stopping the
// class.
int class_kill_pass(class_t *class_, pid_t root, uint64_t root_start, bool at_once,
                    struct error *err);

// Continues who was stopped, expels what is left, removes the group and releases the class. A group
// that is already gone is no error. Waits for processes that are about to end, for 100 ms at most.
// On error the class is released all the same. EBUSY: its group stays, with the record of its
// suspension if somebody could not be continued.
int class_remove(class_t *class_, struct error *err);

// The same in steps that wait for nothing, each of which expels at most `limit` processes from each
// of the class's groups. EAGAIN: the class is not limited any more, holds no descriptor once who
// was stopped is continued, and is still the caller's, who calls again a little later, or
// class_remove() or class_close(), and nothing else. So it is, too, while descriptors or memory are
// short, or somebody cannot be continued or moved for another reason.
int class_remove_step(class_t *class_, size_t limit, struct error *err);

// Calls `each` for every class, below the root or in place, until it returns non-zero. Returns 0 or
// -1.
int backend_each_class(backend_t *backend, int (*each)(const char *name, void *user), void *user,
                       struct error *err);

// Lifts the limit of every class, below the root or in place, going on after a failure; thaws, and
// continues who was stopped; the root and the classes weigh no more than any group from then on.
// Suspensions stay recorded. Needs no classd: this is what fail-open stands on. Returns the number
// of classes that could not be lifted (err: the first), or -1 when the root cannot be read. *lifted
// counts the others; it may be null.
int backend_release_all(backend_t *backend, unsigned *lifted, struct error *err);

// Gives the root and the classes below it again the weight that they were made with: that of the
// node's CPUs. For who goes on after somebody may have released them. Best effort.
void backend_weigh_all(backend_t *backend);

#endif
