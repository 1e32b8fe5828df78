"""One session: a lab, and in it every unit (a scheduler with a mix or a single job) in turn."""

import dataclasses
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from . import NasError, results, workload

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = os.path.join(BENCH, "lab")
LAB_NAME = "cosched-lab-nas"

# The line with which a program says how its work went: our kernels', or that of the official NPB.
DONE = r"^NPB kernel=.* verified=\w+|^\s*Verification\s+=\s+\w+"
VERIFIED = re.compile(r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL")


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """How a unit runs. A scheduler that runs jobs alone gets each distinct job, else each mix."""

    alone: bool
    cosched: bool  # daemons run, and the library is loaded
    mpi_arguments: dict = dataclasses.field(default_factory=dict)


SCHEDULERS = {
    "dedicated": Scheduler(alone=True, cosched=False),
    "uncoordinated": Scheduler(alone=False, cosched=False),
    "cosched": Scheduler(alone=False, cosched=True),
    # Beyond the three of the comparison, for questions about them:
    "dedicated-cosched": Scheduler(alone=True, cosched=True),  # what the library costs a job alone
    "yield": Scheduler(alone=False, cosched=False, mpi_arguments={
        "openmpi": ["--mca", "mpi_yield_when_idle", "1"]}),  # Open MPI's own remedy; MPICH has none
}


@dataclasses.dataclass(frozen=True)
class Unit:
    mpi: str
    scheduler: str
    mix: tuple  # jobs


class Session:
    def __init__(self, options, mixes, progress=sys.stderr):
        self.options = options
        self.mixes = mixes
        self.cluster = workload.Cluster(options.nodes, options.cpus_per_node)
        self.records = []
        self.progress = progress
        self.daemons_up = False
        self.running = []

    def units(self, rng):
        """All units of one repetition, in random order, so that no scheduler always goes first."""
        units = []
        for mpi in self.options.mpi:
            for name in self.options.schedulers:
                scheduler = SCHEDULERS[name]
                if name == "yield" and mpi not in scheduler.mpi_arguments:
                    continue
                mixes = self.mixes
                if scheduler.alone:
                    mixes = [(job,) for job in workload.distinct(self.mixes)]
                units += [Unit(mpi, name, mix) for mix in mixes]
        rng.shuffle(units)
        return units

    def run(self):
        options = self.options
        rng = random.Random(options.seed)
        schedule = [(repetition, unit) for repetition in range(1, options.runs + 1)
                    for unit in self.units(rng)]
        for unit in dict.fromkeys(unit for _, unit in schedule):
            for job in unit.mix:
                self.program(unit.mpi, job)  # missing programs are learnt before the first run
        try:
            self._lab_up()
            for place, (repetition, unit) in enumerate(schedule, 1):
                print(f"[{place}/{len(schedule)}] run {repetition} {unit.mpi} {unit.scheduler}: "
                      f"{workload.mix_name(unit.mix)} ...", end=" ", file=self.progress, flush=True)
                self._run_unit(unit, repetition, place)
        finally:
            self._end_jobs()
            self._lab("down", check=False)

    def failed(self):
        return [record for record in self.records if not record["verified"]]

    def program(self, mpi, job):
        """(path, arguments, loop): official programs are looped over, ours repeat by themselves."""
        if self.options.npb_dir:
            folder = self.options.npb_dir.replace("{mpi}", mpi)
            path = os.path.join(folder, "bin", f"{job.kernel}.{job.size}.x")
            arguments, loop = [], job.repeat
        else:
            path = os.path.join(self.options.build, "bench", "npb", mpi, "bin", job.kernel)
            arguments, loop = [job.size, "--repeat", str(job.repeat)], 1
        if not os.access(path, os.X_OK):
            raise NasError(f"job {job} for {mpi}: there is no program {path}")
        return path, arguments, loop

    def _lab(self, *arguments, check=True):
        done = subprocess.run([LAB, "--name", LAB_NAME, *arguments], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              start_new_session=True, check=False)
        if check and done.returncode != 0:
            raise NasError(f"lab {arguments[0]} failed")
        return done.stdout

    def _lab_up(self):
        options = self.options
        settings = {"scheduler.time_slice": options.time_slice, "scheduler.gmet": options.gmet}
        for text in options.set:
            key, _, value = text.partition("=")
            settings[key] = value
        arguments = [f"--set={key}={value}" for key, value in settings.items()]
        self._lab("up", "--nodes", str(options.nodes), "--cpus-per-node", str(options.cpus_per_node),
                  "--build", options.build, "--daemons", "none", "--owner", str(os.getpid()),
                  *arguments)

    def _need_daemons(self, wanted):
        if wanted != self.daemons_up:
            self._lab("daemons", "start" if wanted else "stop")
            self.daemons_up = wanted

    def _counters(self):
        """Sums over the nodes of what classd counts."""
        if not self.daemons_up:
            return {}
        nodes = json.loads(self._lab("status", "--json"))["nodes"]
        names = ("switches", "requests", "requests_granted", "requests_discarded")
        known = [node["scheduler"] for node in nodes if isinstance(node["scheduler"], dict)]
        return {name: sum(found.get(name, 0) for found in known) for name in names} if known else {}

    def _run_unit(self, unit, repetition, place):
        scheduler = SCHEDULERS[unit.scheduler]
        self._need_daemons(scheduler.cosched)
        before = self._counters()
        logs = os.path.join(self.options.out, "logs")
        os.makedirs(logs, exist_ok=True)
        bases = [os.path.join(logs, f"{place:03}-{unit.mpi}-{unit.scheduler}-{index}-"
                              f"{str(job).replace('*', 'x')}") for index, job in enumerate(unit.mix)]
        self.running = [self._start(unit, index, base) for index, base in enumerate(bases)]
        for process in self.running:
            process.wait()
        self.running = []
        after = self._counters()
        counters = {name: after[name] - before.get(name, 0) for name in after}
        new = [self._record(unit, index, base, repetition, counters)
               for index, base in enumerate(bases)]
        self.records += new
        self._store()
        print(", ".join(f"{r['response_s']:.2f} s{'' if r['verified'] else ' NOT VERIFIED'}"
                        f"{' (hung in finalize)' if r['hung_in_finalize'] else ''}" for r in new),
              file=self.progress, flush=True)

    def _start(self, unit, index, base):
        job, scheduler = unit.mix[index], SCHEDULERS[unit.scheduler]
        path, arguments, loop = self.program(unit.mpi, job)
        command = [LAB, "--name", LAB_NAME, "mpiexec", "--mpi", unit.mpi, "-n", str(job.ranks),
                   "--loop", str(loop), "--done-pattern", DONE, "--report", base + ".json",
                   "--timeout", str(self._limit_s(unit, job)), "--grace", str(self._grace_s(unit))]
        if scheduler.cosched:
            command += ["--preload", *(f"--env={text}" for text in self.options.env)]
        command += [f"--mpi-arg={text}" for text in scheduler.mpi_arguments.get(unit.mpi, [])]
        with open(base + ".log", "wb") as log:
            return subprocess.Popen([*command, path, *arguments], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, start_new_session=True)

    def _limit_s(self, unit, job):
        """Far more than the worst uncoordinated sharing takes, when we know the job."""
        known_s = results.dedicated_times(self.records).get((unit.mpi, str(job)))
        generous_s = 60 + 15 * len(unit.mix) * known_s if known_s else self.options.timeout
        return min(self.options.timeout, generous_s)

    def _grace_s(self, unit):
        """For MPI_Finalize; where nodes are time-shared, the job may have to wait for its turn."""
        shared = SCHEDULERS[unit.scheduler].cosched
        return 10 + (2 * len(unit.mix) * seconds(self.options.time_slice) if shared else 0)

    def _record(self, unit, index, base, repetition, counters):
        job = unit.mix[index]
        try:
            with open(base + ".json", encoding="utf-8") as file:
                report = json.load(file)
        except (FileNotFoundError, ValueError):
            raise NasError(f"{job}: the lab could not run it, see {base}.log") from None
        with open(base + ".log", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        said = [line for line in lines if re.search(DONE, line)]
        _, _, loop = self.program(unit.mpi, job)
        verified = (report["exit_status"] == 0 and not report["timed_out"] and len(said) >= loop
                    and all(VERIFIED.search(line) for line in said))
        return {"scheduler": unit.scheduler, "mpi": unit.mpi, "repetition": repetition,
                "mix": workload.mix_name(unit.mix), "index": index, "job": str(job),
                "ranks": job.ranks, "degree": self.cluster.degree(job, unit.mix),
                "response_s": report["response_s"], "cpu_s": report["cpu_s"], "verified": verified,
                "hung_in_finalize": report["hung_in_finalize"], "timed_out": report["timed_out"],
                "exit_status": report["exit_status"], "started": report["started"],
                "seconds": report["seconds"], "log": os.path.basename(base) + ".log", **counters}

    def _fair(self, mpi, mix, index, times):
        jobs = workload.parse_mix(mix)
        dedicated_s = [times.get((mpi, str(job))) for job in jobs]
        if None in dedicated_s:
            return None
        return workload.fair_response(self.cluster, jobs, dedicated_s)[index]

    def _store(self):
        """After every unit: what has been measured is not lost when the session is."""
        results.add_stretch(self.records, self._fair)
        write_json(os.path.join(self.options.out, "results.json"), self.records)

    def _end_jobs(self):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def write_json(path, value):
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def seconds(text):
    """A duration as cosched.ini has it, in seconds."""
    match = re.fullmatch(r"([0-9.]+)\s*(us|ms|s|min|h)", text.strip())
    if not match:
        raise NasError(f"duration {text!r}: must be like 4s or 500ms")
    scale = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
    return float(match[1]) * scale[match[2]]


def timestamp():
    return time.strftime("%Y%m%d-%H%M%S")
