// What the v2 backend reads and writes, on a tree of plain files. The kernel's side of it is played
// by the test: it puts the files there, and looks at what was written.
#include "cgroup-backend/groups.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char mount[64];
static backend_t *backend;
static const struct backend_settings settings = {"v2", "lab/node0", 4, 100 * NS_PER_MS,
                                                 NULL, false};

static void put(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", mount, directory);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void unlink_file(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    assert_int_equal(unlink(path), 0);
}

static void assert_file(const char *directory, const char *name, const char *expected)
{
    char path[256], text[256] = "";
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void put_class(const char *directory)
{
    put(directory, "cpu.max", "max 100000\n");
    put(directory, "cpu.weight", "");
    put(directory, "cpu.stat", "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n");
    put(directory, "cgroup.procs", "");
    put(directory, "cgroup.freeze", "");
    put(directory, "cgroup.events", "populated 1\nfrozen 1\n");
    put(directory, "cgroup.kill", "");
}

// The mount point passes cpu on already, "lab" does not yet.
static int set_up(void **state)
{
    (void)state;
    snprintf(mount, sizeof mount, "/tmp/cosched-v2-XXXXXX");
    if (mkdtemp(mount) == NULL)
        return -1;
    put("", "cgroup.controllers", "cpuset cpu io\n");
    put("", "cgroup.subtree_control", "cpu memory\n");
    put("", "cgroup.procs", "");
    put("lab", "cgroup.controllers", "cpu memory\n");
    put("lab", "cgroup.subtree_control", "");
    put("lab/node0", "cgroup.controllers", "cpu\n");
    put("lab/node0", "cgroup.subtree_control", "");
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    backend_close(backend);
    backend = NULL;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", mount);
    return system(command);
}

static void open_backend(void)
{
    struct error err = {0};
    if (v2_open(mount, &settings, &backend, &err) != 0)
        fail_msg("%s", err.text);
}

// The same with a directory for records, which is below the mount point, too.
static void open_backend_with_records(void)
{
    static char records[96];
    struct backend_settings with_records = settings;
    struct error err = {0};
    snprintf(records, sizeof records, "%s/records", mount);
    mkdir(records, 0700);
    with_records.records = records;
    if (v2_open(mount, &with_records, &backend, &err) != 0)
        fail_msg("%s", err.text);
}

static class_t *open_class(const char *name)
{
    struct error err = {0};
    class_t *class_ = NULL;
    if (class_open(backend, name, &class_, &err) != 0)
        fail_msg("%s", err.text);
    return class_;
}

static void cpu_is_enabled_from_the_top(void **state)
{
    (void)state;
    open_backend();
    assert_string_equal(backend_name(backend), "v2");
    assert_file("", "cgroup.subtree_control", "cpu memory\n");
    assert_file("lab", "cgroup.subtree_control", "+cpu\n");
    assert_file("lab/node0", "cgroup.subtree_control", "+cpu\n");
}

static void a_missing_controller_is_explained(void **state)
{
    (void)state;
    struct error err = {0};
    put("lab", "cgroup.controllers", "memory pids cpuset\n");
    assert_int_equal(v2_open(mount, &settings, &backend, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_non_null(strstr(err.text, "lab/cgroup.controllers offers \"memory pids cpuset\""));
    assert_non_null(strstr(err.text, "Delegate=cpu"));
    put("", "cgroup.controllers", "hugetlb\n");
    assert_int_equal(v2_open(mount, &settings, &backend, &err), -1);
    assert_non_null(strstr(err.text, "backend = v1"));
}

static void a_group_with_processes_is_left_alone(void **state)
{
    (void)state;
    struct error err = {0};
    put("lab", "cgroup.type", "domain\n");
    put("lab", "cgroup.procs", "4711\n");
    assert_int_equal(v2_open(mount, &settings, &backend, &err), -1);
    assert_int_equal(err.code, EBUSY);
    assert_non_null(strstr(err.text, "lab: the group has processes of its own"));
    assert_file("lab", "cgroup.subtree_control", "");
    put("lab", "cgroup.procs", "");
    open_backend();
    assert_file("lab", "cgroup.subtree_control", "+cpu\n");
}

static void limits_are_one_line(void **state)
{
    (void)state;
    put_class("lab/node0/a");
    open_backend();
    class_t *a = open_class("a");
    assert_file("lab/node0/a", "cpu.max", "max 100000\n"); // opening changes nothing
    assert_int_equal(class_set_share(a, 10000, NULL), 0);
    assert_file("lab/node0/a", "cpu.max", "4000 100000\n");
    assert_int_equal(class_set_share(a, 970000, NULL), 0);
    assert_file("lab/node0/a", "cpu.max", "388000 100000\n");
    assert_int_equal(class_begin_periods(a, 970000, NULL), 1);
    assert_file("lab/node0/a", "cpu.max", "388000 100000\n");
    assert_int_equal(class_period_ns(a, 970000), 100 * NS_PER_MS);
    put("lab/node0/a", "cpu.max", "");                   // files of the test do not become shorter
    assert_int_equal(class_set_share(a, 1000, NULL), 0); // 0.4 ms of 100 ms
    assert_file("lab/node0/a", "cpu.max", "2000 500000\n");
    put("lab/node0/a", "cpu.max", "");
    assert_int_equal(class_set_share(a, BACKEND_UNLIMITED, NULL), 0);
    assert_file("lab/node0/a", "cpu.max", "max 100000\n");
    class_close(a);
}

// 4 CPUs: or a job of 4 processes would weigh as much as one process that is in no class.
static void classes_weigh_as_much_as_the_node(void **state)
{
    (void)state;
    put_class("lab/node0");
    put_class("lab/node0/a");
    open_backend();
    class_close(open_class("a"));
    assert_file("lab/node0", "cpu.weight", "400\n");
    assert_file("lab/node0/a", "cpu.weight", "400\n");
}

static void usage_comes_from_cpu_stat(void **state)
{
    (void)state;
    uint64_t usage_ns = 0;
    struct error err = {0};
    put_class("lab/node0/a");
    open_backend();
    class_t *a = open_class("a");
    assert_int_equal(class_usage(a, &usage_ns, NULL), 0);
    assert_int_equal(usage_ns, 1234567000);
    put("lab/node0/a", "cpu.stat", "nr_periods 5\n");
    assert_int_equal(class_usage(a, &usage_ns, &err), -1);
    assert_int_equal(err.code, EBADMSG);
    class_close(a);
}

static void freezing_waits_for_the_event(void **state)
{
    (void)state;
    struct error err = {0};
    put_class("lab/node0/a");
    open_backend();
    class_t *a = open_class("a");
    assert_int_equal(class_freeze(a, NULL), 0);
    assert_int_equal(class_thaw(a, NULL), 0);
    assert_file("lab/node0/a", "cgroup.freeze", "1\n0\n");
    put("lab/node0/a", "cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    unlink_file("lab/node0/a", "cgroup.freeze");
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_non_null(strstr(err.text, "Linux 5.2"));
    class_close(a);
}

static void placing_writes_the_pid(void **state)
{
    (void)state;
    char text[32];
    size_t count = 0;
    pid_t pids[1];
    put_class("lab/node0/a");
    open_backend();
    class_t *a = open_class("a");
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    snprintf(text, sizeof text, "%d\n", (int)pid);
    assert_int_equal(class_place(a, pid, NULL), 0);
    assert_file("lab/node0/a", "cgroup.procs", text);
    assert_int_equal(class_members(a, pids, 1, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], pid);
    class_close(a);
    // Of an adopted class the origin is not known.
    a = open_class("a");
    assert_int_equal(class_expel(a, pid, NULL), 0);
    assert_file("", "cgroup.procs", text);
    class_close(a);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void kill_uses_the_kernels_or_its_own(void **state)
{
    (void)state;
    char text[32];
    struct error err = {0};
    int status = 0;
    put_class("lab/node0/a");
    put("lab/node0/a", "cpu.max", "4000 100000\n");
    open_backend();
    class_t *a = open_class("a");
    assert_int_equal(class_kill(a, NULL), 0);
    assert_file("lab/node0/a", "cgroup.kill", "1\n");
    assert_file("lab/node0/a", "cpu.max", "4000 100000\n");
    assert_file("lab/node0/a", "cgroup.freeze", "");
    unlink_file("lab/node0/a", "cgroup.kill");
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    snprintf(text, sizeof text, "%d\n", (int)pid);
    put("lab/node0/a", "cgroup.procs", text);
    put("lab/node0/a", "cgroup.freeze", "");
    // These files do not know that the process died, so it gives up in the end.
    assert_int_equal(class_kill(a, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    class_close(a);
}

static void a_failed_open_leaves_nothing(void **state)
{
    (void)state;
    class_t *a = NULL;
    struct error err = {0};
    char path[256];
    open_backend();
    assert_int_equal(class_open(backend, "new", &a, &err), -1); // no kernel fills the directory
    assert_int_equal(err.code, ENOENT);
    assert_non_null(strstr(err.text, "cpu.max"));
    snprintf(path, sizeof path, "%s/lab/node0/new", mount);
    assert_int_equal(access(path, F_OK), -1);
}

static int collect(const char *name, void *user)
{
    strcat(user, name);
    return 0;
}

static void release_goes_on_after_a_failure(void **state)
{
    (void)state;
    struct error err = {0};
    unsigned lifted = 0;
    char names[32] = "";
    const char *const classes[] = {"lab/node0/a", "lab/node0/b", "lab/node0/c"};
    for (unsigned i = 0; i < 3; i++) {
        put_class(classes[i]);
        put(classes[i], "cpu.max", "");
    }
    unlink_file("lab/node0/b", "cpu.max");
    unlink_file("lab/node0/c", "cgroup.freeze"); // an old kernel: nothing can be frozen
    open_backend();
    assert_int_equal(backend_each_class(backend, collect, names, NULL), 0);
    assert_int_equal(strlen(names), 3);
    assert_int_equal(backend_release_all(backend, &lifted, &err), 1);
    assert_int_equal(lifted, 2);
    assert_int_equal(err.code, ENOENT);
    assert_file("lab/node0/a", "cpu.max", "max\n");
    assert_file("lab/node0/c", "cpu.max", "max\n");
    assert_file("lab/node0/a", "cgroup.freeze", "0\n");
}

// A process of the class "a", which is suspended by signals.
static pid_t stop_somebody(void)
{
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    char text[32];
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    snprintf(text, sizeof text, "%d\n", (int)pid);
    put_class("lab/node0/a");
    put("lab/node0/a", "cgroup.procs", text);
    open_backend_with_records();
    class_t *a = open_class("a");
    for (int pass = 0; pass < 1000 && class_suspend(a, &how, NULL) != 0; pass++)
        usleep(1000);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    class_close(a);
    return pid;
}

static void assert_continued(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), pid);
    assert_true(WIFCONTINUED(status));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void who_was_stopped_continues_whatever_else_fails(void **state)
{
    (void)state;
    pid_t pid = stop_somebody();
    unlink_file("lab/node0/a", "cpu.max");
    assert_int_equal(backend_release_all(backend, NULL, NULL), 1);
    assert_continued(pid);
}

static void who_was_stopped_continues_whatever_became_of_the_record(void **state)
{
    (void)state;
    pid_t pid = stop_somebody();
    put("records/suspended", "a", "means");
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_continued(pid);
}

static pid_t stopped; // of the class "a"
static unsigned lifted_before;

static int lift_and_look(struct cgroup_backend *of, const char *name, struct error *err)
{
    siginfo_t info = {0};
    (void)of;
    (void)name;
    (void)err;
    assert_int_equal(waitid(P_PID, (id_t)stopped, &info, WCONTINUED | WNOHANG | WNOWAIT), 0);
    lifted_before += info.si_pid == 0; // it has not been continued
    return 0;
}

// Looking for all processes of a job takes time, in which others' limits would stand.
static void all_are_lifted_before_anybody_is_continued(void **state)
{
    enum { CLASSES = 20 };
    unsigned lifted = 0;
    (void)state;
    stopped = stop_somebody();
    for (int i = 1; i < CLASSES; i++) {
        char name[32];
        snprintf(name, sizeof name, "lab/node0/class%d", i);
        put_class(name);
    }
    lifted_before = 0;
    assert_int_equal(
        groups_release_all((struct cgroup_backend *)backend, lift_and_look, &lifted, NULL), 0);
    assert_int_equal(lifted, CLASSES);
    assert_int_equal(lifted_before, CLASSES);
    assert_continued(stopped);
}

static bool is_recorded(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/records/suspended/a", mount);
    return access(path, F_OK) == 0;
}

// Opens and closes the class "a": 1 when it is suspended, 0 when not, or a negative errno value.
static int look_at_a(void)
{
    struct class_suspension how;
    struct error err = {0};
    class_t *a = NULL;
    if (class_open(backend, "a", &a, &err) != 0)
        return -err.code;
    int suspended = class_suspended(a, &how);
    class_close(a);
    return suspended;
}

static void suspend_a(void)
{
    const struct class_suspension how = {.means = CLASS_BY_SHARE};
    put_class("lab/node0/a");
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, NULL), 0);
    class_close(a);
    assert_true(is_recorded());
}

// Else its stopped processes would be nobody's to continue.
static void a_suspension_outlives_a_lack_of_descriptors(void **state)
{
    (void)state;
    struct rlimit usual, few;
    suspend_a();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    few = usual;
    for (unsigned room = 0; room < 6; room++) {
        few.rlim_cur = (rlim_t)next + room;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int seen = look_at_a();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(seen == -EMFILE || seen == 1);
        assert_true(is_recorded());
    }
    assert_int_equal(look_at_a(), 1);
}

static void a_suspension_outlives_a_lack_of_memory(void **state)
{
    (void)state;
    struct rlimit usual, none;
    char path[96];
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); // they end the program when there is no memory
#endif
    suspend_a();
    snprintf(path, sizeof path, "%s/records/suspended/a", mount);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "means 3 root 0 0 others 60000\n");
    for (unsigned i = 1; i <= 60000; i++)
        fprintf(file, "%u 1\n", i);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_DATA, &usual), 0);
    none = usual;
    none.rlim_cur = 4096; // to the kernel 0 is another matter
    assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
    int seen = look_at_a();
    assert_int_equal(setrlimit(RLIMIT_DATA, &usual), 0);
    assert_int_equal(seen, -ENOMEM);
    assert_true(is_recorded());
    assert_int_equal(look_at_a(), 1);
}

