"""One session: every unit of the plan in turn, on its site, and what is known after each on disk."""

import os
import time

from . import (commands, experiments, noise, observer, plan, plugin, progress, records, runner,
               schedulers, summary, tables, workload)

FIRST_CALIBRATIONS = 5
QUIET_TRIES = 5
SETTLE_S = 1.0


class Session:
    """`units` is the whole plan; those that `results` already has are not run again."""

    def __init__(self, options, site, results, units):
        self.options = options
        self.site = site
        self.results = results
        self.units = units
        self.schedulers = plan.known_schedulers(units, options.schedulers)
        self.cluster = workload.Cluster(options.nodes, options.cpus_per_node)
        self.commands = commands.Commands(options, site, self.cluster)
        self.plugin = plugin.Plugin(options, site, results.folder)
        self.runs = results.runs()
        self.guard = noise.Guard(options.noise, [run["calibration_s"] for run in self.runs])
        self.progress = progress.Progress(units)
        self.calibration_s = None

    # -- the whole

    def check(self):
        """What is missing is learnt before the first run."""
        self.site.check()
        for mpi, job in dict.fromkeys((unit.mpi, job) for unit in self.units for job in unit.jobs):
            self.commands.check(mpi, job)

    def run(self):
        for run in self.runs:
            self.progress.wall_s[run["place"]] = run["wall_s"]
        try:
            self.site.up()
            for _ in range(FIRST_CALIBRATIONS):
                self._calibrate()
            # The second time for those that only the whole session's median shows to be disturbed.
            for place, unit in [*enumerate(self.units)] * 2:
                self._run_place(place, unit)
        finally:
            self.put_away()

    def put_away(self):
        """Leaves the machine as it was; may be called again when it was interrupted itself."""
        self.plugin.down()
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
        self.calibration_s = self.site.calibrate() if self.guard.factor else None
        self.guard.add(self.calibration_s)

    def _settle(self):
        """Waits a little for quiet; what is still disturbed then will be counted as such."""
        for _ in range(QUIET_TRIES):
            if not self.guard.is_disturbed(self.calibration_s):
                return
            time.sleep(SETTLE_S)
            self._calibrate()

    def _run_unit(self, place, unit, attempt):
        scheduler = self.schedulers[unit.scheduler]
        self.site.prepare(scheduler, unit)
        self.plugin.need(scheduler, unit)
        self._settle()
        before_s = self.calibration_s
        seen = observer.Observer(self.site, self.results, scheduler)

        def base(index):
            return self.results.log_base(place, attempt, unit, index)

        def command(index):
            return self.commands.of(unit, scheduler, index, base(index) + ".json", self.runs)

        current = runner.Runner(unit, self.cluster, command, self.site.hog_commands, base,
                                gated=not scheduler.script, counts_cpu=self.site.counts_cpu)
        jobs = current.run()
        self._calibrate()
        known = [seconds for seconds in (before_s, self.calibration_s) if seconds is not None]
        run = {"place": place, "experiment": unit.experiment, "workload": unit.workload,
               "value": unit.value, "mpi": unit.mpi, "scheduler": unit.scheduler,
               "repetition": unit.repetition, "attempt": attempt, "disturbed": False,
               "calibration_s": max(known, default=None), "together": unit.together,
               "makespan_s": max(job["end_s"] for job in jobs), "jobs": jobs}
        seen.finish(run, self.options.nodes, current.origin_wall_s)
        return run

    # -- what is left behind

    def described(self):
        alone = {name for name, scheduler in self.schedulers.items() if scheduler.alone}
        done = {run["place"] for run in self.runs}
        return summary.describe(self.runs, self.cluster, alone, complete=len(done) == len(self.units),
                                order=list(dict.fromkeys(unit.key for unit in self._as_asked())),
                                gantt=self._charts())

    def _charts(self):
        names = ("experiment", "workload", "value", "mpi", "scheduler")
        return [{**{name: run[name] for name in names}, "file": observer.chart_file(run)}
                for run in records.valid(self.runs) if run["repetition"] == 1
                and os.path.exists(self.results.path(observer.chart_file(run)))]

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
