"""What bench/naskit starts, on a site that only pretends: jobs, hogs, and schedulers that are scripts of a user's own. What is on disk
after an interruption, and that no process is left."""

import argparse
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import sessionkit  # before what it makes importable
from labkit import processes  # noqa: E402
from naskit import NasError, ending, lab_site, pace, plugin, runner, signals  # noqa: E402

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


class ProcessesTest(sessionkit.SessionCase):
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
                                  env={**os.environ, "PYTHONPATH": sessionkit.BENCH})
            self.assertEqual(done.returncode, 128 + signal.SIGINT, done.stderr)
            self.assertEqual(done.stderr, f"run_{kit[:3]}: interrupted\n")

    def test_no_job_outlives_a_session_that_is_killed(self):
        killed = subprocess.Popen([sys.executable, "-B", "-c", SESSION, sessionkit.BENCH, self.results.path("logs", "job")])
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
            site = sessionkit.Site()
            site.hog_commands = lambda job, half=half: [["sleep", "60"], ["sh", "-c", half]]
            made = self.session("jobs = cg.S.2*50, hog.2\n", "uncoordinated", site)
            with self.subTest(half=half), self.assertRaisesRegex(NasError, "a hog ended by itself, see .*hog.2.log"):
                made.run()
            self.assertEqual(self.results.runs(), [])
            self.assertEqual(processes.descendants(), [])

    def test_hogs_are_loaded_before_the_first_job_may_start(self):
        computes = os.path.join(self.temporary.name, "computes")
        site = sessionkit.Site()
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
        site, commands = sessionkit.Site(), []
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