static void what_is_no_record_goes(void **state)
{
    (void)state;
    struct backend_settings looking = settings;
    char path[96];
    suspend_a();
    put("records/suspended", "a", "means 3 root 0 0 others 1\n0 0\n");
    backend_close(backend);
    snprintf(path, sizeof path, "%s/records", mount);
    looking.records = path;
    looking.as_it_is = true;
    assert_int_equal(v2_open(mount, &looking, &backend, NULL), 0);
    assert_int_equal(look_at_a(), 0);
    assert_true(is_recorded()); // it is not for who only looks to remove it
    backend_close(backend);
    open_backend_with_records();
    assert_int_equal(look_at_a(), 0);
    assert_false(is_recorded());
}

// Its last process ends, and the daemon removes it, just then.
static int lift_what_goes(struct cgroup_backend *of, const char *name, struct error *err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", of->hierarchies[0].root, name);
    assert_int_equal(rmdir(path), 0);
    return error_set(err, ENOENT, "%s is gone", path);
}

static void a_class_that_goes_meanwhile_is_no_failure(void **state)
{
    (void)state;
    unsigned lifted = 1;
    put("lab/node0/a", "none", "");
    unlink_file("lab/node0/a", "none");
    open_backend();
    assert_int_equal(
        groups_release_all((struct cgroup_backend *)backend, lift_what_goes, &lifted, NULL), 0);
    assert_int_equal(lifted, 0);
}

