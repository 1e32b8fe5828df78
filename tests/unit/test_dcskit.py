"""The pure parts of bench/run_dcs.sh: variants as configurations, plans, what sharing gives, what is read from
programs and traces, and what is made of the runs."""

import argparse
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

from dcskit import cli, figures, files, jobs, options, outcome, plan, report, sentences, session, summary  # noqa: E402
from dcskit import tables, variants, workloads  # noqa: E402
from naskit import NasError, statistic  # noqa: E402
from report import blocks, names  # noqa: E402
from report.draw import gnuplot  # noqa: E402

with open(report.PAPER, encoding="utf-8") as paper_file:
    WHOLE_PAPER = json.load(paper_file)
PAPER = WHOLE_PAPER["figures"]
SHARING = jobs.Sharing(2)


def asked(*words):
    found = options.parser().parse_args(list(words))
    options.check(found)
    found.sequential = ["tar", "gs"]
    return found


class Variants(unittest.TestCase):
    def test_block_is_taken_where_the_build_knows_it(self):
        for name in ("spin-block", "dcs-spin-block"):
            variant = variants.VARIANTS[name]
            self.assertEqual(variants.chosen_wait(variant, lambda value: True), "block")
            self.assertEqual(variants.chosen_wait(variant, lambda value: value != "block"), "yield")
            with self.assertRaisesRegex(NasError, name):
                variants.chosen_wait(variant, lambda value: False)

    def test_each_variant_sets_the_same_keys(self):
        keys = {frozenset(variants.settings(variant, "spin", 0.1)) for variant in variants.VARIANTS.values()}
        self.assertEqual(len(keys), 1)

    def test_the_papers_terms(self):
        found = variants.settings(variants.VARIANTS["dcs-spin-block"], "block", 0.1)
        self.assertEqual((found["dcs.exponent"], found["dcs.constant"], found["dcs.calibrate"]), ("2", "100ms", "no"))
        self.assertEqual((found["client.wait"], found["timer.align"]), ("block", "no"))

    def test_gmet_is_never_longer_than_the_slice(self):
        found = variants.settings(variants.VARIANTS["yoo-jette"], "auto", 0.1)
        self.assertEqual((found["scheduler.time_slice"], found["scheduler.gmet"]), ("100ms", "25ms"))

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(NasError, "dcs-spun.*must be of spin"):
            variants.choose("spin,dcs-spun")
        self.assertEqual(variants.choose("dcs,spin,dcs"), ["dcs", "spin"])


class Sharing(unittest.TestCase):
    def of(self, submissions):
        return [submission.job for submission in submissions]

    def test_each_job_is_a_party_and_the_class_is_one(self):
        for kind, parties in ((workloads.JOBS, 4), (workloads.USERS, 2)):
            everybody = self.of(workloads.with_competitors("latency", kind, 3))
            self.assertEqual(len(everybody), 4)
            self.assertEqual(SHARING.degree(everybody[-1], everybody), parties)

    def test_alone_nobody_shares(self):
        for kind in (workloads.JOBS, workloads.USERS):
            everybody = self.of(workloads.with_competitors("latency", kind, 0))
            self.assertEqual(SHARING.degree(everybody[0], everybody), 1)

    def test_programs_of_the_class_share_its_part_of_their_node(self):
        everybody = self.of(workloads.mixed(2, ["tar", "gs"]))
        self.assertEqual([SHARING.degree(job, everybody) for job in everybody], [2, 4, 4, 4, 4])

    def test_in_succession_only_those_of_different_nodes_run_together(self):
        sor, tar0, tar1, gs0, _ = self.of(workloads.mixed(2, ["tar", "gs"]))
        self.assertFalse(SHARING.has_room(tar0, [sor], 1))
        self.assertTrue(SHARING.has_room(tar1, [tar0], 1))
        self.assertFalse(SHARING.has_room(gs0, [tar0], 1))
        self.assertTrue(SHARING.has_room(gs0, [tar1], 1))

    def test_competitors_are_there_before_the_program(self):
        for kind in (workloads.JOBS, workloads.USERS):
            *hogs, program = workloads.with_competitors("barrier", kind, 2)
            self.assertTrue(all(hog.job.is_hog and hog.arrival_s < program.arrival_s for hog in hogs))


