"""The lab: nodes are what they claim to be, both MPIs run across them, and nothing is left behind,
whatever dies. Needs root."""

import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import daemonkit

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
sys.path.insert(0, BENCH)

from labkit import processes  # noqa: E402

NAME = "cosched-lab-test"
LAB = [os.path.join(BENCH, "lab"), "--name", NAME]
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
FAMILIES = [family for family in ("mpich", "openmpi") if shutil.which("mpiexec." + family)]


def lab(*arguments, status=0, env=None):
    done = subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, env=env and {**os.environ, **env}, check=False)
    if status is not None and done.returncode != status:
        raise AssertionError(f"lab {' '.join(arguments)}: status {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def up(*arguments):
    build = ["--build", BUILD] if BUILD else []
    lab("up", *build, *(arguments or ["--daemons", "none"]))


def status():
    return json.loads(lab("status", "--json"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def leftovers():
    """All that the lab could leave: its bridge lives in a namespace, and that in a process."""
    return ([f"process {who['pid']}" for who in processes.marked(NAME)]
            + glob.glob(f"/run/{NAME}*") + glob.glob(f"/sys/fs/cgroup/{NAME}.*")
            + glob.glob(f"/sys/fs/cgroup/*/{NAME}.*")
            + [line for line in read("/proc/self/mountinfo").splitlines() if NAME in line])


def sleepers():
    """How many of the processes that tests have sleep are there."""
    names = []
    for who in processes.marked(NAME):
        try:
            with open(f"/proc/{who['pid']}/cmdline", "rb") as file:
                names.append(file.read())
        except OSError:
            pass
    return sum(name == b"sleep\x001000\x00" for name in names)


def wait_for_sleepers(count):
    for _ in range(200):
        if sleepers() >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the job does not start")


class LabTest(unittest.TestCase):
    def tearDown(self):
        lab("down")
        self.assertEqual(leftovers(), [])


class Nodes(LabTest):
    def test_a_node_has_its_own_name_network_and_directories(self):
        up("--daemons", "none", "--set", "scheduler.gmet=1s")
        host_shm = os.stat("/dev/shm").st_dev
        for name, address in (("node0", "10.99.0.1"), ("node1", "10.99.0.2")):
            with self.subTest(node=name):
                self.assertEqual(lab("exec", name, "hostname").strip(), name)
                self.assertIn(address, lab("exec", name, "ip", "-4", "address", "show", "eth0"))
                self.assertEqual(lab("exec", name, "ls", "/sys/class/net").split(), ["eth0", "lo"])
                devices = lab("exec", name, "stat", "-c", "%d", "/dev/shm", "/run/cosched").split()
                self.assertEqual(len({*devices, str(host_shm)}), 3)
                config = lab("exec", name, "cat", "/etc/cosched.ini")
                self.assertIn(f"root = {NAME}.{name}/cosched", config)
                self.assertIn("gmet = 1s", config)

    def test_nodes_reach_each_other_by_name(self):
        up()
        self.assertEqual(lab("exec", "node0", "getent", "ahostsv4", "node1").split()[0], "10.99.0.2")
        hello = "import socket; socket.create_connection(('node1', 7777), 5).sendall(b'hello')"
        answer = "import socket; s = socket.create_server(('', 7777)); print(s.accept()[0].recv(5))"
        server = subprocess.Popen([*LAB, "exec", "node1", sys.executable, "-uc", answer],
                                  stdout=subprocess.PIPE, text=True)
        for _ in range(50):
            if not subprocess.run([*LAB, "exec", "node0", sys.executable, "-c", hello],
                                  stderr=subprocess.DEVNULL, check=False).returncode:
                break
            time.sleep(0.1)
        self.assertEqual(server.communicate(timeout=10)[0].strip(), "b'hello'")

    def test_the_host_is_not_changed(self):
        before = [read(path) for path in ("/etc/hosts", "/proc/mounts", "/etc/hostname")]
        config = os.path.exists("/etc/cosched.ini")
        up()
        after = [read(path) for path in ("/etc/hosts", "/proc/mounts", "/etc/hostname")]
        self.assertEqual(before, after)
        self.assertEqual(os.path.exists("/etc/cosched.ini"), config)

    def test_cgroups_stay_visible_and_each_node_has_its_subtree(self):
        up()
        self.assertEqual(len(lab("exec", "node0", "ls", "/sys/fs/cgroup").split()),
                         len(os.listdir("/sys/fs/cgroup")))
        tops = status()["cgroups"]
        self.assertEqual({os.path.basename(top) for top in tops}, {f"{NAME}.node0", f"{NAME}.node1", f"{NAME}.daemons"})
        for top in tops:
            if "node" in os.path.basename(top):
                self.assertTrue(os.path.isdir(os.path.join(top, "cosched")), top)

    def test_a_job_may_be_among_the_users_of_each_of_its_nodes(self):
        up()
        tops = len(status()["cgroups"])
        for family in FAMILIES:
            for users in ([], ["--users"]):
                said = lab("mpiexec", "--mpi", family, "-n", "2", *users, "sh", "-c",
                           'echo "$(hostname) $(grep -o "/$0[.].*" /proc/self/cgroup | sort -u | tr "\\n" " ")"', NAME)
                with self.subTest(family=family, users=users):
                    self.assertEqual(sorted(line.split() for line in said.splitlines()),
                                     [[node, f"/{NAME}.{node}/users"] if users else [node] for node in ("node0", "node1")])
        self.assertGreater(tops, 0)

    def test_exec_keeps_directory_and_status(self):
        up()
        self.assertEqual(lab("exec", "1", "pwd").strip(), os.getcwd())
        lab("exec", "node1", "sh", "-c", "exit 5", status=5)

    def test_more_nodes_and_cpus(self):
        up("--daemons", "none", "--nodes", "3", "--cpus-per-node", "2")
        nodes = status()["nodes"]
        self.assertEqual([node["name"] for node in nodes], ["node0", "node1", "node2"])
        self.assertIn("cpus = 2" if os.cpu_count() > 1 else "cpus = 1",
                      lab("exec", "node2", "cat", "/etc/cosched.ini"))


@unittest.skipUnless(FAMILIES, "no MPI")
class Mpi(unittest.TestCase):
    """In one lab: none of it needs a new one."""

    @classmethod
    def setUpClass(cls):
        up()

    @classmethod
    def tearDownClass(cls):
        lab("down")
        if leftovers():
            raise AssertionError(f"left: {leftovers()}")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = os.path.join(folder.name, "report.json")

    def each(self):
        for family in FAMILIES:
            with self.subTest(mpi=family):
                yield ["mpiexec", "--mpi", family, "--timeout", "60", "--report", self.report]

    def reported(self):
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)

    def test_ranks_are_spread_evenly(self):
        for mpiexec in self.each():
            for ranks in (1, 2, 4):
                hosts = lab(*mpiexec, "-n", str(ranks), "hostname").split()
                half = (ranks + 1) // 2
                self.assertEqual(sorted(hosts), ["node0"] * half + ["node1"] * (ranks - half))

    def test_launching_is_quick(self):
        for mpiexec in self.each():
            lab(*mpiexec, "-n", "2", "true")
            self.assertLess(self.reported()["response_s"], 3)  # 0.05 and 0.15 s when nothing else runs

    def test_remote_ranks_get_no_more_environment_than_by_ssh(self):
        for mpiexec in self.each():
            text = lab(*mpiexec, "-n", "2", "sh", "-c", "echo $(hostname):$FORWARDED:$HOME",
                       env={"FORWARDED": "yes"})
            lines = dict(line.split(":", 1) for line in text.split())
            # Hydra forwards the environment by itself, Open MPI does not.
            self.assertEqual(lines["node1"].split(":")[0], "yes" if "mpich" in mpiexec else "")
            self.assertNotEqual(lines["node1"].split(":")[1], "")

    def test_exit_status_is_the_programs(self):
        for mpiexec in self.each():
            lab(*mpiexec, "-n", "2", "sh", "-c", "exit 3", status=3)

    def test_a_job_that_does_not_end_is_ended(self):
        for mpiexec in self.each():
            lab(*mpiexec, "--timeout", "1", "-n", "2", "sh", "-c", "trap '' TERM; sleep 60; sleep 60",
                status=124)
            self.assertTrue(self.reported()["timed_out"])
            self.assertEqual([node["name"] for node in status()["nodes"]], ["node0", "node1"])

    def test_a_job_that_hangs_after_its_work_is_told_from_a_failure(self):
        for mpiexec in self.each():
            lab(*mpiexec, "--done-pattern", "^done", "--grace", "1", "-n", "2", "sh", "-c",
                "echo done; sleep 60")
            report = self.reported()
            self.assertEqual((report["hung_in_finalize"], report["timed_out"]), (1, False))
            self.assertLess(report["response_s"], 3)
            lab(*mpiexec, "--timeout", "4", "--done-pattern", "^done", "--grace", "60", "-n", "2", "sh", "-c",
                "echo done; sleep 60")
            report = self.reported()
            self.assertEqual((report["hung_in_finalize"], report["timed_out"]), (1, False))

    def test_a_job_that_spins_after_its_work_is_ended_sooner(self):
        for mpiexec in self.each():
            start = time.monotonic()
            lab(*mpiexec, "--done-pattern", "^done", "--grace", "60", "--grace-cpu", "2", "-n", "2",
                "sh", "-c", "echo done; while :; do :; done")
            report = self.reported()
            self.assertEqual(report["hung_in_finalize"], 1)
            self.assertLess(report["cpu_s"], 2)  # without what it has burnt since the line
            self.assertLess(time.monotonic() - start, 30)

    def test_cpu_time_of_all_ranks_is_counted(self):
        burn = "import time\nwhile time.process_time() < 0.5: pass"
        for mpiexec in self.each():
            lab(*mpiexec, "-n", "2", sys.executable, "-c", burn)
            self.assertGreater(self.reported()["cpu_s"], 1.0)

    def test_a_terminated_mpiexec_takes_its_ranks_along(self):
        for mpiexec in self.each():
            process = subprocess.Popen([*LAB, *mpiexec, "-n", "2", "sleep", "1000"])
            wait_for_sleepers(2)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), 143)
            self.assertEqual(sleepers(), 0)


