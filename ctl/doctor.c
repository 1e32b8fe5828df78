#include "ctl/doctor.h"

#include "cgroup-backend/backend.h"
#include "cgroup-backend/discovery.h"
#include "common/cleanup.h"
#include "common/group_list.h"
#include "common/units.h"
#include "common/version.h"
#include "ctl/bindings.h"
#include "ctl/kernel.h"
#include "ctl/show.h"
#include "ctl/talk.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MEMBERS_MAX = 4096, CLASSES_MAX = 256 };

struct doctor {
    const struct config *config;
    int faults;
};

static void say(const char *mark, const char *format, va_list arguments)
{
    printf("%-5s ", mark);
    vprintf(format, arguments);
    putchar('\n');
}

__attribute__((format(printf, 1, 2))) static void well(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("ok", format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("note", format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void fault(struct doctor *doctor, const char *format,
                                                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("FAULT", format, arguments);
    va_end(arguments);
    doctor->faults++;
}

// ---- kernel and cgroups

static void check_kernel(struct doctor *doctor)
{
    struct utsname name;
    switch (uname(&name) == 0 ? kernel_kind(name.release) : KERNEL_UNKNOWN) {
    case KERNEL_UNKNOWN:
        note("the kernel's version is not known");
        break;
    case KERNEL_TOO_OLD:
        fault(doctor, "Linux %s has no pidfd_open(): Linux 5.3 is the oldest that works",
              name.release);
        break;
    case KERNEL_WITHOUT_KILL:
        note("Linux %s has no cgroup.kill: killing a job takes a little longer; 5.14 has it",
             name.release);
        break;
    case KERNEL_STARVES_OTHERS:
        note("Linux %s may keep processes off a CPU for minutes, launchers of jobs, too, while a "
             "cgroup next to theirs has some that sleep often: 6.18.45 does not",
             name.release);
        break;
    case KERNEL_GOOD:
        well("Linux %s", name.release);
        break;
    }
}

// Whom /proc hides classd cannot know, and does not limit. Without gid= root's group sees all.
static void check_sight(void)
{
    char buffer[4096];
    struct mntent entry;
    unsigned gid = 0;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    while (mounts != NULL && getmntent_r(mounts, &entry, buffer, sizeof buffer) != NULL) {
        if (strcmp(entry.mnt_dir, "/proc") != 0)
            continue;
        const char *group = hasmntopt(&entry, "gid");
        if (hasmntopt(&entry, "hidepid") == NULL || group == NULL ||
            sscanf(group, "gid=%u", &gid) != 1)
            gid = 0;
    }
    if (mounts != NULL)
        endmntent(mounts);
    if (gid != 0)
        note("/proc is mounted with hidepid: classd and timerd need SupplementaryGroups=%u in "
             "their units, to see jobs",
             gid);
}

static bool has_word(const char *directory, const char *file, const char *word)
{
    char path[4096], text[4096] = "";
    snprintf(path, sizeof path, "%s/%s", directory, file);
    cleanup_fclose FILE *stream = fopen(path, "re");
    if (stream == NULL || fgets(text, sizeof text, stream) == NULL)
        return false;
    for (char *at = strtok(text, " \n"); at != NULL; at = strtok(NULL, " \n")) {
        if (strcmp(at, word) == 0)
            return true;
    }
    return false;
}

static void check_cgroups(struct doctor *doctor)
{
    struct discovery found;
    struct error err;
    if (discovery_find(&found, &err) < 0) {
        fault(doctor, "%s", err.text);
        return;
    }
    if (found.v2 != NULL && !has_word(found.v2, "cgroup.controllers", "cpu"))
        fault(doctor, "%s does not offer the cpu controller: have it delegated (Delegate=cpu)",
              found.v2);
    else if (found.v2 != NULL)
        well("cgroup v2 at %s with the cpu controller", found.v2);
    else
        well("cgroup v1 at %s", found.cpu);
    if (found.v2 == NULL && found.cpuacct == NULL)
        fault(doctor, "cgroup v1 without cpuacct: mount it, or boot with cgroup v2");
    if (found.v2 == NULL && found.freezer == NULL)
        note("cgroup v1 without the freezer: jobs cannot be suspended");
    discovery_free(&found);
}

// ---- daemons

// False when it is not known.
static bool read_descriptor_limit(uint32_t pid, uint64_t *soft, uint64_t *hard)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/limits", pid);
    cleanup_fclose FILE *stream = fopen(path, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        int read = sscanf(line, "Max open files %" SCNu64 " %" SCNu64, soft, hard);
        if (read == 1)
            *hard = UINT64_MAX; // in words: unlimited
        if (read >= 1)
            return true;
    }
    return false;
}

// classd raises the soft limit by itself when it reads its configuration, as far as the hard one
// lets it.
static void check_descriptors(struct doctor *doctor, uint32_t pid)
{
    const struct config *config = doctor->config;
    uint64_t wanted = config_descriptors(config), soft, hard;
    if (!read_descriptor_limit(pid, &soft, &hard) || soft >= wanted)
        return;
    fault(doctor,
          "classd may open %" PRIu64 " files, [daemon] max_connections = %" PRIu64
          " and max_jobs = %" PRIu64 " need %" PRIu64 ": %s",
          soft, config->max_connections, config->max_jobs, wanted,
          hard < wanted ? "raise LimitNOFILE= of its unit and restart it, jobs are kept"
                        : "have it read its configuration: coschedctl reload");
}

static void check_timer(struct doctor *doctor, const struct protocol_node_record *node)
{
    char text[SHOW_TIMER_MAX];
    show_timer(node, text);
    if (node->switches == 0 && node->uptime_ns / 2 > node->time_slice_ns)
        fault(doctor,
              "no switch since classd started: start timerd (systemctl start cosched-timerd), "
              "without which slices are twice as long");
    else if (show_timer_is_late(node))
        fault(doctor, "timerd is %s: " SHOW_TIMER_REMEDY, text);
    else if (node->switches > 0)
        well("timerd has asked for %" PRIu64 " switches%s%s", node->switches,
             text[0] != '\0' ? ", " : "", text);
    else
        note("timerd has not asked for a switch yet, which it does every %.3g s: ask again then",
             (double)node->time_slice_ns / NS_PER_SEC);
}

static void check_cpus(struct doctor *doctor, const struct protocol_node_record *node)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (online <= 0 || node->cpus == (uint64_t)online)
        return;
    if (node->cpus > (uint64_t)online)
        fault(doctor,
              "this machine has %ld CPUs, but classd reckons with %" PRIu32
              ": jobs that have no room together do not take turns; %s",
              online, node->cpus,
              doctor->config->cpus == 0 ? "restart classd, jobs go on"
                                        : "mend [scheduler] cpus, 0 is what each machine has");
    else if (doctor->config->cpus == 0)
        note("this machine has %ld CPUs, but classd may run on %" PRIu32
             " only and reckons with those: give [scheduler] cpus if jobs may use more",
             online, node->cpus);
    else
        note("this machine has %ld CPUs, but classd reckons with %" PRIu32
             ", by [scheduler] cpus: jobs that need more take turns, though others are free",
             online, node->cpus);
}

static void check_daemons(struct doctor *doctor)
{
    struct error err;
    struct protocol_node_record node;
    cleanup_close int fd = talk_connect(doctor->config, &err);
    if (fd < 0 || talk_node(fd, &node, &err) < 0) {
        fault(doctor, "%s", err.text);
        return;
    }
    well("classd %s answers: policy %s, cgroup %s, %" PRIu32 " CPUs, %" PRIu32 " jobs",
         node.version, node.policy, node.backend, node.cpus, node.jobs);
    check_cpus(doctor, &node);
    if (strcmp(node.version, cosched_version) != 0)
        note("this coschedctl is version %s: restart classd after an upgrade", cosched_version);
    check_timer(doctor, &node);
    check_descriptors(doctor, node.pid);
}

// What a job found out is a user's word: it is a fault where the kernel bears it out.
static void check_jobs_clocks(struct doctor *doctor, bool synchronised)
{
    struct protocol_job_record *jobs = NULL;
    size_t count = 0;
    char text[SHOW_CLOCK_MAX];
    struct error err;
    cleanup_close int fd = talk_connect(doctor->config, &err);
    if (fd < 0 || talk_jobs(fd, &jobs, &count, &err) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        show_clock(&jobs[i], text);
        if (text[0] != '\0' && protocol_slots_are_others(&jobs[i].clock))
            note("%s, and has none until it ends: %s", text, show_clock_remedy(&jobs[i]));
        else if (text[0] != '\0' && synchronised)
            note("%s, though the kernel says that it is synchronised: look at the time sources of "
                 "all of them",
                 text);
        else if (text[0] != '\0')
            fault(doctor, "%s: " SHOW_CLOCK_REMEDY, text);
    }
    free(jobs);
}

static void check_clock(struct doctor *doctor)
{
    struct timex state = {0};
    int rc = adjtimex(&state); // containers may forbid even asking
    bool synchronised = rc != -1 && rc != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
    if (!doctor->config->timer_align)
        note("[timer] align = no: nodes switch at different moments");
    else if (rc == -1)
        note("whether the clock is synchronised cannot be asked here (%s): without NTP or PTP "
             "nodes do not switch together",
             strerror(errno));
    else if (!synchronised)
        note("the clock is not synchronised: nodes switch together only with NTP or PTP");
    else
        well("the clock is synchronised to about %.3g ms", (double)state.maxerror / 1000);
    check_jobs_clocks(doctor, synchronised);
}

// ---- MPI

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    cleanup_free char *copy = strdup(path != NULL ? path : "/usr/bin:/bin");
    for (char *at = copy != NULL ? strtok(copy, ":") : NULL; at != NULL; at = strtok(NULL, ":")) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", at, program);
        if (access(name, X_OK) == 0)
            return true;
    }
    return false;
}

