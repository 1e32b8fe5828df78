"""Suspend, resume and kill: on one node with its daemons, and of a real MPI job on a two-node cluster. Needs root."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import daemonkit
from daemonkit import CPU_ROOT, NOBODY, V1_CPU, Node

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
FREEZER_ROOT = CPU_ROOT.replace(V1_CPU, next(daemonkit.mount_points("cgroup", "freezer"), "")) if V1_CPU else CPU_ROOT
MEANS = ("share", "freezer", "signals")


def state_of(pid):
    """As /proc says: T stopped, R running, S sleeping; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return None


def traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return "TracerPid:\t0\n" not in file.read()


def frozen(job, uid=0):
    name, word = ("freezer.state", "FROZEN") if V1_CPU else ("cgroup.freeze", "1")
    try:
        with open(os.path.join(FREEZER_ROOT, f"job-{uid}-{job}", name), encoding="ascii") as file:
            return file.read().strip() == word
    except FileNotFoundError:
        return False


def thaw(job):
    """What a test that fails would leave frozen, and wait for."""
    group = os.path.join(FREEZER_ROOT, f"job-0-{job}")
    if os.path.isdir(group):
        with open(os.path.join(group, "freezer.state"), "w", encoding="ascii") as state:
            state.write("THAWED")


class OneNode(Node):
    def standing(self, job, client, means):
        return frozen(job) if means == "freezer" else state_of(client.pid) == "T" if means == "signals" else \
            self.suspended(job) == "share"

    def suspended(self, job):
        return next(line["suspended"] for line in self.ctl_json("jobs") if line["job_id"] == job)

    def do(self, *arguments):
        run = self.ctl(*arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_each_means(self):
        client = self.job("a")
        self.job("b")
        for means in MEANS:
            with self.subTest(means=means):
                self.do("suspend", "a", "--means", means)
                self.assertTrue(self.standing("a", client, means))
                self.assertEqual(daemonkit.quota("a"), 1000)
                self.assertEqual(self.suspended("a"), means)
                self.do("resume", "a")
                self.assertFalse(self.standing("a", client, means))
                self.assertEqual(client.query_node()["status"], 0)
        self.do("kill", "a")
        self.assertIn(state_of(client.pid), (None, "Z"))
        self.eventually(lambda: daemonkit.classes() == ["job-0-b"], "the class of the killed job goes")

    def test_a_debugger_keeps_its_process(self):
        """By signals the debugger is told of each, as of any other signal, so these are not tried."""
        if not shutil.which("gdb"):
            self.skipTest("there is no gdb")
        client = self.job("a")
        self.job("b")
        gdb = subprocess.Popen(["gdb", "-nx", "-batch", "-p", str(client.pid), "-ex", "continue"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(gdb.wait)
        self.addCleanup(gdb.terminate)
        self.eventually(lambda: traced(client.pid) and state_of(client.pid) == "S", "it runs in the debugger")
        for means in ("share", "freezer"):
            with self.subTest(means=means):
                self.do("suspend", "a", "--means", means)
                self.assertTrue(self.standing("a", client, means))
                self.do("resume", "a")
                self.assertEqual(client.query_node()["status"], 0)
                self.assertTrue(traced(client.pid))
        self.assertIsNone(gdb.poll())

    def test_a_restarted_classd_keeps_it_and_an_ended_one_lets_go(self):
        client = self.job("a")
        for means in ("freezer", "signals"):
            with self.subTest(means=means):
                self.do("suspend", "a", "--means", means)
                self.kill_classd()
                self.assertTrue(self.standing("a", client, means))
                self.classd = self.start_classd()
                self.assertTrue(self.standing("a", client, means))
                self.assertEqual(self.suspended("a"), means)
                self.classd.terminate()
                self.classd.wait()
                self.assertFalse(self.standing("a", client, means))
                self.classd = self.start_classd()
                self.eventually(lambda: self.standing("a", client, means), "the wish is kept")
                self.do("resume", "a")
                self.assertFalse(self.standing("a", client, means))

    def test_release_without_a_classd(self):
        client = self.job("a")
        for means in ("freezer", "signals"):
            with self.subTest(means=means):
                self.do("suspend", "a", "--means", means)
                self.kill_classd()
                self.do("release")
                self.assertFalse(self.standing("a", client, means))
                self.classd = self.start_classd()
                self.do("resume", "a")

    @unittest.skipUnless(V1_CPU and not FREEZER_ROOT.startswith(V1_CPU), "cpu and freezer are one hierarchy here")
    def test_a_frozen_job_whose_group_somebody_has_removed(self):
        for name, release in (("a", lambda: self.do("release")), ("b", self.come_and_go)):
            with self.subTest(name):
                client = self.job(name)
                self.do("suspend", name, "--means", "freezer")
                try:
                    self.kill_classd()
                    for pid in daemonkit.members(name):
                        with open(os.path.join(V1_CPU, "cgroup.procs"), "w", encoding="ascii") as procs:
                            procs.write(str(pid))
                    os.rmdir(os.path.join(CPU_ROOT, f"job-0-{name}"))
                    self.assertTrue(frozen(name))
                    release()
                    self.assertFalse(frozen(name))
                    self.assertIsNone(client.process.poll())
                finally:
                    thaw(name)
                self.classd = self.start_classd()

    def come_and_go(self):
        self.classd = self.start_classd()
        self.classd.terminate()
        self.classd.wait()

    def test_a_subtree(self):
        client = self.job("a")
        helper = client.spawn_helper()
        self.eventually(lambda: helper in daemonkit.members("a"), "the helper is in the class")
        self.do("suspend", "a", "--subtree", str(helper))
        self.assertEqual(state_of(helper), "T")
        self.assertNotEqual(state_of(client.pid), "T")
        self.assertIsNone(self.suspended("a"))  # the job goes on
        run = self.ctl("resume", "a", "--subtree", str(client.pid))
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"process {helper} is suspended", run.stderr)
        self.assertEqual(state_of(helper), "T")
        self.do("resume", "a", "--subtree", str(helper))
        self.assertNotEqual(state_of(helper), "T")
        self.do("suspend", "a", "--subtree", str(helper))
        self.do("resume", "a")
        self.assertNotEqual(state_of(helper), "T")
        self.do("kill", "a", "--subtree", str(helper))
        self.assertIn(state_of(helper), (None, "Z"))
        self.assertEqual(client.query_node()["status"], 0)

    def somebody_with_the_id(self, pid):
        """A process of nobody's job that has an id which is free again."""
        for _ in range(500):
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                file.write(str(pid - 1))
            other = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
            if other.pid == pid:
                self.addCleanup(other.wait)
                self.addCleanup(other.kill)
                return other
            other.kill()
            other.wait()
        self.skipTest(f"others start so many processes that none had the id {pid}")
        return None

    @unittest.skipUnless(os.path.exists("/proc/sys/kernel/ns_last_pid"), "process ids cannot be chosen on this kernel")
    def test_who_has_the_id_of_a_process_that_has_ended_is_none_of_its_job(self):
        client = self.job("a")
        helper = client.spawn_helper()
        self.eventually(lambda: helper in daemonkit.members("a"), "the helper is in the class")
        self.do("suspend", "a", "--subtree", str(helper))
        self.assertEqual(client.end_helper(helper), helper)
        other = self.somebody_with_the_id(helper)
        for command in ("suspend", "kill"):
            with self.subTest(command=command):
                run = self.ctl(command, "a", "--subtree", str(helper))
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(str(helper), run.stderr)
        other.send_signal(signal.SIGSTOP)  # not continued either
        self.eventually(lambda: state_of(helper) == "T", "it is stopped by somebody else")
        self.ctl("resume", "a", "--subtree", str(helper))
        self.ctl("resume", "a")
        self.assertEqual(state_of(helper), "T")
        for means in MEANS:
            self.do("suspend", "a", "--means", means)
            self.do("resume", "a")
        self.do("kill", "a")
        self.assertIn(state_of(client.pid), (None, "Z"))
        self.assertEqual(state_of(helper), "T")

    def test_who_may(self):
        self.job("a")
        self.job("mine", uid=NOBODY)
        for arguments, status in ((["suspend", "mine"], 0), (["resume", "mine"], 0), (["suspend", "a"], 1),
                                  (["kill", "root/a"], 1), (["kill", "0/a"], 1), (["kill", "mine"], 0)):
            with self.subTest(arguments=arguments):
                run = daemonkit.subprocess.run([daemonkit.CTL, "--config", self.config, *arguments], user=NOBODY,
                                               capture_output=True, text=True, timeout=daemonkit.DEADLINE_S,
                                               check=False)
                self.assertEqual(run.returncode, status, run.stderr)
        self.assertIsNone(self.suspended("a"))

    def test_words_that_make_no_sense(self):
        self.job("a")
        own = str(os.getpid())
        for arguments, status, word in ((["suspend"], 2, "which job"), (["kill"], 2, "which job"),
                                        (["suspend", "nothing"], 1, "no job nothing"),
                                        (["suspend", "a/b/c"], 2, "no job id"), (["suspend", "nobody/.."], 2, "no job id"),
                                        (["suspend", "no.such.user/b"], 1, "no user"),
                                        (["suspend", "a", "--means", "force"], 2, "share, freezer and signals"),
                                        (["suspend", "a", "--subtree", "x"], 2, "process id"),
                                        (["suspend", "a", "--subtree", own], 1, "not in class"),
                                        (["suspend", "a", "--subtree", own, "--means", "freezer"], 1, "signals"),
                                        (["resume", "a", "--subtree", "x"], 2, "process id"),
                                        (["resume", "a", "--subtree", own], 1, "not suspended"),
                                        (["resume", "a"], 1, "not suspended")):
            with self.subTest(arguments=arguments):
                run = self.ctl(*arguments)
                self.assertEqual(run.returncode, status)
                self.assertIn(word, run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1)


class MpiJob(unittest.TestCase):
    """A job on two nodes finishes and verifies, whatever has suspended it."""

    NAME = "cosched-lab-tracking"

    def test_each_means(self):
        import test_main_job as kit  # its lab() is for another name
        kit.NAME = self.NAME
        kit.LAB = [os.path.join(kit.BENCH, "lab"), "--name", self.NAME]
        families = [family for family in kit.FAMILIES if shutil.which(f"mpiexec.{family}")]
        if not families:
            self.skipTest("there is no MPI")
        job = kit.MainJob()
        job.setUp()
        self.addCleanup(job.tearDown)
        job.up()
        for family in families:
            with self.subTest(mpi=family):
                job.start_for(family, 12)
                job.eventually(lambda: all(len(jobs) == 1 for jobs in kit.jobs_by_node()), "the job is on both nodes")
                (name,) = kit.jobs_by_node()[0]
                for means in MEANS:
                    self.suspend_and_resume(kit, name, means)
                job.finish()

    def suspend_and_resume(self, kit, name, means):
        for node in kit.NODES:
            kit.lab("exec", node, daemonkit.CTL, "suspend", name, "--means", means)
        spent = [jobs[name]["cpu_s"] for jobs in kit.jobs_by_node()]
        time.sleep(0.3)
        after = kit.jobs_by_node()
        for before, jobs in zip(spent, after):
            self.assertEqual(jobs[name]["suspended"], means)
            if means != "share":
                self.assertLess(jobs[name]["cpu_s"] - before, 0.1)
        for node in kit.NODES:
            kit.lab("exec", node, daemonkit.CTL, "resume", name)
        for jobs in kit.jobs_by_node():
            self.assertIsNone(jobs[name]["suspended"])


if __name__ == "__main__":
    daemonkit.main()