class Plan(unittest.TestCase):
    def test_figures_share_workloads(self):
        self.assertEqual(workloads.needed([6]), ["latency", "barrier"])
        self.assertEqual(workloads.needed([7, 8, 3]), ["latency", "mixed"])
        self.assertEqual({unit.experiment for unit in plan.build(asked("--figure", "8"))}, {"mixed"})

    def test_every_repetition_has_every_unit_once(self):
        units = plan.build(asked("--runs", "4", "--mpi", "both"))
        keys = [(unit.repetition, unit.key) for unit in units]
        self.assertEqual(len(keys), len(set(keys)))
        for repetition in range(1, 5):
            self.assertEqual({key for number, key in keys if number == repetition}, {key for _, key in keys})

    def test_the_order_is_the_seeds(self):
        first, again, other = (plan.build(asked("--seed", seed)) for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual({unit.key for unit in first}, {unit.key for unit in other})

    def test_what_is_ideal_is_always_learnt(self):
        self.assertEqual(asked("--quick").kinds, ["users"])
        self.assertEqual(asked("--quick", "--as", "jobs").kinds, ["jobs"])
        self.assertEqual(asked("--quick", "--competitors", "2").competitors, [2])
        units = plan.build(asked("--variants", "dcs", "--figure", "3", "--quick"))
        self.assertEqual({unit.key for unit in units}, {("latency", "", 0, "mpich", variants.BASE),
                                                        ("latency", "users", 1, "mpich", "dcs")})

    def test_alone_is_one_program_after_the_other(self):
        alone = [unit for unit in plan.build(asked("--figure", "7")) if unit.scheduler == plan.ALONE]
        self.assertEqual([unit.limit for unit in alone], [1, 1, 1])
        self.assertFalse(any(unit.together for unit in alone))

    def test_a_later_sitting_runs_again_what_is_alone(self):
        units = plan.build(asked("--runs", "2", "--figure", "3", "--figure", "7", "--mpi", "both"))
        for place, unit in enumerate(units):
            bases = [units[base] for base in session.Session.bases_of(argparse.Namespace(units=units), place)]
            if plan.is_alone(unit.scheduler, unit.value):
                self.assertEqual(bases, [])
            else:
                base, = bases
                self.assertEqual(base.scheduler, plan.ALONE if unit.experiment == "mixed" else variants.BASE)
                self.assertEqual((base.value, base.experiment, base.mpi, base.repetition),
                                 (None if unit.experiment == "mixed" else 0, unit.experiment, unit.mpi, unit.repetition))

    def test_bad_options_are_refused(self):
        for words, said in ((["--competitors", "0"], "from 1"), (["--competitors", "x"], "numbers"),
                            (["--as", "hogs"], "users or jobs"), (["--runs", "-1"], "--runs"),
                            (["--runs", "0"], "--runs"), (["--scale", "0"], "--scale"),
                            (["--spread", "101"], "--spread"), (["--slice", "fast"], "duration"),
                            (["--noise", "0.5"], "--noise"), (["--noise", "nan"], "--noise"), (["--timeout", "0"], "--timeout"),
                            (["--set", "gmet=1s"], "section.key")):
            with self.subTest(words=words), self.assertRaisesRegex(NasError, said):
                asked(*words)

    def test_what_a_variant_is_cannot_be_set(self):
        for text, said in (("dcs.exponent=1", "the variants"), ("client.wait = spin", "the variants"),
                           ("scheduler.time_slice=1s", "--slice")):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, said):
                asked("--set", text)
        self.assertEqual(asked("--set", "dcs.quantum=5ms", "--set", "cgroup.period=50ms").set,
                         ["dcs.quantum=5ms", "cgroup.period=50ms"])

    def test_quick_takes_about_a_minute(self):
        found = asked("--quick")
        self.assertLess(sum(plan.nominal_s(unit, found.scale) for unit in plan.build(found)), 150)