static bool exists(const char *directory, const char *file)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", directory, file);
    return access(name, R_OK) == 0;
}

// Where the library was installed together with this program, whatever prefix that was; for one
// that was not installed, where it would be. False when the path is too long.
static bool find_library_directory(char *directory, size_t size)
{
    static const char own[] = "/" COSCHED_BINDIR "/coschedctl";
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    size_t before = strlen(path) - (strlen(path) >= strlen(own) ? strlen(own) : 0);
    int written = strcmp(path + before, own) == 0
                      ? snprintf(directory, size, "%.*s/%s", (int)before, path, COSCHED_LIBDIR)
                      : snprintf(directory, size, "%s", COSCHED_FULL_LIBDIR);
    return written >= 0 && (size_t)written < size;
}

// Where the linker of this distribution looks; loading an MPI to find out would run it.
static bool has_library(const char *name)
{
    static const char *const places[] = {COSCHED_FULL_LIBDIR, "/usr/local/lib", "/usr/lib64",
                                         "/usr/lib"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (exists(places[i], name))
            return true;
    }
    return false;
}

static void check_library(struct doctor *doctor)
{
    static const char *const variants[] = {"mpich", "openmpi"};
    char directory[PATH_MAX];
    unsigned served = 0;
    if (!find_library_directory(directory, sizeof directory) ||
        !exists(directory, "libcosched_pmpi.so")) {
        fault(doctor, "no %s/libcosched_pmpi.so: install cosched again, its package or its whole tree", directory);
        return;
    }
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char name[64];
        snprintf(name, sizeof name, "libcosched_pmpi_%s.so", variants[i]);
        if (exists(directory, name)) {
            well("the library serves %s", variants[i]);
            served++;
        } else {
            note("no %s/%s: programs of this MPI run without cosched", directory, name);
        }
    }
    if (served == 0)
        fault(doctor, "the library serves no MPI: configure with -DCOSCHED_MPICC_mpich=MPICC or "
                      "-DCOSCHED_MPICC_openmpi=MPICC, build and install again");
}

