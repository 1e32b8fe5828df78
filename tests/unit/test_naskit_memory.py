"""bench/naskit/memory: that a host which takes memory back is known by its balloon, and that what is kept costs next to
nothing and is gone with whoever kept it."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from labkit import processes  # noqa: E402
from naskit import memory, workload  # noqa: E402

MIB = 64
OWNER = f"""
import sys
sys.path.insert(0, {BENCH!r})
from naskit import memory
keeper = memory.Keeper({MIB})
keeper.wait()
print(keeper.process.pid, flush=True)
sys.stdin.read()
"""


def resident_mib(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Reporting(unittest.TestCase):
    def asked(self, *features):
        with tempfile.TemporaryDirectory() as folder:
            for number, bits in enumerate(features):
                device = os.path.join(folder, f"virtio{number}")
                os.mkdir(device)
                with open(os.path.join(device, "features"), "w", encoding="ascii") as file:
                    file.write(bits + "\n")
            return memory.is_given_back(os.path.join(folder, "virtio*"))

    def test_is_known_by_the_fifth_feature(self):
        self.assertTrue(self.asked("0110010100"))
        self.assertTrue(self.asked("0000000000", "0000010000"))
        self.assertFalse(self.asked("1111101111"))
        self.assertFalse(self.asked("0110"))

    def test_nobody_takes_memory_without_a_balloon(self):
        self.assertFalse(self.asked())


class Wanted(unittest.TestCase):
    def unit(self, limit, *jobs):
        return argparse.Namespace(limit=limit, submissions=[argparse.Namespace(job=workload.parse_job(job)) for job in jobs])

    def test_is_what_jobs_have_that_run_at_once(self):
        small, large = self.unit(0, "cg.S.2", "hog.2"), self.unit(0, "cg.A.2", "ft.A.2")
        self.assertLess(memory.jobs_mib([small]), 100)
        self.assertGreater(memory.jobs_mib([large]), 800)
        self.assertEqual(memory.jobs_mib([small, large]), memory.jobs_mib([large]))
        self.assertEqual(memory.jobs_mib([]), 0)

    def test_counts_of_jobs_that_wait_the_largest(self):
        one = memory.jobs_mib([self.unit(0, "ft.A.2")])
        self.assertEqual(memory.jobs_mib([self.unit(1, "cg.S.2", "ft.A.2", "cg.W.2")]), one)
        self.assertEqual(memory.jobs_mib([self.unit(2.0, *["ft.A.2"] * 5)]), 2 * one)

    def test_is_bounded(self):
        with unittest.mock.patch.object(memory, "is_given_back", return_value=True):
            self.assertEqual(memory.to_keep_mib(1), 1)
            self.assertLessEqual(memory.to_keep_mib(1 << 30), memory.MOST_MIB)
        with unittest.mock.patch.object(memory, "is_given_back", return_value=False):
            self.assertEqual(memory.to_keep_mib(1), 0)


class Kept(unittest.TestCase):
    def test_costs_a_page_in_each_mebibyte(self):
        keeper = memory.Keeper(MIB)
        try:
            keeper.wait()
            bare = memory.Keeper(1)
            bare.wait()
            self.assertLess(abs(resident_mib(keeper.process.pid) - resident_mib(bare.process.pid)), MIB / 8)
            bare.close()
        finally:
            keeper.close()
        self.assertIsNotNone(keeper.process.returncode)

    def test_ends_with_its_owner(self):
        owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        keeper = processes.identity(int(owner.stdout.readline()))
        self.assertTrue(processes.is_alive(keeper))
        owner.kill()
        owner.communicate()
        deadline = time.monotonic() + 60
        while processes.is_alive(keeper) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(processes.is_alive(keeper))


if __name__ == "__main__":
    unittest.main()
