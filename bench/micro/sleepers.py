"""How late this machine wakes whoever sleeps until a certain time: what a daemon's punctuality is to be compared with.

One process on each CPU, with the daemons' weight, does nothing else.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import two_jobs

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NS_PER_S = 1_000_000_000


@contextlib.contextmanager
def sleepers(lab_name, every_ns):
    """While this lasts they sleep, and a list is to be had of how late each was, in ns, when it has ended."""
    late_ns, running = [], []
    try:
        for cpu in os.sched_getaffinity(0):
            running.append(subprocess.Popen([sys.executable, os.path.realpath(__file__), lab_name, str(cpu),
                                             str(every_ns)], env={**os.environ, "PYTHONPATH": BENCH},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        yield late_ns
        for sleeper in running:
            said = sleeper.communicate("enough\n", timeout=60 + 2 * every_ns / NS_PER_S)[0]
            if sleeper.returncode != 0:
                raise two_jobs.Failed("a process that sleeps has ended by itself")
            late_ns.extend(json.loads(said))
    finally:
        for sleeper in running:
            if sleeper.poll() is None:
                sleeper.kill()
            sleeper.wait()


def _sleep(every_ns, over):
    """In the middle of each interval of the wall clock, where daemons that act at its ends are in nobody's way."""
    late_ns = []
    while not over():
        now_ns = time.time_ns()
        due_ns = (now_ns // every_ns + 1) * every_ns + every_ns // 2
        time.sleep((due_ns - now_ns) / NS_PER_S)
        late_ns.append(max(time.time_ns() - due_ns, 0))
    return late_ns


def main():
    from labkit import cgroups

    lab_name, cpu, every_ns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.sched_setaffinity(0, [cpu])
    cgroups.enter_daemons_group(lab_name)
    os.set_blocking(0, False)
    json.dump(_sleep(every_ns, lambda: sys.stdin.buffer.raw.read(1) is not None), sys.stdout)


if __name__ == "__main__":
    main()
