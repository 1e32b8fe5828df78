"""bench/naskit without a lab: job specifications, degree, perfect sharing, stretch, tables; and how the
lab spreads ranks and reads settings."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from labkit import LabError, cli, launch, state  # noqa: E402
from naskit import NasError, results, session, workload  # noqa: E402
from naskit.workload import Cluster, Job  # noqa: E402

TWO_BY_ONE = Cluster(nodes=2, cpus_per_node=1)


class Specification(unittest.TestCase):
    def test_reads_kernel_class_ranks_and_repeat(self):
        self.assertEqual(workload.parse_job("cg.A.2*5"), Job("cg", "A", 2, 5))
        self.assertEqual(workload.parse_job("ep.W.4"), Job("ep", "W", 4, 1))

    def test_is_its_own_name(self):
        for text in ("cg.A.2*5", "ep.W.4"):
            self.assertEqual(str(workload.parse_job(text)), text)

    def test_rejects_what_is_none(self):
        for text in ("", "cg", "cg.A", "cg.A.0", "cg.A.2*0", "cg.A.2*", "cg.a.2", "../cg.A.2", "cg.A.2 "):
            with self.subTest(text=text), self.assertRaises(NasError):
                workload.parse_job(text)

    def test_a_mix_may_hold_the_same_job_twice(self):
        mix = workload.parse_mix(" cg.A.2  cg.A.2 ep.A.2")
        self.assertEqual(len(mix), 3)
        self.assertEqual(workload.distinct([mix, mix]), [Job("cg", "A", 2), Job("ep", "A", 2)])
        self.assertEqual(workload.parse_mix(workload.mix_name(mix)), mix)

    def test_an_empty_mix_is_none(self):
        with self.assertRaises(NasError):
            workload.parse_mix(" ")

    def test_durations(self):
        self.assertEqual(session.seconds("500ms"), 0.5)
        self.assertEqual(session.seconds("4s"), 4)
        for text in ("4", "s", "4 parsecs"):
            with self.subTest(text=text), self.assertRaises(NasError):
                session.seconds(text)


class Degree(unittest.TestCase):
    def test_counts_the_jobs_of_full_nodes(self):
        job = Job("cg", "A", 2)
        for count in (1, 2, 5):
            self.assertEqual(TWO_BY_ONE.degree(job, [job] * count), count)

    def test_is_one_where_there_is_room(self):
        job = Job("cg", "A", 2)
        self.assertEqual(Cluster(2, 2).degree(job, [job, job]), 1)
        self.assertEqual(Cluster(2, 2).degree(job, [job, job, job]), 1.5)

    def test_ranks_beyond_the_cpus_share_within_the_job(self):
        wide = Job("cg", "A", 8)
        self.assertEqual(TWO_BY_ONE.degree(wide, [wide]), 1)

    def test_is_that_of_the_busiest_node_of_the_job(self):
        everywhere, first = Job("cg", "A", 2), Job("ep", "A", 1)
        self.assertEqual(TWO_BY_ONE.degree(everywhere, [everywhere, first]), 2)
        self.assertEqual(TWO_BY_ONE.degree(first, [first]), 1)


class PerfectSharing(unittest.TestCase):
    def test_equal_jobs_end_together(self):
        jobs = [Job("cg", "A", 2)] * 3
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [4, 4, 4]), [12, 12, 12])

    def test_the_longer_job_has_the_rest_alone(self):
        jobs = [Job("cg", "A", 2), Job("ep", "A", 2)]
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [10, 4]), [14, 8])

    def test_a_job_alone_takes_its_dedicated_time(self):
        self.assertEqual(workload.fair_response(TWO_BY_ONE, [Job("cg", "A", 2)], [7]), [7])


def record(scheduler, job, response_s, **others):
    return {"scheduler": scheduler, "mpi": "mpich", "mix": job, "index": 0, "job": job,
            "degree": 1.0, "response_s": response_s, "cpu_s": 1.0, "verified": True,
            "hung_in_finalize": 0, **others}


def no_sharing(_mpi, _mix, _index, _times):
    return None


class Stretch(unittest.TestCase):
    def test_is_response_over_dedicated_times_degree(self):
        records = [record("dedicated", "cg.A.2", 4), record("dedicated", "cg.A.2", 6),
                   record("dedicated", "cg.A.2", 5), record("cosched", "cg.A.2", 11, degree=2.0)]
        results.add_stretch(records, no_sharing)
        self.assertEqual(records[3]["dedicated_s"], 5)
        self.assertAlmostEqual(records[3]["stretch"], 1.1)
        self.assertAlmostEqual(records[0]["stretch"], 0.8)

    def test_needs_a_verified_dedicated_run(self):
        records = [record("dedicated", "cg.A.2", 4, verified=False), record("cosched", "cg.A.2", 9)]
        results.add_stretch(records, no_sharing)
        self.assertIsNone(records[1]["stretch"])
        self.assertIsNone(records[1]["fair_stretch"])

    def test_never_mixes_mpis(self):
        records = [record("dedicated", "cg.A.2", 4, mpi="openmpi"), record("cosched", "cg.A.2", 9)]
        results.add_stretch(records, no_sharing)
        self.assertIsNone(records[1]["stretch"])

    def test_tables_show_every_scheduler_even_without_stretch(self):
        records = [record("cosched", "cg.A.2", 9), record("cosched", "cg.A.2", 10, verified=False)]
        results.add_stretch(records, no_sharing)
        text = results.table(records, ["dedicated", "cosched"])
        self.assertIn("9.50 (9.00-10.00)", text)
        self.assertIn("1/2", text)


class Output(unittest.TestCase):
    """Which lines say that a program's numbers are right."""

    def test_lines_of_both_suites(self):
        for line, good in (("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=yes", True),
                           ("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=no", False),
                           (" Verification    =               SUCCESSFUL", True),
                           (" Verification    =             UNSUCCESSFUL", False)):
            with self.subTest(line=line):
                self.assertRegex(line, session.DONE)
                self.assertEqual(bool(session.VERIFIED.search(line)), good)

    def test_other_lines_say_nothing(self):
        self.assertNotRegex(" Verification Successful", session.DONE)


class Lab(unittest.TestCase):
    def test_spreads_ranks_evenly(self):
        self.assertEqual(launch.spread(2, 2), [1, 1])
        self.assertEqual(launch.spread(4, 2), [2, 2])
        self.assertEqual(launch.spread(5, 3), [2, 2, 1])
        self.assertEqual(launch.spread(1, 2), [1, 0])

    def test_reads_settings(self):
        self.assertEqual(cli.parse_settings(["scheduler.gmet=1s", "scheduler.cpus=2"]),
                         {"scheduler": {"gmet": "1s", "cpus": "2"}})
        for text in ("gmet=1s", "scheduler.gmet", ".gmet=1s", "scheduler.=1s"):
            with self.subTest(text=text), self.assertRaises(LabError):
                cli.parse_settings([text])

    def test_takes_no_name_that_others_may_use(self):
        for name in ("system.slice", "..", "cosched-lab/..", "cosched", "cosched-lab-"):
            with self.subTest(name=name), self.assertRaises(LabError):
                state.Store(name)
        self.assertEqual(state.Store("cosched-lab-test").directory, "/run/cosched-lab-test")


if __name__ == "__main__":
    unittest.main()