static void a_busy_group_is_reported(void **state)
{
    (void)state;
    struct error err = {0};
    put_class("lab/node0/a");
    put("lab/node0/a", "cpu.max", "9 100\n");
    open_backend();
    assert_int_equal(class_remove(open_class("a"), &err), -1); // plain files keep the directory
    assert_int_equal(err.code, EBUSY);
    assert_non_null(strstr(err.text, "lab/node0/a"));
    assert_file("lab/node0/a", "cpu.max", "max\n0\n"); // lifted: the kernel reads the first line
}

static int lowest_free_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

// There may be thousands.
static void what_is_being_removed_holds_no_descriptor_and_no_limit(void **state)
{
    (void)state;
    struct error err = {0};
    put_class("lab/node0/a");
    open_backend();
    int before = lowest_free_descriptor();
    class_t *class_ = open_class("a");
    assert_int_equal(class_set_share(class_, 10000, NULL), 0);
    for (int i = 0; i < 3; i++) {
        put("lab/node0/a", "cpu.max", "9 100\n");
        assert_int_equal(class_remove_step(class_, 8, &err), -1);
        assert_int_equal(err.code, EAGAIN); // plain files keep the directory
        assert_file("lab/node0/a", "cpu.max", "max\n0\n");
        assert_int_equal(lowest_free_descriptor(), before);
    }
    class_close(class_);
}

