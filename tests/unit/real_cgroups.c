#include "tests/unit/real_cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct version v1 = {"v1", "tasks", "cpu.shares", 2048, "freezer.state", "THAWED"};
const struct version v2 = {"v2", "cgroup.threads", "cpu.weight", 200, "cgroup.freeze", "0"};
const struct version *version;
struct discovery found;
const char *mounts[3];
unsigned mount_count;
char root[64];
backend_t *backend;
struct error err;
pid_t children[CHILDREN_MAX];
unsigned child_count;

// Why the tests cannot run here; null when they can.
static const char *find_version(void)
{
    if (geteuid() != 0)
        return "needs root";
    if (discovery_find(&found, &err) != 0)
        return err.text;
    version = found.v2 != NULL ? &v2 : &v1;
    const char *const v1_mounts[] = {found.cpu, found.cpuacct, found.freezer};
    mount_count = version == &v2 ? 1 : 3;
    for (unsigned i = 0; i < mount_count; i++) {
        mounts[i] = version == &v2 ? found.v2 : v1_mounts[i];
        if (mounts[i] == NULL)
            return "cgroup v1 without all of cpu, cpuacct and freezer";
    }
    return NULL;
}

bool find_cgroups(void)
{
    const char *missing = find_version();
    if (missing != NULL) {
        printf("skipped: %s\n", missing);
        discovery_free(&found);
        return false;
    }
    snprintf(root, sizeof root, "cosched-test-%d", (int)getpid());
    return true;
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

void sleep_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&pause, &pause) != 0)
        ;
}

pid_t start(void (*work)(void *), void *user)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(user);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_true(child_count < CHILDREN_MAX);
    children[child_count++] = pid;
    return pid;
}

void wait_forever(void *user)
{
    (void)user;
    for (;;)
        pause();
}

void burn(void *user)
{
    (void)user;
    for (volatile unsigned long i = 0;; i++)
        ;
}

bool is_in(const char *mount, const char *path, pid_t pid, const char *file)
{
    char name[512];
    int one;
    bool there = false;
    snprintf(name, sizeof name, "%s/%s/%s", mount, path, file);
    FILE *stream = fopen(name, "re");
    while (stream != NULL && fscanf(stream, "%d", &one) == 1)
        there = there || one == pid;
    if (stream != NULL)
        fclose(stream);
    return there;
}

bool in_class(const char *class_, pid_t pid, const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, class_);
    for (unsigned i = 0; i < mount_count; i++)
        if (!is_in(mounts[i], path, pid, file))
            return false;
    return true;
}

void make_origin(char *from, size_t size, unsigned hierarchies)
{
    char path[512];
    snprintf(from, size, "%s-from", root);
    for (unsigned i = 0; i < hierarchies; i++) {
        snprintf(path, sizeof path, "%s/%s", mounts[i], from);
        assert_int_equal(mkdir(path, 0755), 0);
    }
}

void enter(const char *mount, const char *group, pid_t pid)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/cgroup.procs", mount, group);
    FILE *procs = fopen(path, "we");
    assert_non_null(procs);
    fprintf(procs, "%d\n", (int)pid);
    assert_int_equal(fclose(procs), 0);
}

void read_text(const char *class_, const char *file, char *text, int size)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s/%s/%s", mounts[0], root, class_, file);
    FILE *stream = fopen(name, "re");
    assert_non_null(stream);
    assert_non_null(fgets(text, size, stream));
    fclose(stream);
}

void write_text(const char *class_, const char *file, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s/%s/%s", mounts[0], root, class_, file);
    FILE *stream = fopen(name, "we");
    assert_non_null(stream);
    fprintf(stream, "%s\n", text);
    assert_int_equal(fclose(stream), 0);
}

long long number_in(const char *class_, const char *file)
{
    char text[64];
    read_text(class_, file, text, sizeof text);
    return atoll(text);
}

struct limit limit_of(const char *class_)
{
    if (version == &v1)
        return (struct limit){number_in(class_, "cpu.cfs_quota_us"),
                              number_in(class_, "cpu.cfs_period_us")};
    struct limit limit = {-1, 0};
    char text[64];
    read_text(class_, "cpu.max", text, sizeof text);
    if (sscanf(text, "max %lld", &limit.period_us) != 1)
        assert_int_equal(sscanf(text, "%lld %lld", &limit.quota_us, &limit.period_us), 2);
    return limit;
}

void double_limit_of(const char *class_)
{
    struct limit limit = limit_of(class_);
    char text[64];
    if (version == &v1) {
        snprintf(text, sizeof text, "%lld", 2 * limit.period_us);
        write_text(class_, "cpu.cfs_period_us", text);
        snprintf(text, sizeof text, "%lld", 2 * limit.quota_us);
        write_text(class_, "cpu.cfs_quota_us", text);
    } else {
        snprintf(text, sizeof text, "%lld %lld", 2 * limit.quota_us, 2 * limit.period_us);
        write_text(class_, "cpu.max", text);
    }
}

long long quota_of(const char *class_)
{
    return limit_of(class_).quota_us;
}

class_t *open_class(const char *name)
{
    class_t *class_ = NULL;
    if (class_open(backend, name, &class_, &err) != 0)
        fail_msg("%s", err.text);
    return class_;
}

uint64_t usage_of(class_t *class_)
{
    uint64_t usage_ns = 0;
    assert_ok(class_usage(class_, &usage_ns, &err));
    return usage_ns;
}

size_t members_of(class_t *class_)
{
    size_t count = 0;
    assert_ok(class_members(class_, NULL, 0, &count, &err));
    return count;
}

double share_of_one_cpu(class_t *class_, unsigned ms)
{
    uint64_t usage_ns = usage_of(class_), begin_ns = now_ns();
    sleep_ms(ms);
    return (double)(usage_of(class_) - usage_ns) / (double)(now_ns() - begin_ns);
}

int set_up(void **state)
{
    (void)state;
    struct backend_settings settings = {"auto", root, 2, 100 * NS_PER_MS, NULL, false, false};
    if (backend_open(&settings, &backend, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

// Members of the test's own groups go, then the groups, from the leaves up.
static void remove_tree(const char *path)
{
    char name[1024];
    snprintf(name, sizeof name, "%s/%s", path, version->thaw);
    FILE *freezer = fopen(name, "we");
    if (freezer != NULL) {
        fputs(version->thaw_word, freezer);
        fclose(freezer);
    }
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        remove_tree(name);
    }
    closedir(directory);
    snprintf(name, sizeof name, "%s/cgroup.procs", path);
    for (int tries = 0; tries < 200 && rmdir(path) != 0 && errno == EBUSY; tries++) {
        FILE *procs = fopen(name, "re");
        int pid;
        while (procs != NULL && fscanf(procs, "%d", &pid) == 1)
            kill(pid, SIGKILL);
        if (procs != NULL)
            fclose(procs);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        sleep_ms(5);
    }
}

int clean_up(void **state)
{
    (void)state;
    backend_close(backend);
    backend = NULL;
    for (unsigned i = 0; i < child_count; i++)
        kill(children[i], SIGKILL);
    child_count = 0;
    char path[512];
    for (unsigned i = 0; i < mount_count; i++) {
        snprintf(path, sizeof path, "%s/%s", mounts[i], root);
        remove_tree(path);
        snprintf(path, sizeof path, "%s/%s-from", mounts[i], root);
        remove_tree(path);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return 0;
}