class Outcome(unittest.TestCase):
    LINE = "DCS program=sor ranks=2 seconds=2.5000 cpu_s=2.2500 verified=yes\n"

    def test_the_programs_line(self):
        self.assertEqual(outcome.said("Run 1\n" + self.LINE), {"program_s": 2.5, "program_cpu_s": 2.25})
        self.assertEqual(outcome.said("killed\n"), {})

    def test_who_did_his_work(self):
        ended = {"exit_status": 0, "timed_out": False, "mpi": "mpich"}
        self.assertTrue(outcome.verified(ended, self.LINE, 1))
        self.assertFalse(outcome.verified(ended, self.LINE.replace("=yes", "=no"), 1))
        self.assertFalse(outcome.verified(ended, "", 1))
        self.assertTrue(outcome.verified({**ended, "mpi": "none"}, "", 9))
        self.assertFalse(outcome.verified({**ended, "mpi": "none", "exit_status": 2}, "", 9))
        self.assertFalse(outcome.verified({**ended, "timed_out": True}, self.LINE, 1))

    def test_the_job_that_ended_first_is_the_measured_one(self):
        dump = {"jobs": [{"job": "1", "job_id": "rival"}, {"job": "2", "job_id": "mine"},
                         {"job": "3", "job_id": "sequential"}],
                "events": [[1, "1", 1, 1], [2, "3", 1, 1], [3, "2", 1, 1], [4, "3", 2, 0], [5, "2", 2, 0],
                           [6, "1", 2, 0]]}
        self.assertEqual(outcome.first_to_leave(dump), "mine")
        self.assertIsNone(outcome.first_to_leave({**dump, "events": dump["events"][:4]}))

    def test_the_coscheduled_part(self):
        text = "rival    root  0.500\nmine     root  0.970\nsequential   root  -\n"
        self.assertEqual(outcome.coscheduled(text, "mine"), 0.97)
        self.assertIsNone(outcome.coscheduled(text, "sequential"))
        self.assertIsNone(outcome.coscheduled(text, "nobody"))

    def test_programs_of_which_classd_knows_nothing_make_no_run(self):
        mpi, failed = ({"in_class": False, "is_hog": False, "verified": verified} for verified in (True, False))
        rival, user = ({"in_class": in_class, "is_hog": True, "verified": False} for in_class in (False, True))
        came = [{"jobs": [{"job": "5e", "job_id": "sequential"}], "events": [[1, name, 1, 1] for name in ("a1", "5e")]}]
        nobody = [{"jobs": [], "events": []}]
        unit = argparse.Namespace(workload="users", mpi="mpich", scheduler="dcs")
        for records, dumps, message in (([mpi, user], nobody, "none of its 1 MPI programs"),
                                        ([mpi, rival], came, "1 of its 2 MPI programs")):
            with self.assertRaisesRegex(NasError, message):
                outcome.check_registered(unit, records, dumps)
        outcome.check_registered(unit, [mpi, user], came)
        outcome.check_registered(unit, [failed, user], nobody)  # it says why itself
        outcome.check_registered(unit, [mpi, rival], [])  # nothing is known
        outcome.check_registered(unit, [mpi], [{**nobody[0], "lost": 9}])

    def test_half_a_trace_is_none(self):
        self.assertEqual(outcome.parsed(['{"jobs": []}', "{"]), [])
        self.assertEqual(outcome.parsed(['{"jobs": []}', "null"]), [])


def record(name, seconds, cpu_s, index=0, **others):
    program, _, node = name.partition("@")
    return {"index": index, "job": name, "name": program, "node": int(node) if node else None, "in_class": bool(node),
            "is_hog": False, "start_s": 1.0, "end_s": 1.0 + seconds + 0.5, "cpu_s": 2 * cpu_s + 0.1, "verified": True,
            "fairness": None, "log": "x.log", **others}


class Resume(unittest.TestCase):
    def test_a_folder_of_run_nas_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "environment.json"), "w", encoding="utf-8") as file:
                json.dump({"options": {"mpi": ["mpich"], "build": "build/release"}}, file)
            given = cli.asked.parser().parse_args(["--resume", folder])
            with self.assertRaisesRegex(NasError, "is a results folder of run_nas.sh"):
                cli._resumed(given)


class Recording(unittest.TestCase):
    def test_that_of_a_part_of_the_run_tells_nothing(self):
        self.assertIsNone(session.Session._coscheduled(None, [{"lost": 0, "events": []}, {"lost": 3, "events": []}]))


def hog(name, index):
    return {**record(name, 1.0, 0.5, index), "is_hog": True}


_place = iter(range(10 ** 6))


