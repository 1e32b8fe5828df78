"""A sitting: every unit of a plan in turn, again where it was disturbed, and what is known after each on
disk."""

import time

from . import noise, progress

FIRST_CALIBRATIONS = 5
QUIET_TRIES = 5
SETTLE_S = 1.0


class Sitting:
    """`units` is the whole plan; those that `results` already has are not run again. A subclass has
    run_unit() and summarize(), which is called after each run."""

    def __init__(self, options, site, results, units, nominal_s):
        self.options = options
        self.site = site
        self.results = results
        self.units = units
        self.runs = results.runs()
        self.guard = noise.Guard(options.noise, [run["calibration_s"] for run in self.runs])
        self.progress = progress.Progress(units, nominal_s)
        self.calibration_s = None

    def run_unit(self, place, unit, attempt):
        """The run as a line of runs.jsonl, but for `wall_s`."""
        raise NotImplementedError

    def summarize(self):
        """Writes what is known so far."""
        raise NotImplementedError

    def run(self):
        for run in self.runs:
            self.progress.wall_s[run["place"]] = run["wall_s"]
        try:
            self.site.up()
            for _ in range(FIRST_CALIBRATIONS):
                self.calibrate()
            # The second time for those that only the whole session's median shows to be disturbed.
            for place, unit in [*enumerate(self.units)] * 2:
                self._run_place(place, unit)
        finally:
            self.put_away()

    def put_away(self):
        """Leaves the machine as it was; may be called again when it was interrupted itself."""
        self.site.down()

    def _run_place(self, place, unit):
        attempts = [run for run in self.runs if run["place"] == place]
        while not attempts or (len(attempts) <= self.options.retries
                               and all(run["disturbed"] for run in attempts)):
            self.progress.begin(place, len(attempts) + 1)
            start_s = time.monotonic()
            run = self.run_unit(place, unit, len(attempts) + 1)
            run["wall_s"] = time.monotonic() - start_s
            self.guard.judge([run])
            self.runs.append(run)
            attempts.append(run)
            self.results.append_run(run)
            self.guard.judge(self.runs)
            self.progress.end(place, run, run["wall_s"])
            self.summarize()

    def calibrate(self):
        self.calibration_s = self.site.calibrate() if self.guard.factor else None
        self.guard.add(self.calibration_s)

    def settle(self):
        """Waits a little for quiet; what is still disturbed then will be counted as such. Returns the
        calibration before the unit."""
        for _ in range(QUIET_TRIES):
            if not self.guard.is_disturbed(self.calibration_s):
                break
            time.sleep(SETTLE_S)
            self.calibrate()
        return self.calibration_s

    def worst_calibration(self, before_s):
        """The unit is over: calibrates once more. The slower of that and `before_s`, or None."""
        self.calibrate()
        return max((seconds for seconds in (before_s, self.calibration_s) if seconds is not None), default=None)