static void check_mpis(void)
{
    static const struct {
        const char *name, *launcher, *fortran, *forward;
    } mpis[] = {
        {"MPICH", "mpiexec.mpich", "libmpichfort.so.12", "mpiexec passes LD_PRELOAD on by itself"},
        {"Open MPI", "mpiexec.openmpi", "libmpi_mpifh.so.40",
         "the library has mpirun pass LD_PRELOAD on"},
    };
    for (size_t i = 0; i < sizeof mpis / sizeof *mpis; i++) {
        if (!in_path(mpis[i].launcher)) {
            note("%s: no %s in PATH", mpis[i].name, mpis[i].launcher); // perhaps under another name
            continue;
        }
        well("%s: %s; %s", mpis[i].name, mpis[i].forward,
             has_library(mpis[i].fortran) ? "with Fortran" : "without Fortran");
    }
}

// ---- jobs

struct bindings {
    backend_t *backend;
    int machine; // CPUs that are there
    struct bound *list;
    size_t count;
};

static void look_at_process(const struct bindings *bindings, struct bound *bound, pid_t pid)
{
    cpu_set_t cpus;
    if (sched_getaffinity(pid, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) >= bindings->machine)
        return;
    CPU_OR(&bound->cpus, &bound->cpus, &cpus);
    bound->processes++;
    if (CPU_COUNT(&cpus) == 1)
        CPU_OR(&bound->single, &bound->single, &cpus);
}

// Groups of the sequential class are no jobs, whatever is bound there.
static int look_at_class(const char *name, void *user)
{
    struct bindings *bindings = user;
    class_t *class_ = NULL;
    static pid_t pids[MEMBERS_MAX];
    size_t count = 0;
    if (strncmp(name, "job-", 4) != 0 || bindings->count == CLASSES_MAX ||
        class_open(bindings->backend, name, &class_, NULL) < 0)
        return 0;
    struct bound *bound = &bindings->list[bindings->count];
    *bound = (struct bound){.in_place = class_is_in_place(class_)};
    snprintf(bound->job, sizeof bound->job, "%s", name);
    if (class_members(class_, pids, MEMBERS_MAX, &count, NULL) == 0) {
        for (size_t i = 0; i < count && i < MEMBERS_MAX; i++)
            look_at_process(bindings, bound, pids[i]);
    }
    bindings->count += bound->processes > 0;
    class_close(class_);
    return 0;
}