// As in a container, whose top group passes controllers on and so takes no process, when where he
// came from is gone or not known: he leaves by ending, and the class is looked at until then.
static void who_cannot_be_moved_is_waited_for(void **state)
{
    (void)state;
    struct error err = {0};
    char pid[16], top[96];
    put_class("lab/node0/a");
    open_backend();
    class_t *class_ = open_class("a");
    snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    put("lab/node0/a", "cgroup.procs", pid);
    unlink_file("", "cgroup.procs");
    snprintf(top, sizeof top, "%s/cgroup.procs", mount);
    assert_int_equal(mkdir(top, 0755), 0); // it takes nobody
    for (int i = 0; i < 3; i++) {
        assert_int_equal(class_remove_step(class_, 8, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_non_null(strstr(err.text, top)); // why
    }
    assert_int_equal(rmdir(top), 0);
    put("", "cgroup.procs", "");
    assert_int_equal(class_remove_step(class_, 8, &err), -1); // plain files keep the directory
    assert_int_equal(err.code, EAGAIN);
    assert_file("", "cgroup.procs", pid);
    class_close(class_);
}

static void assert_limit(const char *group, const char *expected)
{
    char path[256], text[64] = "";
    snprintf(path, sizeof path, "%s/%s/cpu.max", mount, group);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, strlen(expected), file)] =
        '\0'; // a plain file keeps the end of a longer line
    fclose(file);
    assert_string_equal(text, expected);
}