def run(experiment, kind, count, variant, found, **others):
    return {"place": next(_place), "experiment": experiment, "workload": kind, "value": count, "mpi": "mpich",
            "scheduler": variant, "wait": "spin", "repetition": 1, "attempt": 1, "disturbed": False, "together": False,
            "makespan_s": max(job["end_s"] for job in found), "jobs": found, "parties": 1.0, "coscheduled": None,
            "calibration_s": 0.1, "load": 0.5, **others}


def latency_runs(slowdowns, repetitions=3):
    """`slowdowns`: {variant: at 1, 2, ... competitors, that are jobs}. Alone it takes 2 s, all of it CPU time, in one
    repetition more and in another less."""
    for repetition in range(repetitions):
        for variant, values in slowdowns.items():
            for count, slowdown in enumerate((1.0, *values)):
                noise = 1.0 if count else 1 + 0.01 * (repetition - 1)
                seconds = 2.0 * (count + 1) * slowdown * noise
                mine = record("latency", seconds, 2.0, count, program_s=seconds, program_cpu_s=seconds / (count + 1))
                rivals = [hog(f"competitor#{place}", place - 1) for place in range(1, count + 1)]
                yield run("latency", "jobs" if count else "", count, variant, [*rivals, mine], parties=count + 1.0,
                          repetition=repetition + 1)


def mixed_runs():
    for repetition in range(3):
        for variant, sor_s, used_s in ((plan.ALONE, 3.0, 3.0), ("spin", 12.0, 10.0), ("dcs-spin-block", 6.0, 3.1)):
            found = [record("sor", sor_s, used_s, program_s=sor_s, program_cpu_s=used_s, fairness=1.01)]
            found += [record(f"{name}@{node}", 3.0 if variant == plan.ALONE else 9.0, 3.0, fairness=0.9)
                      for name in ("tar", "gs") for node in (0, 1)]
            yield run("mixed", "", None, variant, found, together=variant != plan.ALONE, repetition=repetition + 1)


def described(runs, numbers_of_figures=(3, 6)):
    return summary.describe(list(runs), SHARING, complete=True, figures=numbers_of_figures,
                            waits={"spin": "spin", "dcs-spin-block": "yield"})


