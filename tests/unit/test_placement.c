// Which group was made for a job and who belongs to it, from paths and processes alone; and the
// records of classes in place, which must survive the daemon and mislead nobody.
#include "cgroup-backend/placement.h"
#include "cgroup-backend/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// What placement_find() says for user 7: "manager:group".
static void assert_found(const char *path, const char *expected)
{
    static const char *const managers[] = {"unknown", "slurm", "systemd", "named", "script"};
    char text[256];
    size_t length;
    enum placement_manager manager = placement_find(path, 7, &length);
    snprintf(text, sizeof text, "%s:%.*s", managers[manager], (int)length, path);
    assert_string_equal(text, expected);
}

static void groups_of_slurm(void **state)
{
    (void)state;
    assert_found("/slurm/uid_7/job_3/step_0", "slurm:/slurm/uid_7/job_3/step_0");
    assert_found("/slurm/uid_7/job_3/step_0/task_1", "slurm:/slurm/uid_7/job_3/step_0");
    assert_found("/slurm_node1/uid_7/job_30/step_12/task_1/deeper",
                 "slurm:/slurm_node1/uid_7/job_30/step_12");
    assert_found("/system.slice/slurmstepd.scope/job_3/step_0/user/task_0",
                 "slurm:/system.slice/slurmstepd.scope/job_3/step_0/user");
    assert_found("/system.slice/slurmstepd.scope/job_3/step_0/slurm",
                 "slurm:/system.slice/slurmstepd.scope/job_3/step_0");
    assert_found("/slurm/uid_8/job_3/step_0", "slurm:");
    assert_found("/slurm/uid_7/job_3/step_batch/task_0", "script:/slurm/uid_7/job_3/step_batch");
    assert_found("/slurm/uid_8/job_3/step_batch", "script:");
    assert_found("/slurm/uid_7/job_3/step_extern", "slurm:");
    assert_found("/slurm/uid_7/job_3/step_interactive", "slurm:");
    // Several programs of one srun.
    assert_found("/slurm/uid_7/job_3/step_0+1/task_0", "slurm:/slurm/uid_7/job_3/step_0+1");
    assert_found("/slurm/uid_7/job_3/step_0+/task_0", "slurm:");
    assert_found("/slurm/uid_7/job_3/step_+1/task_0", "slurm:");
    // Since 26.05, on cgroup v2.
    assert_found("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0",
                 "slurm:/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user");
    assert_found("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batch/user/task_0",
                 "script:/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batch/user");
    assert_found("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batches/user", "slurm:");
    assert_found("/system.slice/slurmstepd.scope/sEKNKTV3WPV50/step_0/user", "systemd:");
    assert_found("/system.slice/slurmstepd.scope/system", "systemd:");
    assert_found("/system.slice/node1_slurmstepd.scope/system", "systemd:");
    assert_found("/system.slice/slurmd.service", "systemd:");
    assert_found("/slurm/uid_7/job_3", "unknown:");
    assert_found("/slurm/uid_7/job_/step_0", "unknown:");
    assert_found("/slurm/uid_7/job_3x/step_0", "unknown:");
}

static void who_is_in_a_step_is_kept(void **state)
{
    (void)state;
    assert_true(placement_is_kept("/slurm/uid_7/job_3/step_0/task_1"));
    assert_true(placement_is_kept("/system.slice/slurmstepd.scope/job_3/step_0+1/user/task_0"));
    assert_true(placement_is_kept("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user"));
    assert_false(placement_is_kept("/slurm/uid_7/job_3/step_batch/task_0"));
    assert_false(placement_is_kept("/slurm/uid_7/job_3/step_extern"));
    assert_false(placement_is_kept("/system.slice/slurmd.service"));
    assert_false(placement_is_kept("/system.slice/run-u1.service"));
    assert_false(placement_is_kept("/"));
}

static void groups_of_systemd(void **state)
{
    (void)state;
    assert_found("/system.slice/run-u1.service", "systemd:/system.slice/run-u1.service");
    assert_found("/system.slice/run-r1.scope/below", "systemd:/system.slice/run-r1.scope");
    assert_found("/user.slice/user-7.slice/user@7.service/app.slice/run-r1.scope",
                 "systemd:/user.slice/user-7.slice/user@7.service/app.slice/run-r1.scope");
    assert_found("/user.slice/user-7.slice/session-3.scope", "systemd:");
    assert_found("/user.slice/user-7.slice/user@7.service/app.slice", "systemd:");
    assert_found("/user.slice/user-7.slice/user@7.service/init.scope", "systemd:");
    assert_found("/init.scope", "systemd:");
    assert_found("/pbs_jobs.service/jobid/3.server", "systemd:"); // not all jobs of PBS
    assert_found("/system.slice", "unknown:");
    assert_found("/.scope", "unknown:");
    assert_found("/", "unknown:");
    assert_found("", "unknown:");
}

