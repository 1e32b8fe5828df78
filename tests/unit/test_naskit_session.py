"""bench/naskit's session and runner on a site that only pretends: who starts when, which attempts are made,
what is on disk after an interruption, and that no process is left. No root, no MPI, no lab."""

import argparse
import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from labkit import processes  # noqa: E402
from naskit import (NasError, ending, environment, experiments, lab_site, noise, pace, plan, plugin, runner,  # noqa: E402
                    schedulers, session, signals, sitting, store, workload_file)

# Stands for `lab mpiexec`: waits at the gate, lasts as long as the job says, reports.
LAUNCHER = """
import json, sys, time
name, report, gated = sys.argv[1:4]
if gated == "gated":
    sys.stdin.readline()
start = time.monotonic()
repeat = int(name.partition("*")[2] or 1)
time.sleep(0.02 * repeat)
print(f"NPB kernel={name} verified={'no' if name.startswith('is') else 'yes'}")
lasted_s = time.monotonic() - start
json.dump({"response_s": lasted_s, "started_monotonic_s": start, "started": time.time(),
           "seconds": [lasted_s], "cpu_s": 0.01, "exit_status": 0, "timed_out": False,
           "hung_in_finalize": 0, "loop": 1}, open(report, "w"))
"""


class Site:
    """Calibrations, and the paces of units, are taken from lists, then are all the same."""

    counts_cpu = True

    def __init__(self, calibrations=(), paces=()):
        self.calibrations = list(calibrations)
        self.paces = list(paces)
        self.asked_pace = 0
        self.slice_s = None
        self.ups = self.downs = 0
        self.prepared = []

    def check(self):
        pass

    def up(self):
        self.ups += 1

    def described(self):
        return {"classd": {"scheduler.policy": "yoo-jette"}}

    def down(self):
        self.downs += 1

    def calibrate(self):
        return self.calibrations.pop(0) if self.calibrations else 0.1

    def pace(self):
        """Every second time the unit is over."""
        self.asked_pace += 1
        if self.asked_pace % 2 == 1:
            return 9.0
        return self.paces.pop(0) if self.paces else 0.001

    def prepare(self, scheduler, unit):
        self.prepared.append((scheduler.name, unit.value))

    def time_slice_s(self, unit):
        return self.slice_s or unit.time_slice_s

    def job_command(self, job, _mpi, _program, arguments):
        report = arguments[arguments.index("--report") + 1]
        return [sys.executable, "-I", "-S", "-c", LAUNCHER, str(job), report,
                "gated" if "--gate" in arguments else "free"]

    def preload(self):
        return ["--preload"]

    def hog_commands(self, job):
        return [["sleep", "60"]] * job.ranks

    def counters(self):
        return []

    def trace_start(self):
        pass

    def trace_dumps(self):
        return []

    def environment(self):
        return {}

# A session with nothing but a job and a hog.
SESSION = """
import sys, types
sys.path.insert(0, sys.argv[1])
from naskit import runner, workload, workload_file
jobs = [workload.parse_job(text) for text in ("hog.1", "cg.S.2")]
unit = types.SimpleNamespace(jobs=jobs, limit=0, together=True, submissions=[workload_file.Submission(job) for job in jobs])
runner.Runner(unit, workload.Cluster(2, 1), lambda index: ["sleep", "60"], lambda job: [["sleep", "60"]],
              lambda index: sys.argv[2] + str(index), gated=False).run()
"""