class Summary(unittest.TestCase):
    def row(self, found, **wanted):
        row, = figures.chosen(found["rows"], **wanted)
        return row["measures"]

    def test_slowdown_is_to_perfect_sharing(self):
        found = described(latency_runs({"spin": (1.5, 2.0), "dcs": (1.1, 1.0)}))
        for count, variant, wanted in ((0, "spin", 1.0), (1, "spin", 1.5), (2, "spin", 2.0), (2, "dcs", 1.0)):
            measured = self.row(found, count=count, variant=variant)
            self.assertAlmostEqual(measured["slowdown"]["median"], wanted)
            self.assertAlmostEqual(measured["response_s"]["median"], 2.0 * (count + 1) * wanted)

    def test_what_is_alone_is_of_the_same_repetition_and_its_spread_is_told(self):
        measured = self.row(described(latency_runs({"spin": (1.5,)})), count=1)
        for name in ("slowdown", "cpu_ratio"):  # all of it is that of the runs alone
            self.assertAlmostEqual(measured[name]["bootstrap"][0], 1.5 / 1.01)
            self.assertAlmostEqual(measured[name]["bootstrap"][1], 1.5 / 0.99)

    def test_what_is_alone_is_of_the_same_sitting(self):
        runs = list(latency_runs({"spin": (1.5,)}))
        slower = list(latency_runs({"spin": (1.2,)}, repetitions=1))
        for one in slower:
            one.update(sitting=2, repetition=4)
            one["jobs"][-1]["program_s"] *= 10
        alone, beside = slower
        self.assertEqual(self.row(described([*runs, beside]), count=1)["slowdown"]["n"], 3)
        self.assertAlmostEqual(self.row(described([*runs, *slower]), count=1)["slowdown"]["mean"],
                               sum((1.5 / 0.99, 1.5, 1.5 / 1.01, 1.2 / 0.99)) / 4)
        beside.update(repetition=5)  # which has none of its own
        self.assertEqual(self.row(described([*runs, *slower]), count=1)["slowdown"]["n"], 4)

    def test_a_disturbed_run_alone_says_nothing_where_there_are_others(self):
        runs = list(latency_runs({"spin": (1.5,)}))
        alone = next(one for one in runs if not one["value"] and one["repetition"] == 1)
        alone["disturbed"] = True
        alone["jobs"][-1]["program_s"] = 20.0
        self.assertGreater(self.row(described(runs), count=1)["slowdown"]["bootstrap"][0], 1.4)
        mixed = list(mixed_runs())
        for one in mixed:
            one["makespan_s"] = {plan.ALONE: 10.0, "spin": 12.0, "dcs-spin-block": 11.0}[one["scheduler"]]
        alone = next(one for one in mixed if one["scheduler"] == plan.ALONE)
        alone.update(disturbed=True, makespan_s=20.0)
        row, = figures.chosen(described(mixed, (7,))["rows"], program="sor", variant="spin")
        self.assertAlmostEqual(row["over_batch"]["bootstrap"][0], 1.2)
        self.assertEqual(row["over_batch"]["n"], 3)

    def test_all_programs_are_compared_with_one_after_the_other_of_the_same_repetition(self):
        runs = list(mixed_runs())
        for one in runs:
            one["makespan_s"] = {plan.ALONE: 10.0, "spin": 12.0, "dcs-spin-block": 11.0}[one["scheduler"]] * one["repetition"]
        row, = figures.chosen(described(runs, (7,))["rows"], program="sor", variant="spin")
        self.assertAlmostEqual(row["over_batch"]["bootstrap"][0], 1.2)
        self.assertAlmostEqual(row["over_batch"]["bootstrap"][1], 1.2)

    def test_fairness_is_equation_2(self):
        found = described(latency_runs({"spin": (1.5,)}))
        self.assertAlmostEqual(self.row(found, count=1)["fairness"]["median"], 1.0)
        self.assertAlmostEqual(self.row(found, count=1)["cpu_ratio"]["median"], 1.5)
        self.assertAlmostEqual(self.row(found, count=1)["useful"]["median"], 1 / 1.5)

    def test_without_a_run_alone_there_is_no_ideal(self):
        runs = [one for one in latency_runs({"spin": (1.5,)}) if one["value"]]
        measured = self.row(described(runs), count=1)
        self.assertIsNone(measured["slowdown"])
        self.assertIsNotNone(measured["fairness"])

    def test_jobs_that_did_not_verify_do_not_count(self):
        runs = list(latency_runs({"spin": (1.5,)}))
        runs[1]["jobs"][-1].update(verified=False, program_s=1000.0)
        found = described(runs)
        self.assertLess(self.row(found, count=1)["response_s"]["mean"], 100)
        self.assertIn("NOT VERIFIED", tables.text(found))
        self.assertIn("in 1 of 6 runs a job did not verify", tables.text(found))

    def test_beside_a_job_that_did_not_verify_nobody_counts(self):
        runs = list(mixed_runs())
        crashed = [one for one in runs if one["scheduler"] == "spin"]
        for one in crashed[:2]:
            one["jobs"][0].update(verified=False)
            one["jobs"][1].update(end_s=4.0)  # had the machine for itself
            one["makespan_s"] = 4.0
        row, = figures.chosen(described(runs, (7,))["rows"], program="tar", variant="spin")
        self.assertEqual((row["runs"], row["unverified"], row["measures"]["response_s"]["n"]), (3, 2, 1))
        self.assertAlmostEqual(row["measures"]["response_s"]["median"], 9.5)
        self.assertAlmostEqual(row["makespan_s"]["median"], 13.5)

    def test_a_variant_that_never_verified_is_told_and_in_no_figure(self):
        runs = list(latency_runs({"spin": (1.5,), "dcs": (1.1,)}))
        for one in runs:
            if one["scheduler"] == "spin" and one["value"]:
                one["jobs"][0].update(verified=False)
        found = described(runs)
        row, = figures.chosen(found["rows"], variant="spin", count=1)
        self.assertEqual(set(row["measures"].values()), {None})
        self.assertIn("3, 3 NOT VERIFIED", tables.text(found))
        for number in (3, 6):
            said = sentences.of(number, found["rows"], PAPER[str(number)])
            self.assertIn("No run verified: ⟨no DCS, spin only⟩.", said)
            figures.table(number, found["rows"], PAPER[str(number)])
        runs = [one for one in mixed_runs()]
        for one in runs:
            if one["scheduler"] == "spin":
                one["jobs"][0].update(verified=False)
        self.assertIn("No run verified", sentences.of(7, described(runs, (7,))["rows"], PAPER["7"]))

    def test_where_nothing_verified_that_is_told(self):
        runs = list(latency_runs({"spin": (1.5,)}))
        for one in runs:
            one["jobs"][-1]["verified"] = False
        found = described(runs)
        self.assertEqual({value for row in found["rows"] for value in row["measures"].values()}, {None})
        self.assertIn("in 6 of 6 runs a job did not verify", tables.text(found))

    def test_a_disturbed_run_gives_way_to_its_repetition(self):
        runs = list(latency_runs({"spin": ()}, repetitions=1))
        again = {**runs[0], "attempt": 2, "jobs": [{**runs[0]["jobs"][0], "program_s": 7.0}]}
        runs[0]["disturbed"] = True
        self.assertEqual(self.row(described([runs[0], again]), count=0)["response_s"]["median"], 7.0)

    def test_the_mixed_workload_is_compared_with_one_after_the_other(self):
        found = described(mixed_runs(), (7, 8))
        self.assertAlmostEqual(self.row(found, program="sor", variant="spin")["cpu_ratio"]["median"], 10 / 3)
        self.assertAlmostEqual(self.row(found, program="tar", variant="spin")["fairness"]["median"], 0.9)
        self.assertIsNone(self.row(found, program="tar", variant=plan.ALONE)["fairness"])
        # SOR has one half, 7 s of 3.5 s; tar and gs then have all of 4 x 3.5 s - 7 s / 2 left, in turns.
        self.assertAlmostEqual(self.row(found, program="sor", variant="spin")["slowdown"]["median"], 12.5 / 7.0)

    def test_ranges_over_all_kinds_of_company_are_told(self):
        found = described(latency_runs({"spin": (1.5, 2.0), "dcs": (1.1, 1.0)}))
        self.assertEqual(list(tables.company(found)), [("spin", "mpich", "1.50 to 2.00", "-", "1.00 to 1.00", "2 of 2", "0 of 2", "-"),
                                                       ("dcs", "mpich", "1.00 to 1.10", "-", "1.00 to 1.00", "2 of 2", "2 of 2", "-")])
        self.assertIn("over all kinds of company", tables.text(found))
        self.assertIn("Over all kinds of company", str(report.made_of(found, WHOLE_PAPER)))
        self.assertEqual(list(tables.company(described(mixed_runs(), (7, 8)))), [])

    def test_the_table_says_what_ran_instead(self):
        text = tables.text(described(latency_runs({"spin": (1.5,)})))
        self.assertIn("dcs-spin-block ran with wait = yield", text)
        self.assertNotIn("spin ran with", text)

    def test_it_says_that_the_machine_was_not_free(self):
        runs = list(latency_runs({"spin": (1.5,)}))
        self.assertNotIn("something else ran", tables.text(described(runs)))
        for one in runs:
            one["jobs"][-1]["program_cpu_s"] /= 2
        self.assertIn("alone had 50% of their CPUs", tables.text(described(runs)))


