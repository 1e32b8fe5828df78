"""Memory that a virtual machine would give back. One whose host takes free memory back (virtio's free page reporting) has to
fetch each page anew, which costs more than one that is there, by how much bench/run_pages.sh tells. Jobs that come one after the other
use the same pages again before they are gone; jobs at once need more of them, and would pay for it. No cluster's node does that.

Only free blocks of 2 MiB and more are given back. So memory is taken, and given back to the kernel but for a page here and
there: it is free for the jobs, and in blocks too small to be reported."""

import glob
import mmap
import os
import subprocess
import sys
import time

from . import NasError

BALLOONS = "/sys/bus/virtio/drivers/virtio_balloon/virtio*"
REPORTING = 5  # the feature's number, by the standard of virtio
MOST_MIB = 4096
# What a job has beside its ranks' libraries, at most, by its class: FT's and MG's, rounded up.
JOB_MIB = {"": 0, "S": 8, "W": 64, "A": 448}
RANK_MIB = 16

# Runs in a process of its own until its input ends, as when its owner has died. Argument: MiB.
KEEPER = """
import mmap, sys
MIB, PAGE = 1 << 20, mmap.PAGESIZE
memory = mmap.mmap(-1, int(sys.argv[1]) * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
touched = b"\\1" * MIB
for start in range(0, len(memory), MIB):
    memory[start:start + MIB] = touched
for start in range(0, len(memory), MIB):
    memory.madvise(mmap.MADV_DONTNEED, start + PAGE, MIB - PAGE)
print("kept", flush=True)
sys.stdin.read()
"""


def is_given_back(balloons=BALLOONS):
    """Whether the host takes free memory back."""
    for device in glob.glob(balloons):
        with open(os.path.join(device, "features"), encoding="ascii") as file:
            if file.read()[REPORTING:REPORTING + 1] == "1":
                return True
    return False


def jobs_mib(units):
    """What the jobs that run at once have together, at most, in any of the units (plan.Unit)."""
    def at_once(unit):
        sizes = sorted((JOB_MIB.get(submission.job.size, MOST_MIB) + RANK_MIB * submission.job.ranks
                        for submission in unit.submissions), reverse=True)
        return sum(sizes[:int(unit.limit) or None])
    return max(map(at_once, units), default=0)


def to_keep_mib(wanted_mib):
    """How much of that a session keeps; 0 where nothing is given back."""
    if not is_given_back():
        return 0
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return min(wanted_mib, MOST_MIB, available // 4)


def page_us(mib):
    """Microseconds of CPU time for the first touch of each small page of a fresh block of so many MiB."""
    block = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.madvise(mmap.MADV_NOHUGEPAGE)
    start = time.thread_time()
    for at in range(0, len(block), mmap.PAGESIZE):
        block[at] = 1
    took_s = time.thread_time() - start
    pages = len(block) // mmap.PAGESIZE
    block.close()
    return took_s / pages * 1e6


class Keeper:
    """Keeps that much until it is closed, or this process ends."""

    def __init__(self, mib):
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", KEEPER, str(mib)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=True)

    def wait(self):
        """Returns when the memory is kept."""
        if self.process.stdout.readline() != b"kept\n":
            raise NasError(f"memory for jobs: the process that keeps it ended with status {self.process.wait()}")

    def close(self):
        self.process.terminate()  # it may still be taking what it is to keep
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
