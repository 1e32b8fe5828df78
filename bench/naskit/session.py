"""One session: every unit of the plan in turn, on its site, and what is known after each on disk."""

import json
import os
import subprocess
import time

from . import (NasError, experiments, gantt, noise, plan, progress, records, runner,
               schedulers, store, summary, tables, workload)

FIRST_CALIBRATIONS = 5
QUIET_TRIES = 5
SETTLE_S = 1.0

# Of CPU time in MPI_Finalize, after which a job that hangs there is ended. Short, for the next job of a
# batch waits for that; a job that ends needs a hundredth.
GRACE_CPU_S = "0.5"
CONTROL_NAMES = {"switches": "switches", "requests": "requests", "granted": "requests_granted",
                 "discarded": "requests_discarded", "false": "requests_false"}


class Session:
    """`units` is the whole plan; those that `results` already has are not run again."""

    def __init__(self, options, site, results, units):
        self.options = options
        self.site = site
        self.results = results
        self.units = units
        self.schedulers = plan.known_schedulers(units, options.schedulers)
        self.cluster = workload.Cluster(options.nodes, options.cpus_per_node)
        self.runs = results.runs()
        self.guard = noise.Guard(options.noise, [run["calibration_s"] for run in self.runs])
        self.progress = progress.Progress(units)
        self.script_up = None
        self.calibration_s = None

    # -- the whole

    def check(self):
        """What is missing is learnt before the first run."""
        self.site.check()
        for mpi, job in dict.fromkeys((unit.mpi, job) for unit in self.units for job in unit.jobs):
            refusal = workload.refusal(job)
            if refusal:
                raise NasError(f"job {job}: {refusal}")
            if not job.is_hog:
                self.program(mpi, job)

    def run(self):
        for run in self.runs:
            self.progress.wall_s[run["place"]] = run["wall_s"]
        try:
            self.site.up()
            if self.guard.factor:
                for _ in range(FIRST_CALIBRATIONS):
                    self._calibrate()
            # The second time for those that only the whole session's median shows to be disturbed.
            for place, unit in [*enumerate(self.units)] * 2:
                self._run_place(place, unit)
        finally:
            self._script_down()
            self.site.down()

    def _run_place(self, place, unit):
        attempts = [run for run in self.runs if run["place"] == place]
        while not attempts or (len(attempts) <= self.options.retries
                               and all(run["disturbed"] for run in attempts)):
            self.progress.begin(place, len(attempts) + 1)
            start_s = time.monotonic()
            run = self._run_unit(place, unit, len(attempts) + 1)
            run["wall_s"] = time.monotonic() - start_s
            self.guard.judge([run])
            self.runs.append(run)
            attempts.append(run)
            self.results.append_run(run)
            self.guard.judge(self.runs)
            self.progress.end(place, run, run["wall_s"])
            self.summarize()

    # -- one unit

    def _calibrate(self):
        self.calibration_s = self.site.calibrate()
        if self.calibration_s is not None:
            self.guard.add(self.calibration_s)
        return self.calibration_s

    def _settle(self):
        """Waits a little for quiet; what is still disturbed then will be counted as such."""
        for _ in range(QUIET_TRIES):
            if self.calibration_s is None or not self.guard.is_disturbed(self.calibration_s):
                return
            time.sleep(SETTLE_S)
            self._calibrate()

    def _run_unit(self, place, unit, attempt):
        scheduler = self.schedulers[unit.scheduler]
        self.site.prepare(scheduler, unit)
        self._script(scheduler, unit)
        if self.guard.factor:
            self._settle()
        before_s = self.calibration_s
        counted = self._counters()
        if scheduler.cosched:
            self.site.trace_start()

        def base(index):
            return self.results.log_base(place, attempt, unit, index)

        current = runner.Runner(unit, self.cluster, lambda index: self._command(unit, index, base),
                                self.site.hog_commands, base, gated=not scheduler.script,
                                counts_cpu=self.site.counts_cpu)
        jobs = current.run()
        after_s = self._calibrate() if self.guard.factor else None
        known = [seconds for seconds in (before_s, after_s) if seconds is not None]
        run = {"place": place, "experiment": unit.experiment, "workload": unit.workload,
               "value": unit.value, "mpi": unit.mpi, "scheduler": unit.scheduler,
               "repetition": unit.repetition, "attempt": attempt,
               "disturbed": False, "calibration_s": max(known) if known else None,
               **self._settings(), "together": unit.together,
               "makespan_s": max(job["end_s"] for job in jobs), "coscheduled_fraction": None,
               "counters": _difference(counted, self._counters()), "jobs": jobs}
        self._trace(unit, scheduler, run, current.origin_wall_s)
        return run

    def _counters(self):
        """Sums over the nodes of what classd counts; null where it does not count it."""
        nodes = [node for node in self.site.counters() if isinstance(node, dict)]
        return {name: sum(node[theirs] for node in nodes)
                if nodes and all(theirs in node for node in nodes) else None
                for name, theirs in CONTROL_NAMES.items()}

    def _settings(self):
        """Time-slice and GMET as the first node's classd has them."""
        nodes = [node for node in self.site.counters() if isinstance(node, dict)]
        return {name: nodes[0][name] if nodes else None for name in ("time_slice_s", "gmet_s")}

    def program(self, mpi, job):
        """(command, loop): official programs are looped over, ours repeat by themselves."""
        if self.options.npb_dir:
            folder = self.options.npb_dir.replace("{mpi}", mpi)
            path = os.path.join(folder, "bin", f"{job.kernel}.{job.size}.x")
            arguments, loop = [], job.repeat
        else:
            if job.size not in workload.SIZES:
                raise NasError(f"job {job}: there is no class {job.size}: must be of {workload.SIZES}")
            path = os.path.join(self.options.build, "bench", "npb", mpi, "bin", job.kernel)
            arguments, loop = [job.size, "--repeat", str(job.repeat)], 1
        if not os.access(path, os.X_OK):
            raise NasError(f"job {job} for {mpi}: there is no program {path}")
        return [path, *arguments], loop

    def _command(self, unit, index, base):
        job, scheduler = unit.jobs[index], self.schedulers[unit.scheduler]
        program, loop = self.program(unit.mpi, job)
        arguments = ["--loop", str(loop), "--report", base(index) + ".json", "--timeout",
                     str(self._limit_s(unit, job)), "--grace", str(self._grace_s(unit, scheduler)),
                     "--grace-cpu", GRACE_CPU_S]
        gives_way = unit.yields and self.cluster.crowds_itself(job)
        if scheduler.cosched or gives_way:
            arguments += [*self.site.preload(), *(f"--env={text}" for text in self.options.env)]
        if gives_way:
            arguments.append("--env=COSCHED_WAIT=yield")
        if not scheduler.script:
            arguments.append("--gate")
        arguments += [f"--mpi-arg={text}" for text in scheduler.mpi_arguments.get(unit.mpi, [])]
        command = self.site.job_command(job, unit.mpi, program, arguments)
        return [scheduler.script, "wrap", "--", *command] if scheduler.script else command

    def _limit_s(self, unit, job):
        """Far more than the worst uncoordinated sharing takes, when we know the job."""
        known_s = records.dedicated_times(self.runs).get((unit.mpi, str(job)))
        sharing = unit.limit or len(unit.jobs)
        generous_s = 60 + 15 * sharing * known_s if known_s else self.options.timeout
        return min(self.options.timeout, generous_s)

    @staticmethod
    def _grace_s(unit, scheduler):
        """For MPI_Finalize; where nodes are time-shared, the job may have to wait for its turn."""
        sharing = unit.limit or len(unit.jobs)
        return 10 + (2 * sharing * unit.time_slice_s if scheduler.cosched else 0)

    # -- schedulers that users bring

    def _script(self, scheduler, unit):
        if self.script_up == scheduler.script:
            return
        self._script_down()
        if scheduler.script:
            os.environ.update({
                "NASKIT_NODES": str(self.options.nodes), "NASKIT_BUILD": self.options.build,
                "NASKIT_CPUS_PER_NODE": str(self.options.cpus_per_node), "NASKIT_MPI": unit.mpi,
                "NASKIT_TIME_SLICE_S": f"{unit.time_slice_s:g}", "NASKIT_OUT": self.results.folder,
                **self.site.environment()})
            self.script_up = scheduler.script
            if subprocess.run([scheduler.script, "up"], stdin=subprocess.DEVNULL,
                              start_new_session=True, check=False).returncode != 0:
                raise NasError(f"{scheduler.script} up: failed")

    def _script_down(self):
        if self.script_up:
            path, self.script_up = self.script_up, None
            subprocess.run([path, "down"], stdin=subprocess.DEVNULL, start_new_session=True,
                           check=False)

    # -- what is left behind

    def _trace(self, unit, scheduler, run, origin_wall_s):
        """The coscheduled fraction and, of first repetitions, the Gantt chart."""
        dumps = []
        texts = self.site.trace_dumps() if scheduler.cosched else []
        try:
            dumps = [json.loads(text) for text in texts]
        except ValueError:
            pass  # a node whose classd did not answer: no chart is better than half of one
        if dumps:
            run["coscheduled_fraction"] = self._coscheduled(texts)
        if unit.repetition == 1 and not scheduler.alone:
            self.results.write_json(gantt_file(run), gantt.chart(run, self.options.nodes, dumps,
                                                                 origin_wall_s))

    def _coscheduled(self, texts):
        """The mean over the jobs of what `coschedctl trace coscheduled` says."""
        files = [self.results.path("logs", f"trace{index}.json") for index in range(len(texts))]
        for path, text in zip(files, texts):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([self.site.control(), "trace", "coscheduled", *files], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        for path in files:
            os.unlink(path)
        said = [line.split()[-1] for line in done.stdout.splitlines() if line.strip()]
        return records.mean(float(word) for word in said if word != "-")

    def described(self):
        alone = {name for name, scheduler in self.schedulers.items() if scheduler.alone}
        charts = [run for run in records.valid(self.runs)
                  if os.path.exists(self.results.path(gantt_file(run)))]
        done = {run["place"] for run in self.runs}
        return summary.describe(
            self.runs, self.cluster, alone, complete=len(done) == len(self.units),
            order=list(dict.fromkeys(unit.key for unit in self._as_asked())),
            gantt=[{**{name: run[name] for name in ("experiment", "workload", "value", "mpi",
                                                    "scheduler")},
                    "file": gantt_file(run)} for run in charts if run["repetition"] == 1])

    def _as_asked(self):
        """The units in the order of tables: the seed decides when they run, not where they stand."""
        asked = list(schedulers.parse_list(self.options.schedulers)) if self.options.schedulers else []

        def place(unit):
            experiment = experiments.TABLE.get(unit.experiment, experiments.BY_HAND)
            names = asked or list(experiment.schedulers)
            return (unit.experiment, unit.workload, unit.value is not None, unit.value or 0, unit.mpi,
                    names.index(unit.scheduler) if unit.scheduler in names else len(names))
        return sorted(self.units, key=place)

    def summarize(self):
        described = self.described()
        self.results.write_json("summary.json", described)
        self.results.write_json("results.json", records.flat(records.valid(self.runs)))
        self.results.write_text("summary.txt", tables.text(described))
        return described

    def failed(self):
        return [(run, job) for run in records.valid(self.runs) for job in records.unverified(run)]


def gantt_file(run):
    value = "" if run["value"] is None else f"-{run['value']:.3g}"
    name = f"{run['experiment']}-{run['workload']}{value}-{run['mpi']}-{run['scheduler']}"
    return f"gantt/{store.slug(name)}.json"


def _difference(before, after):
    return {name: None if after[name] is None or before[name] is None else after[name] - before[name]
            for name in after}