static const char *binding_remedy(bool in_place)
{
    return in_place ? "start them with --cpu-bind=none; where Slurm confines steps to CPUs it "
                      "cannot be helped"
                    : "start them with --bind-to none (Intel MPI: I_MPI_PIN=off)";
}

static void compare_two(struct doctor *doctor, const struct bound *one, const struct bound *other)
{
    cpu_set_t both;
    CPU_AND(&both, &one->single, &other->single);
    if (CPU_COUNT(&both) == 0)
        return;
    bool in_place = one->in_place && other->in_place;
    char text[2 * BACKEND_NAME_MAX + 128];
    snprintf(text, sizeof text,
             "%s and %s are bound to %d of the same CPUs and take turns there, whatever else is "
             "free",
             one->job, other->job, CPU_COUNT(&both));
    if (in_place)
        note("%s: %s", text, binding_remedy(true));
    else
        fault(doctor, "%s: %s", text, binding_remedy(false));
}

static void compare_bindings(struct doctor *doctor, const struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++) {
        const struct bound *bound = &bindings->list[i];
        for (size_t k = i + 1; k < bindings->count; k++)
            compare_two(doctor, bound, &bindings->list[k]);
        struct bindings_crowd crowd;
        if (bindings_crowded(bindings->list, bindings->count, i, &crowd))
            note("%zu processes of %zu jobs, %s among them, are bound to the same %d CPUs and may "
                 "take turns there, whatever else is free: %s",
                 crowd.processes, crowd.jobs, bound->job, CPU_COUNT(&bound->cpus),
                 binding_remedy(crowd.in_place));
    }
}

// As on a node of one CPU nobody is bound to less than there is.
static int cpus_of_machine(void)
{
    cpu_set_t own;
    return sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 0;
}

static void check_bindings(struct doctor *doctor)
{
    struct bindings bindings = {.machine = cpus_of_machine(),
                                .list = calloc(CLASSES_MAX, sizeof *bindings.list)};
    struct backend_settings settings = {.kind = doctor->config->backend,
                                        .root = doctor->config->cgroup_root,
                                        .cpus = config_cpus(doctor->config),
                                        .period_ns = doctor->config->period_ns,
                                        .records = doctor->config->runtime_dir,
                                        .as_it_is = true};
    struct error err = {.text = "no memory"};
    if (geteuid() != 0) {
        note("bindings of jobs are looked at for root only");
    } else if (bindings.list != NULL && backend_open(&settings, &bindings.backend, &err) == 0) {
        backend_each_class(bindings.backend, look_at_class, &bindings, NULL);
        compare_bindings(doctor, &bindings);
        backend_close(bindings.backend);
    } else {
        note("bindings of jobs could not be looked at: %s", err.text);
    }
    free(bindings.list);
}

static bool has_file(const char *mount, const char *group, const char *file)
{
    char path[2 * PATH_MAX];
    return mount != NULL &&
           (size_t)snprintf(path, sizeof path, "%s/%s/%s", mount, group, file) < sizeof path &&
           access(path, F_OK) == 0;
}

// Without a scheduler ranks notice such processes by themselves; with one they go by what it says.
static void check_sequential(const struct doctor *doctor)
{
    if (*doctor->config->sequential_groups == '\0')
        note("[sequential] groups names nobody: processes that are no MPI jobs compete with the "
             "scheduled job, which may not notice them; name their cgroups, such as user.slice");
    struct discovery found;
    if (discovery_find(&found, NULL) < 0)
        return; // it is said
    char group[CONFIG_TEXT_MAX];
    for (const char *at = doctor->config->sequential_groups;
         group_list_next(&at, group, sizeof group);) {
        if (!has_file(found.v2, group, "cpu.max") &&
            !has_file(found.cpu, group, "cpu.cfs_quota_us"))
            note("[sequential] groups: there is no %s with a limit of CPU time: who computes there "
                 "takes no turns",
                 group);
    }
    discovery_free(&found);
}

int doctor_run(const struct config *config)
{
    struct doctor doctor = {.config = config};
    check_kernel(&doctor);
    check_sight();
    check_cgroups(&doctor);
    check_daemons(&doctor);
    check_clock(&doctor);
    check_library(&doctor);
    check_mpis();
    check_bindings(&doctor);
    check_sequential(&doctor);
    if (doctor.faults > 0)
        printf("%d thing%s to mend\n", doctor.faults, doctor.faults == 1 ? "" : "s");
    else
        puts("nothing to mend");
    return doctor.faults;
}