@unittest.skipUnless(BUILD and os.path.exists(os.path.join(BUILD, "classd", "classd")), "not built")
class Daemons(LabTest):
    def test_start_kill_and_start_again(self):
        up("--set", "scheduler.time_slice=1s", "--set", "scheduler.gmet=200ms")
        for node in status()["nodes"]:
            self.assertEqual(set(node["daemons"]), {"classd", "timerd"})
            self.assertEqual(node["scheduler"]["time_slice_s"], 1)
        before = status()["nodes"]
        if daemonkit.realtime_allowed():
            for daemon in before[0]["daemons"].values():
                self.assertEqual(os.sched_getscheduler(daemon), os.SCHED_FIFO | os.SCHED_RESET_ON_FORK)
        lab("daemons", "kill", "--node", "node0", "--only", "classd")
        first, second = status()["nodes"]
        self.assertEqual(set(first["daemons"]), {"timerd"})
        self.assertEqual(second["daemons"], before[1]["daemons"])
        lab("daemons", "start", "--set", "scheduler.gmet=300ms")
        after = status()["nodes"]
        self.assertNotEqual(after[0]["daemons"]["classd"], before[0]["daemons"]["classd"])
        self.assertEqual(after[0]["scheduler"]["gmet_s"], 0.3)
        self.assertEqual(after[1]["daemons"], before[1]["daemons"])
        lab("daemons", "stop")
        self.assertEqual([node["daemons"] for node in status()["nodes"]], [{}, {}])

    def test_a_bad_setting_fails_and_leaves_nothing(self):
        build = ["--build", BUILD]
        lab("up", *build, "--set", "scheduler.time_slice=often", status=2)
        self.assertEqual(leftovers(), [])

    def test_down_ends_daemons_and_jobs_with_classes(self):
        up("--set", "scheduler.time_slice=1s", "--set", "scheduler.gmet=200ms")
        program = os.path.join(BUILD, "bench", "npb", "mpich", "bin", "cg")
        if not os.path.exists(program):
            self.skipTest("no MPICH kernel")
        jobs = [subprocess.Popen([*LAB, "mpiexec", "-n", "2", "--preload", program, "A", "--repeat", "99"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(2)]
        for _ in range(100):
            if all(len(node["jobs"] or []) == 2 for node in status()["nodes"]):
                break
            time.sleep(0.1)
        else:
            self.fail("the jobs do not register")
        lab("down")
        self.assertEqual(leftovers(), [])
        for job in jobs:
            job.wait(timeout=20)  # Hydra, asked to end, says 0


class Crashes(LabTest):
    @unittest.skipUnless(FAMILIES, "no MPI")
    def test_down_ends_jobs_whose_mpiexec_was_killed(self):
        up()
        for count, family in enumerate(FAMILIES, 1):
            process = subprocess.Popen([*LAB, "mpiexec", "--mpi", family, "-n", "2", "sleep", "1000"])
            wait_for_sleepers(2 * count)
            process.kill()
            process.wait()
        lab("down")
        self.assertEqual(leftovers(), [])

    def test_down_without_a_lab_is_fine(self):
        lab("down")
        lab("down")

    def test_up_killed_at_any_moment(self):
        draw = random.Random(20)
        for _ in range(8):
            process = subprocess.Popen([*LAB, "up", "--daemons", "none"], stderr=subprocess.DEVNULL)
            while not os.path.exists(f"/run/{NAME}/lab.json") and process.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.15))
            process.kill()
            process.wait()
            lab("down")
            self.assertEqual(leftovers(), [])

    def test_up_terminated_cleans_up_by_itself(self):
        process = subprocess.Popen([*LAB, "up", "--daemons", "none"], stderr=subprocess.DEVNULL)
        while not os.path.exists(f"/run/{NAME}/lab.json") and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 143)
        self.assertEqual(leftovers(), [])

    def test_up_replaces_a_broken_lab_but_no_healthy_one(self):
        up()
        lab("up", "--daemons", "none", status=2)
        os.kill(status()["nodes"][1]["pid"], signal.SIGKILL)
        up()
        self.assertTrue(status()["up"])

    def test_up_replaces_a_lab_whose_owner_is_gone(self):
        owner = subprocess.Popen(["sleep", "1000"])
        up("--daemons", "none", "--owner", str(owner.pid))
        lab("up", "--daemons", "none", status=2)
        owner.kill()
        owner.wait()
        up()

    def test_down_for_an_owner_leaves_the_lab_of_another(self):
        up("--daemons", "none", "--owner", str(os.getpid()))
        lab("down", "--owner", str(os.getppid()))
        self.assertTrue(status()["up"])
        lab("down", "--owner", str(os.getpid()))
        self.assertEqual(leftovers(), [])

    def test_down_finds_everything_without_its_record(self):
        up()
        shutil.rmtree(f"/run/{NAME}")
        lab("down")
        self.assertEqual(leftovers(), [])

    def test_processes_in_the_subtree_survive_at_the_root(self):
        up()
        top = next(top for top in status()["cgroups"] if top.endswith(".node0"))
        stranger = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        with open(os.path.join(top, "users", "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(stranger.pid))
        lab("down")
        self.assertIsNone(stranger.poll())


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("the lab needs root", file=sys.stderr)
        sys.exit(77)
    unittest.main()
