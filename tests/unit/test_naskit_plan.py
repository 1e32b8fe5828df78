"""bench/naskit's plans: which units there are, in which order, and how long they may still take."""

import dataclasses
import io
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import NasError, experiments, plan, progress, schedulers, workload_file  # noqa: E402


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
        # Or nobody would ask for anything that GMET limits.
        self.assertTrue(all(dict(unit.settings) == ({"timer.align": "no"} if unit.value else {}) for unit in units))

    def test_gmet_is_never_longer_than_the_time_slice(self):
        for unit in plan.build([request("slice", runs=1, gmet_s=0.4)], ["mpich"], 1, 1.0):
            self.assertLessEqual(unit.gmet_s, unit.time_slice_s)

    def test_a_gmet_that_was_asked_for_is_not_made_shorter(self):
        asked = {"runs": 1, "gmet_s": 0.4, "gmet_asked": True}
        for wanted, what in ((request("slice", **asked), "^--gmet: a GMET of 400ms .* time-slice, 250ms, of cosched:"),
                             (request(given="dedicated,cosched@300ms", **asked), "time-slice, 300ms, of cosched@300ms:"),
                             (request("gmet", time_slice_s=0.5, runs=1), "^experiment gmet: a GMET of .* time-slice, 500ms")):
            with self.subTest(what=what), self.assertRaisesRegex(NasError, what):
                self.keys(wanted)
        self.assertTrue(self.keys(request(given="uncoordinated,cosched,cosched:gang@300ms", **asked)))

    def test_a_schedulers_own_time_slice_is_the_one_that_its_runs_have(self):
        given = "dedicated-cosched@500ms,cosched@2s"
        units = plan.build([request(given=given, runs=1)], ["mpich"], 1, 1.0)
        self.assertEqual({(unit.scheduler, unit.time_slice_s) for unit in units},
                         {("dedicated-cosched@500ms", 0.5), ("cosched@2s", 2.0)})
        with self.assertRaisesRegex(NasError, "cosched@2s: experiment slice varies the time-slice itself"):
            self.keys(request("slice", given="cosched@2s"))

    def test_the_time_slice_of_policy_gang_is_its_slot_and_it_has_no_gmet_of_its_own(self):
        units = plan.build([request("slice", given="uncoordinated,cosched:gang", runs=1)], ["mpich"], 1, 1.0)
        values = experiments.TABLE["slice"].parameter.values
        self.assertEqual({unit.time_slice_s for unit in units if unit.value}, set(values))
        self.assertTrue(all(unit.gmet_s == unit.time_slice_s / 3 for unit in units if unit.value))
        wanted = request(given="cosched,cosched:gang,cosched:gang@2s", runs=1, time_slice_s=4.0, slot_s=0.5)
        self.assertEqual({unit.scheduler: unit.time_slice_s for unit in plan.build([wanted], ["mpich"], 1, 1.0)},
                         {"cosched": 4.0, "cosched:gang": 0.5, "cosched:gang@2s": 2.0})

    def test_what_a_policy_does_not_heed_is_not_varied_for_it(self):
        for experiment, policy in (("gmet", "gang"), ("gmet", "dcs"), ("gmet", "uncoordinated"), ("slice", "uncoordinated")):
            with self.subTest(experiment=experiment, policy=policy):
                keys = self.keys(request(experiment, given=f"cosched,cosched:{policy}", runs=1))
                self.assertEqual([key[2] for key in keys if key[-1] == f"cosched:{policy}"], [None])
                self.assertEqual(len(keys), 1 + len(experiments.TABLE[experiment].parameter.values))

    def test_batch_limits_the_degree_and_fcfs_is_degree_one(self):
        units = plan.build([request("batch", runs=1)], ["mpich"], 1, 1.0)
        limits = {(unit.scheduler, unit.value): unit.limit for unit in units}
        self.assertEqual(limits["fcfs", None], 1)
        self.assertEqual({limits["cosched@1s", value] for value in (2, 5, 10)}, {2, 5, 10})
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
        twice = "[workload]\njobs = cg.A.2 (2), lu.W.2\n"
        self.assertEqual(len(plan.build([request("pairs", twice, runs=1, given="cosched")], ["mpich"], 1, 1.0)), 3)

    def test_a_pair_that_two_workloads_have_is_planned_once(self):
        texts = ("[workload]\njobs = cg.A.2, lu.W.2\n", "[workload]\njobs = cg.A.2, ep.A.2\n")
        both = request("pairs", texts[0], runs=2, given="cosched")
        both = dataclasses.replace(both, workloads=both.workloads + request("pairs", texts[1], runs=2, given="cosched").workloads)
        keys = [(unit.workload, unit.scheduler, unit.repetition) for unit in plan.build([both], ["mpich"], 1, 1.0)]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertIn(("cg.A.2 cg.A.2", "cosched", 2), keys)

    def test_pairs_need_a_plain_list_and_a_job_that_ends(self):
        with self.assertRaisesRegex(NasError, "workload mine: pairs needs a plain"):
            self.keys(request("pairs", "[workload]\njobs 2 = cg.A.2 (2)\n"))
        text = "[workload]\njobs = cg.A.2, hog.2\n"
        units = plan.build([request("pairs", text, runs=1, given="cosched")], ["mpich"], 1, 1.0)
        self.assertEqual(sorted(unit.workload for unit in units), ["cg.A.2 cg.A.2", "cg.A.2 hog.2"])

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
        for experiment in experiments.choose(experiments.TABLE):
            files = tuple(workload_file.read(name) for name in experiment.workloads)
            chosen = schedulers.parse_list(",".join(experiment.schedulers))
            wanted = plan.Request(experiment, files, tuple(chosen.values()), 1, 1.0, 0.25)
            with self.subTest(experiment=experiment.name):
                self.assertTrue(plan.build([wanted], ["mpich", "openmpi"], 1, 1.0))

    def test_all_is_every_experiment_that_says_something_of_the_paper(self):
        names = [experiment.name for experiment in experiments.choose(["all", "dom"])]
        self.assertEqual(names, [name for name in experiments.TABLE if name not in ("quick", "mpl")])
        with self.assertRaisesRegex(NasError, "unknown"):
            experiments.choose(["figure-2"])

    def test_what_is_made_anew_is_named_by_experiment_and_repetition(self):
        units = plan.build([request(runs=2)], ["mpich"], 1, 1.0)
        name = units[0].experiment
        self.assertEqual(plan.places_of([name, f"{name}:1"], units), list(range(len(units))))
        second = [place for place, unit in enumerate(units) if unit.repetition == 2]
        self.assertEqual(plan.places_of([f"{name}:2", f"{name}:2"], units), second)
        self.assertEqual(plan.places_of([], units), [])
        for text in (f"{name}:3", f"{name}:", f"{name}:02", "batches", ""):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, f"^--anew {text}: .*it has {name}:1, {name}:2$"):
                plan.places_of([text], units)

    def going_on(self, units, wall_s, again=()):
        """The progress of who goes on after these."""
        progress_ = progress.Progress(units, plan.nominal_s, io.StringIO())
        progress_.take_up([{"place": place, "wall_s": seconds} for place, seconds in wall_s.items()],
                          [place for place in range(len(units)) if place not in wall_s or place in again])
        return progress_

    def test_time_left_is_what_the_same_took_before(self):
        units = plan.build([request()], ["mpich"], 1, 1.0)
        half = len(units) // 2
        self.assertAlmostEqual(self.going_on(units, {place: 10.0 for place in range(half)}).left_s(), 10.0 * half)
        self.assertGreater(progress.Progress(units, plan.nominal_s, io.StringIO()).left_s(), 0)

    def test_time_left_learns_how_wrong_the_guess_was(self):
        units = plan.build([request(runs=1)], ["mpich"], 1, 1.0)
        going_on = self.going_on(units, {0: 10 * plan.nominal_s(units[0])})
        self.assertAlmostEqual(going_on.left_s(), 10 * sum(map(plan.nominal_s, units[1:])))

    def test_who_goes_on_is_told_what_is_left_of_all(self):
        units = plan.build([request()], ["mpich"], 1, 1.0)
        going_on = self.going_on(units, dict.fromkeys(range(3), 600.0), again=[1])
        going_on.announce()
        self.assertRegex(going_on.stream.getvalue(), rf"^{len(units) - 2} of {len(units)} runs, .* left$")
        before_s = going_on.left_s()
        going_on.begin(1, 2)
        going_on.end(1, {"jobs": [], "disturbed": False}, 600.0)
        self.assertAlmostEqual(going_on.left_s(), before_s - 600)

    def test_no_time_is_left_at_the_end(self):
        units = plan.build([request(runs=1)], ["mpich"], 1, 1.0)
        self.assertEqual(self.going_on(units, dict.fromkeys(range(len(units)), 1.0)).left_s(), 0)


if __name__ == "__main__":
    unittest.main()