// Somebody else sets a limit just when there is no space for the record of it.
static void a_record_is_written_as_soon_as_there_is_space(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    char draft[128];
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    snprintf(draft, sizeof draft, "%s/records/placed/.s", mount);
    assert_int_equal(mkdir(draft, 0700), 0);
    put("user.slice", "cpu.max", "300000 100000\n");
    assert_int_equal(class_set_share(class_, 50000, &err), -1);
    assert_int_equal(err.code, EISDIR);
    assert_limit("user.slice", "300000 100000\n");
    assert_int_equal(rmdir(draft), 0);
    assert_int_equal(class_set_share(class_, 50000, NULL), 0);
    assert_limit("user.slice", "20000 100000\n");
    assert_int_equal(class_remove(class_, NULL), 0);
    assert_limit("user.slice", "300000 100000\n");
}

// As when systemd takes the controller away from a slice in which no unit wants it any more.
static void a_limit_that_is_gone_needs_no_lifting(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    unsigned lifted = 1;
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    assert_int_equal(class_set_share(class_, 50000, NULL), 0);
    unlink_file("user.slice", "cpu.max");
    assert_int_equal(backend_release_all(backend, &lifted, &err), 0);
    assert_int_equal(lifted, 0);
    class_close(class_);
    // Nor is the class in place any more. (Plain files do not come with a directory that is made.)
    assert_int_equal(class_open(backend, "s", &class_, &err), -1);
    assert_non_null(strstr(err.text, "lab/node0/s/cpu.max"));
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, &err), -1);
    assert_int_equal(err.code, ENOTSUP); // which the log tells of a job, too
    assert_non_null(strstr(err.text, "user.slice has no cpu.max: the group above it must pass"));
}

// Whoever looks at a class whose job ends just then must not make it anew.
static void who_looks_makes_nothing(void **state)
{
    (void)state;
    struct backend_settings looking = settings;
    struct error err = {0};
    class_t *class_ = NULL;
    char path[96];
    looking.as_it_is = true;
    if (v2_open(mount, &looking, &backend, &err) != 0)
        fail_msg("%s", err.text);
    assert_file("lab", "cgroup.subtree_control", "");
    assert_int_equal(class_open(backend, "a", &class_, &err), -1);
    assert_int_equal(err.code, ENOENT);
    snprintf(path, sizeof path, "%s/lab/node0/a", mount);
    assert_int_equal(access(path, F_OK), -1);
    put_class("lab/node0/a");
    class_close(open_class("a"));
    assert_file("lab/node0/a", "cpu.weight", ""); // which is the daemon's, who knows its CPUs
}