static void launchers(void **state)
{
    (void)state;
    assert_true(placement_is_launcher("mpiexec"));
    assert_true(placement_is_launcher("mpiexec.hydra"));
    assert_true(placement_is_launcher("mpirun.openmpi"));
    assert_true(placement_is_launcher("hydra_pmi_proxy"));
    assert_true(placement_is_launcher("slurmstepd"));
    assert_false(placement_is_launcher("sh"));
    assert_false(placement_is_launcher("mpiexecutive"));
    assert_false(placement_is_launcher("mpi"));
    assert_false(placement_is_launcher(""));
}

enum { ME = 10 };

static struct placement_process one(pid_t pid, pid_t parent, uid_t uid, const char *name)
{
    struct placement_process process = {.pid = pid, .parent = parent, .uid = uid};
    snprintf(process.name, sizeof process.name, "%s", name);
    return process;
}

static void families_end_at_the_launcher(void **state)
{
    (void)state;
    struct placement_process line[] = {one(ME, 9, 7, "prog"), one(9, 8, 7, "numactl"),
                                       one(8, 5, 7, "sh"), one(5, 4, 7, "hydra_pmi_proxy"),
                                       one(4, 1, 7, "sh")};
    assert_int_equal(placement_family(line, 5), 3);
    assert_int_equal(placement_family(line, 3), 1); // no launcher in sight
    assert_int_equal(placement_family(line, 1), 1);
    line[2].uid = 8;
    assert_int_equal(placement_family(line, 5), 1); // somebody else in between
    line[2].uid = 7;
    line[3].uid = 0; // as slurmstepd
    assert_int_equal(placement_family(line, 5), 3);
}

static void lines_of_launchers_and_wrappers(void **state)
{
    (void)state;
    const struct placement_process line[] = {one(ME, 9, 7, "prog"), one(9, 8, 7, "sh"),
                                             one(8, 5, 7, "hydra_pmi_proxy"),
                                             one(5, 4, 7, "mpiexec"), one(4, 1, 7, "job_script")};
    assert_int_equal(placement_line(line, 5, 1), 1);
    assert_int_equal(placement_line(line, 5, 2), 2); // the launcher is outside
    assert_int_equal(placement_line(line, 2, 2), 0); // there is none
    assert_int_equal(placement_line(line, 5, 3), 3);
    assert_int_equal(placement_line(line, 5, 4), 4);
    assert_int_equal(placement_line(line, 5, 5), 0); // a script that may start other things
}

static void the_launcher_of_a_script(void **state)
{
    (void)state;
    const struct placement_process line[] = {one(ME, 9, 7, "rank"), one(9, 8, 7, "hydra_pmi_proxy"),
                                             one(8, 5, 7, "mpiexec"), one(5, 3, 7, "slurm_script"),
                                             one(3, 1, 0, "slurmstepd")};
    assert_int_equal(placement_launcher(line, 4), 2);
    assert_int_equal(placement_launcher(line, 2), 1);
    assert_int_equal(placement_launcher(line, 1), 0);     // it is outside
    assert_int_equal(placement_launcher(line + 3, 1), 0); // what the script does itself
}

static void who_is_of_the_job(void **state)
{
    (void)state;
    struct placement_job job = {PLACEMENT_SYSTEMD, .uid = 7, .top = 20, .starter = 15};
    struct placement_process process = one(30, 20, 7, "x");
    assert_true(placement_accepts(&job, &process, true));
    assert_false(placement_accepts(&job, &process, false)); // started from elsewhere
    process.parent = 15;
    assert_true(placement_accepts(&job, &process, false));
    process.parent = 1; // an orphan
    assert_true(placement_accepts(&job, &process, false));
    job.starter = 1; // the job is of a service's program that has ended, or was made a daemon
    job.start_time = process.start_time = 500;
    assert_true(placement_accepts(&job, &process, false));
    process.start_time = 499; // the service's main program
    assert_false(placement_accepts(&job, &process, false));
    job.starter = 15;
    assert_false(placement_accepts(&job, &process, false));
    process = one(30, 1, 7, "mpiexec");
    assert_false(placement_accepts(&job, &process, false)); // another job
    process = one(20, 2, 7, "mpiexec");
    assert_true(placement_accepts(&job, &process, false)); // this one's
    process.uid = 8;
    assert_false(placement_accepts(&job, &process, true));
    job.manager = PLACEMENT_SLURM;
    assert_false(placement_accepts(&job, &process, true));
    process = one(30, 2, 7, "x");
    assert_true(placement_accepts(&job, &process, false));
    process = one(30, 2, 7, "slurmstepd"); // nor does root limit it with its own jobs
    assert_false(placement_accepts(&job, &process, true));
    job.manager = PLACEMENT_SCRIPT;
    assert_false(placement_accepts(&job, &process, true));
    process = one(30, 2, 7, "x");
    assert_true(placement_accepts(&job, &process, false));
    job = (struct placement_job){PLACEMENT_UNKNOWN, .uid = 7};
    process = one(30, 0, 7, "x"); // its parent cannot be seen, and no starter is known
    assert_false(placement_accepts(&job, &process, false));
}

