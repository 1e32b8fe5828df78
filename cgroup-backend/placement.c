#include "cgroup-backend/placement.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SLUID_LENGTH 14

// A component of a path, without the slashes.
struct component {
    const char *text;
    size_t length;
};

static struct component next_component(const char **at)
{
    *at += strspn(*at, "/");
    struct component one = {*at, strcspn(*at, "/")};
    *at += one.length;
    return one;
}

static bool is_word(struct component one, const char *word)
{
    return one.length == strlen(word) && strncmp(one.text, word, one.length) == 0;
}

static bool starts(struct component one, const char *with)
{
    size_t length = strlen(with);
    return one.length >= length && strncmp(one.text, with, length) == 0;
}

static bool ends(struct component one, const char *with)
{
    size_t length = strlen(with);
    return one.length > length && strncmp(one.text + one.length - length, with, length) == 0;
}

// "job_12" and the like. *number may be null.
static bool is_numbered(struct component one, const char *with, unsigned long *number)
{
    size_t at = strlen(with);
    if (!starts(one, with) || one.length == at || one.length > at + 10)
        return false;
    if (number != NULL)
        *number = strtoul(one.text + at, NULL, 10);
    while (at < one.length && isdigit((unsigned char)one.text[at]))
        at++;
    return at == one.length;
}

// "job_12", or what names jobs since Slurm 26.05 on cgroup v2, its SLUID: "sEKNKTV3WPV500".
static bool is_job(struct component one)
{
    if (is_numbered(one, "job_", NULL))
        return true;
    size_t at = 1;
    while (at < one.length &&
           (isdigit((unsigned char)one.text[at]) || isupper((unsigned char)one.text[at])))
        at++;
    return starts(one, "s") && one.length == SLUID_LENGTH && at == one.length;
}

// "step_0", or of several programs that one srun starts together, each with its number, "step_0+1".
static bool is_step(struct component one)
{
    const char *plus = memchr(one.text, '+', one.length);
    if (plus == NULL)
        return is_numbered(one, "step_", NULL);
    struct component step = {one.text, (size_t)(plus - one.text)};
    struct component part = {plus, one.length - step.length};
    return is_numbered(step, "step_", NULL) && is_numbered(part, "+", NULL);
}

enum step { NO_STEP, NUMBERED_STEP, SCRIPTS_STEP, OTHER_STEP };

static enum step kind_of(struct component step)
{
    return is_step(step) ? NUMBERED_STEP : is_word(step, "step_batch") ? SCRIPTS_STEP : OTHER_STEP;
}

// "[uid_N/]JOB/STEP[/user]". *length: as of placement_find().
static enum step find_step(const char *path, uid_t uid, size_t *length)
{
    struct component before = {0}, job = {0};
    unsigned long owner;
    for (const char *at = path; *at != '\0';) {
        struct component one = next_component(&at);
        if (!is_job(job) || !starts(one, "step_")) {
            before = job;
            job = one;
            continue;
        }
        bool mine = !is_numbered(before, "uid_", &owner) || owner == uid;
        const char *end = at;
        if (is_word(next_component(&at), "user"))
            end = at;
        *length = mine && kind_of(one) != OTHER_STEP ? (size_t)(end - path) : 0;
        return kind_of(one);
    }
    return NO_STEP;
}

// Of what systemd, or PBS and Slurm in its manner, have made around the processes of many jobs.
static bool is_common(struct component unit)
{
    return starts(unit, "session-") || starts(unit, "user@") || is_word(unit, "init.scope") ||
           is_word(unit, "pbs_jobs.service") || is_word(unit, "slurmstepd.scope") ||
           ends(unit, "_slurmstepd.scope") || is_word(unit, "slurmd.service") ||
           is_word(unit, "slurmdbd.service") || starts(unit, "slurmd@");
}

static bool find_unit(const char *path, size_t *length)
{
    bool found = false;
    for (const char *at = path; *at != '\0';) {
        struct component one = next_component(&at);
        if (!ends(one, ".scope") && !ends(one, ".service"))
            continue;
        found = true;
        *length = is_common(one) ? 0 : (size_t)(at - path);
    }
    return found;
}

enum placement_manager placement_find(const char *path, uid_t uid, size_t *length)
{
    *length = 0;
    enum step step = find_step(path, uid, length);
    if (step != NO_STEP)
        return step == SCRIPTS_STEP ? PLACEMENT_SCRIPT : PLACEMENT_SLURM;
    return find_unit(path, length) ? PLACEMENT_SYSTEMD : PLACEMENT_UNKNOWN;
}

bool placement_is_kept(const char *path)
{
    size_t length = 0;
    return find_step(path, 0, &length) == NUMBERED_STEP;
}

bool placement_is_launcher(const char *name)
{
    static const char *const launchers[] = {
        "hydra_pmi_proxy", "hydra_bstrap_pr", "mpiexec", "mpirun", "orted",     "orterun", "prte",
        "prted",           "prterun",         "prun",    "srun",   "slurmstepd"};
    size_t length = strcspn(name, "."); // "mpiexec.hydra"
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (strlen(launchers[i]) == length && strncmp(name, launchers[i], length) == 0)
            return true;
    }
    return false;
}

size_t placement_family(const struct placement_process *chain, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (placement_is_launcher(chain[i].name))
            return i;
        if (chain[i].uid != chain[0].uid)
            break;
    }
    return 1;
}

size_t placement_line(const struct placement_process *chain, size_t count, size_t inside)
{
    size_t known = 1; // up to here, everybody is one of the three
    for (size_t i = 1; i < count && i <= inside; i++) {
        if (placement_is_launcher(chain[i].name))
            known = i + 1;
    }
    return known >= inside ? inside : 0;
}

size_t placement_launcher(const struct placement_process *chain, size_t inside)
{
    for (size_t i = inside; i-- > 1;) {
        if (placement_is_launcher(chain[i].name))
            return i;
    }
    return 0;
}

bool placement_accepts(const struct placement_job *job, const struct placement_process *process,
                       bool inside)
{
    if (process->uid != job->uid)
        return false;
    // The step's daemon, which is root's, is no part of root's job either.
    if (job->manager == PLACEMENT_SLURM || job->manager == PLACEMENT_SCRIPT)
        return strcmp(process->name, "slurmstepd") != 0;
    if (inside || process->pid == job->top)
        return true;
    // Started as the job was, or an orphan of the job's; but another launcher is another job, and
    // who was there before the job is none of its orphans, such as the unit's own program.
    bool started_alike = job->starter > 1 && process->parent == job->starter;
    bool orphan = process->parent == 1 &&
                  (process->start_time == 0 || process->start_time >= job->start_time);
    return (started_alike || orphan) && !placement_is_launcher(process->name);
}