class Sentences(unittest.TestCase):
    def said(self, slowdowns, number=3, repetitions=3):
        found = described(latency_runs(slowdowns, repetitions))
        return sentences.of(number, figures.rows_of(number, found["rows"]), PAPER[str(number)])

    def test_the_papers_order(self):
        text = self.said({"spin": (1.5, 3.0), "dcs-spin": (1.3, 1.6), "spin-block": (1.0, 1.2),
                          "dcs-spin-block": (1.0, 1.0)})
        self.assertIn("MPICH, 2 competitors on each node (jobs): times ideal, ", text)
        self.assertIn("as in the paper ⟨DCS, spin-block⟩ before ⟨no DCS, spin-block⟩, ⟨no DCS, spin-block⟩ before "
                      "⟨DCS, spin only⟩ and ⟨DCS, spin only⟩ before ⟨no DCS, spin only⟩", text)
        self.assertNotIn("unlike", text)

    def test_another_order(self):
        text = self.said({"spin": (1.0, 1.0), "dcs-spin": (1.0, 2.0)})
        self.assertIn("unlike in the paper, not ⟨DCS, spin only⟩ before ⟨no DCS, spin only⟩", text)

    def test_what_cannot_be_told_apart(self):
        self.assertIn("not told apart", self.said({"spin": (1.0, 1.0), "dcs-spin": (1.0, 1.001)}))
        self.assertIn("not told apart", self.said({"spin": (9.0,), "dcs-spin": (1.0,)}, repetitions=1))
        # Of two runs each the bootstrap has nothing but the four: no overlap is chance in one case of three.
        low, high = statistic.describe([1.0, 1.1]), statistic.describe([1.2, 1.3])
        self.assertEqual((sentences.compare(low, high), sentences.compare(high, low)), ("unclear", "unclear"))
        low, high = statistic.describe([1.0, 1.01, 1.02]), statistic.describe([1.2, 1.21, 1.22])
        self.assertEqual((sentences.compare(low, high), sentences.compare(high, low)), ("yes", "no"))

    def test_fairness(self):
        runs = list(latency_runs({"spin": (1.5,), "dcs": (1.0,)}))
        for one in runs:
            if one["scheduler"] == "spin":
                one["jobs"][-1]["program_cpu_s"] *= 0.8
        rows = described(runs)["rows"]
        text = sentences.of(6, rows, PAPER["6"])
        self.assertIn("within 0.97 and 1.03 throughout: ⟨DCS, calibrated⟩", text)
        self.assertIn("F of the others: ⟨no DCS, spin only⟩ 0.80", text)

    def test_the_mixed_workload(self):
        rows = described(mixed_runs(), (7, 8))["rows"]
        self.assertIn("SOR's CPU time, times that alone: ⟨no DCS, spin only⟩ 3.33", sentences.of(7, rows, PAPER["7"]))
        self.assertIn("one after the other: ⟨no DCS, spin only⟩ 3.00", sentences.of(7, rows, PAPER["7"]))
        self.assertIn("Ghostscript: F: ⟨no DCS, spin only⟩ 0.90", sentences.of(8, rows, PAPER["8"]))

    def test_nothing(self):
        for number in workloads.FIGURES:
            self.assertEqual(sentences.of(number, [], PAPER[str(number)]), "There is nothing to compare yet.")


