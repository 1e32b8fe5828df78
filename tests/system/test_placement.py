"""Where classd puts a job: in place or in a class of its own, with its wrappers and helpers.

Protects: a group that a resource manager has made for a job is limited without moving anybody, and
given back exactly as it was, however classd ends; nobody else's process is ever limited with a job;
nothing of a job escapes, in whatever pid namespace it lives.

The groups are made here, in the form of Slurm's and systemd's; daemons as in daemonkit.py.
"""

import atexit
import errno
import os
import shutil
import signal
import subprocess
import sys
import time

import daemonkit
import groupkit
from daemonkit import (CLASSD, EXIT, NOBODY, ROOT, SCHEDULED, SWITCH, TIMERD, V1_CPU, Client, Node,
                       Speaker, classes, client_main, members, quota)
from groupkit import NONE, enter, limit, live_in, make, path_of, read, remove_all, set_limit, write

STEP = "slurm/uid_0/job_3/step_0"


# ---- the job's side


class Talker(Speaker):
    def own_pid(self):
        """As the outermost pid namespace has it."""
        return int(os.readlink("/proc/self"))


def wrapper_main(arguments):
    """A wrapper: a helper at once, the client as a child, one more helper at SIGUSR1.

    In an own process group, as launchers make it; where DAEMON names a file, with a helper that has
    no parent any more, and whose pid is in the file.
    """
    helpers = []

    def have_helper(*_):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
            os.closerange(0, 3)
            time.sleep(3600)
        helpers.append(pid)

    os.setpgid(0, 0)
    have_helper()
    if "DAEMON" in os.environ:
        if os.fork() == 0:
            if (pid := os.fork()) == 0:
                os.closerange(0, 3)
                time.sleep(3600)
            write(str(pid), os.environ["DAEMON"])
            os._exit(0)
        os.wait()
    signal.signal(signal.SIGUSR1, have_helper)
    subprocess.run([sys.executable, "-B", __file__, "client", *arguments], check=False)
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Started(Client):
    """A client that was started by way of other programs: `way` comes before its command."""

    script = __file__

    def __init__(self, way, runtime_dir, mode="client", uid=0):  # pylint: disable=super-init-not-called
        self.process = subprocess.Popen([*way, sys.executable, "-B", __file__, mode, runtime_dir, str(uid)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.own_pid()

    def kill(self):
        # Killed, not asked to end: that would take long with an idle job's share. With it goes the limit of
        # those above it, who end by themselves.
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.wait(daemonkit.DEADLINE_S)
        self.process.stdout.close()


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if int(read("/proc", entry, "stat").rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry))
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def parent_of(pid):
    return int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])


