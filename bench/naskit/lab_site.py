"""The virtual cluster as the place where jobs run. Only `bench/lab` is called."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

from labkit import launch

from . import NasError, environment, hosts, memory, noise, output, pace, schedulers, times

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = os.path.join(BENCH, "lab")
LAB_NAME = "cosched-lab-nas"
DAEMONS = ("classd", "timerd")


class LabSite:
    """Nodes made of namespaces; daemons are ours to start and stop."""

    counts_cpu = True

    def __init__(self, options, jobs_mib=memory.MOST_MIB, name=None):
        """`jobs_mib`: what jobs that run at once need together, at most."""
        self.options = options
        self.kept_mib = memory.to_keep_mib(jobs_mib)
        self.name = name or os.environ.get("COSCHED_NAS_LAB", LAB_NAME)
        self.nodes = [f"node{index}" for index in range(options.nodes)]
        self.daemons = None  # settings of those that run
        self.lag_s = None
        self.told = set()  # which settings units have had
        self.is_up = False
        self.cpus = []
        self.keeper = None
        self.watch = None

    def _lab(self, *arguments, check=True):
        done = subprocess.run([LAB, "--name", self.name, *arguments], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              start_new_session=True, check=False)
        if check and done.returncode != 0:
            raise NasError(f"lab {arguments[0]} failed")
        return done.stdout

    def check(self):
        if os.geteuid() != 0:
            raise NasError("the virtual cluster needs root: run it as root")
        self._check_build()

    def _check_build(self):
        """Hours may pass until something of it is needed for the first time; and who is not asked says nothing."""
        programs = [*(os.path.join(title, title) for title in DAEMONS), os.path.join("ctl", "coschedctl")]
        for name in [*programs, launch.LIBRARY]:
            path = os.path.join(self.options.build, name)
            if not os.access(path, os.X_OK if name in programs else os.R_OK):
                raise NasError(f"{path} is not there: build first, or name a build with --build DIR")

    def tell_lacking(self):
        wanted, there = self.options.nodes * self.options.cpus_per_node, len(os.sched_getaffinity(0))
        if wanted > there:
            print(f"Beware: the nodes are to have {wanted} CPUs together, and there are {there}: nodes share them, so times, "
                  "degrees and stretch are not those of such a cluster", file=sys.stderr)

    def up(self):
        self.tell_lacking()
        self.keeper = memory.Keeper(self.kept_mib) if self.kept_mib else None
        self.is_up = True
        self._lab("up", "--nodes", str(len(self.nodes)), "--cpus-per-node",
                  str(self.options.cpus_per_node), "--build", self.options.build,
                  "--daemons", "none", "--users", "--owner", str(os.getpid()),
                  *(f"--set={text}" for text in self.options.set))
        nodes = json.loads(self._lab("status", "--json"))["nodes"]
        self.cpus = sorted({cpu for node in nodes for cpu in node["cpus"]})
        if self.keeper:
            self.keeper.wait()
        if self.options.noise:
            self.watch = pace.Pace(self.options.build, self.cpus)

    def described(self):
        """What classd of a node has beside what units set."""
        classd = os.path.join(self.options.build, "classd", "classd")
        return {"classd": environment.settings(self._lab("exec", self.nodes[0], classd, "--print-config"))}

    def down(self):
        if self.watch:
            self.watch.close()
        self.watch = None
        if self.keeper:
            self.keeper.close()
        self.keeper = None
        if self.is_up:  # or was refused, because another session's is
            self._lab("down", "--owner", str(os.getpid()), check=False)
        self.is_up = False

    def calibrate(self):
        return noise.calibrate(self.cpus)

    def pace(self):
        """Of the slowest CPU since this was last asked, in seconds; None where nobody has looked."""
        return self.watch.since_last() if self.watch else None

    def prepare(self, scheduler, unit):
        """Daemons with the unit's settings, or none."""
        wanted = self._wanted(scheduler, unit) if scheduler.cosched else None
        lag_s = self._lag_s(wanted, unit) if wanted else None
        if wanted == self.daemons and lag_s == self.lag_s:
            return
        if self.daemons:
            self._lab("daemons", "stop")
        self.daemons = None
        if wanted:
            self.told |= wanted.keys()
            # The lab remembers what it was told last, so what another unit has changed is changed back.
            settings = {**self._configured(), **wanted}
            self._start((*(f"--unset={key}" for key in sorted(self.told - settings.keys())),
                         *(f"--set={key}={value}" for key, value in settings.items())), lag_s)
        self.daemons, self.lag_s = wanted, lag_s

    def _start(self, settings, lag_s=None):
        """All daemons; with `lag_s` the timers of all nodes but the first begin so much later."""
        if lag_s is None:
            self._lab("daemons", "start", *settings)
            return
        first, *others = self.nodes
        # A stopped node's timer would leave time-slices to nobody: it is not started before its time.
        self._lab("daemons", "start", "--only", "classd", *settings)
        self._lab("daemons", "start", "--only", "timerd", "--node", first)
        time.sleep(lag_s)
        if others:
            self._lab("daemons", "start", "--only", "timerd", *(f"--node={node}" for node in others))

    def _lag_s(self, wanted, unit):
        """Any part of a time-slice where timers are not aligned, the same for all units of a repetition; else None. Daemons that
        start together would have theirs at the same moments all the same."""
        if {**self._given(), **wanted}.get("timer.align") != "no":
            return None
        return random.Random(f"{self.options.seed}/{unit.repetition}").random() * unit.time_slice_s

    def _wanted(self, scheduler, unit):
        """{SECTION.KEY: value} of a unit under cosched."""
        policy = {"scheduler.policy": scheduler.policy} if scheduler.policy else {}
        is_gang = scheduler.configured(self._given()).policy == schedulers.GANG
        slot = {"gang.slot": times.text(unit.time_slice_s)} if is_gang else {}
        return {"scheduler.time_slice": times.text(unit.time_slice_s), "scheduler.gmet": times.text(unit.gmet_s), **policy,
                **slot, **dict(unit.settings), **dict(scheduler.settings)}

    def _given(self):
        """{SECTION.KEY: value} of the session."""
        return schedulers.given(self.options.set)

    def time_slice_s(self, unit):
        """That the nodes have while the unit runs."""
        return unit.time_slice_s

    def check_settings(self, scheduler, unit):
        """Raises NasError where the build's classd refuses them: hours may pass until it is started with them."""
        here = {"scheduler.cpus": str(self.options.cpus_per_node)}  # as the lab has it
        lines = [f"[{section}]\n{name} = {value}\n" for key, value in {**here, **self._given(), **self._wanted(scheduler, unit)}.items()
                 for section, _, name in [key.partition(".")]]
        with tempfile.NamedTemporaryFile("w", suffix=".ini", encoding="utf-8") as config:
            config.write("".join(lines))
            config.flush()
            command = [os.path.join(self.options.build, "classd", "classd"), "--config", config.name, "--check-config"]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, check=False)
            except OSError as error:
                raise NasError(f"{command[0]} cannot be run ({error.strerror}): build first, or name a build with --build "
                               "DIR") from None
            if done.returncode != 0:
                said = (done.stdout.strip().splitlines() or ["nothing"])[-1].replace(f"{config.name}:", "its line ")
                raise NasError(f"settings of {scheduler.name}: classd refuses them; it says: {said}")

    def _configured(self):
        return {key: value for key, value in self._given().items() if key in self.told}

    def job_command(self, job, mpi, program, arguments):
        """The command that runs a job and reports on it; `arguments` are those of the launcher."""
        # Without daemons, which make a group for it, it is where its node's hogs are, and each process weighs the same. Else
        # the kernel would weigh sessions, and that of a job on several nodes, which are one kernel's here, but once.
        group = [] if self.daemons else ["--users"]
        return [LAB, "--name", self.name, "mpiexec", "--mpi", mpi, "-n", str(job.ranks), *group,
                "--done-pattern", output.DONE, *arguments, *program]

    def preload(self):
        return ["--preload"]

    def hog_commands(self, job):
        return [[LAB, "--name", self.name, "exec", "--users", self.nodes[rank % len(self.nodes)], "sh",
                 "-c", hosts.gated("while :; do :; done")] for rank in range(job.ranks)]

    def counters(self):
        """What each node's classd counts; [] without daemons. Raises NasError when one has ended by
        itself: jobs would run uncoordinated, and their times be told as cosched's."""
        if not self.daemons:
            return []
        lab = json.loads(self._lab("status", "--json"))
        for node in lab["nodes"]:
            for title in DAEMONS:
                if title not in node["daemons"]:
                    log = os.path.join(lab["state"], node["name"], f"{title}.log")
                    raise NasError(f"{title} of {node['name']} has ended by itself; the last line of its "
                                   f"log: {_last_line(log)}")
        return [node["scheduler"] for node in lab["nodes"]]

    def _control(self, node, *arguments):
        return self._lab("exec", node, self.control(), *arguments, check=False)

    def control(self):
        return os.path.join(self.options.build, "ctl", "coschedctl")

    def trace_start(self):
        for node in self.nodes if self.daemons else ():
            self._control(node, "trace", "start", str(hosts.TRACE_EVENTS))

    def trace_dumps(self):
        """The text of each node's trace; [] when there are no daemons."""
        return [self._control(node, "trace", "dump", node) for node in self.nodes if self.daemons]

    def environment(self):
        """What a plugged-in scheduler may want to know."""
        return {"NASKIT_LAB": f"{LAB} --name {self.name}", "NASKIT_HOSTS": " ".join(self.nodes)}


def _last_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return (file.read().splitlines() or ["(empty)"])[-1]
    except OSError as error:
        return f"({error.strerror})"
