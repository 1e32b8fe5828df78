"""Two real MPI jobs take turns on one node, under cpu.max."""

import time
import unittest

import node

RANKS = 2
TIME_SLICE_S = 3
SLICES = 8  # while both run: four turns each
ALONE_S = 2
IDLE = ["2000", "100000"]  # 1 % of two CPUs


def both_here(jobs):
    return jobs is not None and [job["processes"] for job in jobs] == [RANKS, RANKS]


def idle_class(jobs):
    idle = [job for job in jobs if not job["scheduled"]]
    return f"job-{idle[0]['uid']}-{idle[0]['job_id']}" if len(idle) == 1 else None


class Turns(unittest.TestCase):
    def sample(self):
        """The idle job's class, seen by classd and by the kernel; None at a switch or without two jobs."""
        before = node.control("jobs")
        limited = {name: node.limit(name) for name in node.classes() if node.is_limited(name)}
        after = node.control("jobs")
        if not both_here(before) or not both_here(after) or idle_class(before) != idle_class(after):
            return None
        self.assertEqual(limited, {idle_class(after): IDLE})
        return idle_class(after)

    def test_one_of_two_is_limited_and_both_verify(self):
        node.configure(scheduler={"time_slice": f"{TIME_SLICE_S}s", "gmet": "1s", "cpus": 2})
        node.start_daemons()
        self.assertEqual(node.control("status")["backend"], "v2")
        alone = node.Job(RANKS, ("--seconds", ALONE_S))
        while alone.runs():
            self.assertFalse(any(map(node.is_limited, node.classes())))
            time.sleep(0.1)
        self.assertIn("verified=yes", alone.finish())
        running = [node.Job(RANKS, ("--seconds", SLICES * TIME_SLICE_S)) for _ in range(2)]
        node.eventually(lambda: both_here(node.control("jobs")), "both jobs are registered")
        seen = []
        while all(job.runs() for job in running):
            seen.append(self.sample())
            time.sleep(0.1)
        status = node.control("status")
        for job in running:
            self.assertIn("verified=yes", job.finish())
        node.eventually(lambda: not node.classes(), "the classes of ended jobs are gone")
        times = {name: seen.count(name) for name in set(seen) - {None}}
        print(f"one of two limited, in {sum(times.values())} looks of {len(seen)}; "
              f"{status['switches']} switches")
        self.assertEqual(len(times), 2, times)
        self.assertGreater(sum(times.values()), len(seen) // 2)


if __name__ == "__main__":
    unittest.main()
