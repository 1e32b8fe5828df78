"""How a unit is run on the lab, and what is known afterwards."""

import os
import random
import subprocess

from naskit import observer, runner, sitting

from . import files, jobs, outcome, plan, report, summary, tables, variants

FILES = "files"


class Session(sitting.Sitting):
    def __init__(self, options, site, results, units):
        super().__init__(options, site, results, units, lambda unit: plan.nominal_s(unit, options.scale))
        self.sharing = jobs.Sharing(options.nodes)
        self.waits = {}  # variant: the value of [client] wait that runs

    def check(self):
        """What is missing is learnt before the first run."""
        self.site.check()
        names = {unit.scheduler for unit in self.units if unit.scheduler != plan.ALONE} | {variants.BASE}
        for name in names:
            self.waits[name] = variants.chosen_wait(variants.VARIANTS[name], self.site.takes_wait)
        for mpi, job in dict.fromkeys((unit.mpi, job) for unit in self.units for job in unit.jobs):
            if not job.in_class:
                self.site.program(mpi, job.name)

    def make_files(self):
        """What tar and Ghostscript work on, where a unit wants it."""
        self.options.files = self.results.path(FILES)
        if any(job.in_class and not job.is_hog for unit in self.units for job in unit.jobs):
            os.makedirs(self.options.files, exist_ok=True)
            files.make(self.options.files)

    def bases_of(self, place):
        """The programs alone, of its repetition."""
        unit = self.units[place]
        if plan.is_alone(unit.scheduler, unit.value):
            return []
        return [other for other, base in enumerate(self.units)
                if plan.is_alone(base.scheduler, base.value) and (base.experiment, base.mpi, base.repetition) ==
                (unit.experiment, unit.mpi, unit.repetition)]

    def run_unit(self, place, unit, attempt):
        variant = variants.VARIANTS.get(unit.scheduler, variants.VARIANTS[variants.BASE])
        slice_s = self.options.slice_s
        lag = random.Random(f"{self.options.seed}/{place}/{attempt}").random()
        self.site.use(variants.settings(variant, self.waits[variant.name], slice_s), lag * slice_s)
        before_s = self.settle()
        counted = self._counters()
        self.site.trace_start()
        found, texts = self._run_jobs(place, unit, attempt)
        dumps = outcome.parsed(self.site.trace_dumps())
        outcome.check_registered(unit, found, dumps)
        run = {"place": place, "experiment": unit.experiment, "workload": unit.workload, "value": unit.value,
               "mpi": unit.mpi, "scheduler": unit.scheduler, "wait": self.waits[variant.name],
               "repetition": unit.repetition, "attempt": attempt, "disturbed": False, "together": unit.together,
               "makespan_s": max(job["end_s"] for job in found), "jobs": found,
               "parties": self.sharing.degree(unit.jobs[self._measured(unit)], unit.jobs),
               "counters": observer.difference(counted, self._counters()),
               "coscheduled": self._coscheduled(dumps),
               "load": os.getloadavg()[0]}
        for job, text in zip(found, texts):
            job.update(outcome.said(text))
        run["calibration_s"] = self.worst_calibration(before_s)
        return run

    @staticmethod
    def _measured(unit):
        """The index of the parallel job."""
        return next(index for index, job in enumerate(unit.jobs) if not job.is_hog and not job.in_class)

    def _run_jobs(self, place, unit, attempt):
        """(records, outputs) of all jobs."""
        def base(index):
            return self.results.log_base(place, attempt, unit, index)

        def command(index):
            return self.site.command(unit.mpi, unit.jobs[index], base(index) + ".json", self.options.timeout)

        current = runner.Runner(unit, self.sharing, command,
                                lambda job: self.site.competitor_commands(unit.mpi, job), base, gated=True,
                                verified=outcome.verified)
        found = current.run()
        texts = []
        for record in found:
            with open(base(record["index"]) + ".log", encoding="utf-8", errors="replace") as log:
                texts.append(log.read())
            job = unit.jobs[record["index"]]
            record.update(name=job.name, node=job.node, in_class=job.in_class, is_hog=job.is_hog)
        return found, texts

    def _counters(self):
        return observer.sums(self.site.counters())

    def _coscheduled(self, dumps):
        """Of the time that the measured job held any node, the part that it held all; None where nobody holds one, and
        where a recording is not of the whole run."""
        if any(dump.get("lost") for dump in dumps):
            return None
        names = [self.results.path("logs", f"trace{index}.json") for index in range(len(dumps))]
        job_id = outcome.first_to_leave(dumps[0]) if dumps else None
        if job_id is None:
            return None
        for index, name in enumerate(names):
            self.results.write_json(os.path.relpath(name, self.results.folder), dumps[index])
        done = subprocess.run([self.site.control(), "trace", "coscheduled", *names], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for name in names:
            os.unlink(name)
        return outcome.coscheduled(done.stdout, job_id)

    # -- what is left behind

    def is_complete(self):
        return len({run["place"] for run in self.runs}) == len(self.units)

    def described(self):
        return summary.describe(self.runs, self.sharing, complete=self.is_complete(),
                                figures=self.options.figures, waits=self.waits)

    def summarize(self):
        described = self.described()
        self.results.write_json("summary.json", described)
        self.results.write_text("summary.txt", tables.text(described))

    def write_report(self):
        report.write(self.results.folder, self.described())

    def failed(self):
        """(run, job) of each job that did not do its work, also where the run does not count."""
        return [(run, job) for run in self.runs for job in run["jobs"] if not job["verified"]]
