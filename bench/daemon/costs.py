"""What classd costs, and how quick it is: requests, switches, an idle daemon.

A classd of its own, with a runtime directory and a cgroup root of its own, and stub processes that
register with it (stubs.c). It is in a cgroup with the weight that its unit has. Needs root.

    request to quota   from sending SCHEDULE until the status page, which is written after the quota, says
                       that the job is scheduled; the machine idle, idle with its CPUs kept from sleeping
                       (/dev/cpu_dma_latency), and with a busy process on every CPU
    wake               the same with a process that only says that a packet came: the machine's part
    wake, other CPU    the same with the process that sends and the one that answers on different CPUs
    requests           handled per second, sent as fast as one process can
    switch             from sending SWITCH until its reply, by the number of jobs and processes
    idle               CPU time of a classd that has nothing to do but its ticks, and its memory
"""

import argparse
import contextlib
import json
import math
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import asked
from guard import guarded, putting_away
from labkit import cgroups

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SWITCH_SIZES = ((2, 1), (8, 1), (64, 1), (8, 64), (64, 64))
WAKE_LATENCY = "/dev/cpu_dma_latency"  # how late a CPU may wake, while the file is open; 0: it never sleeps
TARGETS = {"request to quota, idle": ("p99", 100.0), "request to quota, awake": ("p99", 100.0),
           "request to quota, busy": ("p99", 500.0),
           "switch, 64 jobs of 1": ("p50", 2000.0), "switch, 64 jobs of 64": ("p50", 2000.0)}
CPUCLOCK_SCHED = 2  # of the kernel's clock ids: with a process's number, all that it has used
IDLE_JOBS, IDLE_PROCESSES = 8, 64
STUBS_END_S = DAEMON_ENDS_S = 10
IDLE_CPU_PERCENT, IDLE_MEMORY_MB = 0.1, 8.0


class Failed(Exception):
    """The text is for the user."""


