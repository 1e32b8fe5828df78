"""The main job: real MPI jobs that share a two-node cluster with real daemons, on both MPIs. Needs root.

Times are never asserted: what is checked is who holds which node, what was limited, and that every job
verifies.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
sys.path.insert(0, BENCH)
from labkit import daemons  # noqa: E402
from labkit.state import Store  # noqa: E402

NAME = "cosched-lab-main-job"
LAB = [os.path.join(BENCH, "lab"), "--name", NAME]
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mpi")
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
FAMILIES = [family for family in ("mpich", "openmpi") if shutil.which("mpiexec." + family)]
CTL = os.path.join(BUILD, "ctl", "coschedctl")
STEP_CLOCK = os.path.join(BUILD, "tests", "faults", "libstep_clock.so")  # a wall clock that can be set
DIE_RESERVING = os.path.join(BUILD, "tests", "faults", "libdie_reserving.so")  # while slots are negotiated
CLOCK = "/etc/cosched-clock"  # by how much, of each node
NODES = ("node0", "node1")
DEADLINE_S = 60
FAST = ("--set=scheduler.time_slice=500ms", "--set=scheduler.gmet=100ms")


def lab(*arguments):
    done = subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"lab {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def told(what):
    """What `coschedctl WHAT` says on each node, None where no classd answers: by the lab's own means, as to start `lab
    status` for it takes as long as a slice on a slow machine."""
    cluster = Store(NAME).require()
    return [daemons.control(cluster, node, what) for node in cluster["nodes"]]


def jobs_by_node():
    """[{job id: record} of each node]; an empty one where no classd answers."""
    return [{job["job_id"]: job for job in jobs or []} for jobs in told("jobs")]


def schedulers():
    return told("status")


def quotas():
    """What the kernel is told, of every class on every node; -1 or max is no limit."""
    found = {}
    for file in (glob.glob(f"/sys/fs/cgroup/cpu/{NAME}.*/cosched/*/cpu.cfs_quota_us")
                 + glob.glob(f"/sys/fs/cgroup/{NAME}.*/cosched/*/cpu.max")):
        try:
            with open(file, encoding="ascii") as stream:
                found[file] = stream.read().split()[0]
        except OSError:
            pass  # the job has just ended
    return found


def limited():
    return [file for file, quota in quotas().items() if quota not in ("-1", "max")]


class MainJob(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-test-")
        self.running = []

    def tearDown(self):
        self.end_jobs()
        lab("down")
        shutil.rmtree(self.folder)

    def end_jobs(self):
        """However long they would run."""
        for process, _ in self.running:
            if process.poll() is None:
                process.terminate()
                process.wait()
        self.running = []

    def up(self, *settings):
        lab("up", "--build", BUILD, *FAST, *settings)

    def start_program(self, family, command, ranks=2, *options):
        path = os.path.join(self.folder, f"job{len(self.running)}")
        with open(path, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [*LAB, "mpiexec", "--mpi", family, "-n", str(ranks), "--preload", "--timeout", "120",
                 "--env", "COSCHED_STATS=1", "--done-pattern", "verified=yes", *options, *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.running.append((process, path))

    def verified(self, job):
        """What it printed, when it has ended."""
        process, path = job
        status = process.wait()
        with open(path, encoding="utf-8") as output:
            text = output.read()
        self.assertEqual(status, 0, text)
        self.assertIn("verified=yes", text)
        return text

    def finish(self):
        """Waits for all jobs; each must have verified. Returns what they printed."""
        texts = list(map(self.verified, self.running))
        self.running = []
        self.eventually(lambda: not quotas(), "the classes of ended jobs are gone")
        return texts

    def eventually(self, condition, what):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never: {what}")
            time.sleep(0.05)

    def both_registered(self):
        return all(len(jobs) == 2 for jobs in jobs_by_node())

    def test_two_jobs_take_turns_on_both_nodes_together(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                self.up()
                self.start_for(family, 5)
                self.start_for(family, 5)
                self.eventually(self.both_registered, "both jobs are on both nodes")
                together = samples = 0
                holders = set()
                most = {}
                while all(process.poll() is None for process, _ in self.running):
                    nodes = jobs_by_node()
                    if any(len(jobs) != 2 for jobs in nodes):
                        continue
                    now = [{job for job in jobs if jobs[job]["scheduled"]} for jobs in nodes]
                    self.assertEqual([len(jobs) for jobs in now], [1, 1])
                    samples += 1
                    together += now[0] == now[1]
                    holders |= now[0]
                    for name, jobs in zip(NODES, nodes):
                        for job in jobs:
                            most[name, job] = jobs[job]["switches"]
                    time.sleep(0.1)
                texts = self.finish()
                self.assertEqual(len(holders), 2)
                self.assertGreater(min(most.values()), 1, most)
                self.assertGreater(together, samples // 2)
                for text in texts:
                    self.assertRegex(text, r"carrier notice .* notices [1-9].* scheduler yes\n")
                lab("down")

    def test_jobs_agree_on_slots_without_a_master(self):
        """Policy gang: sets are the same on all nodes of a job, do not overlap, and are kept to and found
        again by the next classd."""
        for family in FAMILIES:
            with self.subTest(mpi=family):
                self.up("--set=scheduler.policy=gang", "--set=gang.slot=300ms")
                self.start_for(family, 8)
                self.start_for(family, 8)
                self.eventually(lambda: self.both_registered() and all(
                    job["slots"] for jobs in jobs_by_node() for job in jobs.values()), "both have slots")
                self.eventually(self.sets_agree, "sets are the same on both nodes, and disjoint")
                before = jobs_by_node()
                lab("daemons", "kill", "--node", "node0", "--only", "classd")
                lab("daemons", "start", "--node", "node0", "--only", "classd")
                self.eventually(self.both_registered, "the next classd has both jobs")
                after = jobs_by_node()
                for job, record in after[0].items():
                    self.assertEqual(record["slots"], before[0][job]["slots"])
                self.finish()
                lab("down")

    def up_with_clocks(self):
        """A lab under policy gang whose nodes have times of day of their own."""
        lab("up", "--build", BUILD, "--daemons", "none", "--set=scheduler.policy=gang", "--set=gang.slot=300ms")
        for node in ("node0", "node1"):
            self.set_clock(node, 0)
        lab("daemons", "start", f"--env=LD_PRELOAD={STEP_CLOCK}", f"--env=COSCHED_CLOCK={CLOCK}")

    @staticmethod
    def set_clock(node, ahead_s):
        lab("exec", node, "sh", "-c", f"echo {ahead_s}000000000 > {CLOCK}.new && mv {CLOCK}.new {CLOCK}")

    def start_with_clocks(self, family):
        """Each rank goes by its node's time of day."""
        program = os.path.join(BUILD, "bench", "npb", family, "bin", "cg")
        library = os.path.join(BUILD, "pmpi", "libcosched_pmpi.so")
        self.start_program(family, ["/usr/bin/env", f"LD_PRELOAD={library}:{STEP_CLOCK}", f"COSCHED_CLOCK={CLOCK}",
                                    program, "S", "--seconds", "100"])

    @staticmethod
    def job_of_each_node():
        return [next(iter(jobs.values()), None) for jobs in jobs_by_node()]

    @unittest.skipUnless(os.path.exists(STEP_CLOCK), "a build with sanitizers has no clock to set")
    def test_a_job_has_no_slots_where_the_clock_is_off(self):
        """Policy gang: where it is set while the job runs, and, of two nodes, on neither when the job starts. With one MPI:
        the clocks are compared by what all MPIs have."""
        for family in FAMILIES[-1:]:
            with self.subTest(mpi=family):
                self.up_with_clocks()
                self.start_with_clocks(family)
                self.eventually(lambda: all(job and job["slots"] for job in self.job_of_each_node()), "it has slots")
                self.assertEqual([job["clock_ahead_s"] for job in self.job_of_each_node()], [None, None])
                self.set_clock("node1", 7)
                self.eventually(lambda: self.job_of_each_node()[1]["slots"] is None, "not where the clock was set")
                self.assertEqual(len(self.job_of_each_node()[0]["slots"]), 60)
                self.end_jobs()
                self.eventually(lambda: not any(self.job_of_each_node()), "it is gone")
                self.start_with_clocks(family)
                self.eventually(lambda: all(job and job["clock_ahead_s"] for job in self.job_of_each_node()),
                                "it is said on both nodes")
                first, second = self.job_of_each_node()
                self.assertEqual((first["slots"], second["slots"]), (None, None))
                self.assertLess(first["clock_ahead_s"], -6)
                self.assertGreater(second["clock_ahead_s"], 6)
                self.assertEqual([node["clock_off_jobs"] for node in schedulers()], [1, 1])
                self.end_jobs()
                lab("down")

    @unittest.skipUnless(os.path.exists(DIE_RESERVING), "a build with sanitizers has no rank that dies")
    def test_a_rank_that_is_killed_while_slots_are_negotiated_keeps_none(self):
        """Policy gang: node1 has reserved half of the round for it, and would for two minutes. Whoever was there keeps what he
        has, and the next one is given the other half at once. With one MPI: what is tested is a daemon."""
        for family in FAMILIES[:1]:
            with self.subTest(mpi=family):
                self.up("--set=scheduler.policy=gang", "--set=gang.slot=1s")
                self.start_for(family, 100)  # longer than all of this takes; it is not waited for
                self.eventually(lambda: self.counts() == [[60], [60]], "the first job has all slots")
                died = os.path.join(self.folder, "died")
                program = os.path.join(BUILD, "bench", "npb", family, "bin", "cg")
                library = os.path.join(BUILD, "pmpi", "libcosched_pmpi.so")
                self.start_program(family, ["/usr/bin/env", f"LD_PRELOAD={library}:{DIE_RESERVING}", "COSCHED_DIES_ON=node1",
                                            f"COSCHED_DIED={died}", program, "S", "--seconds", "5"])
                self.eventually(lambda: os.path.exists(died), "a rank has reserved slots, and died")
                self.assertNotEqual(self.running.pop()[0].wait(), 0)
                self.eventually(lambda: self.counts() == [[60], [60]], "the first job is alone, with all slots")
                self.assertEqual(limited(), [])
                self.start_for(family, 3)
                self.eventually(lambda: self.both_registered() and self.sets_agree(), "the next one has half of the round")
                self.verified(self.running.pop())
                self.end_jobs()
                lab("down")

    def test_a_job_takes_what_another_leaves(self):
        """Policy gang: the ranks of the one that stays agree about more slots, and nobody waits for it. With one MPI: it
        takes long."""
        for family in FAMILIES[-1:]:
            with self.subTest(mpi=family):
                self.up("--set=scheduler.policy=gang", "--set=gang.slot=100ms")
                self.start_for(family, 100)  # longer than all of this takes; it is not waited for
                self.start_for(family, 3)
                self.eventually(lambda: self.both_registered() and self.sets_agree(), "both have half of the round")
                self.eventually(lambda: self.counts() == [[60], [60]], "the one that stays has all of it")
                self.assertIsNone(self.running[0][0].poll())
                self.verified(self.running.pop())
                self.end_jobs()
                lab("down")

    def test_who_sleeps_has_no_turns(self):
        """A job on one node, beside one on both. With one MPI: the library has no part in it."""
        family = FAMILIES[0]
        program = os.path.join(self.folder, "prompt")
        subprocess.run([f"mpicc.{family}", "-O1", "-o", program, os.path.join(SOURCES, "prompt.c")], check=True)
        self.up()
        self.start_program(family, [program, self.folder], 1)
        self.eventually(lambda: len(jobs_by_node()[0]) == 1, "the sleeper has registered")
        sleeper = next(iter(jobs_by_node()[0]))
        self.start_for(family, 100)  # longer than all of this takes; it is not waited for

        def states():
            """Nothing where not both are known."""
            jobs = jobs_by_node()[0]
            own = jobs.pop(sleeper, None)
            return [(own["dormant"], own["scheduled"], job["scheduled"], job["limited"])
                    for job in jobs.values() if own is not None]

        self.eventually(lambda: states() == [(True, False, True, False)], "the other has the node to itself")
        self.type("compute")
        self.eventually(lambda: states() == [(False, True, False, True)], "who computes has a turn")
        self.eventually(lambda: states() == [(False, False, True, True)], "so has the other")
        self.type("end")
        process, path = self.running.pop(0)
        self.assertEqual(process.wait(), 0)
        with open(path, encoding="utf-8") as output:
            self.assertIn("verified=yes", output.read())

    def type(self, word):
        with open(os.path.join(self.folder, word), "x", encoding="utf-8"):
            pass

    def start_for(self, family, seconds):
        program = os.path.join(BUILD, "bench", "npb", family, "bin", "cg")
        self.start_program(family, [program, "S", "--seconds", str(seconds)])

    @staticmethod
    def counts():
        """How many slots the jobs of each node have."""
        return [sorted(len(job["slots"] or []) for job in jobs.values()) for jobs in jobs_by_node()]

    @staticmethod
    def sets_agree():
        """Half of the round each, on both nodes the same."""
        first, second = ({job: record["slots"] for job, record in jobs.items()} for jobs in jobs_by_node())
        slots = sorted(slot for own in first.values() for slot in own or [])
        return first == second and slots == list(range(60)) and all(len(own) == 30 for own in first.values())

    def build_cpp(self, family):
        program = os.path.join(self.folder, "exchange." + family)
        subprocess.run(["mpicxx." + family, "-O1", "-o", program, os.path.join(SOURCES, "exchange.cpp")],
                       check=True)
        return program

    def take_turns(self, family, command, *options):
        """Runs the command beside CG; each must have been the idle one at some time, on both nodes."""
        self.start_program(family, command, 2, *options)
        self.start_for(family, 4)
        self.eventually(self.both_registered, "both jobs are on both nodes")
        idle = set()
        while all(process.poll() is None for process, _ in self.running):
            for name, jobs in zip(NODES, jobs_by_node()):
                if len(jobs) == 2:
                    idle |= {(name, job) for job in jobs if not jobs[job]["scheduled"]}
            time.sleep(0.1)
        texts = self.finish()
        self.assertEqual(len(idle), 4, idle)
        for text in texts:
            self.assertRegex(text, r"carrier (notice|header) .* notices [1-9]")

    def test_a_cpp_program_takes_turns(self):
        """A carrier with each MPI."""
        self.up()
        for family, carrier in zip(FAMILIES, ("notice", "header")):
            with self.subTest(mpi=family, carrier=carrier):
                self.take_turns(family, [self.build_cpp(family), "4"], "--env", "COSCHED_PIGGYBACK=" + carrier)

    def test_an_mpi4py_script_takes_turns(self):
        python = "/usr/bin/python3"  # Debian's own, for which Debian's mpi4py is
        asked = subprocess.run([python, "-c", "import mpi4py.MPI as m; print(m.Get_library_version())"],
                               capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            self.skipTest("no python3-mpi4py")
        family = "openmpi" if asked.stdout.startswith("Open MPI") else "mpich"
        self.up()
        self.take_turns(family, [python, os.path.join(SOURCES, "exchange.py"), "4"])

    def test_a_program_that_sends_nothing_ends(self):
        """Ranks share a CPU. MPICH does hang in MPI_Finalize there by chance, but seldom."""
        for family in FAMILIES:
            with self.subTest(mpi=family):
                program = os.path.join(self.folder, "silent." + family)
                subprocess.run(["mpicc." + family, "-o", program, os.path.join(SOURCES, "silent.c")], check=True)
                self.up()
                ends = [subprocess.run([*LAB, "mpiexec", "--mpi", family, "-n", "4", "--preload", "--timeout", "10",
                                        program], stdin=subprocess.DEVNULL, capture_output=True,
                                       check=False).returncode for _ in range(5)]
                self.assertGreaterEqual(ends.count(0), 3 if family == "mpich" else 5, ends)
                lab("down")

    def test_a_node_without_timer_follows_messages(self):
        """With one MPI: what is tested is a daemon."""
        for family in FAMILIES[:1]:
            with self.subTest(mpi=family):
                self.up()
                lab("daemons", "kill", "--only", "timerd", "--node", "node1")
                for _ in range(3):  # on a machine with much else to do jobs may end before
                    self.start_for(family, 5)
                    self.start_for(family, 5)
                    self.eventually(self.both_registered, "both jobs are on both nodes")
                    self.eventually(lambda: self.granted_on_node1() or any(process.poll() is not None for process, _ in self.running),
                                    "node1 has scheduled a job because of a message, or a job has ended")
                    granted = self.granted_on_node1()
                    self.finish()
                    if granted:
                        break
                self.assertTrue(granted, "node1 has scheduled no job because of a message")
                lab("down")

    @staticmethod
    def granted_on_node1():
        return schedulers()[1]["requests_granted"] > 1

    def test_one_job_is_left_alone(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                self.up()
                self.start_for(family, 2)
                self.eventually(quotas, "the job has registered")
                while self.running[0][0].poll() is None:
                    self.assertEqual(limited(), [])
                    time.sleep(0.05)
                text, = self.finish()
                self.assertRegex(text, r"carrier notice .* notices 0 requests 0 ")
                lab("down")

    @unittest.skipUnless("openmpi" in FAMILIES, "needs an MPI that can spawn")
    def test_processes_that_a_job_spawns_are_of_it(self):
        """They never take turns with their parents."""
        program = os.path.join(self.folder, "family")
        subprocess.run(["mpicc.openmpi", "-o", program, os.path.join(SOURCES, "family.c")], check=True)
        self.up()
        self.start_program("openmpi", [program, "3"], 2, "--mpi-arg=--oversubscribe")
        most = 0
        while self.running[0][0].poll() is None:
            jobs = jobs_by_node()
            self.assertLessEqual(max(map(len, jobs)), 1, jobs)
            self.assertEqual(limited(), [])
            most = max(most, sum(job["processes"] for node in jobs for job in node.values()))
            time.sleep(0.05)
        self.finish()
        self.assertEqual(most, 3)
        lab("down")

    def test_a_node_without_classd_is_named_and_the_job_runs(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                self.up()
                lab("daemons", "stop", "--node", "node1")
                self.start_for(family, 1)
                text, = self.finish()
                self.assertRegex(text, r"1 of 2 ranks have no scheduler \(rank 1 on node1: .*\)")
                self.assertIn("carrier off", text)
                lab("down")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root, for namespaces and cgroups")
        sys.exit(77)
    unittest.main()
