"""What bench/run_nas.sh may be asked for, and what it keeps of that for a session that goes on."""

import argparse
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import NasError, environment, options  # noqa: E402


class Asked(unittest.TestCase):
    """What the command line may ask for."""

    def asked(self, *arguments):
        found = options.parser().parse_args(arguments)
        options.check(found)
        return options.requests(found)

    def test_what_makes_no_sense_is_named(self):
        for words in (["--scale", "nan"], ["--scale", "inf"], ["--scale", "0"], ["--noise", "nan"], ["--noise", "1"],
                      ["--timeout", "nan"], ["--timeout", "-1"], ["--env", "X"], ["--env", "=1"],
                      ["--jobs", "cg.A.2", "--workload", "dom"], ["--anew", "slice:2", "slice"]):
            with self.subTest(words=words), self.assertRaisesRegex(NasError, f"^{words[0]}"):
                self.asked(*words)

    def test_what_would_be_ignored_is_refused(self):
        for words in (["--library", "/opt/own.so"], ["--time-slice", "2s", "slice"], ["--gmet", "1s", "gmet"],
                      ["--time-slice", "2s", "batch"], ["--gmet", "1s", "mpl"],
                      ["--time-slice", "4s", "--schedulers", "dedicated,uncoordinated"],
                      ["--gmet", "1s", "--schedulers", "cosched", "--set", "scheduler.policy=gang"],
                      ["--time-slice", "2s", "--schedulers", "dedicated,cosched:uncoordinated"],
                      ["--gmet", "100ms", "--schedulers", "dedicated,cosched:dcs"],
                      ["--time-slice", "2s", "--schedulers", "cosched:gang", "--set", "gang.slot=1s"],
                      ["--set", "timer.align=yes", "gmet"], ["--set", "gang.slot=1s"],
                      ["--set", "gang.slot=1s", "--schedulers", "cosched:gang@2s"]):
            with self.subTest(words=words), self.assertRaisesRegex(NasError, f"^{words[0]}[: ]"):
                self.asked(*words)
        for words in (["--time-slice", "2s", "slice", "dom"], ["--gmet", "1s", "batch"], ["--time-slice", "2s"],
                      ["--gmet", "100ms", "slice"], ["--time-slice", "2s", "mpl"], ["--set", "gang.slot=2s", "mpl"],
                      ["--time-slice", "2s", "--schedulers", "cosched:gang,cosched", "--set", "gang.slot=1s"],
                      ["--time-slice", "2s", "slice", "--schedulers", "dedicated-cosched,cosched"]):
            with self.subTest(words=words):
                self.assertTrue(self.asked(*words))

    def test_a_library_that_could_not_be_loaded_is_refused(self):
        with self.assertRaisesRegex(NasError, "^'/home/a b/pmpi/.*LD_PRELOAD cannot name"):
            self.asked("--build", "/home/a b")
        with self.assertRaisesRegex(NasError, "LD_PRELOAD cannot name"):
            options.move_build(argparse.Namespace(build="/x", preloaded="/x/pmpi/libcosched_pmpi.so"), "/a:b")

    def test_scripts_of_one_name_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name, "mine.sh") for name in "ab"]
            for path in paths:
                os.mkdir(os.path.dirname(path))
                with open(path, "w", encoding="ascii") as file:
                    file.write("#!/bin/sh\n")
                os.chmod(path, 0o755)
            self.assertTrue(self.asked("--schedulers", f"{paths[0]},{paths[0]}"))
            with self.assertRaisesRegex(NasError, "another script of that name, mine"):
                self.asked("--schedulers", ",".join(paths))

    def test_workloads_of_one_name_are_told_apart_or_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dom.ini")
            with open(path, "w", encoding="ascii") as file:
                file.write("[workload]\njobs = cg.A.2\n")
            with self.assertRaisesRegex(NasError, f"^--workload .*{path}.* both are called dom.ini"):
                self.asked("workloads", "--workload", "dom", "--workload", path)
            request, = self.asked("workloads", "--workload", path, "--workload", path)
            self.assertEqual(len(request.workloads), 1)
        request, = self.asked("--jobs", "cg.A.2 ep.A.2", "--jobs", "cg.A.2  ep.A.2")
        self.assertEqual(len(request.workloads), 1)


class KeptOptions(unittest.TestCase):
    """What plan.json says of the options, read in another clone."""

    def kept(self, arguments):
        asked = options.parser().parse_args(arguments)
        options.check(asked)
        return environment.kept(asked)

    def test_paths_in_the_repository_move_with_it(self):
        kept = self.kept(["--npb-dir", "/opt/npb/{mpi}"])
        self.assertEqual(("build/release", "build/release/pmpi/libcosched_pmpi.so", "/opt/npb/{mpi}", None),
                         tuple(kept[name] for name in environment.PATHS))
        taken = environment.taken_up(kept)
        self.assertEqual(os.path.join(environment.ROOT, "build", "release"), taken["build"])
        self.assertEqual(("/opt/npb/{mpi}", None), (taken["npb_dir"], taken["hosts"]))

    def test_paths_in_a_home_are_found_again_without_its_users_name(self):
        """As run_dcs.sh goes on by environment.json."""
        with mock.patch.dict(os.environ, {"HOME": "/home/u"}):
            kept = self.kept(["--build", "/home/u/build"])
            stored = {name: environment.plain(value) for name, value in kept.items()}
            self.assertNotIn("/home/u", json.dumps(stored))
            taken = environment.taken_up(stored)
        self.assertEqual(("/home/u/build", "/home/u/build/pmpi/libcosched_pmpi.so"), (taken["build"], taken["preloaded"]))

    def test_another_build_brings_its_library(self):
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write("a\nb\n")
            hosts.flush()
            for named, library in (([], "/elsewhere/pmpi/libcosched_pmpi.so"),
                                   (["--library", "/opt/own.so", "--hosts", hosts.name], "/opt/own.so")):
                taken = argparse.Namespace(**environment.taken_up(self.kept(named)))
                options.move_build(taken, "/elsewhere")
                self.assertEqual(("/elsewhere", library), (taken.build, taken.preloaded))


if __name__ == "__main__":
    unittest.main()
