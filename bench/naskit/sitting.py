"""A sitting: every unit of a plan in turn, again where it was disturbed, and what is known after each on
disk. A session may take several."""

import collections
import itertools
import time

from . import environment, noise, progress, records

FIRST_CALIBRATIONS = 5
QUIET_TRIES = 5
SETTLE_S = 1.0


class Sitting:
    """`units` is the whole plan; those that `results` already has are not run again. Where `anew` names places, just these
    are run, in the place of what earlier sittings ran there. No run begins that would end more than `longest_s` after the
    beginning, as far as that can be told. A subclass has run_unit() and summarize(), which is called after each run."""

    def __init__(self, options, site, results, units, nominal_s, longest_s=None, anew=()):
        self.options = options
        self.site = site
        self.results = results
        self.units = units
        known = results.runs()
        self.runs = noise.judged(known, options.noise)
        self.tried = collections.Counter(run["place"] for run in known)
        self.anew = frozenset(anew)
        self.number = 1 + max((records.sitting(run) for run in known), default=0)
        self.guard = noise.Guard(options.noise)
        self.calibrations_s = []  # that count for the median, since the last run
        self.longest_s = longest_s
        self.began_s = time.monotonic()
        self.progress = progress.Progress(units, nominal_s)
        self.progress.take_up(self.runs, self.anew or records.due(self.runs, range(len(units)), options.retries))
        self.calibration_s = None
        self.pace_s = None

    def run_unit(self, place, unit, attempt):
        """The run as a line of runs.jsonl, but for `wall_s`."""
        raise NotImplementedError

    def summarize(self):
        """Writes what is known so far."""
        raise NotImplementedError

    def run(self):
        try:
            self.site.up()
            environment.add_site(self.results, self.site.described())
            for _ in range(FIRST_CALIBRATIONS):
                self.calibrate()
            # The second time for those that only the whole session's median shows to be disturbed.
            for places in self._repetitions() * 2:
                for place in places:
                    self._run_place(place)
                for place in filter(self._is_parted, places):
                    self._run_until_quiet(place, self.units[place], [], again=True)
        finally:
            self.put_away()

    def put_away(self):
        """Leaves the machine as it was; may be called again when it was interrupted itself."""
        self.site.down()

    def bases_of(self, _place):
        """The places whose runs are what this one's is compared with."""
        return []

    def _missing_bases(self, place):
        """Those that only earlier sittings have run, as far as it counts."""
        ran = self._ran()
        return [base for base in self.bases_of(place) if base in ran and self.number not in ran[base]]

    def _ran(self):
        """{place: sittings} of the runs that count."""
        found = {}
        for run in records.valid(self.runs):
            found.setdefault(run["place"], set()).add(records.sitting(run))
        return found

    def _repetitions(self):
        """The places that this sitting may run, those of a repetition together."""
        return [[place for place, _ in group if not self.anew or place in self.anew] for _, group in
                itertools.groupby(enumerate(self.units), lambda pair: pair[1].repetition)]

    def _is_parted(self, place):
        """Whether it was run, and all that it is compared with, but never in one sitting: an interruption came between."""
        ran = self._ran()
        sittings = [ran.get(one, set()) for one in (place, *self.bases_of(place))]
        return all(sittings) and not set.intersection(*sittings)

    def parted(self):
        """How many units of the plan have nothing to be compared with, though it was run, too."""
        return sum(map(self._is_parted, range(len(self.units))))

    def _run_place(self, place):
        tried = [run for run in records.attempts(self.runs, place)
                 if place not in self.anew or records.sitting(run) == self.number]
        self._run_until_quiet(place, self.units[place], tried)

    def _run_until_quiet(self, place, unit, attempts, again=False):
        """`again`: it counts in this sitting, beside the one of an earlier sitting."""
        while records.is_due(attempts, self.options.retries) and self._has_time(place):
            for base in self._missing_bases(place):
                if base in self._missing_bases(place):  # not run again for another base meanwhile
                    self._run_until_quiet(base, self.units[base], [], again=base not in self.anew)
            self.tried[place] += 1
            number = self.tried[place]
            self.progress.begin(place, number)
            start_s = time.monotonic()
            run = self.run_unit(place, unit, number)
            run["wall_s"] = time.monotonic() - start_s
            run["sitting"] = self.number
            run["pace_s"] = self.pace_s
            run["calibrations_s"], self.calibrations_s = self.calibrations_s, []
            if again:
                run["again"] = True
            elif place in self.anew:
                run["anew"] = True
            self.guard.add_pace(run)
            self.guard.judge([run])
            self.runs = records.current([*self.runs, run])
            attempts.append(run)
            self.results.append_run(run)
            self.guard.judge([known for known in self.runs if records.sitting(known) == self.number])
            self.progress.end(place, run, run["wall_s"])
            self.summarize()

    def _has_time(self, place):
        expected_s = sum(map(self.progress.expected_s, [place, *self._missing_bases(place)]))
        return self.longest_s is None or time.monotonic() - self.began_s + expected_s <= self.longest_s

    def calibrate(self):
        self.calibration_s = self.site.calibrate() if self.guard.factor else None
        self.guard.add(self.calibration_s)
        self.calibrations_s.append(self.calibration_s)

    def settle(self):
        """The unit begins next: waits a little for quiet; what is still disturbed then will be counted as such. Returns
        the calibration before the unit."""
        for _ in range(QUIET_TRIES):
            if not self.guard.is_disturbed(self.calibration_s):
                break
            time.sleep(SETTLE_S)
            # Not one for the median: a noisy hour, in which there are many, would become what is usual.
            self.calibration_s = self.site.calibrate()
        self._look_at_pace()
        return self.calibration_s

    def _look_at_pace(self):
        """Since it was last looked at."""
        self.pace_s = self.site.pace() if self.guard.factor else None

    def worst_calibration(self, before_s):
        """The unit is over: calibrates once more. The slower of that and `before_s`, or None."""
        self._look_at_pace()
        self.calibrate()
        return max((seconds for seconds in (before_s, self.calibration_s) if seconds is not None), default=None)
