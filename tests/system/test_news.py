"""What one side has to learn of the other: that classd has another slice than timerd; that a client has not heard
that it is a member; that another classd has taken over, or takes nobody, in real jobs on one node."""

import os
import shutil
import subprocess
import unittest

import daemonkit
from daemonkit import BUILD, DEADLINE_S, TIMERD, Node, classes, quota

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mpi", "stays.c")
LIBRARY = os.path.join(BUILD, "pmpi", "libcosched_pmpi.so")
RANKS = 2


class AnotherSlice(Node):
    settings = {"scheduler__time_slice": "200ms", "scheduler__gmet": "100ms"}

    def test_timerd_follows_a_restarted_classd(self):
        """Its next tick is an hour away."""
        self.start(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.configure(scheduler__time_slice="1h")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.eventually(lambda: "time slice 3600.000 s" in self.log_text(), "timerd follows a reload")
        self.kill_classd()
        self.configure()
        self.classd = self.start_classd()
        self.eventually(lambda: self.ctl_json("status")["switches"] > 2, "timerd asks at the new slice")


class Deaf(Node):
    def test_whose_registration_cannot_be_answered_is_no_member(self):
        self.job("a")
        client = self.client()
        self.assertIs(client.register_deaf("b"), False)
        self.eventually(lambda: self.ctl_json("status")["processes"] == 1, "it is none")
        self.eventually(lambda: classes() == ["job-0-a"], "nor is its class kept")
        self.assertEqual(quota("a"), -1)
        client.connect()
        self.assertEqual(client.register("b")["status"], 0)


@unittest.skipUnless(shutil.which("mpiexec.mpich") and os.path.exists(LIBRARY), "needs MPICH and the library")
class Jobs(Node):
    settings = {"daemon__max_jobs": 2, "scheduler__cpus": 8}  # enough for all, so nobody waits for a turn

    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "stays")
        subprocess.run(["mpicc.mpich", "-o", self.program, SOURCE], check=True)
        self.job("rival")

    def mpiexec(self):
        self.mpi_job = subprocess.Popen(["mpiexec.mpich", "-n", str(RANKS), self.program, self.folder], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env={**os.environ, "LD_PRELOAD": LIBRARY,
                                             "COSCHED_RUNTIME_DIR": self.runtime_dir})
        return self.mpi_job

    def tearDown(self):
        self.step("finalize"), self.step("end")
        self.mpi_job.communicate(timeout=DEADLINE_S)
        super().tearDown()

    def step(self, name):
        with open(os.path.join(self.folder, name), "w", encoding="ascii"):
            pass

    def members(self):
        return self.ctl_json("status")["processes"] - 1

    def test_who_goes_on_after_a_restart_and_finalize_is_free(self):
        job = self.mpiexec()
        self.eventually(lambda: self.members() == RANKS, "the ranks register")
        self.kill_classd()
        self.classd = self.start_classd()
        self.assertEqual(self.members(), RANKS)
        self.step("finalize")
        self.eventually(lambda: self.members() == 0, "the ranks leave")
        self.eventually(lambda: classes() == ["job-0-rival"], "and their class goes")
        self.assertIsNone(job.poll())
        self.step("end")
        self.assertEqual(job.wait(DEADLINE_S), 0)

    def test_who_is_refused_is_told_once(self):
        self.job("another")
        self.step("finalize"), self.step("end")
        job = self.mpiexec()
        said = job.stderr.read().splitlines()
        self.assertEqual((job.wait(DEADLINE_S), len(said)), (0, 1), said)
        self.assertRegex(said[0], r"cosched: no scheduler takes this job .*: classd refused: \[daemon\] max_jobs = 2 jobs are here already")


if __name__ == "__main__":
    daemonkit.main()
