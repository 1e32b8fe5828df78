// Who belongs to a job, told from paths and processes: which group a resource manager has made for
// it, and which processes are its family. Pure decisions, no system call. The rules are argued in
// doc/design/node-daemon.md, section 7.
#ifndef COSCHED_CGROUP_BACKEND_PLACEMENT_H
#define COSCHED_CGROUP_BACKEND_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PLACEMENT_NAME_MAX = 16 }; // of a process, as the kernel keeps it

struct placement_process {
    pid_t pid;
    pid_t parent;
    uid_t uid;           // the real one
    uint64_t start_time; // in the kernel's clock ticks; 0: not known
    char name[PLACEMENT_NAME_MAX];
};

enum placement_manager {
    PLACEMENT_UNKNOWN,
    PLACEMENT_SLURM,
    PLACEMENT_SYSTEMD,
    PLACEMENT_NAMED,  // nobody's job: the admin has named the group, whoever lives in it
    PLACEMENT_SCRIPT, // Slurm's, of a batch script, which may launch several jobs; PLACEMENT_SLURM
                      // in records, as older programs read them
};

// Who made the group `path` (as in /proc/PID/cgroup, "/a/b"), or one above it. *length gets how
// much of the path names the group that was made for one job of user `uid`, 0 when there is none.
enum placement_manager placement_find(const char *path, uid_t uid, size_t *length);

// Whether its manager signals, suspends and ends what is in the group `path`, or in one above it,
// by that group, so that nobody may be moved out of it: a step of Slurm's, but for a script's, a
// shell's and its own, whose launchers end what they have started themselves.
bool placement_is_kept(const char *path);

// Whether a program of this name starts other people's programs as ranks of a job.
bool placement_is_launcher(const char *name);

// chain[0] is a process, chain[i + 1] the parent of chain[i]. Both tell how many of the first ones
// are the job's, at least 1:
// - the family: the process and its wrappers, up to but without the nearest launcher;
size_t placement_family(const struct placement_process *chain, size_t count);
// - or 0, unless each of the first `inside`, which live in the job's group, is the process, a
//   wrapper below a launcher, or a launcher.
size_t placement_line(const struct placement_process *chain, size_t count, size_t inside);

// Where in chain[] the highest launcher is of those that live in the job's group, the first
// `inside`; 0: there is none.
size_t placement_launcher(const struct placement_process *chain, size_t inside);

// What is known of the job whose group it is.
struct placement_job {
    enum placement_manager manager;
    uid_t uid;
    pid_t top;           // the highest process of the group above a registered one, in a script's
                         // the highest launcher; 0: not known
    pid_t starter;       // its parent, outside the group
    uint64_t start_time; // of `top`, or of an earlier one; 0: not known
};

// Whether a process of the group is of this job. `inside`: its parent is in the group, too, and is
// judged by itself.
bool placement_accepts(const struct placement_job *job, const struct placement_process *process,
                       bool inside);

#endif
