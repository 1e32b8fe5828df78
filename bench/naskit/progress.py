"""How far a session is, and how long it will still take."""

import shutil
import statistics
import sys

from . import times


def expected_s(units, wall_s, nominal_s, places):
    """Seconds for each of the places, by `wall_s` ({place: seconds}): what the same cost before, else what `nominal_s(unit)` guesses,
    corrected by how wrong it was so far."""
    known = {}
    for place, seconds in wall_s.items():
        known.setdefault(units[place].key, []).append(seconds)
    guessed_s = sum(nominal_s(units[place]) for place in wall_s)
    correction = sum(wall_s.values()) / guessed_s if guessed_s else 1.0
    return [statistics.median(known[unit.key]) if unit.key in known else correction * nominal_s(unit)
            for unit in (units[place] for place in places)]


class Progress:
    """Lines for people; on a terminal the present one is shown while it runs."""

    def __init__(self, units, nominal_s, stream=sys.stderr):
        self.units = units
        self.nominal_s = nominal_s
        self.stream = stream
        self.wall_s = {}
        self.due = set(range(len(units)))  # places
        self.terminal = stream.isatty()

    def take_up(self, runs, due):
        """What earlier sittings have run, and the places that are to be run in this one."""
        self.wall_s = {run["place"]: run["wall_s"] for run in runs}
        self.due = set(due)

    def announce(self):
        of_all = "" if len(self.due) == len(self.units) else f" of {len(self.units)}"
        print(f"{len(self.due)}{of_all} runs, {self._left()}", file=self.stream, flush=True)

    def begin(self, place, attempt):
        unit = self.units[place]
        value = "" if unit.value is None else f" {unit.value:g}"
        again = f", attempt {attempt}" if attempt > 1 else ""
        self.text = (f"[{place + 1}/{len(self.units)}] {unit.experiment} {unit.workload}{value}, "
                     f"{unit.mpi} {unit.scheduler}, run {unit.repetition}{again}")
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r\033[K" + f"{self._left()}: {self.text} ..."[:width], end="", file=self.stream,
                  flush=True)

    def left_s(self):
        """Seconds for all that are due."""
        return sum(expected_s(self.units, self.wall_s, self.nominal_s, self.due))

    def _left(self):
        return f"{times.left(self.left_s())} left"

    def expected_s(self, place):
        """Seconds for one more run of the unit."""
        return expected_s(self.units, self.wall_s, self.nominal_s, [place])[0]

    def end(self, place, run, wall_s):
        self.wall_s[place] = wall_s
        self.due.discard(place)
        said = []
        jobs = run["jobs"]
        if len(jobs) <= 3:
            said.append(", ".join(f"{job['response_s']:.2f}" for job in jobs) + " s")
        else:
            said.append(f"{len(jobs)} jobs, {run['makespan_s']:.1f} s")
        bad = sum(not job["verified"] for job in jobs)
        hung = sum(job["hung_in_finalize"] for job in jobs)
        said += [f"{bad} NOT VERIFIED"] * bool(bad) + [f"{hung} hung in finalize"] * bool(hung)
        said += ["disturbed"] * run["disturbed"]
        start = "\r\033[K" if self.terminal else ""
        print(f"{start}{self.text}: {', '.join(said)}; {self._left()}", file=self.stream, flush=True)
