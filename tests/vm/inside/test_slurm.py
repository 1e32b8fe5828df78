"""Jobs of a real Slurm: named by it, limited in their steps, suspended by it, and its own again whatever ends.

COSCHED_SLURM is the tree of its packages, which is laid over /usr.
"""

import glob
import os
import re
import shutil
import sys
import time
import unittest

import node
from node import control, eventually, run

TREE = os.environ["COSCHED_SLURM"]
USER, UID = "researcher", 1000
RANKS = 2  # each on a CPU of its own: a job has all of the node, and shares it with one other
TIME_SLICE_S = 3
START_S = 180
ADDRESS = "10.98.0.1"
IDLE = ["2000", "100000"]  # 1 % of two CPUs
UNLIMITED = ["max", "100000"]
SERVICES = ("munge", "slurmctld", "slurmd")

SLURM_CONF = """
ClusterName=guests
SlurmctldHost=vm
SlurmUser=root
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MessageTimeout=100
InactiveLimit=0
ReturnToService=2
NodeName=vm Sockets=2 CoresPerSocket=1 ThreadsPerCore=1
PartitionName=shared Nodes=vm Default=YES OverSubscribe=FORCE:2
"""

CGROUP_CONF = """
CgroupPlugin=cgroup/v2
ConstrainCores=yes
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def add_user(name, uid):
    for file, line in (("passwd", f"{name}:x:{uid}:{uid}::/run:/bin/sh\n"), ("group", f"{name}:x:{uid}:\n")):
        with open(f"/etc/{file}", "a", encoding="ascii") as stream:
            stream.write(line)


def install():
    """What Debian's packages would do."""
    alternatives = "/run/alternatives"
    os.makedirs(f"{alternatives}/sbin")
    for program in ("slurmctld", "slurmd", "slurmstepd"):
        os.symlink(f"{program}-wlm", f"{alternatives}/sbin/{program}")
    run("mount", "-t", "overlay", "slurm", "-o", f"lowerdir={alternatives}:{TREE}/usr:/usr", "/usr")
    for name in SERVICES:
        unit, = glob.glob(f"{TREE}/lib/systemd/system/{name}.service") + glob.glob(f"{TREE}/usr/lib/systemd/system/{name}.service")
        shutil.copy(unit, "/run/systemd/system")
    add_user("munge", 990)
    add_user(USER, UID)
    for folder, mode in (("/etc/munge", 0o700), ("/var/lib/munge", 0o711), ("/var/log/munge", 0o700)):
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, mode)
        shutil.chown(folder, "munge", "munge")
    with open("/etc/munge/munge.key", "wb") as key:
        key.write(os.urandom(128))
    os.chmod("/etc/munge/munge.key", 0o400)
    shutil.chown("/etc/munge/munge.key", "munge", "munge")


def open_up(folder):
    """Everybody may go through to what is below it."""
    while folder != "/":
        os.chmod(folder, os.stat(folder).st_mode | 0o111)
        folder = os.path.dirname(folder)


def start_slurm():
    put("/etc/slurm/slurm.conf", SLURM_CONF)
    put("/etc/slurm/cgroup.conf", CGROUP_CONF)
    # Names are not resolved where nobody has an address but 127.0.0.1, and Open MPI's mpirun wants a network.
    run("modprobe", "dummy")
    run("ip", "link", "add", "net0", "type", "dummy")
    run("ip", "address", "add", f"{ADDRESS}/24", "dev", "net0")
    run("ip", "link", "set", "net0", "up")
    put("/etc/hosts", f"127.0.0.1 localhost\n{ADDRESS} vm\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", *SERVICES)
    eventually(lambda: "idle" in run("sinfo", "--noheader", "--format=%t"), "Slurm has a node", START_S)


def as_user(*command):
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--", *command]


def program_of(family):
    return os.path.join(node.BUILD, "bench", "npb", family, "bin", "cg")


class Step(node.Launched):
    """One srun of CG for so many seconds, as classd(8) has it."""

    def __init__(self, family, seconds):
        mpi = {"mpich": "pmi2", "openmpi": "pmix"}[family]
        super().__init__(as_user("env", f"LD_PRELOAD={node.LIBRARY}", "srun", f"--mpi={mpi}", f"--ntasks={RANKS}",
                                 "--cpu-bind=none", program_of(family), "S", "--seconds", str(seconds)))


def groups(step="[0-9]*"):
    """{job's name: its limit} of all steps that Slurm has made a group for."""
    found = {}
    for file in glob.glob(f"/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_*/step_{step}/user/cpu.max"):
        job, step = re.search(r"/job_(\d+)/step_(\w+)/", file).groups()
        try:
            with open(file, encoding="ascii") as limit:
                found[f"slurm-{job}.{step}"] = limit.read().split()
        except OSError:
            pass  # it has just ended
    return found


