"""What bench/naskit makes of raw runs: stretch, measures, which attempts count, summary, charts, the folder."""

import argparse
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import (NasError, equal_speed, gantt, noise, observer, records, repetitions, store,  # noqa: E402
                    summary, tables)
from naskit.workload import Cluster  # noqa: E402


TWO_BY_ONE = Cluster(nodes=2, cpus_per_node=1)


def job(name="cg.A.2", response_s=4.0, **others):
    return {"index": 0, "job": name, "arrival_s": 0.0, "start_s": 0.0, "end_s": response_s,
            "wait_s": 0.0, "response_s": response_s, "degree": 1.0, "cpu_s": 1.0, "verified": True,
            "hung_in_finalize": 0, "timed_out": False, "exit_status": 0, "fairness": 1.0,
            "started": 0.0, "seconds": [response_s], "log": "x.log", **others}


def run(scheduler, jobs, place, **others):
    counters = dict.fromkeys(records.COUNTERS)
    return {"place": place, "experiment": "workloads", "workload": "w", "value": None, "mpi": "mpich",
            "scheduler": scheduler, "repetition": 1, "attempt": 1, "disturbed": False,
            "calibration_s": 0.1, "time_slice_s": None, "gmet_s": None, "together": True,
            "makespan_s": max(one["end_s"] for one in jobs), "coscheduled_fraction": None,
            "counters": counters, "jobs": jobs, **others}