class Placed(Node):
    def setUp(self):
        super().setUp()
        self.others = []

    def tearDown(self):
        for other in self.others:
            other.kill()
            other.wait()
        super().tearDown()
        remove_all()

    def inhabit(self, group, job="a", uid=0, status=0):
        """A job's process that lives in the group already when it registers."""
        make(group)
        client = self.client(uid)
        enter(group, client.pid)
        self.assertEqual(client.register(job)["status"], status)
        return client

    def started(self, way, mode="client"):
        client = Started(way, self.runtime_dir, mode)
        self.clients.append(client)
        return client

    def launcher(self, name="hydra_pmi_proxy"):
        """A program of this name that runs what it is given, as a child."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            os.symlink(sys.executable, path)
        return [path, "-B", "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]

    def stranger(self, group, uid=NOBODY):
        """Somebody who is not of the job comes to live in the group."""
        process = subprocess.Popen(["sleep", "3600"], user=uid, group=uid)
        self.others.append(process)
        enter(group, process.pid)
        return process

    def switch(self):
        self.assertEqual(self.client().simple(SWITCH), 0)

    def records(self):
        folder = os.path.join(self.runtime_dir, "placed")
        return sorted(os.listdir(folder)) if os.path.exists(folder) else []

    def release(self):
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)

    def assert_in_place(self, group=STEP, job="job-0-a"):
        self.assertEqual(self.records(), [job])
        self.assertNotIn(job, classes())
        self.assertIn("classed in place", self.log_text())
        self.assertNotEqual(live_in(group), [])

    def assert_moved(self, client, group, job="a", uid=0):
        self.assertEqual(self.records(), [])
        self.assertIn(client.pid, members(job, uid))
        self.assertNotIn(client.pid, live_in(group))
        self.assertEqual(limit(group), NONE)


class InPlace(Placed):
    def test_a_step_is_limited_where_it_is(self):
        make(STEP)
        client = self.client()
        before = client.spawn_helper()
        for pid in (client.pid, before):
            enter(STEP, pid)
        self.assertEqual(client.register("a")["status"], 0)
        after = client.spawn_helper()
        try:
            self.assert_in_place()
            self.assertEqual(limit(STEP), NONE)
            self.job("b")
            self.assertEqual((limit(STEP)[0], quota("b")), ("99000", 1000))
            self.switch()
            self.assertEqual((limit(STEP)[0], quota("b")), ("1000", 99000))
            self.assertEqual(sorted(live_in(STEP)), sorted([client.pid, before, after]))
            self.assertEqual(client.simple(EXIT), 0)
            self.assertEqual((limit(STEP), self.records()), (NONE, []))
            self.assertEqual(sorted(live_in(STEP)), sorted([client.pid, before, after]))
        finally:
            os.kill(before, signal.SIGKILL)
            os.kill(after, signal.SIGKILL)

    def test_tasks_below_the_step_are_of_it(self):
        a = self.inhabit(f"{STEP}/task_0")
        make(f"{STEP}/task_1")
        b = self.client()
        enter(f"{STEP}/task_1", b.pid)
        self.assertEqual(b.register("a")["status"], 0)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.assertEqual(limit(f"{STEP}/task_0"), NONE)
        self.assertEqual(self.ctl_json("jobs")[0]["processes"], 2)
        a.kill()
        self.assertEqual(b.simple(EXIT), 0)
        self.eventually(lambda: limit(STEP) == NONE, "the last one's end restores")

    def test_the_death_of_the_job_restores(self):
        make(STEP)
        set_limit(STEP, 60000, 100000)
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        a.kill()
        self.eventually(lambda: limit(STEP) == ("60000", "100000"), "the own limit is restored")
        self.eventually(lambda: self.records() == [], "the record is removed")

    def test_an_own_limit_is_kept_to(self):
        make(STEP)
        set_limit(STEP, 40000, 200000)
        self.inhabit(STEP)
        self.job("b")
        self.assertEqual(limit(STEP), ("40000", "200000"))  # less than the scheduled job's share
        self.switch()
        self.assertEqual(limit(STEP), ("2000", "200000"))
        self.switch()
        self.assertEqual(limit(STEP), ("40000", "200000"))

    def test_a_change_by_the_manager_is_the_own_limit(self):
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        set_limit(STEP, 30000, 100000)
        self.switch()
        self.assertEqual(limit(STEP)[0], "30000")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual(limit(STEP), ("30000", "100000"))

    def limited_with_own(self):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        return a

    def test_release_restores_what_a_killed_classd_left(self):
        self.limited_with_own()
        self.kill_classd()
        self.assertEqual(limit(STEP)[0], "1000")
        self.release()
        self.assertEqual((limit(STEP), quota("b")), (("70000", "100000"), -1))
        self.assertEqual(self.ctl_json("release"), {"lifted": 2})

    def test_release_leaves_alone_what_the_manager_has_set_since(self):
        self.limited_with_own()
        self.kill_classd()
        set_limit(STEP, 20000, 100000)
        self.release()
        self.assertEqual(limit(STEP), ("20000", "100000"))

    def test_release_leaves_a_group_alone_that_was_made_anew(self):
        a = self.limited_with_own()
        self.kill_classd()
        a.kill()
        remove_all()
        make(STEP)
        set_limit(STEP, 1000, 100000)  # the very limit that was in force
        self.release()
        self.assertEqual(limit(STEP), ("1000", "100000"))
        self.start_classd()
        self.assertEqual((limit(STEP), self.records()), (("1000", "100000"), []))

    def test_sigterm_restores(self):
        self.limited_with_own()
        self.classd.terminate()
        self.assertEqual(self.classd.wait(daemonkit.DEADLINE_S), 0)
        self.assertEqual(limit(STEP), ("70000", "100000"))

    def test_shutdown_restores_and_forgets(self):
        self.limited_with_own()
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))

    def test_a_removed_runtime_directory_restores(self):
        a = self.limited_with_own()
        shutil.rmtree(os.path.join(self.runtime_dir, "placed"))  # before classd notices
        shutil.rmtree(self.runtime_dir)
        self.assertEqual(self.classd.wait(daemonkit.DEADLINE_S), 1)
        self.assertEqual((limit(STEP), a.flags() & SCHEDULED), (("70000", "100000"), SCHEDULED))

    def test_a_restarted_classd_adopts_it(self):
        a = self.limited_with_own()
        for _ in range(3):
            self.kill_classd()
            self.classd = self.start_classd()
            self.assertEqual(self.ctl_json("status")["processes"], 2)
            self.switch()
            self.assertEqual(sorted([limit(STEP)[0], str(quota("b"))]), sorted(["1000", "99000"])
                             if limit(STEP)[0] == "1000" else sorted(["70000", "1000"]))
        a.connect()
        self.assertEqual(a.register("a")["status"], 0)
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))

    def test_a_job_that_ended_meanwhile_is_restored(self):
        make(STEP)
        helper = subprocess.Popen(["sleep", "3600"])
        self.others.append(helper)
        enter(STEP, helper.pid)
        a = self.limited_with_own()
        self.kill_classd()
        a.kill()
        self.classd = self.start_classd()
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))
        self.assertEqual(live_in(STEP), [helper.pid])

    def test_the_doctor_looks_and_changes_nothing(self):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        self.inhabit(STEP)
        self.ctl("doctor")  # opens every class
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.kill_classd()
        self.release()
        self.assertEqual(limit(STEP), ("70000", "100000"))

    def test_a_rubbish_record_harms_nobody(self):
        self.kill_classd()
        os.mkdir(os.path.join(self.runtime_dir, "placed"))
        make(STEP)
        set_limit(STEP, 70000, 100000)
        inode = os.stat(path_of(STEP)).st_ino
        good = (f"set {5:20} {6:20} {70000:20} {100000:20}\nown 1000 100000\ninode {inode}\nuid 0\n"
                "manager 1\n")
        rubbish = {"job-0-a": "", "job-0-b": "z" * 9000, "job-0-c": good, "nonsense": "\0",
                   "job-0-d": good + "group /../etc\n", "job-0-e": good + f"group /{groupkit.TOP}/{STEP}"}
        for name, text in rubbish.items():
            write(text, self.runtime_dir, "placed", name)
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=False)
        self.classd = self.start_classd()
        self.assertEqual(limit(STEP), ("70000", "100000"))
        self.assertEqual(self.ctl_json("status")["jobs"], 0)
        self.inhabit(STEP)
        self.assertIn("classed in place", self.log_text())
        shutil.rmtree(os.path.join(self.runtime_dir, "placed"))


class Timer(Placed):
    settings = {"scheduler__time_slice": "200ms", "scheduler__gmet": "100ms"}

    def check(self, stop):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        self.inhabit(STEP), self.job("b")
        self.start(TIMERD)
        self.eventually(lambda: limit(STEP)[0] == "1000", "it is limited")
        self.classd.send_signal(stop)
        self.eventually(lambda: "classd is silent" in self.log_text(), "a line")
        self.assertEqual((limit(STEP), quota("b")), (("70000", "100000"), -1))

    def test_a_killed_classd_limits_nobody(self):
        self.check(signal.SIGKILL)
        self.classd.wait()
        self.classd = self.start_classd()
        self.eventually(lambda: limit(STEP)[0] == "1000", "the new classd limits again")

    def test_a_hung_classd_limits_nobody(self):
        self.check(signal.SIGSTOP)
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(lambda: limit(STEP)[0] == "1000", "the woken classd limits again")


class NotAlone(Placed):
    def test_another_users_process_in_the_group(self):
        make(STEP)
        self.stranger(STEP)
        client = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assert_moved(client, STEP)
        self.assertIn("is not of this job", self.log_text())

    def test_another_users_process_that_comes_later(self):
        client = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        stranger = self.stranger(STEP)
        self.switch()
        self.assert_moved(client, STEP)
        self.assertEqual(live_in(STEP), [stranger.pid])
        self.assert_shares("a", "b")
        self.assertIn("is moved out of its group", self.log_text())

    def test_another_users_step(self):
        other = f"slurm/uid_{NOBODY}/job_3/step_0"
        self.assert_moved(self.inhabit(other), other)

    def test_a_job_of_the_groups_user(self):
        own = f"slurm/uid_{NOBODY}/job_3/step_0"
        self.inhabit(own, uid=NOBODY)
        self.assert_in_place(own, f"job-{NOBODY}-a")

    def test_a_second_job_in_the_group(self):
        self.inhabit(STEP)
        second = self.inhabit(STEP, "b")
        self.assertEqual(self.records(), ["job-0-a"])
        self.assertIn(second.pid, members("b"))
        self.assertNotIn(second.pid, live_in(STEP))

    def test_a_rank_outside_the_group(self):
        first = self.inhabit(STEP)
        second = self.job("a")
        self.assert_moved(first, STEP)
        self.assertEqual(sorted(members("a")), sorted([first.pid, second.pid]))

    def test_steps_that_hold_more_than_a_launch(self):
        for name in ("step_batch", "step_extern", "step_interactive"):
            with self.subTest(name):
                group = f"slurm/uid_0/job_3/{name}"
                client = self.inhabit(group, name)
                self.assert_moved(client, group, name)

    def test_a_limit_that_the_user_could_lift(self):
        make(STEP)
        os.chown(os.path.join(path_of(STEP), "cpu.cfs_quota_us" if V1_CPU else "cpu.max"), NOBODY, -1)
        self.assert_moved(self.inhabit(STEP), STEP)

    def test_move_moves(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(daemonkit.DEADLINE_S)
        self.configure(cgroup__placement="move")
        self.classd = self.start_classd()
        self.assert_moved(self.inhabit(STEP), STEP)

    def test_placement_is_fixed_while_classd_runs(self):
        self.configure(cgroup__placement="move")
        answer = self.ctl("reload")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("[cgroup] placement", answer.stderr)


class Units(Placed):
    SCOPE = "system.slice/run-r12.scope"

    def launched(self, *way, group=SCOPE):
        """The whole of `way` lives in the group."""
        make(group)
        enter_first = [sys.executable, "-B", __file__, "enter", group, ROOT]
        client = self.started([*enter_first, *way])
        self.assertEqual(client.register("a")["status"], 0)
        return client

    def test_a_launcher_in_a_scope_of_its_own(self):
        self.launched(*self.launcher("mpiexec"), *self.launcher(), "env")
        self.assert_in_place(self.SCOPE)
        self.assertEqual(len(live_in(self.SCOPE)), 3)
        self.job("b")
        self.switch()
        self.assertEqual(limit(self.SCOPE)[0], "1000")

    def test_a_script_that_may_start_more(self):
        client = self.launched(*self.launcher("job_script"), *self.launcher("mpiexec"))
        self.assert_moved(client, self.SCOPE)

    def test_another_program_in_the_unit(self):
        make(self.SCOPE)
        other = subprocess.Popen([*self.launcher("something"), "sleep", "3600"])
        self.others.append(other)
        self.eventually(lambda: children_of(other.pid), "the other runs")
        inner, = children_of(other.pid)
        enter(self.SCOPE, inner)
        try:
            self.assert_moved(self.launched(*self.launcher("mpiexec")), self.SCOPE)
        finally:
            os.kill(inner, signal.SIGKILL)

    def test_units_that_enclose_more_than_a_job(self):
        for group in ("user.slice/session-3.scope", "user.slice/user@0.service/init.scope", "init.scope",
                      "some/group"):
            with self.subTest(group):
                name = group.replace("/", "-").replace("@", "-")
                self.assert_moved(self.inhabit(group, name), group, name)


class Only(Placed):
    settings = {"cgroup__placement": "in-place"}

    def test_any_group_of_its_own_will_do(self):
        self.inhabit("some/group")
        self.assert_in_place("some/group")

    def test_without_one_it_runs_unmanaged(self):
        client = self.client()
        self.assertEqual(client.register("a")["status"], errno.EXDEV)
        self.assertEqual((classes(), self.records()), ([], []))
        self.assertIn("runs unmanaged", self.log_text())
        self.assertEqual(self.ctl_json("status")["jobs"], 0)

    def test_a_stranger_frees_it(self):
        a = self.inhabit(STEP)
        self.inhabit("slurm/uid_0/job_4/step_0", "b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.stranger(STEP)
        self.inhabit("slurm/uid_0/job_5/step_0", "c")
        self.switch()
        self.assertEqual(limit(STEP), NONE)
        self.assertIn(a.pid, live_in(STEP))
        self.assertEqual(a.flags(), SCHEDULED)
        self.assertIn("runs without a limit", self.log_text())


class Families(Placed):
    def check_family(self, client, taken):
        """Whether the wrapper and its helpers, past and to come, are in the class."""
        wrapper = parent_of(client.pid)
        early, = set(children_of(wrapper)) - {client.pid}
        self.assertEqual(client.register("a")["status"], 0)
        self.assertEqual({wrapper, early} <= set(members("a")), taken)
        os.kill(wrapper, signal.SIGUSR1)
        self.eventually(lambda: len(children_of(wrapper)) == 3, "a later helper")
        self.assertEqual(set(children_of(wrapper)) <= set(members("a")), taken)
        self.assertIn(client.pid, members("a"))
        return wrapper

    def test_wrappers_below_a_launcher(self):
        client = self.started(self.launcher(), "wrapper")
        wrapper = self.check_family(client, True)
        launcher = parent_of(wrapper)
        self.assertNotIn(launcher, members("a"))
        self.assertEqual(client.simple(EXIT), 0)
        self.eventually(lambda: not classes(), "its class is gone")
        for pid in (wrapper, *children_of(wrapper)):
            self.assertEqual(read(f"/proc/{pid}/cgroup"), read(f"/proc/{launcher}/cgroup"))

    def test_nobody_above_a_process_without_a_launcher(self):
        self.check_family(self.started([], "wrapper"), False)

    def orphan(self, way):
        """A client whose wrapper has had a helper that its parent left behind, and that one's pid."""
        path = os.path.join(self.folder, "orphan")
        client = self.started(["env", f"DAEMON={path}", *way], "wrapper")
        pid = int(read(path))
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.assertNotIn(pid, children_of(parent_of(client.pid)))
        self.assertEqual(client.register("a")["status"], 0)
        return client, pid

    def test_an_orphan_is_of_the_family(self):
        client, orphan = self.orphan(self.launcher())
        self.assertIn(orphan, members("a"))
        self.assertEqual(len(members("a")), 4)
        self.assertEqual(client.simple(EXIT), 0)
        self.assertEqual(read(f"/proc/{orphan}/cgroup"), read(f"/proc/{client.process.pid}/cgroup"))

    def test_a_pipeline_is_no_family(self):
        client, orphan = self.orphan([])
        self.assertEqual(members("a"), [client.pid])
        self.assertNotIn(orphan, members("a"))

    def test_each_rank_brings_its_own(self):
        for rank in range(2):
            client = self.started(self.launcher(), "wrapper")
            self.assertEqual(client.register("a", 1, rank, 2)["status"], 0)
        self.assertEqual(len(members("a")), 6)

    def test_a_wrapper_of_two_jobs_stays_with_the_first(self):
        script = '"$@" <&3 & exec "$@"'
        client = self.started([*self.launcher(), "sh", "-c", f"exec 3</dev/null; {script}", "sh"], "wrapper")
        self.assertEqual(client.register("a")["status"], 0)
        other = self.started(self.launcher(), "wrapper")
        self.assertEqual(other.register("b")["status"], 0)
        self.assertIn(client.pid, members("a"))
        self.assertEqual(len(members("b")), 3)


