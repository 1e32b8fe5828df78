"""One campaign: faults one after the other, while jobs run, and what came of each."""

import dataclasses
import random
import sys
import time
import traceback

from .faults import KINDS
from .watch import Peaks

DRAIN_EVERY = 20  # faults
SHARING_WITHIN_S = 10  # wait this long for two jobs to share before a fault; on a busy machine they take long to start
ENOUGH = 10  # faults, of which some must come upon two jobs that share: else nobody was limited, and nothing was tried
LEAVING_S = 3.0  # from a job's last words to its mpiexec's end; a job missed for longer was lost
PARTING_S = 6.0  # within which ranks agree at MPI_Init that they have no scheduler, and leave those there are

# After these a job may be missing where classd knew it: what it is known by is gone.
MAY_LOSE_JOBS = {"runtime-removed", "descriptors"}


@dataclasses.dataclass
class Outcome:
    number: int
    kind: str
    shared: bool  # injected while two jobs shared both nodes
    peaks: Peaks
    complaints: list
    seconds: float


class Campaign:
    def __init__(self, world, faults, seed, only=None, seconds=float("inf"), progress=sys.stderr,
                 save=lambda: None):
        self.world = world
        self.faults = faults
        self.seconds = seconds  # no fault is injected later than this
        self.save = save  # called now and then: a long campaign that is cut short was not in vain
        self.start_s = time.monotonic()
        self.rng = random.Random(seed)
        self.only = only
        self.progress = progress
        self.outcomes = []
        self.jobs = []    # all that have ended
        self.missed = {}  # job id: (when, node, kind): classd did not know it any more
        self.seen = {}    # job id: when some classd first knew it, and last
        self.complaints = []  # beyond those of the outcomes

    def order(self):
        """Every kind once, in random order, then again; or one kind only."""
        deck = []
        for _ in range(self.faults):
            if not deck:
                deck = [self.only] if self.only else sorted(KINDS)
                self.rng.shuffle(deck)
            yield deck.pop()

    def run(self):
        self.world.start()
        self._share()
        for number, kind in enumerate(self.order(), 1):
            if time.monotonic() - self.start_s > self.seconds:
                break
            self._inject(number, kind)
            if number % DRAIN_EVERY == 0 and number < self.faults:
                self._drain(kind)
                self.save()
                self.world.resume()
                self._share()
        self._drain("the last faults")
        if len(self.outcomes) >= ENOUGH and not any(outcome.shared for outcome in self.outcomes):
            self.complaints.append("no fault came upon two jobs that shared both nodes: what is promised was not tried")
        if len(self.outcomes) >= ENOUGH and not any(outcome.peaks.waited_s for outcome in self.outcomes):
            self.complaints.append("no job ever waited for its turn: nothing was limited, so nothing could be left limited")

    def _share(self):
        """While all is well: jobs that are started now find their schedulers on both nodes."""
        def strangers():
            return [f"{node.name}: jobs do not register" for node in self.world.nodes
                    if len(node.ask("jobs") or []) < 2]
        self.world.expect(strangers)
        self._collect("while all was well")

    def _inject(self, number, kind):
        world = self.world
        world.wait_for(self._shared, SHARING_WITHIN_S)
        world.pass_time(self.rng.uniform(0, 2) * world.slice_s)
        shared, before = self._shared(), self._known()
        start_s = time.monotonic()
        self._collect(f"before fault {number}, {kind}")
        world.jobs.kind = kind
        try:
            KINDS[kind](world, self.rng)
        except Exception as mistake:  # the campaign's own: it must not end it, and not pass for a good sign
            world.complain(f"the fault could not be injected: {type(mistake).__name__}\n{traceback.format_exc()}")
        world.settle()
        world.jobs.kind = None
        self._miss(before, kind)
        peaks, complaints = world.watch.take()
        outcome = Outcome(number, kind, shared, peaks, complaints + world.take_complaints(),
                          time.monotonic() - start_s)
        self.outcomes.append(outcome)
        self._take_jobs()
        passed_s = time.monotonic() - self.start_s
        self._tell(f"[{number}/{self.faults}, {passed_s:.0f} s] {kind}: {outcome.seconds:.1f} s",
                   outcome.complaints)

    def _drain(self, when):
        self.world.drain()
        self._take_jobs()
        self._collect(f"after {when}")

    def _collect(self, when):
        peaks, complaints = self.world.watch.take()
        complaints += self.world.take_complaints()
        self.complaints += [f"{when}: {text}" for text in complaints]
        self._tell(when, complaints, quiet=True)

    def _tell(self, title, complaints, quiet=False):
        if complaints or not quiet:
            print(title, *(f"\n    FAILED {text}" for text in complaints), file=self.progress, flush=True)

    # ---- jobs

    def _shared(self):
        return all(len(node.class_names()) > 1 for node in self.world.nodes)

    def _known(self):
        known = {node: {job["job_id"] for job in node.ask("jobs") or []} for node in self.world.nodes}
        now_s = time.monotonic()
        for job_id in set.union(*known.values()):
            self.seen[job_id] = (self.seen.get(job_id, (now_s, 0))[0], now_s)
        return known

    def _miss(self, before, kind):
        after = self._known()
        now_s = time.monotonic()
        if kind in MAY_LOSE_JOBS:
            return
        for node, jobs in before.items():
            for job_id in jobs - after[node]:
                self.missed.setdefault(job_id, (now_s, node.name, kind))

    def _take_jobs(self):
        for job in self.world.jobs.take_ended():
            self.jobs.append(job)
            found = self._find_faults(job)
            if found:
                where = f"job {job.job_id or job.path}, which lived through {', '.join(sorted(job.kinds))}"
                self.complaints += [f"{where}: {text}" for text in found]
                self._tell(where, found)

    def _find_faults(self, job):
        if not job.verified:
            return [job.verdict]
        missed_s, node, kind = self.missed.get(job.job_id, (float("inf"), "", ""))
        first_s, last_s = self.seen.get(job.job_id, (0, 0))
        found = []
        if job.ended_s - missed_s > LEAVING_S and not job.hung:
            found.append(f"lost by classd of {node} in {kind}")
        if not job.carried and last_s - first_s > PARTING_S:
            found.append("runs without a scheduler, but some classd takes it for its own")
        return found
