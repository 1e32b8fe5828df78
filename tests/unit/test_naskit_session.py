"""bench/naskit's session on a site that only pretends: who starts when, which attempts are made and count, and what a later
sitting makes of what there is."""

import argparse
import json
import os
import tempfile
import unittest
from unittest import mock

import sessionkit  # before what it makes importable
from naskit import NasError, environment, noise, plan, runner, store  # noqa: E402


class SessionTest(sessionkit.SessionCase):
    def test_a_file_in_place_of_a_results_folder_is_refused(self):
        with tempfile.NamedTemporaryFile() as file, self.assertRaisesRegex(NasError, "is not there"):
            store.Store(file.name).read_json("plan.json")

    def test_a_report_of_an_attempt_that_was_broken_off_is_not_the_next_ones(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated")
        made.run()
        left = [name for name in os.listdir(self.results.path("logs")) if name.endswith(".json")]
        self.assertEqual(len(left), 1)
        os.unlink(self.results.path("runs.jsonl"))
        mute = self.session("jobs = cg.S.2\n", "uncoordinated")
        mute.site.job_command = lambda *_: ["false"]
        with self.assertRaisesRegex(NasError, "could not be run"):
            mute.run()

    def test_nothing_begins_that_would_end_too_late(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", runs=8, lasting="1s")
        made.progress.nominal_s = lambda unit: 0.4
        made.run()
        self.assertEqual(len(made.runs), 2)
        self.assertFalse(made.is_complete())
        again = self.session("jobs = cg.S.2\n", "uncoordinated", runs=8)
        again.run()
        self.assertTrue(again.is_complete())
        self.assertEqual(sorted(run["place"] for run in again.runs), list(range(8)))
        self.assertEqual([again.runs[0]["sitting"], again.runs[-1]["sitting"]], [1, 2])

    def test_what_a_later_sitting_is_compared_with_is_run_again(self):
        jobs, names = "jobs = cg.S.2*3, ep.S.2\n", "dedicated,uncoordinated,cosched,cosched@500ms"
        made = self.session(jobs, names)
        made.run()
        order = [(run["scheduler"], run["jobs"][0]["job"]) for run in made.runs]
        self.assertEqual(len(order), 5)
        kept = [run for run in made.runs if run["scheduler"] != "cosched@500ms"]
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.writelines(json.dumps(run) + "\n" for run in kept)
        again = self.session(jobs, names)
        again.run()
        later = again.runs[len(kept):]
        self.assertEqual(sorted((run["scheduler"], run["jobs"][0]["job"]) for run in later),
                         sorted((name, of) for name, of in order if name != "cosched"))
        self.assertEqual(later[-1]["scheduler"], "cosched@500ms")
        self.assertNotIn("again", later[-1])
        self.assertTrue(all(run["again"] and run["attempt"] == 2 for run in later[:-1]))
        for row in again.described()["experiments"]["quick"]["rows"]:
            if row["scheduler"].startswith("cosched"):
                self.assertEqual(row["ratios"]["mean_response_s"]["n"], 1, row["scheduler"])
                self.assertEqual(row["measures"]["mean_stretch"]["n"], 1, row["scheduler"])
        self.session(jobs, names).run()
        self.assertEqual(len(self.results.runs()), len(again.runs))

    def test_what_comes_to_its_baseline_in_a_later_sitting_only_is_run_again(self):
        jobs, names = "jobs = cg.S.2*3, ep.S.2\n", "dedicated,uncoordinated,cosched"
        made = self.session(jobs, names)
        made.run()
        kept = [run for run in made.runs if run["scheduler"] == "cosched"]
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.writelines(json.dumps(run) + "\n" for run in kept)
        again = self.session(jobs, names)
        self.assertEqual(again.parted(), 0)
        again.run()
        self.assertEqual([run["scheduler"] for run in again.runs if run.get("again")], ["cosched"])
        self.assertEqual(len(again.runs), 5)
        row = again.described()["experiments"]["quick"]["rows"][-1]
        self.assertEqual((row["scheduler"], row["ratios"]["mean_response_s"]["n"], row["measures"]["mean_stretch"]["n"]),
                         ("cosched", 1, 1))
        self.session(jobs, names).run()
        self.assertEqual(len(self.results.runs()), len(again.runs))

    def test_what_a_later_attempt_took_the_place_of_is_compared_with_nothing(self):
        jobs, names = "jobs = cg.S.2\n", "dedicated,uncoordinated,cosched"
        self.session(jobs, names).run()
        runs = self.results.runs()
        for run in runs:
            run["pace_s"] = 0.01 if run["scheduler"] == "uncoordinated" else 0.001
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
        again = self.session(jobs, names)
        again.run()
        self.assertEqual(again.parted(), 0)
        row = again.described()["experiments"]["quick"]["rows"][-1]
        self.assertEqual((row["scheduler"], row["ratios"]["mean_response_s"]["n"]), ("cosched", 1))

    def test_what_has_no_ratio_for_want_of_time_is_counted(self):
        jobs, names = "jobs = cg.S.2\n", "uncoordinated,cosched"
        self.session(jobs, names).run()
        runs = self.results.runs()
        runs[1]["sitting"] = 2
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
        made = self.session(jobs, names, lasting="1ms")
        made.run()
        self.assertTrue(made.is_complete())
        self.assertEqual((len(made.runs), made.parted()), (2, 1))

    def test_what_is_made_anew_counts_in_place_of_what_was(self):
        jobs, names = "jobs = cg.S.2\n", "uncoordinated,cosched"
        first = self.session(jobs, names, runs=2)
        first.run()
        places = plan.places_of(["quick:2"], first.units)
        self.assertEqual([first.units[place].repetition for place in places], [2, 2])
        later = self.session(jobs, names, runs=2, anew=places)
        self.assertEqual(later.progress.due, set(places))
        later.run()
        raw = self.results.runs()
        self.assertEqual(len(raw), 6)
        self.assertEqual([(run["repetition"], run["attempt"], run["anew"]) for run in raw[4:]], [(2, 2, True)] * 2)
        self.assertFalse(any(run.get("again") for run in raw))
        after = self.session(jobs, names, runs=2)
        self.assertEqual(sorted((run["place"], run["sitting"]) for run in after.runs),
                         sorted((place, 2 if place in places else 1) for place in range(4)))
        self.assertEqual(after.parted(), 0)
        after.run()
        self.assertEqual(len(self.results.runs()), 6)

    def test_a_baseline_made_anew_is_run_once(self):
        jobs, names = "jobs = cg.S.2*3, ep.S.2\n", "dedicated,uncoordinated,cosched"
        first = self.session(jobs, names)
        first.run()
        order = [place for place, unit in enumerate(first.units) if unit.scheduler == "cosched"]
        order += [place for place in range(len(first.units)) if place not in order]
        later = self.session(jobs, names, anew=order)
        later._repetitions = lambda: [order]  # what is compared comes before what it is compared with
        later.run()
        self.assertEqual(sorted(run["place"] for run in self.results.runs()[len(order):]), sorted(order))
        self.assertTrue(all(run["anew"] for run in later.runs))

    def test_what_there_is_no_time_to_make_anew_still_counts(self):
        first = self.session("jobs = cg.S.2\n", "uncoordinated", runs=4)
        first.run()
        later = self.session("jobs = cg.S.2\n", "uncoordinated", runs=4, anew=range(4), lasting="1s")
        later.progress.nominal_s = lambda unit: 0.4
        later.progress.wall_s = {}
        later.run()
        self.assertTrue(later.is_complete())
        self.assertEqual(sorted(run["sitting"] for run in later.runs), [1, 1, 2, 2])

    def test_sittings_are_judged_each_by_itself(self):
        first = self.session("jobs = cg.S.2\n", "uncoordinated", runs=6, lasting="1s",
                             site=sessionkit.Site([0.1] * 100))
        first.progress.nominal_s = lambda unit: 0.4
        first.run()
        self.assertEqual(len(first.runs), 2)
        slower = self.session("jobs = cg.S.2\n", "uncoordinated", runs=6, site=sessionkit.Site([0.3] * 100))
        slower.run()
        self.assertEqual(len(slower.runs), 6)
        self.assertFalse(any(run["disturbed"] for run in slower.runs))

    def test_jobs_together_start_together(self):
        made = self.session("jobs = cg.S.2*100 (3)\n", "uncoordinated")
        made.run()
        jobs = made.runs[0]["jobs"]
        self.assertLess(max(job["start_s"] for job in jobs), min(job["end_s"] for job in jobs))
        self.assertEqual((made.site.ups, made.site.downs), (1, 1))

    def test_fcfs_takes_one_after_the_other(self):
        made = self.session("jobs = cg.S.2*3, ep.S.2 (10)\n", "fcfs")
        made.run()
        jobs = made.runs[0]["jobs"]
        self.assertEqual(len(jobs), 11)
        for earlier, later in zip(jobs, jobs[1:]):
            self.assertLessEqual(earlier["end_s"], later["start_s"])
            self.assertGreater(later["wait_s"], 0)
        self.assertAlmostEqual(jobs[5]["response_s"], jobs[5]["wait_s"] + jobs[5]["seconds"][0], 2)

    def test_a_limit_of_degree_is_kept_and_used(self):
        made = self.session("jobs = cg.S.2*10 (6)\n", "cosched", name="batch")
        made.run()
        for run in made.runs:
            ends = [(job["start_s"], 1) for job in run["jobs"]] + [(job["end_s"], -1) for job in run["jobs"]]
            running = most = 0
            for _, change in sorted(ends):
                running += change
                most = max(most, running)
            self.assertEqual(most, min(run["value"], len(run["jobs"])))

    def test_a_job_does_not_start_before_it_arrives(self):
        made = self.session("jobs = cg.S.2, ep.S.2 at 300ms\n", "uncoordinated")
        made.run()
        self.assertGreaterEqual(made.runs[0]["jobs"][1]["start_s"], 0.3)
        self.assertIsNone(made.runs[0]["jobs"][0]["fairness"])

    def test_a_hog_runs_until_the_jobs_have_ended_and_stands_in_nobodys_way(self):
        for name in ("uncoordinated", "fcfs"):
            made = self.session("jobs = hog.2, cg.S.2\n", name)
            made.run()
            hog, job = made.runs[-1]["jobs"]
            self.assertGreaterEqual(hog["end_s"], job["end_s"])
            self.assertEqual(made.runs[-1]["makespan_s"], job["end_s"])
            self.assertEqual(job["degree"], 2 if name == "uncoordinated" else 1)
            os.unlink(self.results.path("runs.jsonl"))

    def test_nobody_waits_for_a_hog_that_arrives_last(self):
        for arrival in ("10ms", "300ms"):
            made = self.session(f"jobs = cg.S.2*3, hog.2 at {arrival}\n", "uncoordinated")
            made.run()
            self.assertLess(made.runs[-1]["makespan_s"], 50)
            os.unlink(self.results.path("runs.jsonl"))

    def test_a_disturbed_run_is_repeated_up_to_the_bound(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site([0.1] * 5 + [0.5] * 40))
        made.guard.calibrations = [0.1] * 200
        made.run()
        self.assertEqual([run["attempt"] for run in made.runs], [1, 2, 3])
        row, = made.described()["experiments"]["quick"]["rows"]
        self.assertEqual((row["runs"], row["disturbed"], row["counted_disturbed"]), (1, 3, 1))

    def test_the_chart_is_that_of_the_attempt_that_counts(self):
        for paces, counting in (([0.003, 0.001], 2), ([0.002, 0.003, 0.004], 1)):
            made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site(paces=paces))
            made.guard.paces = [0.001] * 200
            made.run()
            entry, = made.described()["gantt"]
            shown = self.results.read_json(entry["file"])["duration_s"]
            self.assertEqual([run["attempt"] for run in made.runs if run["makespan_s"] == shown], [counting])
            os.unlink(self.results.path("runs.jsonl"))

    def test_each_sitting_has_its_entry_in_the_environment(self):
        options = argparse.Namespace(resume=None, mpi=["mpich"], time_slice=None)
        for options.resume, options.build in ((None, "/one"), ("here", "/other")):
            made = self.session("jobs = cg.S.2\n", "uncoordinated", runs=2, lasting="500ms")
            made.progress.nominal_s = lambda unit: 0.4
            environment.write(self.results, options, 0, made.number)
            made.run()
        known = self.results.read_json("environment.json")
        entries = [known, *known["resumed"]]
        self.assertEqual([entry["sitting"] for entry in entries], [1, 2])
        self.assertEqual([list(entry["mpi"]) for entry in entries], [["mpich"], ["mpich"]])
        self.assertEqual([entry["build"] for entry in entries], ["/one", "/other"])
        self.assertEqual([run["sitting"] for run in self.results.runs()], [1, 2])
        self.assertTrue(all(entry["classd"] == {"scheduler.policy": "yoo-jette"} for entry in entries))

    def test_a_run_says_which_settings_its_experiment_had_and_goes_on_where_it_had_others(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated,cosched", name="gmet")
        made.run()
        settings = {run["scheduler"]: run["settings"] for run in made.runs}
        self.assertEqual(settings, {"uncoordinated": {}, "cosched": {"timer.align": "no"}})
        with open(self.results.path("runs.jsonl"), "w", encoding="ascii") as file:
            file.writelines(json.dumps({**run, "settings": {}}) + "\n" for run in made.runs)
        again = self.session("jobs = cg.S.2\n", "uncoordinated,cosched", name="gmet")
        self.assertFalse(again.is_complete())
        self.assertEqual([run["scheduler"] for run in again.runs], ["uncoordinated"])
        again.run()
        self.assertTrue(again.is_complete())
        self.assertEqual(again.number, 2)
        self.assertEqual(len(again.described()["experiments"]["gmet"]["rows"]), len(made.units))

    def test_the_makespan_begins_with_the_first_arrival(self):
        made = self.session("jobs =\n    hog.1\n    cg.S.2 at 500ms\n    cg.S.2*2 at 600ms\n", "uncoordinated")
        made.run()
        run, = made.runs
        ends = [job["end_s"] for job in run["jobs"][1:]]
        self.assertEqual(run["makespan_s"], max(ends) - 0.5)
        entry, = made.described()["gantt"]
        self.assertEqual(self.results.read_json(entry["file"])["duration_s"], max(ends))

    def test_waiting_for_quiet_does_not_make_noise_the_usual(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site([0.1] * 5 + [0.2] * 40))
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True] * 3)

    def test_who_looks_later_judges_as_the_sitting_did(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site([0.1] * 5 + [0.16]), retries=0)
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True])
        self.assertEqual([run["disturbed"] for run in noise.judged(self.results.runs(), made.options.noise)],
                         [run["disturbed"] for run in made.runs])

    def test_one_disturbed_run_is_repeated_once(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site([0.1] * 5 + [0.5]))
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True, False])
        self.assertTrue(made.described()["complete"])

    def test_a_run_is_disturbed_when_the_machine_was_slow_during_it(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site(paces=[0.001, 0.001, 0.0015]), runs=4)
        made.run()
        self.assertEqual([run["pace_s"] for run in made.runs], [0.001, 0.001, 0.0015, 0.001, 0.001])
        self.assertEqual([run["disturbed"] for run in made.runs], [False, False, True, False, False])
        self.assertTrue(made.is_complete())

    def test_the_first_run_is_judged_by_the_paces_of_later_ones(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site(paces=[0.0015]), runs=4)
        made.run()
        self.assertEqual([(run["place"], run["attempt"]) for run in made.runs if run["place"] == 0], [(0, 1), (0, 2)])

    def test_without_a_threshold_nothing_is_calibrated(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", sessionkit.Site([None]), noise=0)
        made.run()
        self.assertEqual(len(made.site.calibrations), 1)
        self.assertEqual(made.site.asked_pace, 0)
        self.assertIsNone(made.runs[0]["calibration_s"])
        self.assertIsNone(made.runs[0]["pace_s"])

    def test_no_launcher_is_loaded_while_jobs_run(self):
        made = self.session("jobs = cg.S.2 (40)\n", "fcfs")
        admit, loaded = runner.Runner._admit, []

        def watched(current):
            loaded.append(len(current.launchers) + len(current.running) + len(current.done))
            admit(current)

        runner.Runner._admit = watched
        try:
            made.run()
        finally:
            runner.Runner._admit = admit
        self.assertEqual(set(loaded), {40})

    def test_what_is_there_is_not_run_again(self):
        made = self.session("jobs = cg.S.2, ep.S.2\n", "dedicated,uncoordinated", runs=2)
        made.run()
        count = len(made.runs)
        self.assertEqual(count, 6)
        with open(self.results.path("runs.jsonl"), "r+b") as file:
            lines = file.read().split(b"\n")
            file.truncate(sum(len(line) + 1 for line in lines[:4]) + 20)  # the fifth was cut off
        again = self.session("jobs = cg.S.2, ep.S.2\n", "dedicated,uncoordinated", runs=2)
        again.run()
        self.assertEqual([run["place"] for run in again.runs if not run.get("again")], list(range(6)))
        self.assertEqual(len(again.site.prepared), len(again.runs) - 4)

    def test_a_job_that_is_wrong_is_told(self):
        made = self.session("jobs = cg.S.2, is.S.2\n", "uncoordinated")
        made.run()
        self.assertEqual([job["job"] for _, job in made.failed()], ["is.S.2"])
        # Also where that run was disturbed and another one, that verified, counts.
        wrong, = made.runs
        good = {**wrong, "attempt": 2, "jobs": [{**job, "verified": True} for job in wrong["jobs"]]}
        made.runs = [{**wrong, "disturbed": True}, good]
        self.assertEqual([job["job"] for _, job in made.failed()], ["is.S.2"])

    def test_a_missing_program_is_named_before_the_first_run(self):
        made = self.session("jobs = lu.S.2\n", "uncoordinated")
        with self.assertRaisesRegex(NasError, "lu.S.2.*no program"):
            made.check()

    def test_a_missing_mpi_is_named_before_the_first_run(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated")
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}), self.assertRaisesRegex(NasError, "mpiexec.mpich .*install it"):
            made.check()

if __name__ == "__main__":
    unittest.main()
