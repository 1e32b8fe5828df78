"""One session: how a unit of the plan is run on its site, and what is known afterwards."""

import dataclasses
import os

from . import (commands, experiments, observer, plan, plugin, records, runner, schedulers, sitting,
               summary, tables, times, workload)


class Session(sitting.Sitting):
    """Runs of NAS jobs."""

    def __init__(self, options, site, results, units):
        super().__init__(options, site, results, units, plan.nominal_s,
                         times.seconds(options.lasting) if options.lasting else None, options.anew)
        self.schedulers = plan.known_schedulers(units, options.schedulers)
        self.cluster = workload.Cluster(options.nodes, options.cpus_per_node)
        self.commands = commands.Commands(options, site, self.cluster)
        self.plugin = plugin.Plugin(options, site, results.folder)

    def check(self):
        """What is missing is learnt before the first run."""
        self.site.check()
        for mpi, job in dict.fromkeys((unit.mpi, job) for unit in self.units for job in unit.jobs):
            self.commands.check(mpi, job)
        settings = {(unit.scheduler, unit.time_slice_s, unit.gmet_s, unit.settings): unit for unit in self.units
                    if self.schedulers[unit.scheduler].cosched}
        for unit in settings.values():
            self.site.check_settings(self.schedulers[unit.scheduler], unit)

    def put_away(self):
        try:
            self.plugin.down()
        finally:
            super().put_away()

    def bases_of(self, place):
        """The baseline of its ratios, and its jobs alone, of its repetition."""
        unit = self.units[place]
        if self.schedulers[unit.scheduler].alone:
            return []
        baseline = experiments.TABLE.get(unit.experiment, experiments.BY_HAND).baseline
        alone = records.reference({other.scheduler for other in self.units if other.experiment == unit.experiment})
        return [other for other, base in enumerate(self.units)
                if other != place and (base.experiment, base.repetition, base.mpi) ==
                (unit.experiment, unit.repetition, unit.mpi)
                and (base.scheduler == alone and base.jobs[0] in unit.jobs
                     or base.scheduler == baseline and base.workload == unit.workload
                     and base.value in (unit.value, None))]

    def run_unit(self, place, unit, attempt):
        scheduler = self.schedulers[unit.scheduler]
        self.site.prepare(scheduler, unit)
        unit = dataclasses.replace(unit, time_slice_s=self.site.time_slice_s(unit))
        self.plugin.need(scheduler, unit)
        before_s = self.settle()
        seen = observer.Observer(self.site, self.results, scheduler)

        def base(index):
            return self.results.log_base(place, attempt, unit, index)

        def command(index):
            return self.commands.of(unit, scheduler, index, base(index) + ".json", self.runs)

        current = runner.Runner(unit, self.cluster, command, self.site.hog_commands, base,
                                gated=not scheduler.script, counts_cpu=self.site.counts_cpu)
        jobs = current.run()
        calibration_s = self.worst_calibration(before_s)
        run = {"place": place, "experiment": unit.experiment, "workload": unit.workload,
               "value": unit.value, "mpi": unit.mpi, "scheduler": unit.scheduler,
               "repetition": unit.repetition, "attempt": attempt, "disturbed": False,
               "calibration_s": calibration_s, "together": unit.together, "settings": dict(unit.settings), "jobs": jobs}
        run["makespan_s"] = records.last_end_s(run) - min(job["arrival_s"] for job in records.ending(run))
        seen.finish(run, self.options.nodes, current.origin_wall_s)
        return run

    # -- what is left behind

    def is_complete(self):
        return len({run["place"] for run in self.runs}) == len(self.units)

    def described(self):
        alone = {name for name, scheduler in self.schedulers.items() if scheduler.alone}
        return summary.describe(self.runs, self.cluster, alone, complete=self.is_complete(),
                                order=list(dict.fromkeys(unit.key for unit in self._as_asked())),
                                gantt=self._charts())

    def _charts(self):
        names = ("experiment", "workload", "value", "mpi", "scheduler")
        return [{**{name: run[name] for name in names}, "file": observer.chart_file(run)}
                for run in records.valid(self.runs) if run["repetition"] == 1 and not records.is_again(run)
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
        """(run, job) of each job that did not verify, also where the run does not count."""
        return [(run, job) for run in self.runs for job in records.unverified(run)]