class Report(unittest.TestCase):
    def test_every_figure_has_its_sentence_and_the_papers(self):
        runs = [*latency_runs({"spin": (1.5, 3.0), "dcs": (1.0, 1.0)}), *mixed_runs()]
        found = described(runs, tuple(workloads.FIGURES))
        made = report.made_of(found, WHOLE_PAPER)
        kinds = [block.kind for block in made if isinstance(block, blocks.Paragraph)]
        self.assertEqual((kinds.count("seen"), kinds.count("paper")), (5, 5))
        drawn = [block for block in made if isinstance(block, blocks.Figure)]
        self.assertEqual([block.name for block in drawn], ["figure-3", "figure-6", "figure-7", "figure-8"])
        colours = names.colours({figures.scheduler(row["variant"]) for row in found["rows"]})
        for block in drawn:
            self.assertIn("plot", gnuplot.canvas(block.shape, 760, colours).script())
            self.assertTrue(all(len(row) == len(block.table.header) for row in block.table.rows))

    def test_an_interrupted_session_has_one_too(self):
        found = described(latency_runs({"spin": ()}, repetitions=1), (3, 7))
        made = report.made_of(found, WHOLE_PAPER)
        self.assertIn("There is nothing to compare yet.", [getattr(block, "text", "") for block in made])

    def test_each_variant_has_a_name_and_a_colour_of_its_own(self):
        colours = names.colours(variants.VARIANTS)
        self.assertEqual(len(set(colours.values())), len(variants.VARIANTS))
        self.assertEqual(len({names.scheduler(name) for name in variants.VARIANTS}), len(variants.VARIANTS))


class Files(unittest.TestCase):
    def test_they_are_the_papers_size_and_always_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            files.make(folder)
            found = os.listdir(os.path.join(folder, "text"))
            sizes = [os.path.getsize(os.path.join(folder, "text", name)) for name in found]
            self.assertEqual(len(found), 97)
            self.assertAlmostEqual(sum(sizes), 2.1e6, delta=1e4)
            with open(os.path.join(folder, "pages.ps"), encoding="ascii") as file:
                document = file.read()
            self.assertEqual(document.count("\nshowpage\n"), 103)
            files.make(folder)
            with open(os.path.join(folder, "pages.ps"), encoding="ascii") as file:
                self.assertEqual(file.read(), document)


if __name__ == "__main__":
    unittest.main()