class Classd:
    """The daemon, alone with its stubs."""

    def __init__(self, build, jobs, processes, timer=False, **settings):
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="cosched-bench-")
        os.chmod(self.folder, 0o755)
        # One CPU, so that two jobs of one process each must take turns.
        keys = {"scheduler": {"time_slice": "1h", "gmet": "0s", "idle_share": "10%", "cpus": 1},
                "cgroup": {"root": f"cosched-bench-{os.getpid()}"},
                "daemon": {"runtime_dir": os.path.join(self.folder, "run"), "log_level": "warning"}}
        for name, value in settings.items():
            keys["scheduler"][name] = value
        self.service = None
        self.config = os.path.join(self.folder, "cosched.ini")
        with open(self.config, "w", encoding="ascii") as file:
            for section, values in keys.items():
                file.write(f"[{section}]\n")
                file.writelines(f"{name} = {value}\n" for name, value in values.items())
        self.started, self.stubs = [], None
        try:
            self.service = cgroups.DaemonsGroup(f"cosched-bench-{os.getpid()}-daemons")
            self._begin(keys["daemon"]["runtime_dir"], jobs, processes, timer)
        except BaseException:
            self._put_away()
            raise

    def _begin(self, runtime_dir, jobs, processes, timer):
        self.started.append(self._start("classd", "classd"))
        self._wait_until_it_serves()
        if timer:
            self.started.append(self._start("timerd", "timerd"))
        self.stubs = subprocess.Popen(
            [os.path.join(self.build, "bench", "daemon", "stubs"), runtime_dir, str(jobs), str(processes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.stubs.stdout.readline() != "ready\n":
            raise Failed("the stubs did not all register")

    def _start(self, folder, name):
        return subprocess.Popen([os.path.join(self.build, folder, name), "--config", self.config],
                                stdin=subprocess.DEVNULL, preexec_fn=self.service.enter)

    def _ctl(self, *arguments):
        return subprocess.run([os.path.join(self.build, "ctl", "coschedctl"), "--config", self.config,
                               *arguments], capture_output=True, check=False)

    def _wait_until_it_serves(self):
        end = time.monotonic() + 20
        while self._ctl("status").returncode != 0:
            if time.monotonic() > end or self.started[0].poll() is not None:
                raise Failed("classd does not serve")
            time.sleep(0.01)

    def ask(self, what, count, answers):
        self.stubs.stdin.write(f"{what} {count}\n")
        self.stubs.stdin.flush()
        found = []
        for _ in range(answers):
            said = self.stubs.stdout.readline()
            if not said:
                raise Failed(f"classd or its stubs ended while they were asked for {what}")
            found.append(int(said))
        return found

    def cpu_s(self):
        """By the process's CPU clock: /proc counts in ticks of 10 ms, a third of what an idle daemon may use."""
        return time.clock_gettime((~self.started[0].pid << 3) | CPUCLOCK_SCHED)

    def memory_mb(self):
        with open(f"/proc/{self.started[0].pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._put_away()

    def _put_away(self):
        with putting_away():
            self._end_all()

    def _end_all(self):
        if self.started:
            self._ctl("shutdown")
        if self.stubs:
            self.stubs.stdin.close()
            self.stubs.stdout.close()
            try:
                self.stubs.wait(STUBS_END_S)
            except subprocess.TimeoutExpired:
                self.stubs.kill()
                self.stubs.wait()
        for daemon in reversed(self.started):
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(DAEMON_ENDS_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        subprocess.run(["rm", "-r", self.folder], check=False)
        self._remove_groups()
        if self.service:
            self.service.remove()

    def _remove_groups(self):
        """Also those of jobs, which a classd that was ended before it was told to shut down leaves."""
        tops = [os.path.join(place, f"cosched-bench-{os.getpid()}") for place in cgroup_roots()]
        left = cgroups.end([top for top in tops if os.path.isdir(top)])
        if left:
            print(f"run_daemon.sh: could not remove {', '.join(left)}", file=sys.stderr)


def cgroup_roots():
    with open("/proc/mounts", encoding="ascii") as mounts:
        return [line.split()[1] for line in mounts if line.split()[2] in ("cgroup", "cgroup2")]


class Awake:
    """Idle CPUs that poll instead of sleeping: without the time that a CPU takes to wake."""

    def __enter__(self):
        self.file = os.open(WAKE_LATENCY, os.O_WRONLY)
        os.write(self.file, struct.pack("=i", 0))

    def __exit__(self, *_):
        os.close(self.file)


class Busy:
    """A busy process on every CPU."""

    def __enter__(self):
        self.processes = []
        try:
            for _ in os.sched_getaffinity(0):
                self.processes.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def line(name, values_us):
    ordered = sorted(values_us)
    found = {"name": name, "count": len(ordered), "p50": statistics.median(ordered),
             "p99": ordered[math.ceil(0.99 * len(ordered)) - 1], "max": ordered[-1]}
    if name in TARGETS:
        found["target"] = TARGETS[name]
    return found


def measure(build, count):
    with Classd(build, 2, 1) as classd:
        classd.ask("requests", 200, 200)
        loads = {"idle": contextlib.nullcontext(), "awake": Awake(), "busy": Busy()}
        if not os.path.exists(WAKE_LATENCY):
            del loads["awake"]
        for load, held in loads.items():
            with held:
                for what, name in (("wakes", "wake"), ("wakes_apart", "wake, other CPU"),
                                   ("requests", "request to quota")):
                    if what == "wakes_apart" and len(os.sched_getaffinity(0)) < 2:
                        continue
                    yield line(f"{name}, {load}", [ns / 1000 for ns in classd.ask(what, count, count)])
        rates = [20000 / (classd.ask("flood", 20000, 1)[0] / 1e9) for _ in range(5)]
        yield {"name": "requests per second", "value": statistics.median(rates),
               "low": min(rates), "high": max(rates)}
    for jobs, processes in SWITCH_SIZES:
        with Classd(build, jobs, processes, idle_share="1%") as classd:
            classd.ask("switches", 20, 20)
            yield line(f"switch, {jobs} jobs of {processes}",
                       [ns / 1000 for ns in classd.ask("switches", 200, 200)])


def idle(build, seconds):
    with Classd(build, IDLE_JOBS, IDLE_PROCESSES, timer=True, time_slice="1s", gmet="1s",
                idle_share="1%") as classd:
        time.sleep(1)
        before_s = classd.cpu_s()
        time.sleep(seconds)
        cpu = 100 * (classd.cpu_s() - before_s) / seconds
        return {"name": f"idle, {IDLE_JOBS} jobs of {IDLE_PROCESSES}, slice 1 s", "cpu_percent": cpu,
                "memory_mb": classd.memory_mb()}


def show(found):
    if "p50" in found:
        goal = found.get("target")
        verdict = "" if goal is None else \
            f"   {goal[0]} <= {goal[1]:g}: {'met' if found[goal[0]] <= goal[1] else 'MISSED'}"
        print(f"{found['name']:34} p50 {found['p50']:9.1f} us   p99 {found['p99']:9.1f} us   "
              f"max {found['max']:9.1f} us{verdict}")
    elif "value" in found:
        print(f"{found['name']:34} {found['value']:13.0f}      ({found['low']:.0f} to {found['high']:.0f})")
    else:
        good = found["cpu_percent"] <= IDLE_CPU_PERCENT and found["memory_mb"] <= IDLE_MEMORY_MB
        print(f"{found['name']:34} {found['cpu_percent']:.3f} % of a CPU, {found['memory_mb']:.1f} MB"
              f"   <= {IDLE_CPU_PERCENT} %, {IDLE_MEMORY_MB:g} MB: {'met' if good else 'MISSED'}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="run_daemon.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--count", type=asked.at_least(1), default=3000, help="requests that are timed")
    parser.add_argument("--idle-seconds", type=asked.at_least(1, float), default=30)
    parser.add_argument("--json", type=asked.new_file, metavar="FILE")
    options = parser.parse_args()
    asked.needs_root(parser, "a classd of its own, with cgroups,")
    for program in ("classd/classd", "timerd/timerd", "ctl/coschedctl", "bench/daemon/stubs"):
        asked.needs_program(parser, os.path.join(options.build, program))
    results = []
    try:
        for found in measure(options.build, options.count):
            show(found)
            results.append(found)
        results.append(idle(options.build, options.idle_seconds))
    except Failed as error:
        sys.exit(f"run_daemon.sh: {error}")
    show(results[-1])
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(guarded(main))