// ---- records

static char base[32], directory[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(base, "/tmp/cosched-test-XXXXXX");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(directory, sizeof directory, "%s/placed", base);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", base);
    return system(command);
}

static struct limit_record example(void)
{
    struct limit_record record = {.group = "/a b/job_1/step_2",
                                  .inode = UINT64_MAX - 1,
                                  .uid = 7,
                                  .manager = PLACEMENT_SLURM,
                                  .own = {LIMIT_NONE, 100000},
                                  .set = {{LIMIT_NONE, 100000}, {1000, 100000}}};
    return record;
}

// A program that starts in the group has to know its own limit.
static void assert_readable_by_all(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    assert_int_equal(stat(directory, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0755);
}

static void a_record_comes_back_as_it_was(void **state)
{
    (void)state;
    struct limit_record record = example(), again;
    assert_int_equal(record_read(directory, "a", &again, NULL), 0);
    assert_int_equal(record_read(NULL, "a", &again, NULL), 0);
    mode_t before = umask(077);
    int fd = record_write(directory, "a", &record, NULL);
    umask(before);
    assert_true(fd >= 0);
    assert_readable_by_all(fd);
    assert_int_equal(record_read(directory, "a", &again, NULL), 1);
    assert_string_equal(again.group, record.group);
    assert_true(again.inode == record.inode && again.uid == 7 && again.manager == record.manager);
    assert_memory_equal(&again.own, &record.own, sizeof record.own);
    assert_memory_equal(again.set, record.set, sizeof record.set);
    // What is set next, over and over, in the place of what was there.
    record.set[0] = (struct limit){1, 2};
    record.set[1] = (struct limit){LIMIT_NONE, LIMIT_NONE};
    assert_int_equal(record_intend(fd, &record, NULL), 0);
    assert_int_equal(record_read(directory, "a", &again, NULL), 1);
    assert_memory_equal(again.set, record.set, sizeof record.set);
    assert_string_equal(again.group, record.group);
    close(fd);
    fd = record_open(directory, "a", NULL);
    record.set[1].quota_us = 5;
    assert_int_equal(record_intend(fd, &record, NULL), 0);
    close(fd);
    assert_int_equal(record_read(directory, "a", &again, NULL), 1);
    assert_int_equal(again.set[1].quota_us, 5);
    record_remove(directory, "a");
    assert_int_equal(access(directory, F_OK), -1); // the last one takes it along
}

static int collect(const char *name, void *user)
{
    strcat(user, name);
    return 0;
}

static void records_are_listed(void **state)
{
    (void)state;
    struct limit_record record = example();
    char names[16] = "";
    assert_int_equal(record_each(directory, collect, names), 0);
    assert_int_equal(record_each(NULL, collect, names), 0);
    close(record_write(directory, "a", &record, NULL));
    close(record_write(directory, "b", &record, NULL));
    record_each(directory, collect, names);
    assert_true(strcmp(names, "ab") == 0 || strcmp(names, "ba") == 0);
}

static void assert_rubbish(const char *text)
{
    struct limit_record record = example();
    char path[128];
    close(record_write(directory, "a", &record, NULL));
    snprintf(path, sizeof path, "%s/a", directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(record_read(directory, "a", &record, NULL), -1);
}

static void rubbish_is_no_record(void **state)
{
    (void)state;
    assert_rubbish("");
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup /a"); // cut
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup a\n");
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup /\n");
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup /a/../../etc\n");
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 4\ngroup /a\n");
    assert_rubbish("set 1 2 3 4\nown 1 0\ninode 3\nuid 4\nmanager 1\ngroup /a\n");
    assert_rubbish("set 1 2 3 4\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup /a\nmore\n");
    assert_rubbish("set 1 2 3\nown 1 2\ninode 3\nuid 4\nmanager 1\ngroup /a\n");
}

static void a_record_that_cannot_be_written(void **state)
{
    (void)state;
    struct limit_record record = example();
    struct error err = {0};
    assert_int_equal(record_write("/nonexistent/placed", "a", &record, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(record_open(directory, "a", &err), -1);
}

#define FILES(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_slurm),
        cmocka_unit_test(who_is_in_a_step_is_kept),
        cmocka_unit_test(groups_of_systemd),
        cmocka_unit_test(launchers),
        cmocka_unit_test(families_end_at_the_launcher),
        cmocka_unit_test(lines_of_launchers_and_wrappers),
        cmocka_unit_test(the_launcher_of_a_script),
        cmocka_unit_test(who_is_of_the_job),
        FILES(a_record_comes_back_as_it_was),
        FILES(records_are_listed),
        FILES(rubbish_is_no_record),
        FILES(a_record_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