WAITS = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    while (access(argv[1], F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    return 0;
}
"""


class RealJobs(Placed):
    """mpiexec sh -c 'helper & ./prog', of both MPIs, with the library."""

    def setUp(self):
        super().setUp()
        self.go = os.path.join(self.folder, "go")
        self.preloaded = os.path.join(daemonkit.BUILD, "pmpi", "libcosched_pmpi.so")
        if not os.path.exists(self.preloaded):
            self.skipTest("the library is not built")

    def launch(self, family, *way):
        if shutil.which(f"mpicc.{family}") is None:
            self.skipTest(f"no mpicc.{family}")
        program = os.path.join(self.folder, "waits")
        write(WAITS, f"{program}.c")
        subprocess.run([f"mpicc.{family}", "-w", "-o", program, f"{program}.c"], check=True)
        script = f"sleep 3600 & {program} {self.go}; status=$?; kill $!; exit $status"
        job = subprocess.Popen(
            [*way, f"mpiexec.{family}", *(["--oversubscribe"] if family == "openmpi" else []),
             "-n", "2", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**os.environ, "LD_PRELOAD": self.preloaded, "COSCHED_RUNTIME_DIR": self.runtime_dir,
                 "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.others.append(job)
        self.eventually(lambda: self.processes() == 2, "both ranks have registered")
        return job

    def processes(self):
        return self.ctl_json("status")["processes"]

    def end(self, left=0):
        write("", self.go)
        self.eventually(lambda: self.processes() == left, "both ranks have left")

    def check_moved(self, family):
        job = self.launch(family)
        name, = classes()
        pids = [int(pid) for pid in read(daemonkit.CPU_ROOT, name, "cgroup.procs").split()]
        names = sorted(read(f"/proc/{pid}/comm").strip() for pid in pids)
        self.assertEqual(names, ["sh", "sh", "sleep", "sleep", "waits", "waits"])
        self.assertNotIn(job.pid, pids)
        self.end()
        self.eventually(lambda: not classes(), "its class is gone")

    def check_in_place(self, family):
        make(Units.SCOPE)
        self.launch(family, sys.executable, "-B", __file__, "enter", Units.SCOPE, ROOT)
        self.assertEqual((len(self.records()), classes()), (1, []))
        self.job("b")
        self.switch()
        self.assertIn("1000", {limit(Units.SCOPE)[0], str(quota("b"))})
        self.end(left=1)
        self.assertEqual((self.records(), limit(Units.SCOPE)), ([], NONE))

    def test_mpich_moved(self):
        self.check_moved("mpich")

    def test_openmpi_moved(self):
        self.check_moved("openmpi")

    def test_mpich_in_place(self):
        self.check_in_place("mpich")

    def test_openmpi_in_place(self):
        self.check_in_place("openmpi")


class Namespaces(Placed):
    def test_a_client_in_a_pid_namespace(self):
        client = self.started(["unshare", "--pid", "--fork"])
        outer = client.process.pid
        self.eventually(lambda: children_of(outer), "the inner process")
        inner, = children_of(outer)
        self.assertEqual(client.register("a")["status"], 0)
        self.assertEqual(members("a"), [inner])
        helper = client.spawn_helper()
        self.assertLess(helper, 1000)
        self.eventually(lambda: len(members("a")) == 2, "its helper is in the class")
        self.job("b")
        self.switch()
        self.assertEqual(quota("a"), 1000)
        os.kill(inner, signal.SIGKILL)
        self.eventually(lambda: classes() == ["job-0-b"], "its death is noticed")

    def test_one_in_place(self):
        make(STEP)
        client = self.started(["unshare", "--pid", "--fork"])
        self.eventually(lambda: children_of(client.process.pid), "the inner process")
        inner, = children_of(client.process.pid)
        enter(STEP, inner)
        self.assertEqual(client.register("a")["status"], 0)
        self.assert_in_place()
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")

    def test_the_namespace_of_a_launched_rank(self):
        """The wrapper that made the namespace is outside of it."""
        client = self.started([*self.launcher(), "unshare", "--pid", "--fork"])
        self.assertEqual(client.register("a")["status"], 0)
        unshare, = children_of(client.process.pid)
        self.assertEqual(sorted(members("a")), sorted([unshare, *children_of(unshare)]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client_main(sys.argv[2], int(sys.argv[3]), Talker)
    elif sys.argv[1:2] == ["wrapper"]:
        wrapper_main(sys.argv[2:])
    elif sys.argv[1:2] == ["enter"]:
        groupkit.TOP = f"{sys.argv[3]}-manager"
        enter(sys.argv[2], os.getpid())
        os.execvp(sys.argv[4], sys.argv[4:])
    else:
        atexit.register(remove_all)
        daemonkit.main()
