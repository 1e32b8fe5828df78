"""The lab with its jobs and its watch; what must hold after every fault, and at the end."""

import os
import signal
import time

from labkit import processes

STEP_S = 0.02
ASK_EVERY_S = 0.05  # each question is a process of its own
LEAK = "leak: "  # how complaints of leaks begin
DEADLINE_S = 30  # for what should take a second or two; a busy machine must not fail a campaign
AT_REST = {"cgroup", "classd.lock", "classd.socket", "generation", "jobs", "node_id"}  # in the runtime directory


class World:
    def __init__(self, lab, jobs, watch, slice_s, upgraded):
        self.lab = lab
        self.nodes = lab.nodes
        self.jobs = jobs
        self.watch = watch
        self.slice_s = slice_s
        self.upgraded = upgraded  # {title: program of the next protocol version}
        self.complaints = []
        self.base_line = None

    def complain(self, text):
        self.complaints.append(text)

    def take_complaints(self):
        taken, self.complaints = self.complaints, []
        return taken

    # ---- time

    def step(self):
        self.lab.keep()
        self.jobs.keep()
        time.sleep(STEP_S)

    def pass_time(self, seconds, meanwhile=lambda: None):
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            meanwhile()
            self.step()

    def wait_for(self, condition, deadline_s=DEADLINE_S, every_s=0.0):
        """Lets time pass until the condition holds. False when it never does."""
        end_s = time.monotonic() + deadline_s
        while not condition():
            if time.monotonic() > end_s:
                return False
            self.step()
            self.pass_time(every_s)
        return True

    def expect(self, find_faults):
        """Lets time pass until find_faults() finds none; what it still finds then is complained of, and
        the answer False."""
        found = []

        def nothing():
            found[:] = find_faults()
            return not found
        if not self.wait_for(nothing, every_s=ASK_EVERY_S):
            for text in found:
                self.complain(f"for ever: {text}")
        return not found

    # ---- after every fault

    def settle(self):
        """Until everything is as if there had been no fault."""
        self.expect(self._not_serving)
        self.expect(self._not_ticking(self._switches()))
        self.expect(self._strangers)
        if self.complaints:
            self._start_afresh()

    def _start_afresh(self):
        """What an admin would do; so that the next fault is judged by itself."""
        for node in self.nodes:
            node.mend()
        for daemon in self._daemons():
            daemon.end(signal.SIGKILL, restart_s=0)
        self.wait_for(lambda: not self._not_serving())

    def _not_serving(self):
        return [f"{node.name}: {daemon.title} does not run" for node in self.nodes
                for daemon in node.daemons if not daemon.live()]

    def _switches(self):
        return [(node.ask("status") or {}).get("switches") for node in self.nodes]

    def _not_ticking(self, before):
        return lambda: [f"{node.name}: classd does not answer, or nobody asks it to switch"
                        for node, old, new in zip(self.nodes, before, self._switches())
                        if new is None or new == old]

    def _strangers(self):
        """Classes and pages are those of the jobs that classd knows."""
        found = []
        for node in self.nodes:
            listed = node.ask("jobs")
            if listed is None:
                found.append(f"{node.name}: classd does not answer")
                continue
            known = {(job["uid"], job["job_id"]) for job in listed}
            found += _difference(f"{node.name}: class", node.class_names(),
                                 {f"job-{uid}-{name}" for uid, name in known})
            found += _difference(f"{node.name}: page", node.pages(),
                                 {f"{uid}-{name}" for uid, name in known})
        return found

    # ---- while no job runs

    def start(self):
        """Daemons first, by themselves: what they have open then is the base line."""
        self.expect(self._not_serving)
        self.expect(self._not_ticking(self._switches()))
        self.base_line = {daemon: daemon.open_descriptors() for daemon in self._daemons()}
        self.jobs.draining = False

    def drain(self):
        """Waits for all jobs, and complains of whatever is left of them."""
        self.jobs.draining = True
        self.wait_for(lambda: not self.jobs.alive(), float("inf"))
        if not self.expect(self._leaks):
            self._start_afresh()
            self.wait_for(lambda: not self._leaks())

    def resume(self):
        self.jobs.draining = False

    def _daemons(self):
        return [daemon for node in self.nodes for daemon in node.daemons]

    def _leaks(self):
        found = []
        for node in self.nodes:
            found += [f"{LEAK}{node.name}: class {name} is left behind" for name in node.class_names()]
            found += [f"{LEAK}{node.name}: page {name} is left behind" for name in node.pages()]
            found += _difference(f"{node.name}: {node.runtime_dir()}/", set(os.listdir(node.runtime_dir())),
                                 AT_REST)
        for daemon in self._daemons():
            base_line, now = self.base_line[daemon], daemon.open_descriptors()
            if now != base_line:
                found.append(f"{LEAK}{daemon.node.name}: {daemon.title} has {len(now)} descriptors open and not "
                             f"{len(base_line)}: {now}")
        found += [f"{LEAK}process {who['pid']} is left behind" for who in self._foreign_processes()]
        return found

    def _foreign_processes(self):
        record = self.lab.record
        own = [record["switch"]] + [node.record["holder"] for node in self.nodes]
        own_pids = {who["pid"] for who in own} | {daemon.process.pid for daemon in self._daemons()}
        return [who for who in processes.marked(self.lab.store.name, own) if who["pid"] not in own_pids]


def _difference(what, found, expected):
    return ([f"{LEAK}{what} {name} is there and nobody's" for name in sorted(found - expected)]
            + [f"{what} {name} is missing" for name in sorted(expected - found)])