class Stretch(unittest.TestCase):
    def test_is_response_over_dedicated_times_degree(self):
        runs = [run("dedicated", [job(response_s=seconds)], place, repetition=place + 2)
                for place, seconds in enumerate((4, 6, 5))]
        runs.append(run("cosched", [job(response_s=11, degree=2.0), job(response_s=11, degree=2.0)], 3))
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual(runs[3]["jobs"][0]["dedicated_s"], 5)
        self.assertAlmostEqual(runs[3]["jobs"][0]["stretch"], 1.1)
        self.assertAlmostEqual(runs[3]["jobs"][0]["fair_stretch"], 1.1)

    def test_is_by_the_dedicated_time_of_its_repetition(self):
        runs = [run("dedicated", [job(response_s=4)], 0), run("dedicated", [job(response_s=8)], 1, repetition=2),
                run("dedicated", [job(response_s=2)], 2, experiment="pairs"),
                run("cosched", [job(response_s=8)], 3), run("cosched", [job(response_s=8)], 4, repetition=2)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual([one["jobs"][0]["stretch"] for one in runs[3:]], [2, 1])

    def test_a_dedicated_time_that_was_disturbed_counts_only_where_there_is_no_other(self):
        runs = [run("dedicated", [job(response_s=4)], 0), run("dedicated", [job(response_s=16)], 1, repetition=2, disturbed=True),
                run("cosched", [job(response_s=8)], 2), run("cosched", [job(response_s=8)], 3, repetition=2)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual([one["jobs"][0]["stretch"] for one in runs[2:]], [2, 2])
        records.add_stretch(runs[1:], TWO_BY_ONE)
        self.assertEqual([one["jobs"][0]["stretch"] for one in runs[2:]], [0.5, 0.5])

    def test_is_by_the_time_with_cosched_where_only_that_is_there(self):
        both = [run("dedicated", [job(response_s=4)], 0), run("dedicated-cosched", [job(response_s=5)], 1),
                run("cosched", [job(response_s=10, degree=2.0)], 2)]
        for runs, expected in ((both, 1.25), (both[1:], 1.0)):
            records.add_stretch(runs, TWO_BY_ONE)
            self.assertEqual(runs[-1]["jobs"][0]["stretch"], expected)

    def test_the_reference_is_each_experiments_own(self):
        runs = [run("dedicated", [job(response_s=4)], 0), run("cosched", [job(response_s=8, degree=2.0)], 1),
                run("dedicated-cosched", [job(response_s=8)], 2, experiment="mpl"),
                run("cosched:gang", [job(response_s=24, degree=2.0)], 3, experiment="mpl")]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual([runs[place]["jobs"][0]["stretch"] for place in (1, 3)], [1.0, 1.5])

    def test_needs_a_verified_dedicated_run(self):
        runs = [run("dedicated", [job(verified=False)], 0), run("cosched", [job(response_s=9)], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["stretch"])
        self.assertIsNone(runs[1]["jobs"][0]["fair_stretch"])

    def test_is_that_of_a_workload_only_where_it_is_known_of_all_jobs(self):
        runs = [run("dedicated", [job()], 0), run("cosched", [job(response_s=8.0), job("ep.A.2", response_s=90.0)], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNotNone(runs[1]["jobs"][0]["stretch"])
        found = records.measures(runs[1], 2)
        for name in ("mean_stretch", "worst_stretch", "mean_fair_stretch"):
            self.assertIsNone(found[name], name)

    def test_never_mixes_mpis(self):
        runs = [run("dedicated", [job()], 0, mpi="openmpi"), run("cosched", [job()], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["stretch"])

    def test_never_mixes_sittings(self):
        runs = [run("dedicated", [job(response_s=4)], 0), run("dedicated", [job(response_s=8)], 1, sitting=2),
                run("cosched", [job(response_s=8)], 2, sitting=2), run("cosched", [job()], 3, sitting=3)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual([one["jobs"][0]["stretch"] for one in runs], [1, 1, 1, None])

    def test_perfect_sharing_is_not_known_where_jobs_come_one_by_one(self):
        runs = [run("dedicated", [job()], 0), run("fcfs", [job()], 1, together=False)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["fair_stretch"])

    def test_jobs_that_wait_for_each_other_have_none(self):
        runs = [run("dedicated", [job(response_s=4)], 0),
                run("fcfs", [job(response_s=4), job(response_s=8)], 1, together=False)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual([one["stretch"] for one in runs[1]["jobs"]], [None, None])
        self.assertEqual(runs[1]["jobs"][0]["dedicated_s"], 4)

    def test_a_hog_has_none_and_takes_its_share_of_the_others(self):
        runs = [run("dedicated", [job()], 0), run("cosched", [job(response_s=8, degree=2.0),
                                                              job("hog.2", 8)], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][1]["stretch"])
        self.assertAlmostEqual(runs[1]["jobs"][0]["fair_stretch"], 1.0)


class Measures(unittest.TestCase):
    def measured(self, jobs, **others):
        runs = [run("cosched", jobs, 0, **others)]
        records.add_stretch(runs, TWO_BY_ONE)
        return records.measures(runs[0], 2)

    def test_are_of_jobs_that_end(self):
        found = self.measured([job(response_s=4, wait_s=1.0), job(response_s=6, wait_s=2.0),
                               job("hog.2", 6, fairness=0.5)])
        self.assertEqual(found["mean_response_s"], 5)
        self.assertEqual(found["mean_wait_s"], 1.5)
        self.assertEqual(found["makespan_s"], 6)
        self.assertEqual(found["throughput_per_h"], 1200)
        self.assertEqual(found["cpu_s"], 2)
        self.assertEqual(found["fairness"], 1.0)

    def test_fairness_is_that_of_the_worst_off(self):
        self.assertEqual(self.measured([job(fairness=0.7), job(fairness=1.2)])["fairness"], 0.7)

    def test_hogs_part_is_of_a_cpu_for_each_process_while_they_were_there(self):
        hog = {"start_s": 1.0, "end_s": 6.0}
        found = self.measured([job(cpu_s=9.0), job("hog.2", 5, cpu_s=4.0, **hog), job("hog.1", 5, cpu_s=3.5, **hog)])
        self.assertAlmostEqual(found["hogs_part"], 7.5 / 15)
        self.assertIsNone(self.measured([job()])["hogs_part"])
        self.assertIsNone(self.measured([job(), job("hog.2", 5, cpu_s=None), job("hog.2", 5)])["hogs_part"])

    def test_switches_are_per_node_and_second(self):
        counters = {**dict.fromkeys(records.COUNTERS), "switches": 40, "requests": 7}
        found = self.measured([job(response_s=10)], counters=counters)
        self.assertEqual(found["switches_per_s"], 2)
        self.assertEqual(found["requests"], 7)

    def test_what_goes_on_while_a_job_hangs_is_no_figure_of_the_run(self):
        jobs = [job(response_s=5), job("hog.2", 19, cpu_s=33.0)]
        others = {"counters": {**dict.fromkeys(records.COUNTERS), "switches": 40}, "coscheduled_fraction": 0.9}
        names = ("hogs_part", "fairness", "switches_per_s", "coscheduled_fraction")
        found = self.measured(jobs, **others)
        self.assertNotIn(None, [found[name] for name in names])
        jobs[0]["hung_in_finalize"] = 1
        found = self.measured(jobs, **others)
        self.assertEqual([found[name] for name in names], [None] * 4)
        self.assertEqual(found["mean_response_s"], 5)

    def test_what_is_not_known_is_null_and_not_zero(self):
        found = self.measured([job(cpu_s=None, fairness=None)])
        for name in ("cpu_s", "fairness", "switches_per_s", "requests", "false", "mean_stretch"):
            self.assertIsNone(found[name], name)


class Attempts(unittest.TestCase):
    def chosen(self, *attempts):
        runs = [run("cosched", [job()], 0, attempt=number, disturbed=disturbed, calibration_s=seconds)
                for number, (disturbed, seconds) in enumerate(attempts, 1)]
        found, = records.valid(runs)
        return found["attempt"]

    def test_the_undisturbed_one_counts(self):
        self.assertEqual(self.chosen((True, 0.2), (False, 0.1)), 2)
        self.assertEqual(self.chosen((False, 0.1), (True, 0.2)), 1)

    def test_of_disturbed_ones_the_quietest_counts(self):
        self.assertEqual(self.chosen((True, 0.3), (True, 0.2), (True, 0.4)), 2)

    def test_of_disturbed_ones_the_pace_says_more_than_what_was_around(self):
        runs = [run("cosched", [job()], 0, attempt=number, disturbed=True, calibration_s=seconds, pace_s=pace_s)
                for number, (seconds, pace_s) in enumerate([(0.2, 0.002), (0.3, 0.001), (0.1, 0.003)], 1)]
        self.assertEqual(records.valid(runs)[0]["attempt"], 2)
        runs.append(run("cosched", [job()], 0, attempt=4, disturbed=True, calibration_s=0.2))
        self.assertEqual(records.valid(runs)[0]["attempt"], 4)

    def test_disturbed_is_what_takes_clearly_longer_than_the_median(self):
        guard = noise.Guard(1.2, [{"calibration_s": seconds} for seconds in (0.1, 0.1, None, 0.1)])
        self.assertFalse(guard.is_disturbed(0.11))
        self.assertTrue(guard.is_disturbed(0.13))
        self.assertFalse(noise.Guard(0, [{"calibration_s": 0.1}]).is_disturbed(9.0))

    def test_runs_are_judged_anew_when_the_median_is_known_better(self):
        guard, first = noise.Guard(1.2), run("cosched", [job()], 0, calibration_s=0.3)
        guard.add(0.3)
        guard.judge([first])
        self.assertFalse(first["disturbed"])
        for _ in range(5):
            guard.add(0.1)
        guard.judge([first])
        self.assertTrue(first["disturbed"])


class Summary(unittest.TestCase):
    def runs(self):
        found = []
        for repetition, (cosched_s, other_s) in enumerate(((5, 10), (6, 10), (5, 20)), 1):
            for scheduler, seconds in (("cosched", cosched_s), ("uncoordinated", other_s)):
                found.append(run(scheduler, [job(response_s=float(seconds))], len(found),
                                 repetition=repetition))
        return found

    def rows(self, runs):
        found = summary.describe(runs, TWO_BY_ONE)["experiments"]["workloads"]
        return {(row["scheduler"], row["value"]): row for row in found["rows"]}

    def test_ratios_are_paired_by_repetition(self):
        ratio = self.rows(self.runs())["cosched", None]["ratios"]["mean_response_s"]
        self.assertEqual(ratio["n"], 3)
        self.assertAlmostEqual(ratio["median"], 0.5)
        self.assertAlmostEqual(ratio["mean"], (0.5 + 0.6 + 0.25) / 3)

    def test_ratios_are_of_one_sitting(self):
        runs = self.runs()
        runs[3]["sitting"] = 2
        ratio = self.rows(runs)["cosched", None]["ratios"]["mean_response_s"]
        self.assertEqual((ratio["n"], ratio["median"]), (2, 0.375))

    def test_a_baseline_that_was_run_again_serves_its_sitting_and_the_earlier_one_serves_its_own(self):
        runs = self.runs()
        runs[3]["sitting"] = 1
        for one in runs[4:]:
            one["sitting"] = 2
        runs[2]["sitting"] = 2
        runs.append({**runs[3], "sitting": 2, "again": True, "attempt": 2, "jobs": [job(response_s=12.0)]})
        rows = self.rows(runs)
        ratio = rows["cosched", None]["ratios"]["mean_response_s"]
        self.assertEqual((ratio["n"], ratio["median"]), (3, 0.5))
        self.assertEqual(rows["uncoordinated", None]["runs"], 4)

    def test_a_value_is_compared_with_the_baselines_one_run(self):
        runs = self.runs()
        for one in runs:
            one["value"] = 0.5 if one["scheduler"] == "cosched" else None
        ratio = self.rows(runs)["cosched", 0.5]["ratios"]["mean_response_s"]
        self.assertAlmostEqual(ratio["median"], 0.5)

    def test_waits_are_compared_where_somebody_waited(self):
        for wait_s, count in ((0.004, None), (4.0, 3)):
            runs = self.runs()
            for one in runs:
                one["jobs"][0]["wait_s"] = wait_s
            found = self.rows(runs)["cosched", None]["ratios"]["mean_wait_s"]
            self.assertEqual(found and found["n"], count)

    def test_what_perfect_sharing_would_wait_is_known_where_the_degree_is_limited(self):
        queued = [job(index=place, response_s=4.0 * place + 4, wait_s=4.0 * place) for place in range(4)]
        runs = [run("fcfs", queued, 0, experiment="batch"),
                run("cosched@1s", [job(wait_s=1.0)], 1, experiment="batch", value=2),
                run("cosched@1s", [job(wait_s=1.0)], 2, experiment="batch", value=4)]
        found = summary.describe(runs, TWO_BY_ONE)["experiments"]["batch"]["rows"]
        self.assertEqual([row["ideals"].get("mean_wait_s", {}).get("median") for row in found],
                         [None, 8 * 2 / 4 / 6, 0.0])
        self.assertEqual(self.rows(self.runs())["cosched", None]["ideals"], {})

    def test_without_a_baseline_there_is_no_ratio(self):
        rows = self.rows([one for one in self.runs() if one["scheduler"] == "cosched"])
        self.assertIsNone(rows["cosched", None]["ratios"]["mean_response_s"])

    def test_counts_disturbed_attempts_and_leaves_them_out(self):
        runs = self.runs()
        runs.append(run("cosched", [job(response_s=99.0)], 0, disturbed=True, attempt=2))
        row = self.rows(runs)["cosched", None]
        self.assertEqual((row["runs"], row["disturbed"], row["counted_disturbed"]), (3, 1, 0))
        self.assertEqual(row["measures"]["mean_response_s"]["median"], 5)

    def test_a_run_with_a_job_that_did_not_verify_is_told_and_in_no_figure(self):
        runs = self.runs()
        runs[0]["jobs"] = [job(response_s=0.1, verified=False), job("ep.A.2", response_s=3.0)]
        runs[3]["jobs"][0]["verified"] = False  # the baseline of the second repetition
        described = summary.describe(runs, TWO_BY_ONE)["experiments"]["workloads"]
        row = {row["scheduler"]: row for row in described["rows"]}["cosched"]
        self.assertEqual((row["runs"], row["unverified"]), (3, 1))
        self.assertEqual(row["measures"]["mean_response_s"]["n"], 2)
        self.assertEqual(row["measures"]["mean_response_s"]["median"], 5.5)
        self.assertEqual((row["ratios"]["mean_response_s"]["n"], row["ratios"]["mean_response_s"]["median"]), (1, 0.25))
        self.assertEqual({one["job"] for one in described["jobs"]}, {"cg.A.2"})

    def test_nothing_that_verified_is_no_figure(self):
        runs = self.runs()
        for one in runs:
            one["jobs"][0]["verified"] = False
        found = summary.describe(runs, TWO_BY_ONE)
        row = found["experiments"]["workloads"]["rows"][0]
        self.assertEqual((row["unverified"], row["measures"]["mean_response_s"]), (3, None))
        self.assertIn("0/3", tables.text(found))

    def test_jobs_of_one_name_in_a_run_are_one_value(self):
        runs = [run("cosched", [job(response_s=4.0), job(response_s=6.0)], 0)]
        one, = summary.describe(runs, TWO_BY_ONE)["experiments"]["workloads"]["jobs"]
        self.assertEqual(one["measures"]["response_s"]["n"], 1)
        self.assertEqual(one["measures"]["response_s"]["median"], 5)

    def test_can_be_written_as_json_and_as_tables(self):
        runs = self.runs() + [run("dedicated", [job()], 9, workload="cg.A.2")]
        found = summary.describe(runs, TWO_BY_ONE, alone={"dedicated"}, complete=False)
        text = tables.text(json.loads(json.dumps(found)))
        self.assertIn("uncoordinated", text)
        self.assertIn("INCOMPLETE", text)
        self.assertIn("3/3", text)
        self.assertNotIn("INCOMPLETE", tables.text({**found, "complete": True}))

    def test_tables_say_what_hogs_have_where_there_are_any(self):
        hog = job("hog.2", 4, cpu_s=3.9)
        self.assertRegex(tables.text(summary.describe([run("cosched", [job(), hog], 0)], TWO_BY_ONE)), r"hogs have(.|\n)* 0\.4[89]\d ")
        self.assertNotIn("hogs have", tables.text(summary.describe([run("cosched", [job()], 0)], TWO_BY_ONE)))

    def test_results_json_has_what_it_always_had(self):
        runs = [run("cosched", [job(), job("hog.2")], 0)]
        records.add_stretch(runs, TWO_BY_ONE)
        one, = records.flat(runs)
        for name in ("scheduler", "mpi", "repetition", "mix", "index", "job", "ranks", "degree",
                     "response_s", "cpu_s", "verified", "hung_in_finalize", "timed_out", "exit_status",
                     "started", "seconds", "log", "stretch", "fair_stretch", "dedicated_s"):
            self.assertIn(name, one)
        self.assertEqual((one["mix"], one["ranks"]), ("cg.A.2 hog.2", 2))
        self.assertNotIn("switches", one)

    def test_results_json_has_all_that_is_known_of_a_coscheduled_run(self):
        counters = {"switches": 4, "requests": 3, "granted": 2, "discarded": 1, "false": 0}
        runs = [run("cosched", [job()], 0, counters=counters, coscheduled_fraction=0.9)]
        records.add_stretch(runs, TWO_BY_ONE)
        one, = records.flat(runs)
        self.assertEqual([one[name] for name in ("switches", "requests", "requests_granted", "requests_discarded",
                                                 "requests_false", "coscheduled_fraction")], [4, 3, 2, 1, 0, 0.9])


class Repetitions(unittest.TestCase):
    """What bench/run_report.sh --repetitions prints."""

    def made(self, schedulers, **others):
        found = [run("dedicated", [job(response_s=2.0)], 0, workload="cg.A.2")]
        for repetition, seconds in enumerate((5.0, 6.0), 1):
            for place, name in enumerate(schedulers):
                found.append(run(name, [job(response_s=seconds * (place + 1), degree=2.0)], len(found), repetition=repetition,
                                 **others))
        return found

    def rows(self, runs):
        return {row[4]: row[5:] for row in repetitions.rows(runs, TWO_BY_ONE)[1:]}

    def test_each_run_has_its_figures_in_their_order(self):
        found = self.rows(self.made(("cosched", "uncoordinated")))
        self.assertEqual(found["cosched"], ("5.00, 6.00", "1.25, 1.50", "1.25, 1.50", "uncoordinated", "0.50, 0.50", "-", "0.50, 0.50",
                                            "1.00, 1.00"))
        self.assertEqual(found["uncoordinated"][:4], ("10.00, 12.00", "2.50, 3.00", "2.50, 3.00", "-"))
        self.assertEqual(found["dedicated"], ("2.00", *"-------"))

    def test_what_counts_though_it_was_disturbed_is_marked_and_what_did_not_verify_is_left_out(self):
        runs = self.made(("cosched", "uncoordinated"))
        runs[1]["disturbed"] = True
        runs[3]["jobs"][0]["verified"] = False
        self.assertEqual(self.rows(runs)["cosched"][4], "0.50*")

    def test_what_was_of_another_sitting_has_no_figure(self):
        runs = self.made(("cosched", "uncoordinated"))
        runs[1]["sitting"] = 2
        self.assertEqual(self.rows(runs)["cosched"][4], "-, 0.50")

    def test_where_the_baseline_was_not_run_another_takes_its_place(self):
        found = self.rows(self.made(("cosched", "fcfs"), experiment="jobs"))
        self.assertEqual(found["cosched"][3:5], ("fcfs", "0.50, 0.50"))

    def test_of_a_folder_they_are_printed_or_what_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            results = store.Store(folder)
            with self.assertRaisesRegex(NasError, "plan.json: is not there"):
                repetitions.text(folder)
            results.write_json("plan.json", {"format": 1, "units": [], "options": {"nodes": 2, "cpus_per_node": 1, "noise": 1.2}})
            with self.assertRaisesRegex(NasError, "has no run yet"):
                repetitions.text(folder)
            for one in self.made(("cosched", "uncoordinated")):
                results.append_run(one)
            self.assertIn("0.50, 0.50", repetitions.text(folder))


class EqualSpeed(unittest.TestCase):
    """What bench/run_report.sh --equal-speed prints."""

    @staticmethod
    def alone(response_s, pace_s, place, **others):
        return run("dedicated", [job(response_s=response_s, cpu_s=response_s)], place, workload="cg.A.2", pace_s=pace_s,
                   repetition=place + 1, **others)

    @staticmethod
    def shared(response_s, pace_s, place, scheduler="cosched", **others):
        jobs = [job(response_s=response_s, cpu_s=response_s / 2, degree=2.0) for _ in range(2)]
        return run(scheduler, jobs, place, pace_s=pace_s, **others)

    def rows(self, runs):
        return {(row[1], row[4]): row[5:] for row in equal_speed.rows(runs, 2)[1:]}

    def test_a_run_is_compared_with_the_job_alone_at_its_speed_of_any_repetition(self):
        slow, fast = 44e-6, 38e-6
        found = self.rows([self.alone(2.0, slow, 0), self.alone(1.0, fast, 1), self.alone(1.1, fast, 2),
                           self.shared(4.2, slow, 3, repetition=2), self.shared(2.1, fast, 4, repetition=1)])
        self.assertEqual(found["w", "cosched"][:3], ("2 of 2", "1.02 (1.00..1.05)", "1.02 (1.00..1.05)"))

    def test_without_one_it_has_no_figure(self):
        for others in ({"pace_s": 42e-6}, {"pace_s": None}, {"calibration_s": 0.12}, {"sitting": 2}, {"mpi": "openmpi"}):
            with self.subTest(**others):
                found = self.rows([self.alone(2.0, 44e-6, 0), {**self.shared(4.0, 44e-6, 1), **others}])
                self.assertEqual(found, {})
        found = self.rows([self.alone(2.0, 44e-6, 0), self.shared(4.0, 44e-6, 1), self.shared(4.0, 40e-6, 2, repetition=2)])
        self.assertEqual(found["w", "cosched"][0], "1 of 2")

    def test_nearly_as_fast_is_as_fast(self):
        found = self.rows([self.alone(2.0, 44e-6, 0), self.shared(4.0, 43.3e-6, 1, calibration_s=0.105)])
        self.assertEqual(found["w", "cosched"][1], "1.00 (1.00..1.00)")

    def test_disturbed_and_unverified_runs_are_left_out(self):
        good, bad = self.shared(4.0, 44e-6, 2), self.shared(40.0, 44e-6, 3, repetition=2)
        bad["jobs"][0]["verified"] = False
        found = self.rows([self.alone(2.0, 44e-6, 0), self.alone(9.0, 44e-6, 1, disturbed=True), good, bad])
        self.assertEqual(found["w", "cosched"][:2], ("1 of 1", "1.00 (1.00..1.00)"))

    def test_ratios_are_to_the_baseline_at_its_speed(self):
        found = self.rows([self.shared(6.0, 38e-6, 0, "uncoordinated"), self.shared(8.0, 44e-6, 1, "uncoordinated", repetition=2),
                           self.shared(4.0, 44e-6, 2)])
        self.assertEqual(found["w", "cosched"][3:], ("uncoordinated", "0.50 (0.50..0.50)", "-", "0.50 (0.50..0.50)",
                                                     "0.50 (0.50..0.50)"))
        self.assertNotIn(("w", "uncoordinated"), found)

    def test_the_same_jobs_in_another_order_are_no_baseline(self):
        jobs = [job(name, response_s=4.0, degree=2.0) for name in ("cg.A.2", "lu.A.2")]
        base, same, other = (run(scheduler, list(found), place, pace_s=44e-6, repetition=place + 1) for place, (scheduler, found) in
                             enumerate((("uncoordinated", jobs), ("cosched", jobs), ("cosched", reversed(jobs)))))
        self.assertEqual(self.rows([base, same])["w", "cosched"][3], "uncoordinated")
        self.assertNotIn(("w", "cosched"), self.rows([base, other]))

    def test_more_than_one_place_has_a_row_of_all(self):
        runs = [self.alone(2.0, 44e-6, 0), self.shared(4.0, 44e-6, 1, value=2), self.shared(4.4, 44e-6, 2, value=3)]
        self.assertEqual(self.rows(runs)["all", "cosched"][:2], ("2 of 2", "1.05 (1.00..1.10)"))
        self.assertNotIn(("all", "cosched"), self.rows(runs[:2]))

    def test_of_a_folder_it_is_printed_or_what_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            results = store.Store(folder)
            results.write_json("plan.json", {"format": 1, "units": [], "options": {"nodes": 2, "cpus_per_node": 1, "noise": 0}})
            results.append_run(self.alone(2.0, None, 0))
            with self.assertRaisesRegex(NasError, "no run has a pace; a session with --noise 0"):
                equal_speed.text(folder)
            results.append_run(self.alone(2.0, 44e-6, 1))
            with self.assertRaisesRegex(NasError, "has no two runs during which the machine was as fast"):
                equal_speed.text(folder)
            results.append_run(self.shared(4.0, 44e-6, 2))
            self.assertIn("1 of 1", equal_speed.text(folder))


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.results = store.Store(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def test_a_line_that_was_cut_off_is_run_again(self):
        first, second = run("cosched", [job()], 0), run("cosched", [job()], 1)
        self.results.append_run(first)
        with open(self.results.path("runs.jsonl"), "a", encoding="ascii") as file:
            file.write('{"place": 1, "exp')
        size = os.path.getsize(self.results.path("runs.jsonl"))
        self.assertEqual(self.results.runs(), [first])
        self.assertEqual(self.results.left(["a", "b", "c"], 0, 0), ["b", "c"])
        self.assertEqual(os.path.getsize(self.results.path("runs.jsonl")), size)  # whoever writes may be alive
        self.results.append_run(second)
        self.assertEqual(self.results.runs(), [first, second])

    def test_what_was_run_with_other_settings_than_its_experiment_has_is_still_to_be_run(self):
        others = {"experiment": "gmet", "value": 0.1}
        old, new = run("cosched", [job()], 0, **others), run("cosched", [job()], 1, **others, settings={"timer.align": "no"})
        base, other = run("uncoordinated", [job()], 2, experiment="gmet"), run("cosched", [job()], 3, experiment="dom", value=3)
        for one in (old, new, base, other):
            self.results.append_run(one)
        self.assertEqual(self.results.left(["a", "b", "c", "d"], 0, 0), ["a"])
        self.assertEqual(records.standing([old, new, base, other]), [new, base, other])

    def test_what_was_made_anew_still_says_how_noisy_its_sitting_was(self):
        for place, seconds in enumerate((0.2, 0.2, 0.3)):
            self.results.append_run(run("cosched", [job()], place, calibration_s=seconds))
        for place in (0, 1):
            self.results.append_run(run("cosched", [job()], place, attempt=2, calibration_s=0.1, sitting=2, anew=True))
        judged = noise.judged(self.results.runs(), 1.2)
        self.assertEqual([(one["place"], one["attempt"], one["disturbed"]) for one in judged],
                         [(2, 1, True), (0, 2, False), (1, 2, False)])

    def test_what_was_disturbed_each_time_is_run_again_as_often_as_is_asked(self):
        for place, times_s in enumerate(((0.1,), (0.1,), (0.3, 0.3), (0.3, 0.1))):
            for number, seconds in enumerate(times_s, 1):
                self.results.append_run(run("cosched", [job()], place, attempt=number, calibration_s=seconds))
        self.results.append_run(run("cosched", [job()], 2, attempt=3, calibration_s=0.1, again=True))
        units = ["a", "b", "disturbed", "d"]
        self.assertEqual([self.results.left(units, 1.2, retries) for retries in (1, 2)], [[], ["disturbed"]])
        self.assertEqual(self.results.left(units, 0, 2), [])

    def test_a_broken_line_is_named(self):
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.write('{"place": 0}\nno\n')
        with self.assertRaisesRegex(NasError, "runs.jsonl:2"):
            self.results.runs()

    def test_a_folder_is_one_sessions_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            first = store.Store(folder)
            for _ in range(2):
                first.make()
            with self.assertRaisesRegex(NasError, "another session is writing there: .*--out"):
                store.Store(folder).make()
            del first
            store.Store(folder).make()

    def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_lost(self):
        with tempfile.NamedTemporaryFile() as file, self.assertRaisesRegex(NasError, "cannot be made .*--out"):
            store.Store(os.path.join(file.name, "x")).make()
        with tempfile.TemporaryDirectory() as folder:
            results = store.Store(folder)
            results.make()
            results.append_run({"place": 1})
            with mock.patch.object(store.os, "fsync", side_effect=OSError(28, "No space left on device")):
                with self.assertRaisesRegex(NasError, "runs.jsonl: cannot be written .No space left on device.: .*--resume"):
                    results.append_run({"place": 2})
            self.assertEqual(results.runs()[0], {"place": 1})
            os.mkdir(results.path("summary.txt"))
            with self.assertRaisesRegex(NasError, "summary.txt: cannot be written"):
                results.write_text("summary.txt", "")

    def test_a_folder_without_a_plan_is_named(self):
        with self.assertRaisesRegex(NasError, "plan.json.*not there"):
            self.results.read_json("plan.json")

    def test_names_of_files_are_short_and_differ(self):
        one, other = store.slug("cg.A.2*5 " * 99), store.slug("cg.A.2*5 " * 98)
        self.assertLess(max(len(one), len(other)), 200)
        self.assertNotEqual(one, other)
        self.assertEqual(store.slug("cg.A.2*5 ep.W.2"), "cg.A.2x5_ep.W.2")


def dump(*events):
    return {"events": [[int(seconds * 1e9), job, kind, 0] for seconds, job, kind in events]}


class Gantt(unittest.TestCase):
    ONE, TWO = "00000000000000a1", "00000000000000b2"

    def test_spans_are_when_a_job_held_the_node(self):
        events = dump((100, self.ONE, gantt.FREE), (101, self.ONE, gantt.SCHEDULED),
                      (102, self.ONE, gantt.IDLE), (102, self.TWO, gantt.SCHEDULED),
                      (103, self.ONE, gantt.SCHEDULED), (104, self.ONE, gantt.LEFT))
        found = gantt.spans(events, 100)
        self.assertEqual(found[self.ONE], [(0, 2), (3, 4)])
        self.assertEqual(found[self.TWO], [(2, 4)])

    def test_jobs_are_matched_by_their_ends(self):
        jobs = [job("cg.A.2", 10.0), job("ep.A.2", 4.0), job("lu.A.2", 14.0, start_s=5.0, seconds=[9.0])]
        lifetimes = {"a": (0.2, 9.9), "b": (0.2, 3.9), "c": (5.2, 13.8)}
        self.assertEqual(gantt.match(lifetimes, jobs), {"a": 0, "b": 1, "c": 2})

    def test_jobs_that_end_together_are_told_apart(self):
        # A job leaves its node a tenth of a second before its launch ends.
        for start_s in (8.0, 3.0):
            jobs = [job("cg.A.2", 13.2, start_s=start_s, seconds=[13.2 - start_s]), job("ep.A.2", 13.3, start_s=10.0, seconds=[3.3])]
            with self.subTest(start_s=start_s):
                self.assertEqual(gantt.match({"a": (start_s + 0.2, 13.1), "b": (10.2, 13.2)}, jobs), {"a": 0, "b": 1})

    def test_no_job_has_turns_after_its_end(self):
        jobs = [job("cg.A.2", 4.0), {**job("cg.A.2", 4.0), "hung_in_finalize": 1}]
        self.assertEqual(gantt.match({"a": (0.2, 9.9)}, jobs), {"a": 1})

    def test_the_sequential_class_is_no_job(self):
        trace = dump((101.0, "a", gantt.SCHEDULED), (103.0, "5e", gantt.SCHEDULED), (105.0, "a", gantt.LEFT),
                     (105.1, "5e", gantt.LEFT))
        trace["jobs"] = [{"job": "a", "uid": 1000, "job_id": "x"}, {"job": "5e", "uid": 0, "job_id": "sequential"}]
        self.assertEqual(gantt.lifetimes([trace], 100.0), {"a": (1.0, 5.0)})
        self.assertEqual(observer.last_words("x    root  0.970\nsequential    root  0.400\n\ny   root  -\n"), ["0.970", "-"])

    def test_a_job_is_not_matched_with_one_that_had_not_started(self):
        jobs = [job("cg.A.2", 10.0, start_s=8.0, seconds=[2.0])]
        self.assertEqual(gantt.match({"a": (0.0, 9.9)}, jobs), {})

    def test_iterations_of_a_job_are_jobs_of_the_trace(self):
        jobs = [job("lu.A.2*2", 8.0, seconds=[4.0, 4.0])]
        self.assertEqual(gantt.match({"a": (0.1, 3.9), "b": (4.1, 7.9)}, jobs), {"a": 0, "b": 0})

    def test_a_run_without_daemons_has_no_spans(self):
        found = gantt.chart(run("fcfs", [job()], 0), 2, [], 100.0)
        self.assertEqual((found["spans"], found["nodes"], len(found["jobs"])), ([], 2, 1))


class Traces(unittest.TestCase):
    def dumps(self, *texts):
        site = argparse.Namespace(counters=lambda: [], trace_start=lambda: None, trace_dumps=lambda: list(texts))
        return observer.Observer(site, None, argparse.Namespace(cosched=True))._dumps()

    def test_one_that_has_lost_events_is_no_recording_of_the_run(self):
        whole = json.dumps({"lost": 0, "events": []})
        self.assertEqual(self.dumps(whole, whole), [whole, whole])
        self.assertEqual(self.dumps(whole, json.dumps({"lost": 3, "events": []})), [])
        self.assertEqual(self.dumps(whole, ""), [])


    def test_jobs_of_which_classd_knows_nothing_make_no_run_of_cosched(self):
        mute, heard = dump((101.0, "a", gantt.SCHEDULED)), dump((101.0, "a", gantt.CAME))
        sequential = {**dump((101.0, "5e", gantt.CAME)), "jobs": [{"job": "5e", "job_id": gantt.SEQUENTIAL}]}
        good = run("cosched", [job()], 0)
        for dumps in ([mute, mute], [mute, sequential]):
            with self.assertRaisesRegex(NasError, "^cosched: none of the 1 launches of cg.A.2 registered with classd"):
                observer.check_registered(good, dumps)
        observer.check_registered(good, [mute, heard])
        two = run("cosched", [job(), job(seconds=[10.0, 10.0])], 0)
        with self.assertRaisesRegex(NasError, "^cosched: 1 of the 3 launches of cg.A.2 registered with classd"):
            observer.check_registered(two, [heard, heard])
        observer.check_registered(two, [heard, dump((101.0, "b", gantt.CAME), (111.0, "c", gantt.CAME))])
        observer.check_registered(good, [])  # nothing is known
        observer.check_registered(run("cosched", [job(verified=False)], 0), [mute, mute])  # it may have failed before


if __name__ == "__main__":
    unittest.main()
