"""How long a context switch between two tasks takes, by each means of process tracking.

Franke, Moreira & Pattnaik, section 4: the tasks are binary trees of 3, 7 and 15 processes, busy or sleeping; one is
suspended, the other one resumed; the retry interval is varied. Beside what is measured stands the paper's model of
suspending by signals, equation (9), for this machine's CPUs and clock tick. Who suspends and resumes has
the weight of classd's unit, the trees that of any class. LAST SEEN is when a process of the suspended tree last ran before
the next switch: by share it goes on, within the idle share. Needs root.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

import asked
import model
from guard import guarded, putting_away
from labkit import cgroups

MEANS = ("share", "freezer", "signals")
LEVELS = (2, 3, 4)
RETRIES_MS = (1, 2, 5, 10, 20, 50)
QUICK_RETRIES_MS = (1, 5, 20)
SWITCH_S = 0.1  # with its pause, at most; a switch by signals at 50 ms takes longer
RECORDS = "/dev/shm"  # a tmpfs everywhere, as /run, where classd has its own, is on a host that was booted by systemd
COLOURS = {3: "#0072b2", 7: "#d55e00", 15: "#009e73"}


class Failed(Exception):
    pass


def clock_tick_ms():
    """Of this kernel, as its configuration says; 4 ms, which most have, where it says nothing."""
    for path in ("/proc/config.gz", f"/boot/config-{os.uname().release}"):
        command = ["zcat", path] if path.endswith(".gz") else ["cat", path]
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for line in text.splitlines():
            if line.startswith("CONFIG_HZ="):
                return 1000 / int(line.split("=")[1])
    return 4.


def processes_of(levels):
    return 2 ** levels - 1


def quantile(values, part):
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)) - 1, 0)]


class Point:
    """The switches of one setting; times in milliseconds."""

    def __init__(self, means, levels, work, retry_ms, lines):
        rows = [[float(word) for word in line.split()] for line in lines]
        self.means, self.processes, self.work, self.retry_ms = means, processes_of(levels), work, retry_ms
        self.suspend = [row[0] / 1e3 for row in rows]
        self.resume = [row[1] / 1e3 for row in rows]
        self.switch = [row[0] / 1e3 + row[1] / 1e3 for row in rows]
        self.passes = statistics.fmean(row[2] for row in rows)
        self.last_seen = [row[3] / 1e3 for row in rows]


def measure(options, group, records, means, levels, work, retry_ms):
    program = os.path.join(options.build, "bench", "tracking", "switch")
    command = [program, means, str(levels), work, str(round(retry_ms * 1000)), str(options.switches),
               f"cosched-bench-tracking-{os.getpid()}", records]
    limit = 60 + options.switches * (SWITCH_S + retry_ms * processes_of(levels) / 250)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=limit, check=False, preexec_fn=group.enter)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Failed(fault) from None
    if done.returncode != 0:
        raise Failed(done.stderr.strip() or f"{program} ended with {done.returncode}")
    return Point(means, levels, work, retry_ms, done.stdout.splitlines())


def remove_root(top="/sys/fs/cgroup"):
    """What a switch that was ended has left: its classes, and trees in them, frozen, stopped or busy."""
    places = [os.path.join(top, name, f"cosched-bench-tracking-{os.getpid()}") for name in ("", *os.listdir(top))]
    left = cgroups.end([place for place in places if os.path.isdir(place)])
    if left:
        print(f"run_tracking: could not remove {', '.join(left)}", file=sys.stderr)


HEADER = (f"{'MEANS':8} {'TREE':>4} {'WORK':8} {'RETRY':>6} {'SWITCH p50':>11} {'p99':>9} {'mean':>9} {'SUSPEND mean':>13} "
          f"{'RESUME mean':>12} {'PASSES':>7} {'LAST SEEN p50':>14} {'MODEL':>8}   (ms)")


def line(point, cpus, tick_ms):
    modelled = model.suspend_time(point.processes, cpus, tick_ms, point.retry_ms)
    applies = point.means == "signals" and point.work == "busy"
    seen = f"{quantile(point.last_seen, .5):14.3f}" if point.work == "busy" else f"{'-':>14}"
    return (f"{point.means:8} {point.processes:4} {point.work:8} {point.retry_ms:6g} {quantile(point.switch, .5):11.3f} "
            f"{quantile(point.switch, .99):9.3f} {statistics.fmean(point.switch):9.3f} "
            f"{statistics.fmean(point.suspend):13.3f} {statistics.fmean(point.resume):12.3f} {point.passes:7.1f} {seen} "
            f"{f'{modelled:8.1f}' if applies else f'{chr(45):>8}'}")


# ---- the figure: a panel for busy and one for sleeping trees


def _series(points, means, processes, work):
    return [(point.retry_ms, statistics.fmean(point.switch)) for point in points
            if (point.means, point.processes, point.work) == (means, processes, work)]


def script(points, cpus, tick_ms, svg):
    """For gnuplot. Both axes are logarithmic: signals and the other means are orders of magnitude apart."""
    shapes = {"share": 4, "freezer": 8, "signals": 7}
    quoted = "'" + svg.replace("'", "''") + "'"
    text = [f"set terminal svg size 980,460 font 'sans-serif,12' background '#ffffff'\nset output {quoted}",
            "set multiplot layout 1,2\nset logscale xy\nset xlabel 'retry interval, ms'\nset ylabel 'context switch, ms'",
            f"set xrange [0.8:{1.25 * max(point.retry_ms for point in points):g}]\nset yrange [0.005:3000]\n"
            "set key outside bottom center maxrows 5 font ',9'\nset grid ytics lc rgb '#dddddd'"]
    for work in ("busy", "sleeping"):
        curves, data = [], []
        for means in MEANS:
            for processes in COLOURS:
                series = _series(points, means, processes, work)
                if series:
                    curves.append(f"'-' with linespoints pt {shapes[means]} ps 0.7 lw 1 dt 3 lc rgb '{COLOURS[processes]}' "
                                  f"title '{means}, {processes}'")
                    data.append("\n".join(f"{x:g} {y:.6g}" for x, y in series) + "\ne")
        for processes in COLOURS if work == "busy" else ():
            retries = sorted({point.retry_ms for point in points})
            curves.append(f"'-' with lines lw 2 lc rgb '{COLOURS[processes]}' title 'model, {processes}'")
            data.append("\n".join(f"{retry:g} {model.suspend_time(processes, cpus, tick_ms, retry):.6g}"
                                  for retry in retries) + "\ne")
        text.append(f"set title '{work} trees'\nplot " + ", ".join(curves) + "\n" + "\n".join(data))
    return "\n".join(text) + "\nunset multiplot\n"


def draw(points, cpus, tick_ms, svg):
    done = subprocess.run(["gnuplot", "-d"], input=script(points, cpus, tick_ms, svg), text=True, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"gnuplot: {done.stderr.strip()}")


def run(options, group, records):
    cpus, tick_ms = os.cpu_count(), clock_tick_ms()
    print(f"{options.switches} switches each, {cpus} CPUs, clock tick {tick_ms:g} ms, kernel {os.uname().release}")
    print(HEADER, flush=True)
    points = []
    for means in options.means:
        for work in ("busy", "sleeping"):
            for levels in LEVELS:
                for retry_ms in QUICK_RETRIES_MS if options.quick else RETRIES_MS:
                    points.append(measure(options, group, records, means, levels, work, retry_ms))
                    print(line(points[-1], cpus, tick_ms), flush=True)
    if options.svg:
        draw(points, cpus, tick_ms, options.svg)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    parser = argparse.ArgumentParser(prog="run_tracking.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(root, "build", "release"), help="build to measure")
    parser.add_argument("--switches", type=asked.at_least(1), metavar="N", help="of each setting (default: 200, quick: 20)")
    parser.add_argument("--means", nargs="+", choices=MEANS, default=MEANS)
    parser.add_argument("--quick", action="store_true", help="fewer retry intervals and switches")
    parser.add_argument("--svg", type=asked.new_file, metavar="FILE", help="draw the figure")
    options = parser.parse_args()
    options.switches = options.switches or (20 if options.quick else 200)
    asked.needs_root(parser, "suspending, with cgroups,")
    asked.needs_program(parser, os.path.join(options.build, "bench", "tracking", "switch"))
    if options.svg:
        asked.needs_program(parser, "gnuplot", "install it (Debian: gnuplot-nox), or leave --svg out")
    group = cgroups.DaemonsGroup(f"cosched-bench-tracking-{os.getpid()}-daemons")
    try:
        with tempfile.TemporaryDirectory(prefix="cosched-bench-tracking-", dir=RECORDS) as records:
            run(options, group, records)
    except Failed as error:
        sys.exit(f"run_tracking: {error}")
    finally:
        with putting_away():
            remove_root()
            group.remove()


if __name__ == "__main__":
    sys.exit(guarded(main))