def is_frozen(name):
    job, step = name.removeprefix("slurm-").split(".")
    (path,) = glob.glob(f"/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job}/step_{step}/user/cgroup.events")
    with open(path, encoding="ascii") as events:
        return "frozen 1\n" in events.read()


def limited():
    return {name: limit for name, limit in groups().items() if limit != UNLIMITED}


def jobs():
    return {job["job_id"]: job for job in control("jobs") or []}


def complete():
    """Both jobs' ranks have registered."""
    return [job["processes"] for job in jobs().values()] == [RANKS, RANKS]


def scheduled():
    return [name for name, job in jobs().items() if job["scheduled"]]


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        open_up(node.BUILD)
        install()
        start_slurm()
        node.configure(scheduler={"time_slice": f"{TIME_SLICE_S}s", "gmet": "1s"})
        node.start_daemons()

    def setUp(self):
        self.running = []

    def tearDown(self):
        run("scancel", f"--user={USER}")
        for job in self.running:
            job.process.wait()
        eventually(lambda: not jobs() and not groups("*"), "Slurm and classd have forgotten all jobs")
        self.assertEqual(glob.glob("/run/cosched/placed/*"), [])

    # To start a job takes longer than all that is done to it.
    def test_steps_that_are_cancelled(self):
        self.running = [Step(family, 1000) for family in ("mpich", "openmpi")]
        eventually(complete, "both steps have registered", START_S)
        names = sorted(jobs())
        self.assertEqual(sorted(groups()), names)
        self.assertEqual(node.classes(), [])  # nobody was moved
        for what in (self.turns, self.a_killed_classd, self.suspension):
            with self.subTest(what.__name__):
                what(names)

    def turns(self, names):
        for name in names + names:
            eventually(lambda: self.sample() == name, f"{name} has a turn")  # pylint: disable=cell-var-from-loop

    def sample(self):
        """Who is scheduled, as classd and the kernel see it; None at a switch."""
        before, seen, after = scheduled(), limited(), scheduled()
        if before != after or len(after) != 1:
            return None
        self.assertEqual(seen, {name: IDLE for name in jobs() if name not in after})
        return after[0]

    def a_killed_classd(self, names):
        eventually(limited, "one is limited")
        classd = node.DAEMONS[0]
        classd.kill()
        classd.wait()
        eventually(lambda: not limited(), "timerd lifts the limit")
        self.assertEqual(sorted(groups()), names)
        node.DAEMONS[0] = node.start_daemon("classd/classd")
        eventually(lambda: complete() and limited(), "the next classd limits it again")

    def suspension(self, names):
        first, second = names
        number = re.search(r"\d+", first)[0]
        run("scontrol", "suspend", number)
        eventually(lambda: is_frozen(first), "Slurm freezes it, some seconds later")
        time.sleep(TIME_SLICE_S)  # in which classd looks
        eventually(lambda: scheduled() == [second], "the other has the node")
        end = time.monotonic() + 2 * TIME_SLICE_S
        while time.monotonic() < end:
            self.assertEqual(scheduled(), [second])
        run("scontrol", "resume", number)
        eventually(lambda: scheduled() == [first], "it has turns again")

    def test_what_batch_scripts_launch(self):
        """Hydra's ranks are in a step of srun's, Open MPI's on the script's node in the script's."""
        os.makedirs("/run/batch")
        shutil.chown("/run/batch", UID, UID)
        hydra, script = self.submit("mpich"), self.submit("openmpi")
        eventually(complete, "their ranks have registered", START_S)
        self.assertIn(f"slurm-{hydra}.0", jobs())
        self.assertEqual(node.classes(), [])  # nobody was moved
        for name in (f"slurm-{hydra}.0", f"slurm-{script}.batch"):
            eventually(lambda: groups("*").get(name) == IDLE, f"{name} is limited")  # pylint: disable=cell-var-from-loop
        run("scancel", script)
        eventually(lambda: f"slurm-{script}.batch" not in groups("*"), "scancel ends all of it")
        eventually(lambda: list(jobs()) == [f"slurm-{hydra}.0"] and not limited(), "the other has the node")

    def submit(self, family):
        """Slurm's number of a batch script that launches CG."""
        command = f"LD_PRELOAD={node.LIBRARY} mpiexec.{family} -n {RANKS} {program_of(family)} S --seconds 1000"
        return run(*as_user("sbatch", "--parsable", f"--ntasks={RANKS}", "--output=/run/batch/%j", f"--wrap={command}")).strip()


if __name__ == "__main__":
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        for path in glob.glob("/run/batch/*"):
            print(f"{path}: {read(path)}")
        print(run("journalctl", "--boot", "--no-pager", "--output=short-monotonic", "--lines=150"))
        sys.exit(1)