// Jobs and named groups in place need no root; whoever lifts what a killed daemon has left must not
// fail for it.
static void limits_are_lifted_whatever_became_of_the_root(void **state)
{
    (void)state;
    struct error err = {0};
    struct backend_settings lifting = settings;
    class_t *class_ = NULL;
    char path[96];
    snprintf(path, sizeof path, "%s/records", mount);
    lifting.records = path;
    lifting.as_it_is = true;
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    backend_t *killed = backend; // which the class lives on
    backend = NULL;
    for (int gone = 0; gone < 2; gone++) {
        put("user.slice", "cpu.max", "max 100000\n"); // (a plain file keeps the end of a line)
        assert_int_equal(class_set_share(class_, 50000, NULL), 0);
        assert_limit("user.slice", "20000 100000\n");
        if (gone) {
            char command[128];
            snprintf(command, sizeof command, "rm -r '%s/lab'", mount);
            assert_int_equal(system(command), 0);
        } else {
            put("lab/node0", "cgroup.type", "domain threaded\n");
            put("lab/node0", "cgroup.procs", "4711\n");
            assert_int_equal(v2_open(mount, &settings, &backend, &err), -1);
            assert_int_equal(err.code, EBUSY);
        }
        if (v2_open(mount, &lifting, &backend, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(backend_release_all(backend, NULL, &err), 0);
        assert_limit("user.slice", "max 100000\n");
        backend_close(backend);
        backend = NULL;
    }
    assert_int_equal(access(path, F_OK), 0); // the record is the next daemon's
    class_close(class_);
    backend_close(killed);
}

#define on_files(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

static void assert_no_records(void)
{
    char records[96];
    snprintf(records, sizeof records, "%s/records", mount);
    assert_int_equal(rmdir(records), 0);
}

static void a_named_group_is_limited_in_place(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    uint64_t usage_ns = 0;
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, &err), -1);
    assert_int_equal(err.code, ENOENT);
    put_class("user.slice");
    if (class_open_named(backend, "s", "user.slice", &class_, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(class_set_share(class_, 50000, &err), 0);
    assert_limit("user.slice", "20000 100000\n");
    assert_file("user.slice", "cpu.weight", "");
    assert_file("user.slice", "cgroup.freeze", "");
    assert_int_equal(class_usage(class_, &usage_ns, &err), 0);
    assert_int_equal(usage_ns, 1234567000);
    assert_int_equal(class_remove(class_, &err), 0);
    assert_limit("user.slice", "max 100000\n");
    assert_no_records();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_files(cpu_is_enabled_from_the_top),
        on_files(a_missing_controller_is_explained),
        on_files(a_group_with_processes_is_left_alone),
        on_files(limits_are_one_line),
        on_files(classes_weigh_as_much_as_the_node),
        on_files(usage_comes_from_cpu_stat),
        on_files(freezing_waits_for_the_event),
        on_files(placing_writes_the_pid),
        on_files(kill_uses_the_kernels_or_its_own),
        on_files(a_failed_open_leaves_nothing),
        on_files(release_goes_on_after_a_failure),
        on_files(a_busy_group_is_reported),
        on_files(what_is_being_removed_holds_no_descriptor_and_no_limit),
        on_files(who_cannot_be_moved_is_waited_for),
        on_files(a_named_group_is_limited_in_place),
        on_files(a_record_is_written_as_soon_as_there_is_space),
        on_files(a_limit_that_is_gone_needs_no_lifting),
        on_files(who_looks_makes_nothing),
        on_files(limits_are_lifted_whatever_became_of_the_root),
        on_files(who_was_stopped_continues_whatever_else_fails),
        on_files(all_are_lifted_before_anybody_is_continued),
        on_files(who_was_stopped_continues_whatever_became_of_the_record),
        on_files(a_suspension_outlives_a_lack_of_descriptors),
        on_files(a_suspension_outlives_a_lack_of_memory),
        on_files(what_is_no_record_goes),
        on_files(a_class_that_goes_meanwhile_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
