"""What bench/naskit tells the daemons of a lab, and what it takes from what they say."""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import NasError, lab_site, observer, records, schedulers  # noqa: E402


class Daemons(unittest.TestCase):
    """Of a lab whose status is made up."""

    def site(self, folder, *titles):
        site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, set=[], build="/"))
        nodes = [{"name": name, "daemons": dict.fromkeys(there, 1), "scheduler": Counters.NODE}
                 for name, there in zip(site.nodes, titles)]
        site.daemons = {"scheduler.gmet": "1s"}
        site._lab = lambda *_, **__: json.dumps({"state": folder, "nodes": nodes})
        return site

    def test_only_a_sessions_own_lab_is_taken_down(self):
        said = []
        site = self.site("/")
        site._lab = lambda *words, **_: said.append(words)
        site.down()
        self.assertEqual(said, [])
        site.is_up = True
        site.down()
        self.assertEqual(said, [("down", "--owner", str(os.getpid()))])

    def test_without_daemons_jobs_are_where_hogs_are(self):
        site = self.site("/")
        site.name = "cosched-lab-x"
        job = argparse.Namespace(ranks=2)
        for daemons, together in (({"scheduler.gmet": "1s"}, False), (None, True), ({}, True)):
            site.daemons = daemons
            self.assertTrue(all("--users" in command for command in site.hog_commands(job)))
            self.assertEqual("--users" in site.job_command(job, "mpich", ["program"], []), together)

    def test_nodes_that_share_cpus_are_told(self):
        for cpus, said in (({0, 1}, ""), ({3}, "2 CPUs together, and there are 1")):
            site = self.site("/")
            with mock.patch.object(os, "sched_getaffinity", lambda _, cpus=cpus: cpus), \
                    contextlib.redirect_stderr(io.StringIO()) as heard:
                site.tell_lacking()
            self.assertIn(said, heard.getvalue())
            self.assertEqual(bool(said), bool(heard.getvalue()))

    def test_a_build_that_lacks_something_is_told_before_anything_is_run(self):
        with tempfile.TemporaryDirectory() as build, mock.patch.object(os, "geteuid", lambda: 0):
            site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, set=[], build=build), 0)
            for name in ("classd/classd", "timerd/timerd", "ctl/coschedctl", "pmpi/libcosched_pmpi.so"):
                with self.assertRaisesRegex(NasError, f"{name} is not there: build first, .*--build"):
                    site.check()
                os.makedirs(os.path.dirname(os.path.join(build, name)))
                with open(os.path.join(build, name), "w", encoding="ascii"):
                    os.chmod(os.path.join(build, name), 0o755)
            site.check()

    def test_settings_that_classd_refuses_are_told_before_anything_is_run(self):
        with tempfile.TemporaryDirectory() as build:
            os.mkdir(os.path.join(build, "classd"))
            site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, set=["cgroup.root = x"], build=build), 0)
            unit = argparse.Namespace(time_slice_s=1.0, gmet_s=0.25, settings=())
            with self.assertRaisesRegex(NasError, "classd cannot be run .*: build first"):
                site.check_settings(schedulers.parse("cosched"), unit)
            program = os.path.join(build, "classd", "classd")
            with open(program, "w", encoding="ascii") as file:
                file.write('#!/bin/sh\ngrep -q "^root = x" "$2" && ! grep -q "^bad" "$2" || '
                           '{ echo "classd: $2:9: bad: is no key" >&2; exit 1; }\n')
            os.chmod(program, 0o755)
            site.check_settings(schedulers.parse("cosched"), unit)
            with self.assertRaisesRegex(NasError, r"^settings of cosched\+scheduler.bad=1: .* says: classd: its line 9: bad: is no key$"):
                site.check_settings(schedulers.parse("cosched+scheduler.bad=1"), unit)

    def test_settings_of_one_scheduler_are_not_the_next_ones(self):
        site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, build="/",
                                                   set=["cgroup.period=50ms", "scheduler.policy=dcs"]))
        said, unit = [], argparse.Namespace(time_slice_s=1.0, gmet_s=0.25, settings=())
        site._lab = lambda *words, **_: said.append(words)
        base = {"--set=scheduler.time_slice=1s", "--set=scheduler.gmet=250ms"}
        for text, settings in (
                ("cosched", set()),
                ("cosched:gang+cgroup.period=10ms+dcs.quantum=5ms",
                 {"--set=scheduler.policy=gang", "--set=gang.slot=1s", "--set=cgroup.period=10ms", "--set=dcs.quantum=5ms"}),
                ("cosched", {"--set=scheduler.policy=dcs", "--set=cgroup.period=50ms", "--unset=dcs.quantum",
                             "--unset=gang.slot"})):
            site.prepare(schedulers.parse(text), unit)
            self.assertEqual(said[-1][:2], ("daemons", "start"))
            self.assertEqual(set(said[-1][2:]), base | settings)

    def test_timers_that_are_not_aligned_begin_at_different_moments(self):
        options = argparse.Namespace(nodes=3, cpus_per_node=1, build="/", set=[], seed=1)
        site = lab_site.LabSite(options)
        said, slept = [], []
        site._lab = lambda *words, **_: said.append(words)
        apart = (("timer.align", "no"),)
        with mock.patch.object(lab_site.time, "sleep", slept.append):
            for repetition, settings in ((1, apart), (1, apart), (2, apart), (2, ())):
                site.prepare(schedulers.parse("cosched"), argparse.Namespace(time_slice_s=2.0, gmet_s=0.5, settings=settings,
                                                                             repetition=repetition))
        self.assertEqual([words[3] for words in said if "--only" in words], ["classd", "timerd", "timerd"] * 2)
        self.assertIn("--set=timer.align=no", said[0])
        self.assertEqual(said[1][4:], ("--node", "node0"))
        self.assertEqual(said[2][4:], ("--node=node1", "--node=node2"))
        self.assertEqual(len(set(slept)), 2)
        self.assertTrue(all(0 <= seconds < 2.0 for seconds in slept))
        self.assertIn("--unset=timer.align", said[-1])

    def test_a_time_slice_of_policy_gang_is_its_slot_wherever_the_policy_is_said(self):
        for given, name in (([], "cosched:gang"), (["scheduler.policy = gang"], "cosched")):
            site = lab_site.LabSite(argparse.Namespace(nodes=2, cpus_per_node=1, build="/", set=given))
            said = []
            site._lab = lambda *words, said=said, **_: said.append(words)
            site.prepare(schedulers.parse(name), argparse.Namespace(time_slice_s=4.0, gmet_s=4 / 3, settings=()))
            self.assertIn("--set=gang.slot=4s", said[-1])

    def test_what_runs_counts(self):
        both = ("classd", "timerd")
        self.assertEqual(self.site("/", both, both).counters(), [Counters.NODE] * 2)

    def test_one_that_has_ended_by_itself_ends_the_session_with_its_last_word(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "node1"))
            with open(os.path.join(folder, "node1", "classd.log"), "w", encoding="ascii") as file:
                file.write("begun\nno such policy\n")
            with self.assertRaisesRegex(NasError, "^classd of node1 has ended by itself.*no such policy$"):
                self.site(folder, ("classd", "timerd"), ("timerd",)).counters()
            with self.assertRaisesRegex(NasError, "^timerd of node0 has ended.*No such file"):
                self.site(folder, ("classd",), ("classd", "timerd")).counters()