class Clock:
    """Of the sitting: time passes while units run, and how much is the test's to say."""

    def __init__(self):
        self.now_s = 0.0

    def monotonic(self):
        return self.now_s

    @staticmethod
    def sleep(_seconds):
        pass


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.results = store.Store(os.path.join(self.temporary.name, "out"))
        self.results.make()
        self.results.write_json("environment.json", {})
        self.clock = Clock()
        self.enterContext(mock.patch.object(sitting, "time", self.clock))
        programs = os.path.join(self.temporary.name, "bin")
        os.mkdir(programs)
        for kernel in ("cg", "ep", "is"):
            path = os.path.join(programs, f"{kernel}.S.x")
            with open(path, "w", encoding="ascii"):
                os.chmod(path, stat.S_IRWXU)

    def tearDown(self):
        self.assertEqual(processes.descendants(), [])
        self.temporary.cleanup()

    def session(self, jobs, names, site=None, name="quick", **others):
        file = workload_file.parse("[workload]\n" + jobs, "mine.ini")
        request = plan.Request(experiments.TABLE[name], (file,),
                               tuple(schedulers.parse_list(names).values()), others.pop("runs", 1), 1.0, 0.25)
        options = argparse.Namespace(**{
            "nodes": 2, "cpus_per_node": 1, "noise": 1.2, "retries": 2, "schedulers": names, "env": [],
            "lasting": None, "anew": (), "npb_dir": self.temporary.name, "build": "/", "timeout": 30, **others})
        units = plan.build([request], others.get("mpis", ["mpich"]), 1, 1.0)
        made = session.Session(options, site or Site(), self.results, units)
        made.progress.stream = io.StringIO()
        run_unit = made.run_unit

        def timed(place, unit, attempt):
            self.clock.now_s += 0.4
            return run_unit(place, unit, attempt)

        made.run_unit = timed
        return made

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
                             site=Site([0.1] * 100))
        first.progress.nominal_s = lambda unit: 0.4
        first.run()
        self.assertEqual(len(first.runs), 2)
        slower = self.session("jobs = cg.S.2\n", "uncoordinated", runs=6, site=Site([0.3] * 100))
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
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site([0.1] * 5 + [0.5] * 40))
        made.guard.calibrations = [0.1] * 200
        made.run()
        self.assertEqual([run["attempt"] for run in made.runs], [1, 2, 3])
        row, = made.described()["experiments"]["quick"]["rows"]
        self.assertEqual((row["runs"], row["disturbed"], row["counted_disturbed"]), (1, 3, 1))

    def test_the_chart_is_that_of_the_attempt_that_counts(self):
        for paces, counting in (([0.003, 0.001], 2), ([0.002, 0.003, 0.004], 1)):
            made = self.session("jobs = cg.S.2\n", "uncoordinated", Site(paces=paces))
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
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site([0.1] * 5 + [0.2] * 40))
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True] * 3)

    def test_who_looks_later_judges_as_the_sitting_did(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site([0.1] * 5 + [0.16]), retries=0)
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True])
        self.assertEqual([run["disturbed"] for run in noise.judged(self.results.runs(), made.options.noise)],
                         [run["disturbed"] for run in made.runs])

    def test_one_disturbed_run_is_repeated_once(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site([0.1] * 5 + [0.5]))
        made.run()
        self.assertEqual([run["disturbed"] for run in made.runs], [True, False])
        self.assertTrue(made.described()["complete"])

    def test_a_run_is_disturbed_when_the_machine_was_slow_during_it(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site(paces=[0.001, 0.001, 0.0015]), runs=4)
        made.run()
        self.assertEqual([run["pace_s"] for run in made.runs], [0.001, 0.001, 0.0015, 0.001, 0.001])
        self.assertEqual([run["disturbed"] for run in made.runs], [False, False, True, False, False])
        self.assertTrue(made.is_complete())

    def test_the_first_run_is_judged_by_the_paces_of_later_ones(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site(paces=[0.0015]), runs=4)
        made.run()
        self.assertEqual([(run["place"], run["attempt"]) for run in made.runs if run["place"] == 0], [(0, 1), (0, 2)])

    def test_without_a_threshold_nothing_is_calibrated(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated", Site([None]), noise=0)
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

    def test_an_interruption_keeps_what_was_measured_and_ends_all(self):
        made = self.session("jobs = cg.S.2*500, hog.2\n", "uncoordinated,cosched", runs=2)
        made.units[0] = self.session("jobs = cg.S.2\n", "uncoordinated").units[0]
        signals.catch()
        self.addCleanup(self.default_signals)
        thread = threading.Thread(target=self.interrupt_in_second_run)
        thread.start()
        with self.assertRaises(signals.Interrupted) as caught:
            made.run()
        thread.join()
        self.assertEqual(caught.exception.number, signal.SIGTERM)
        self.assertEqual([run["place"] for run in self.results.runs()], [0])
        self.assertFalse(self.results.read_json("summary.json")["complete"])
        self.assertEqual(made.site.downs, 1)
        self.assertEqual(processes.descendants(), [])

    @staticmethod
    def default_signals():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt_in_second_run(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not os.path.exists(self.results.path("summary.json")):
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)
        # Of two that are there Python would take the one with the lower number first.
        while time.monotonic() < deadline and signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)  # which must not stop the tidying up

    def test_an_interruption_of_the_report_loses_no_figure(self):
        made = self.session("jobs = cg.S.2\n", "uncoordinated")
        self.addCleanup(self.default_signals)

        def draw():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

        def hold_and_tell():
            ending.hold(made, "run_nas")
            return ending.tell(made, "run_nas", draw)

        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(ending.guarded("run_nas", hold_and_tell), 128 + signal.SIGINT)
        self.assertEqual(said.getvalue(), f"run_nas: interrupted; what was measured is in {self.results.folder}\n")
        self.assertTrue(self.results.read_json("summary.json")["complete"])

    def test_an_interruption_before_the_session_is_one_line(self):
        for kit in ("naskit", "dcskit"):
            script = (f"import os, signal, sys, time\nfrom guard import guarded\nfrom {kit} import cli\n"
                      "cli.asked.check = lambda _: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60))\n"
                      "sys.exit(guarded(cli.main, []))\n")
            done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": BENCH})
            self.assertEqual(done.returncode, 128 + signal.SIGINT, done.stderr)
            self.assertEqual(done.stderr, f"run_{kit[:3]}: interrupted\n")

    def test_no_job_outlives_a_session_that_is_killed(self):
        killed = subprocess.Popen([sys.executable, "-B", "-c", SESSION, BENCH, self.results.path("logs", "job")])
        deadline = time.monotonic() + 60
        while len(jobs := processes.descendants(killed.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        self.assertEqual(len(jobs), 2)
        while any(map(processes.is_alive, jobs)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(any(map(processes.is_alive, jobs)))

    def test_who_is_interrupted_while_a_process_starts_ends_that_too(self):
        signals.catch()
        self.addCleanup(self.default_signals)
        start = runner.subprocess.Popen

        def start_and_interrupt(*arguments, **options):
            process = start(*arguments, **options)
            os.kill(os.getpid(), signal.SIGTERM)
            return process

        made = self.session("jobs = hog.1, cg.S.2\n", "fcfs")
        with mock.patch.object(runner.subprocess, "Popen", start_and_interrupt), self.assertRaises(signals.Interrupted):
            made.run()
        self.assertEqual(processes.descendants(), [])

    def test_a_hog_of_which_a_process_ends_makes_no_run(self):
        for half in ("exit 3", "read -r line && exit 3", "read -r line && sleep 0.3"):
            site = Site()
            site.hog_commands = lambda job, half=half: [["sleep", "60"], ["sh", "-c", half]]
            made = self.session("jobs = cg.S.2*50, hog.2\n", "uncoordinated", site)
            with self.subTest(half=half), self.assertRaisesRegex(NasError, "a hog ended by itself, see .*hog.2.log"):
                made.run()
            self.assertEqual(self.results.runs(), [])
            self.assertEqual(processes.descendants(), [])

    def test_hogs_are_loaded_before_the_first_job_may_start(self):
        computes = os.path.join(self.temporary.name, "computes")
        site = Site()
        site.hog_commands = lambda job: [["sh", "-c", f"read -r line && : >{computes} && exec sleep 60"]]
        admit, seen = runner.Runner._admit, []

        def watched(current):
            if not seen:
                seen.append(([run.index for run in current.launchers.values()], os.path.exists(computes)))
            admit(current)

        with mock.patch.object(runner.Runner, "_admit", watched):
            self.session("jobs = cg.S.2*20, hog.1\n", "uncoordinated", site).run()
        self.assertEqual(seen, [([0, 1], False)])
        self.assertTrue(os.path.exists(computes))

    def script(self, text):
        """The path of a scheduler of a user's own."""
        path = os.path.join(self.temporary.name, "mine.sh")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def test_a_script_schedules(self):
        said = os.path.join(self.temporary.name, "said")
        script = self.script(f'#!/bin/sh\necho "$1" "$NASKIT_NODES" >>{said}\n'
                             '[ "$1" != wrap ] || { shift 2; exec "$@"; }\n')
        made = self.session("jobs = cg.S.2 (2)\n", f"{script},uncoordinated", runs=1)
        made.run()
        with open(said, encoding="ascii") as file:
            self.assertEqual(sorted(file.read().splitlines()), ["down 2", "up 2", "wrap 2", "wrap 2"])
        self.assertEqual({run["scheduler"] for run in made.runs}, {"mine", "uncoordinated"})

    def test_a_script_that_cannot_be_run_leaves_no_lab(self):
        script = self.script("echo no interpreter is named\n")
        made = self.session("jobs = cg.S.2\n", script)
        with self.assertRaisesRegex(NasError, "mine.sh up: .*#!/bin/sh"), contextlib.redirect_stderr(io.StringIO()) as said:
            made.run()
        self.assertIn("mine.sh down: ", said.getvalue())
        self.assertEqual(made.site.downs, 1)

    def test_a_script_that_takes_too_long_is_ended_with_what_it_started(self):
        script = self.script("#!/bin/sh\nsleep 60 &\nwait\n")
        made = self.session("jobs = cg.S.2\n", script)
        processes.become_subreaper()
        with mock.patch.object(plugin, "LIMIT_S", 2), contextlib.redirect_stderr(io.StringIO()) as said, \
                self.assertRaisesRegex(NasError, "mine.sh up: took longer than 2 s, and was ended"):
            made.run()
        self.assertIn("mine.sh down: took longer", said.getvalue())
        self.assertEqual(made.site.downs, 1)
        for _ in range(2):  # what is left of each of the two shells
            os.waitpid(-1, 0)
        self.assertEqual(processes.descendants(), [])

    def test_who_looks_at_the_pace_and_dies_leaves_no_lab(self):
        program = pace.program(self.temporary.name)
        os.makedirs(os.path.dirname(program))
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(program, 0o755)
        site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, set=[], build=self.temporary.name, noise=1.2), 0)
        said = []
        site._lab = lambda *words, **_: said.append(words[0]) or json.dumps({"nodes": [{"cpus": [0]}]})
        site.keeper = None
        site.up()
        site.watch.process.wait()
        with self.assertRaisesRegex(NasError, "pace ended with status 3"):
            site.pace()
        site.down()
        self.assertEqual(said, ["up", "status", "down"])

    def test_jobs_and_scripts_are_told_the_time_slice_that_the_nodes_have(self):
        said = os.path.join(self.temporary.name, "said")
        script = self.script(f'#!/bin/sh\n[ "$1" != wrap ] || {{ echo "$NASKIT_TIME_SLICE_S" >>{said}; shift 2; exec "$@"; }}\n')
        site, commands = Site(), []
        site.slice_s = 15.0
        command = site.job_command
        site.job_command = lambda *words: commands.append(command(*words) and words[-1]) or command(*words)
        self.session("jobs = cg.S.2 (2)\n", f"{script},cosched", site).run()
        with open(said, encoding="ascii") as file:
            self.assertEqual(set(file.read().split()), {"15"})
        graces = {words[words.index("--grace") + 1] for words in commands if "--gate" in words}
        self.assertEqual(graces, {str(10 + 2 * 2 * 15.0)})

    def test_a_script_is_told_each_units_mpi(self):
        said = os.path.join(self.temporary.name, "said")
        script = self.script(f'#!/bin/sh\necho "$1" "$NASKIT_MPI" >>{said}\n'
                             '[ "$1" != wrap ] || { shift 2; exec "$@"; }\n')
        made = self.session("jobs = cg.S.2\n", script, mpis=["mpich", "openmpi"])
        made.run()
        with open(said, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertEqual(sorted(line for line in lines if "wrap" in line), ["wrap mpich", "wrap openmpi"])
        self.assertEqual([line.split()[0] for line in lines], ["up", "wrap", "wrap", "down"])


if __name__ == "__main__":
    unittest.main()
