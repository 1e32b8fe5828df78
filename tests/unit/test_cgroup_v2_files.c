// What the v2 backend reads and writes, on a tree of plain files. Suspension and groups in place
// are in test_cgroup_v2_suspension.c and _named.c.
#include "tests/unit/v2_files.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

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
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_file("lab/node0", "cpu.weight", "400\n100\n");
    assert_file("lab/node0/a", "cpu.weight", "400\n100\n");
    backend_weigh_all(backend);
    assert_file("lab/node0", "cpu.weight", "400\n100\n400\n");
    assert_file("lab/node0/a", "cpu.weight", "400\n100\n400\n");
}

// The daemon knows its CPUs, and may go on; whoever releases only takes back.
static void who_releases_needs_no_weight(void **state)
{
    (void)state;
    struct backend_settings looking = settings;
    struct error err = {0};
    put_class("lab/node0");
    put_class("lab/node0/a");
    looking.as_it_is = true;
    if (v2_open(mount, &looking, &backend, &err) != 0)
        fail_msg("%s", err.text);
    backend_weigh_all(backend);
    assert_file("lab/node0", "cpu.weight", "");
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_file("lab/node0", "cpu.weight", "100\n");
    assert_file("lab/node0/a", "cpu.weight", "100\n");
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

static pid_t somebody(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
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
    pid_t pid = somebody();
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

// What one registration costs is bounded, however many have been born into the class.
static void reading_the_class_counts_as_looking(void **state)
{
    enum { CROWD = 65536 * 64 + 64 };
    static char text[2 * CROWD + 1];
    struct error err = {0};
    (void)state;
    for (int i = 0; i < CROWD; i++)
        memcpy(text + 2 * (size_t)i, "1\n", 2);
    put_class("lab/node0/a");
    open_backend();
    class_t *a = open_class("a");
    pid_t pid = somebody();
    put("lab/node0/a", "cgroup.procs", text);
    assert_int_equal(class_place(a, pid, &err), -1);
    assert_int_equal(err.code, E2BIG);
    assert_non_null(strstr(err.text, "too many threads and processes looked at"));
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

// While it is empty nothing keeps anybody from that, and no job would be taken any more.
static void a_root_that_has_lost_cpu_is_given_it_again(void **state)
{
    (void)state;
    class_t *a = NULL;
    struct error err = {0};
    open_backend();
    put("lab/node0", "cgroup.subtree_control", "");
    assert_int_equal(class_open(backend, "new", &a, &err), -1); // no kernel fills the directory
    assert_file("lab/node0", "cgroup.subtree_control", "+cpu\n");
    assert_non_null(strstr(err.text, "cpu.max"));
    put("lab/node0", "cgroup.subtree_control", "");
    put("lab/node0", "cgroup.controllers", "memory\n");
    assert_int_equal(class_open(backend, "new", &a, &err), -1);
    assert_non_null(strstr(err.text, "offers \"memory\""));
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
    put("lab/node0/b/cpu.max", "none", "");      // no file to write to
    unlink_file("lab/node0/c", "cgroup.freeze"); // an old kernel: nothing can be frozen
    open_backend();
    assert_int_equal(backend_each_class(backend, collect, names, NULL), 0);
    assert_int_equal(strlen(names), 3);
    assert_int_equal(backend_release_all(backend, &lifted, &err), 1);
    assert_int_equal(lifted, 2);
    assert_int_equal(err.code, EISDIR);
    assert_file("lab/node0/a", "cpu.max", "max\n");
    assert_file("lab/node0/c", "cpu.max", "max\n");
    assert_file("lab/node0/a", "cgroup.freeze", "0\n");
}

// As when somebody has taken the controller from the groups below the root.
static void a_class_without_the_controller_has_no_limit_to_lift(void **state)
{
    (void)state;
    struct error err = {0};
    put_class("lab/node0/a");
    unlink_file("lab/node0/a", "cpu.max");
    open_backend();
    assert_int_equal(backend_release_all(backend, NULL, &err), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_files(cpu_is_enabled_from_the_top),
        on_files(a_missing_controller_is_explained),
        on_files(a_group_with_processes_is_left_alone),
        on_files(limits_are_one_line),
        on_files(classes_weigh_as_much_as_the_node),
        on_files(who_releases_needs_no_weight),
        on_files(usage_comes_from_cpu_stat),
        on_files(freezing_waits_for_the_event),
        on_files(placing_writes_the_pid),
        on_files(reading_the_class_counts_as_looking),
        on_files(kill_uses_the_kernels_or_its_own),
        on_files(a_failed_open_leaves_nothing),
        on_files(a_root_that_has_lost_cpu_is_given_it_again),
        on_files(release_goes_on_after_a_failure),
        on_files(a_class_without_the_controller_has_no_limit_to_lift),
        on_files(a_busy_group_is_reported),
        on_files(what_is_being_removed_holds_no_descriptor_and_no_limit),
        on_files(who_cannot_be_moved_is_waited_for),
        on_files(who_looks_makes_nothing),
        on_files(a_class_that_goes_meanwhile_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