class Counters(unittest.TestCase):
    NODE = {"switches": 5, "requests": 4, "requests_granted": 3, "requests_discarded": 1}

    def test_are_summed_over_the_nodes_and_what_none_counts_is_null(self):
        found = observer.sums([self.NODE, self.NODE])
        self.assertEqual((found["switches"], found["granted"]), (10, 6))
        self.assertEqual(set(found), set(records.COUNTERS) - {"false"})  # that is the recordings' to tell
        self.assertEqual(set(observer.sums([]).values()), {None})

    def test_what_one_node_does_not_count_is_not_half_counted(self):
        self.assertIsNone(observer.sums([self.NODE, {"switches": 5}])["requests"])

    def test_a_node_that_does_not_answer_makes_no_half_sum(self):
        for nodes in ([self.NODE, None], [None, self.NODE], [None]):
            self.assertEqual(set(observer.sums(nodes).values()), {None})

    def test_who_counts_anew_has_counted_nothing_that_is_known(self):
        before, after = observer.sums([self.NODE]), observer.sums([{**self.NODE, "switches": 1}])
        found = observer.difference(before, after)
        self.assertEqual((found["switches"], found["requests"]), (None, 0))

    def test_a_run_has_what_was_counted_meanwhile(self):
        before, after = observer.sums([self.NODE]), observer.sums([{**self.NODE, "switches": 25}])
        found = observer.difference(before, after)
        self.assertEqual((found["switches"], found["requests"]), (20, 0))


if __name__ == "__main__":
    unittest.main()
