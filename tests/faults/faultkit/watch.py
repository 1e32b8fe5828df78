"""Looks at every class's limit all the time, and judges whether one stays for too long."""

import collections
import dataclasses
import os
import threading
import time
import traceback

INTERVAL_S = 0.01
BLINK_S = 0.05         # a longer one is the machine's, which has kept the daemons from the CPUs as well
PATIENCE_SLICES = 2    # the promise
DEFAULT_POLICY = "yoo-jette"
# How many times as many slices as there are jobs a job waits at most. yoo-jette: departure (c) of the main job's design.
# gang: from one of its slots to the next, one slot for each job that there was, and one for each other (section 6 of its design).
ROUNDS = {DEFAULT_POLICY: 1, "gang": 3}
TOLERANCE_S = 0.25     # a tick and its answer may come late on a machine whose CPUs are all taken


@dataclasses.dataclass
class Peaks:
    """Longest times that a class was limited, in seconds."""

    orphaned_s: float = 0.0    # timerd lived, classd did not
    unattended_s: float = 0.0  # neither lived: nobody there to lift anything
    waited_s: float = 0.0      # classd lived: an idle job waits for its turn


class Since:
    """How long something has held without a break, from the first look that saw it."""

    def __init__(self):
        self.start_s = None

    def look(self, holds, now_s):
        if not holds:
            self.start_s = None
        elif self.start_s is None:
            self.start_s = now_s
        return self.start_s


class Judge:
    """Of one node. Fed with what a look at it has shown, so that it can be tested without one."""

    def __init__(self, slice_s, policy=DEFAULT_POLICY, tolerance_s=TOLERANCE_S):
        self.slice_s = slice_s
        self.rounds = ROUNDS[policy]
        self.tolerance_s = tolerance_s
        self.peaks = Peaks()
        self.complaints = []
        self.classd_up, self.classd_down, self.timerd_up = Since(), Since(), Since()
        self.refusing_not = Since()
        self.limited = {}  # name of a class: Since
        self.blamed = set()
        self.trail = collections.deque(maxlen=12)  # (when, what) of the last changes, for complaints

    def observe(self, now_s, classd, timerd, classes, refusing=False):
        """`classd` and `timerd`: whether each lives; `classes`: {name: limited}; `refusing`: the kernel
        lets nobody change a limit, so nobody can be blamed for one."""
        self._follow(now_s, classd, timerd, classes)
        up_s = self.classd_up.look(classd, now_s)
        down_s = self.classd_down.look(not classd, now_s)
        timerd_s = self.timerd_up.look(timerd, now_s)
        free_s = self.refusing_not.look(not refusing, now_s)
        for name in set(self.limited) - set(classes):
            del self.limited[name]
        for name, limited in classes.items():
            since_s = self.limited.setdefault(name, Since()).look(limited, now_s)
            if since_s is None or free_s is None:
                self.blamed.discard(name)
            elif classd:
                self._wait(now_s, name, now_s - max(since_s, up_s, free_s), len(classes))
            elif timerd:
                self._orphan(now_s, name, now_s - max(since_s, down_s, timerd_s, free_s))
            else:
                self.peaks.unattended_s = max(self.peaks.unattended_s, now_s - max(since_s, down_s))

    def _follow(self, now_s, classd, timerd, classes):
        what = ("classd " if classd else "", "timerd " if timerd else "",
                *(f"{name}{'*' if limited else ''} " for name, limited in sorted(classes.items())))
        if not self.trail or self.trail[-1][1] != what:
            self.trail.append((now_s, what))

    def _orphan(self, now_s, name, orphaned_s):
        self.peaks.orphaned_s = max(self.peaks.orphaned_s, orphaned_s)
        if orphaned_s > PATIENCE_SLICES * self.slice_s + self.tolerance_s:
            self._blame(now_s, name, f"{name} is limited {orphaned_s / self.slice_s:.1f} slices after "
                                     "classd's end, while timerd lives")

    def _wait(self, now_s, name, waited_s, jobs):
        """A slice is two when timerd is silent."""
        self.peaks.waited_s = max(self.peaks.waited_s, waited_s)
        if waited_s > 2 * self.rounds * (jobs + 1) * self.slice_s + self.tolerance_s:
            self._blame(now_s, name, f"{name}, one of {jobs} classes, has waited for "
                                     f"{waited_s / self.slice_s:.1f} slices, while classd lives")

    def _blame(self, now_s, name, why):
        if name not in self.blamed:
            self.blamed.add(name)
            trail = "".join(f"\n      {(when_s - now_s) / self.slice_s:6.2f} slices: {''.join(what)}"
                            for when_s, what in self.trail)
            self.complaints.append(f"{why}; who lived when, and which classes were limited (*):{trail}")


class Watch(threading.Thread):
    """All nodes, until stopped."""

    def __init__(self, lab, slice_s, policy):
        super().__init__(daemon=True)
        self.lab = lab
        self.judges = {node.name: Judge(slice_s, policy) for node in lab.nodes}
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.longest_gap_s = 0.0  # between two looks
        self.clock_s = 0.0        # what the judges go by: stands still while the watch cannot look
        self.failure = None

    def run(self):
        # In Linux this is the thread's own priority: jobs that spin must not blind the watch.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -15)
        before_s = time.monotonic()
        while not self.stopped.wait(INTERVAL_S):
            try:
                self._look()
            except Exception:  # told by take(): a blind watch must not pass for a good sign
                self.failure = traceback.format_exc()
            now_s = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now_s - before_s)
            self.clock_s += min(now_s - before_s, BLINK_S)
            before_s = now_s

    def _look(self):
        for node in self.lab.nodes:
            with self.lock:
                refusing, classes = node.refusing, node.classes()
                self.judges[node.name].observe(self.clock_s, node.classd.live(), node.timerd.live(), classes,
                                               refusing)

    def take(self):
        """(peaks over all nodes, complaints) since the last call."""
        failure, self.failure = self.failure, None
        with self.lock:
            taken = [(judge.peaks, [f"{name}: {text}" for text in judge.complaints])
                     for name, judge in self.judges.items()]
            for judge in self.judges.values():
                judge.peaks, judge.complaints = Peaks(), []
        peaks = Peaks(*(max(getattr(one, field.name) for one, _ in taken)
                        for field in dataclasses.fields(Peaks)))
        complaints = [text for _, complaints in taken for text in complaints]
        return peaks, complaints + [f"the watch was blind: {failure}"] * bool(failure)

    def stop(self):
        self.stopped.set()
        self.join()
