"""bench/naskit without a lab: jobs, degree, perfect sharing; plans; what runs.jsonl becomes; and how the
lab spreads ranks and reads settings."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from labkit import LabError, cli, launch, processes, state  # noqa: E402
from naskit import (NasError, commands, experiments, gantt, hosts, noise, observer, output,  # noqa: E402
                    plan, progress, records, schedulers, store, summary, tables, times, workload, workload_file)
from naskit.workload import Cluster, Job  # noqa: E402

TWO_BY_ONE = Cluster(nodes=2, cpus_per_node=1)


class Specification(unittest.TestCase):
    def test_reads_kernel_class_ranks_and_repeat(self):
        self.assertEqual(workload.parse_job("cg.A.2*5"), Job("cg", "A", 2, 5))
        self.assertEqual(workload.parse_job("ep.W.4"), Job("ep", "W", 4, 1))

    def test_is_its_own_name(self):
        for text in ("cg.A.2*5", "ep.W.4", "hog.2"):
            self.assertEqual(str(workload.parse_job(text)), text)

    def test_rejects_what_is_none(self):
        for text in ("", "cg", "cg.A", "cg.A.0", "cg.A.2*0", "cg.A.2*", "cg.a.2", "../cg.A.2", "cg.A.2 ",
                     "hog", "hog.0", "hog.2*2"):
            with self.subTest(text=text), self.assertRaises(NasError):
                workload.parse_job(text)

    def test_a_mix_may_hold_the_same_job_twice(self):
        mix = workload.parse_mix(" cg.A.2  cg.A.2 ep.A.2 hog.2")
        self.assertEqual(len(mix), 4)
        self.assertEqual(workload.distinct([mix, mix]), [Job("cg", "A", 2), Job("ep", "A", 2)])
        self.assertEqual(workload.parse_mix(workload.mix_name(mix)), mix)

    def test_a_mix_without_a_job_that_ends_is_none(self):
        for text in (" ", "hog.2"):
            with self.subTest(text=text), self.assertRaises(NasError):
                workload.parse_mix(text)

    def test_scaled_jobs_repeat_more_or_less_but_at_least_once(self):
        self.assertEqual(str(workload.parse_job("cg.A.2*5").scaled(2)), "cg.A.2*10")
        self.assertEqual(str(workload.parse_job("cg.A.2*5").scaled(0.01)), "cg.A.2")
        self.assertEqual(str(workload.parse_job("hog.2").scaled(3)), "hog.2")

    def test_what_kernels_refuse_is_known_before(self):
        for text in ("cg.A.2", "ep.A.3", "bt.W.4", "sp.W.9", "lu.A.1", "hog.3"):
            self.assertIsNone(workload.refusal(workload.parse_job(text)), text)
        for text, what in (("cg.A.3", "power of two"), ("bt.W.2", "square"), ("ua.A.2", "no kernel ua")):
            self.assertRegex(workload.refusal(workload.parse_job(text)), what)

    def test_durations(self):
        self.assertEqual(times.seconds("500ms"), 0.5)
        self.assertEqual(times.seconds("4s"), 4)
        for text in ("4", "s", "4 parsecs", "1.2.3s", "-1s"):
            with self.subTest(text=text), self.assertRaises(NasError):
                times.seconds(text)

    def test_durations_are_written_so_that_they_are_read_the_same(self):
        for duration_s in (1, 0.25, 1.5, 0, 0.000125):
            self.assertAlmostEqual(times.seconds(times.text(duration_s)), duration_s, 9)
        self.assertEqual(times.text(1.5), "1500ms")
        self.assertAlmostEqual(times.seconds(times.text(1 / 3)), 1 / 3, 5)


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
        self.assertTrue(TWO_BY_ONE.crowds_itself(wide))
        self.assertFalse(Cluster(4, 2).crowds_itself(wide))

    def test_is_that_of_the_busiest_node_of_the_job(self):
        everywhere, first = Job("cg", "A", 2), Job("ep", "A", 1)
        self.assertEqual(TWO_BY_ONE.degree(everywhere, [everywhere, first]), 2)
        self.assertEqual(TWO_BY_ONE.degree(first, [first]), 1)

    def test_room_is_up_to_the_limit_on_each_node_of_the_job(self):
        everywhere, first = Job("cg", "A", 2), Job("ep", "A", 1)
        self.assertTrue(TWO_BY_ONE.has_room(everywhere, [], 1))
        self.assertFalse(TWO_BY_ONE.has_room(everywhere, [first], 1))
        self.assertTrue(TWO_BY_ONE.has_room(everywhere, [first], 2))
        self.assertFalse(TWO_BY_ONE.has_room(everywhere, [everywhere, everywhere], 2))
        self.assertTrue(Cluster(2, 2).has_room(everywhere, [everywhere], 1))


class PerfectSharing(unittest.TestCase):
    def test_equal_jobs_end_together(self):
        jobs = [Job("cg", "A", 2)] * 3
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [4, 4, 4]), [12, 12, 12])

    def test_the_longer_job_has_the_rest_alone(self):
        jobs = [Job("cg", "A", 2), Job("ep", "A", 2)]
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [10, 4]), [14, 8])

    def test_a_job_alone_takes_its_dedicated_time(self):
        self.assertEqual(workload.fair_response(TWO_BY_ONE, [Job("cg", "A", 2)], [7]), [7])

    def test_a_hog_has_its_share_to_the_end(self):
        jobs = [Job("cg", "A", 2), Job("hog", "", 2)]
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [4, float("inf")])[0], 8)


class Schedulers(unittest.TestCase):
    def test_policy_and_time_slice_are_part_of_the_name(self):
        found = schedulers.parse("cosched:uncoordinated@500ms")
        self.assertEqual((found.policy, found.time_slice_s, found.cosched),
                         ("uncoordinated", 0.5, True))
        self.assertEqual(found.name, "cosched:uncoordinated@500ms")
        self.assertEqual(schedulers.parse("fcfs").limit, 1)

    def test_what_is_none_is_named(self):
        for text in ("", "gang", "fcfs@1s", "dedicated:x", "cosched@soon", "cosched:", "/no/such/file",
                     "/tmp/", "cosched,nothing"):
            with self.subTest(text=text), self.assertRaises(NasError):
                schedulers.parse_list(text)

    def test_a_script_is_known_by_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.sh")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            with self.assertRaisesRegex(NasError, "executable"):
                schedulers.parse(path)
            os.chmod(path, 0o755)
            self.assertEqual(schedulers.parse_list(f"cosched,{path}")["mine"].script, path)


def request(name="workloads", text="[workload]\njobs = cg.A.2*4 (2), ep.A.2\n", given=None, **others):
    experiment = experiments.TABLE[name]
    file = workload_file.parse(text, "/w/mine.ini")
    chosen = schedulers.parse_list(given or ",".join(experiment.schedulers))
    known = {"runs": 2, "time_slice_s": 1.0, "gmet_s": 0.25, **others}
    return plan.Request(experiment, (file,), tuple(chosen.values()), **known)


class Plan(unittest.TestCase):
    def keys(self, *requests, mpis=("mpich",), seed=1):
        return [unit.key for unit in plan.build(requests, mpis, seed, 1.0)]

    def test_the_seed_decides_the_order_and_nothing_else(self):
        first, same, other = (self.keys(request(), mpis=("mpich", "openmpi"), seed=seed)
                              for seed in (1, 1, 2))
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)
        self.assertEqual(sorted(map(str, first)), sorted(map(str, other)))

    def test_each_repetition_has_every_unit_once(self):
        units = plan.build([request()], ["mpich"], 1, 1.0)
        halves = units[:len(units) // 2], units[len(units) // 2:]
        for repetition, half in enumerate(halves, 1):
            self.assertEqual({unit.repetition for unit in half}, {repetition})
            self.assertEqual(len({unit.key for unit in half}), len(half))
        self.assertEqual({unit.key for unit in halves[0]}, {unit.key for unit in halves[1]})

    def test_dedicated_has_each_distinct_job_once(self):
        alone = [key for key in self.keys(request(runs=1)) if key[-1] == "dedicated"]
        self.assertEqual(sorted(key[1] for key in alone), ["cg.A.2*4", "ep.A.2"])

    def test_yield_is_for_the_mpi_that_has_it(self):
        wanted = request(given="uncoordinated,yield")
        self.assertNotIn("yield", [key[-1] for key in self.keys(wanted)])
        self.assertIn("yield", [key[-1] for key in self.keys(wanted, mpis=("openmpi",))])
        with self.assertRaises(NasError):
            self.keys(request(given="yield"))

    def test_a_parameter_varies_cosched_and_the_baseline_runs_once(self):
        units = plan.build([request("gmet", runs=1)], ["mpich"], 1, 1.0)
        values = [unit.value for unit in units if unit.scheduler == "cosched"]
        self.assertEqual(sorted(values), sorted(experiments.TABLE["gmet"].parameter.values))
        self.assertTrue(all(unit.gmet_s == unit.value for unit in units if unit.value))
        self.assertEqual([unit.value for unit in units if unit.scheduler == "uncoordinated"], [None])

    def test_gmet_is_never_longer_than_the_time_slice(self):
        for unit in plan.build([request("slice", runs=1, gmet_s=0.4)], ["mpich"], 1, 1.0):
            self.assertLessEqual(unit.gmet_s, unit.time_slice_s)

    def test_batch_limits_the_degree_and_fcfs_is_degree_one(self):
        units = plan.build([request("batch", runs=1)], ["mpich"], 1, 1.0)
        limits = {(unit.scheduler, unit.value): unit.limit for unit in units}
        self.assertEqual(limits["fcfs", None], 1)
        self.assertEqual({limits["cosched@1s", value] for value in (2, 3, 5)}, {2, 3, 5})
        self.assertEqual({unit.time_slice_s for unit in units if unit.scheduler == "cosched@500ms"},
                         {0.5})
        self.assertEqual([key for key in limits if key[0] == "fcfs"], [("fcfs", None)])

    def test_dom_takes_the_set_of_its_degree(self):
        text = "[workload]\n" + "".join(f"jobs {n} = ep.A.2 ({n})\n" for n in (2, 3, 4, 5))
        for unit in plan.build([request("dom", text)], ["mpich"], 1, 1.0):
            if unit.scheduler != "dedicated":
                self.assertEqual(len(unit.jobs), unit.value)
        with self.assertRaisesRegex(NasError, "jobs 2"):
            plan.build([request("dom")], ["mpich"], 1, 1.0)

    def test_pairs_are_all_with_all_and_with_themselves(self):
        text = "[workload]\njobs = cg.A.2, ep.A.2, lu.W.2\n"
        units = plan.build([request("pairs", text, runs=1, given="cosched")], ["mpich"], 1, 1.0)
        self.assertEqual(len(units), 6)
        self.assertIn(("lu.W.2", "lu.W.2"), [tuple(map(str, unit.jobs)) for unit in units])

    def test_schedulers_of_a_repetition_get_the_same_order_of_jobs_and_repetitions_another(self):
        text = "[workload]\norder = shuffled\narrival = poisson 1s\njobs = cg.A.2 (5), ep.A.2 (5)\n"
        units = plan.build([request("batch", text)], ["mpich"], 7, 1.0)
        first, second = ({unit.submissions for unit in units if unit.repetition == repetition}
                         for repetition in (1, 2))
        self.assertEqual((len(first), len(second)), (1, 1))
        self.assertNotEqual(first, second)

    def test_survives_json(self):
        text = "[workload]\narrival = every 500ms\njobs = cg.A.2 (2), hog.2\n"
        units = plan.build([request("batch", text)], ["mpich"], 1, 1.0)
        plain = json.loads(json.dumps(plan.to_json(1, units, {})))
        self.assertEqual(plan.from_json(plain, "plan.json"), units)
        with self.assertRaisesRegex(NasError, "plan.json.*format"):
            plan.from_json({**plain, "format": 99}, "plan.json")

    def test_what_comes_with_the_project_can_be_planned(self):
        for experiment in experiments.choose(["quick", "all"]):
            files = tuple(workload_file.read(name) for name in experiment.workloads)
            chosen = schedulers.parse_list(",".join(experiment.schedulers))
            wanted = plan.Request(experiment, files, tuple(chosen.values()), 1, 1.0, 0.25)
            with self.subTest(experiment=experiment.name):
                self.assertTrue(plan.build([wanted], ["mpich", "openmpi"], 1, 1.0))

    def test_all_is_every_experiment_that_says_something_of_the_paper(self):
        names = [experiment.name for experiment in experiments.choose(["all", "dom"])]
        self.assertEqual(names, [name for name in experiments.TABLE if name != "quick"])
        with self.assertRaisesRegex(NasError, "unknown"):
            experiments.choose(["figure-2"])

    def test_time_left_is_what_the_same_took_before(self):
        units = plan.build([request()], ["mpich"], 1, 1.0)
        half = len(units) // 2
        wall_s = {place: 10.0 for place in range(half)}
        self.assertAlmostEqual(progress.left_s(units, wall_s), 10.0 * half)
        self.assertGreater(progress.left_s(units, {}), 0)

    def test_time_left_learns_how_wrong_the_guess_was(self):
        units = plan.build([request(runs=1)], ["mpich"], 1, 1.0)
        wall_s = {0: 10 * plan.nominal_s(units[0])}
        self.assertAlmostEqual(progress.left_s(units, wall_s), 10 * sum(map(plan.nominal_s, units[1:])))

    def test_no_time_is_left_at_the_end(self):
        units = plan.build([request(runs=1)], ["mpich"], 1, 1.0)
        self.assertEqual(progress.left_s(units, dict.fromkeys(range(len(units)), 1.0)), 0)


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
        runs = [run("dedicated", [job(response_s=seconds)], place)
                for place, seconds in enumerate((4, 6, 5))]
        runs.append(run("cosched", [job(response_s=11, degree=2.0), job(response_s=11, degree=2.0)], 3))
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertEqual(runs[3]["jobs"][0]["dedicated_s"], 5)
        self.assertAlmostEqual(runs[3]["jobs"][0]["stretch"], 1.1)
        self.assertAlmostEqual(runs[3]["jobs"][0]["fair_stretch"], 1.1)
        self.assertAlmostEqual(runs[0]["jobs"][0]["stretch"], 0.8)

    def test_needs_a_verified_dedicated_run(self):
        runs = [run("dedicated", [job(verified=False)], 0), run("cosched", [job(response_s=9)], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["stretch"])
        self.assertIsNone(runs[1]["jobs"][0]["fair_stretch"])

    def test_never_mixes_mpis(self):
        runs = [run("dedicated", [job()], 0, mpi="openmpi"), run("cosched", [job()], 1)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["stretch"])

    def test_perfect_sharing_is_not_known_where_jobs_come_one_by_one(self):
        runs = [run("dedicated", [job()], 0), run("fcfs", [job()], 1, together=False)]
        records.add_stretch(runs, TWO_BY_ONE)
        self.assertIsNone(runs[1]["jobs"][0]["fair_stretch"])

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

    def test_fairness_is_that_of_the_worst_off(self):
        self.assertEqual(self.measured([job(fairness=0.7), job(fairness=1.2)])["fairness"], 0.7)

    def test_switches_are_per_node_and_second(self):
        counters = {**dict.fromkeys(records.COUNTERS), "switches": 40, "requests": 7}
        found = self.measured([job(response_s=10)], counters=counters)
        self.assertEqual(found["switches_per_s"], 2)
        self.assertEqual(found["requests"], 7)

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

    def test_disturbed_is_what_takes_clearly_longer_than_the_median(self):
        guard = noise.Guard(1.2, [0.1, 0.1, None, 0.1])
        self.assertFalse(guard.is_disturbed(0.11))
        self.assertTrue(guard.is_disturbed(0.13))
        self.assertFalse(noise.Guard(0, [0.1]).is_disturbed(9.0))

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

    def test_without_a_baseline_there_is_no_ratio(self):
        rows = self.rows([one for one in self.runs() if one["scheduler"] == "cosched"])
        self.assertIsNone(rows["cosched", None]["ratios"]["mean_response_s"])

    def test_counts_disturbed_attempts_and_leaves_them_out(self):
        runs = self.runs()
        runs.append(run("cosched", [job(response_s=99.0)], 0, disturbed=True, attempt=2))
        row = self.rows(runs)["cosched", None]
        self.assertEqual((row["runs"], row["disturbed"]), (3, 1))
        self.assertEqual(row["measures"]["mean_response_s"]["median"], 5)

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


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.results = store.Store(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def test_a_line_that_was_cut_off_is_run_again(self):
        self.results.append_run({"place": 0})
        with open(self.results.path("runs.jsonl"), "a", encoding="ascii") as file:
            file.write('{"place": 1, "exp')
        self.assertEqual(self.results.runs(), [{"place": 0}])
        self.results.append_run({"place": 1})
        self.assertEqual(self.results.runs(), [{"place": 0}, {"place": 1}])

    def test_a_broken_line_is_named(self):
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.write('{"place": 0}\nno\n')
        with self.assertRaisesRegex(NasError, "runs.jsonl:2"):
            self.results.runs()

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

    def test_a_job_is_not_matched_with_one_that_had_not_started(self):
        jobs = [job("cg.A.2", 10.0, start_s=8.0, seconds=[2.0])]
        self.assertEqual(gantt.match({"a": (0.0, 9.9)}, jobs), {})

    def test_iterations_of_a_job_are_jobs_of_the_trace(self):
        jobs = [job("lu.A.2*2", 8.0, seconds=[4.0, 4.0])]
        self.assertEqual(gantt.match({"a": (0.1, 3.9), "b": (4.1, 7.9)}, jobs), {"a": 0, "b": 0})

    def test_a_run_without_daemons_has_no_spans(self):
        found = gantt.chart(run("fcfs", [job()], 0), 2, [], 100.0)
        self.assertEqual((found["spans"], found["nodes"], len(found["jobs"])), ([], 2, 1))


class Counters(unittest.TestCase):
    NODE = {"switches": 5, "requests": 4, "requests_granted": 3, "requests_discarded": 1}

    def test_are_summed_over_the_nodes_and_what_none_counts_is_null(self):
        found = observer.sums([self.NODE, self.NODE])
        self.assertEqual((found["switches"], found["granted"], found["false"]), (10, 6, None))
        self.assertEqual(set(found), set(records.COUNTERS))
        self.assertEqual(set(observer.sums([]).values()), {None})

    def test_what_one_node_does_not_count_is_not_half_counted(self):
        self.assertIsNone(observer.sums([self.NODE, {"switches": 5}])["requests"])

    def test_a_run_has_what_was_counted_meanwhile(self):
        before, after = observer.sums([self.NODE]), observer.sums([{**self.NODE, "switches": 25}])
        found = observer.difference(before, after)
        self.assertEqual((found["switches"], found["requests"], found["false"]), (20, 0, None))


class CommandLines(unittest.TestCase):
    """Who gets the library, who gives way, who waits at a gate."""

    units_share = 1

    class Site:
        def preload(self):
            return ["--preload"]

        def job_command(self, _job, _mpi, program, arguments):
            return [*arguments, *program]

    def line(self, name, text, yields=False, **others):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "bin"))
            one = workload.parse_job(text)
            path = os.path.join(folder, "bin", f"{one.kernel}.{one.size}.x")
            with open(path, "w", encoding="ascii"):
                os.chmod(path, 0o755)
            options = argparse.Namespace(npb_dir=folder, env=["A=b"], timeout=900, build="/")
            submissions = (workload_file.Submission(one),) * self.units_share
            unit = plan.Unit("jobs", "w", None, "openmpi", name, 1, submissions, 1.0, 0.25, 0, yields)
            scheduler = dataclasses.replace(schedulers.parse(name), **others)
            return commands.Commands(options, self.Site(), TWO_BY_ONE).of(unit, scheduler, 0, "r.json", [])

    def test_the_library_is_for_coscheduled_jobs(self):
        self.assertIn("--preload", self.line("cosched", "cg.S.2"))
        self.assertIn("--env=A=b", self.line("cosched", "cg.S.2"))
        for name in ("dedicated", "uncoordinated", "fcfs", "yield"):
            self.assertNotIn("--preload", self.line(name, "cg.S.2"))

    def test_jobs_that_crowd_themselves_give_way_under_every_scheduler_where_the_workload_says_so(self):
        for name in ("dedicated", "uncoordinated", "cosched"):
            line = self.line(name, "bt.S.4", yields=True)
            self.assertTrue({"--preload", "--env=COSCHED_WAIT=yield"} <= set(line), name)
            self.assertNotIn("--env=COSCHED_WAIT=yield", self.line(name, "cg.S.2", yields=True))
            self.assertNotIn("--env=COSCHED_WAIT=yield", self.line(name, "bt.S.4"))

    def test_a_job_that_shares_is_given_time_for_its_peers_turn_to_end(self):
        """In MPI_Finalize a rank spins until its peer is scheduled, too, which is no hang."""
        def grace(name):
            line = self.line(name, "cg.S.2")
            return float(line[line.index("--grace-cpu") + 1])
        self.assertEqual(grace("dedicated"), 0.5)
        self.units_share = 2
        self.assertGreater(grace("cosched"), 2.0)
        self.assertEqual(grace("uncoordinated"), 2.0)

    def test_official_programs_are_looped_over(self):
        line = self.line("dedicated", "cg.S.2*7")
        self.assertEqual(line[line.index("--loop") + 1], "7")

    def test_the_mpi_gives_way_where_it_can(self):
        self.assertIn("--mpi-arg=mpi_yield_when_idle", self.line("yield", "cg.S.2"))

    def test_a_script_gets_the_command_and_no_gate(self):
        line = self.line("uncoordinated", "cg.S.2", script="/x/mine")
        self.assertEqual(line[:3], ["/x/mine", "wrap", "--"])
        self.assertNotIn("--gate", line)
        self.assertIn("--gate", self.line("uncoordinated", "cg.S.2"))


class Hosts(unittest.TestCase):
    def test_reads_names_and_cpus(self):
        found = hosts.parse("# ours\na.example:4\n\nroot@b # the other\n", "/h")
        self.assertEqual(found, [hosts.Host("a.example", 4), hosts.Host("root@b", 1)])

    def test_names_file_and_line_of_what_is_none(self):
        for text, line in (("a\nb c\n", 2), ("a\na:2\n", 2), ("-oProxyCommand=x\n", 1), ("a:0\n", 1)):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, f"/h:{line}: "):
                hosts.parse(text, "/h")
        with self.assertRaisesRegex(NasError, "names no host"):
            hosts.parse("# none\n", "/h")

    def test_takes_the_first_and_refuses_unlike_ones(self):
        found = [hosts.Host("a", 2), hosts.Host("b", 2), hosts.Host("c", 4)]
        self.assertEqual(hosts.take(found, 2, None, "/h"), (["a", "b"], 2))
        self.assertEqual(hosts.take(found, None, 2, "/h"), (["a", "b", "c"], 2))
        for nodes in (3, 4):
            with self.assertRaises(NasError):
                hosts.take(found, nodes, None, "/h")


class Output(unittest.TestCase):
    """Which lines say that a program's numbers are right."""

    LINES = (("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=yes", True),
             ("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=no", False),
             (" Verification    =               SUCCESSFUL", True),
             (" Verification    =             UNSUCCESSFUL", False))

    def verdict(self, text, iterations=1, **report):
        return output.verified({"exit_status": 0, "timed_out": False, **report}, text, iterations)

    def test_lines_of_both_suites(self):
        for line, good in self.LINES:
            with self.subTest(line=line):
                self.assertRegex(line, output.DONE)
                self.assertEqual(self.verdict("hello\n" + line + "\n"), good)

    def test_every_iteration_must_say_so(self):
        line = self.LINES[0][0]
        self.assertFalse(self.verdict(line, iterations=2))
        self.assertTrue(self.verdict(f"{line}\n{line}", iterations=2))
        self.assertFalse(self.verdict(f"{line}\n{self.LINES[1][0]}", iterations=2))

    def test_the_job_must_end_well(self):
        self.assertFalse(self.verdict(self.LINES[0][0], exit_status=1))
        self.assertFalse(self.verdict(self.LINES[0][0], timed_out=True))

    def test_other_lines_say_nothing(self):
        self.assertNotRegex(" Verification Successful", output.DONE)


class Processes(unittest.TestCase):
    """CPU time below a process counts those that have ended, as ranks do a moment before their launcher."""

    BURN = "import time\nwhile time.process_time() < 0.2: pass"

    def used_s(self, script):
        """By what the script, which then waits for its input, has started."""
        parent = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, sys.executable, self.BURN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        parent.stdout.readline()
        used_s = processes.below_cpu_s(parent.pid)
        parent.communicate(b"\n")
        return used_s

    def test_of_children_that_were_waited_for(self):
        script = ("import subprocess, sys\nsubprocess.run([sys.argv[1], '-I', '-S', '-c', sys.argv[2]])\n"
                  "print(flush=True)\ninput()")
        self.assertGreaterEqual(self.used_s(script), 0.15)

    def test_of_children_that_were_not(self):
        script = ("import os, subprocess, sys\n"
                  "child = subprocess.Popen([sys.argv[1], '-I', '-S', '-c', sys.argv[2]])\n"
                  "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\nprint(flush=True)\ninput()")
        self.assertGreaterEqual(self.used_s(script), 0.15)


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
