"""bench/npbkit without MPI: admissible ranks, what programs print, verdicts, results on file, tables."""

import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from npbkit import TrialError, cases, output, results, speed, verify  # noqa: E402
from npbkit.cases import Case  # noqa: E402

OURS = "Run 1: 0.4 s\nNPB kernel=cg class=A ranks=2 repeat=1 seconds=0.400 mops=1000.0 verified=yes\n"
OFFICIAL = """
 CG Benchmark Completed.
 Time in seconds =                     0.80
 Total processes =                        2
 Mop/s total     =                   500.00
 Mop/s/process   =                   250.00
 Verification    =               SUCCESSFUL
"""


def report(**changed):
    return {"timed_out": False, "exit_status": 0, "hung_in_finalize": 0, **changed}


class Cases(unittest.TestCase):
    def test_squares_for_sp_and_bt_powers_of_two_for_the_others(self):
        for kernel in cases.KERNELS:
            expected = [1, 4, 9, 16] if kernel in ("sp", "bt") else [1, 2, 4, 8, 16]
            with self.subTest(kernel=kernel):
                self.assertEqual([n for n in range(1, 17) if cases.admissible(kernel, n)], expected)

    def test_reads_numbers_of_ranks(self):
        self.assertEqual(cases.counts("4,1-3,2"), [1, 2, 3, 4])
        for text in ("", "0", "-4", "1-", "a", "0-4"):
            with self.subTest(text=text), self.assertRaises(TrialError):
                cases.counts(text)

    def test_reads_lists_in_their_own_order(self):
        self.assertEqual(cases.words("A,S", cases.CLASSES, "class"), ["S", "A"])
        self.assertEqual(cases.words("all", cases.FAMILIES, "MPI"), ["mpich", "openmpi"])
        with self.assertRaisesRegex(TrialError, "class 'D'"):
            cases.words("S,D", cases.CLASSES, "class")

    def test_a_record_is_its_case(self):
        case = Case("lu", "W", 4, "mpich", "library")
        self.assertEqual(cases.of_record({**case.record(), "verdict": "verified"}), case)


class Missing(unittest.TestCase):
    def test_an_mpi_is_named_before_anything_is_run(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}), self.assertRaisesRegex(TrialError, "mpiexec.mpich .*install it"):
            cases.check_launchers([Case("cg", "S", 2, "mpich")])

    def test_results_that_cannot_be_kept_are_told(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(TrialError, f"--results {folder}: .*another file"):
            results.Store(folder)


class Labs(unittest.TestCase):
    def test_a_test_may_have_a_lab_of_its_own(self):
        asked = verify.parser().parse_args([])
        with mock.patch.dict(os.environ):
            os.environ.pop("COSCHED_NPB_LAB", None)
            self.assertEqual(verify.Lab(asked).name, verify.LAB_NAME)
            os.environ["COSCHED_NPB_LAB"] = "cosched-lab-other"
            with mock.patch.object(verify.subprocess, "run") as ran:
                verify.Lab(asked).__exit__()
        self.assertEqual(ran.call_args.args[0][1:4], ["--name", "cosched-lab-other", "down"])


class Output(unittest.TestCase):
    def test_reads_ours_and_theirs(self):
        self.assertEqual(output.ours(OURS), output.Said(0.4, 1000.0, True))
        self.assertEqual(output.official(OFFICIAL), output.Said(0.8, 500.0, True))

    def test_sees_what_did_not_verify(self):
        self.assertFalse(output.ours(OURS.replace("=yes", "=no")).verified)
        self.assertFalse(output.official(OFFICIAL.replace("SUCCESSFUL", "UNSUCCESSFUL")).verified)

    def test_nothing_said_is_none(self):
        self.assertIsNone(output.ours("cg: no memory\n"))
        self.assertIsNone(output.ours(OURS.replace(" verified=yes", "")))
        self.assertIsNone(output.official(OFFICIAL.replace("Mop/s total", "Mop/s")))


class Verdict(unittest.TestCase):
    def test_of_each_end(self):
        wrong = OURS.replace("=yes", "=no")
        for expected, text, changed in (
                ("verified", OURS, {}),
                ("verified, hung in MPI_Finalize", OURS, {"hung_in_finalize": 1}),
                ("WRONG RESULT", wrong, {"exit_status": 1}),
                ("WRONG RESULT", wrong, {"hung_in_finalize": 1}),
                ("NO RESULT", "", {}),
                ("ENDED WITH 139", "", {"exit_status": 139}),
                ("ENDED WITH 15 after the result", OURS, {"exit_status": 15}),
                ("TIME LIMIT", "", {"timed_out": True, "exit_status": 124}),
                ("TIME LIMIT after the result", OURS, {"timed_out": True, "exit_status": 124})):
            with self.subTest(expected=expected):
                verdict = verify.judge(report(**changed), text)
                self.assertEqual(verdict, expected)
                self.assertEqual(verdict in verify.GOOD, expected.startswith("verified"))

    def test_what_failed_is_left_to_do(self):
        good, bad, new = (Case("is", "S", ranks, "mpich", "plain") for ranks in (1, 2, 4))
        records = [{**good.record(), "verdict": "verified"}, {**bad.record(), "verdict": "TIME LIMIT"}]
        self.assertEqual(verify.left_to_do([good, bad, new], 1, records), [bad, new])
        self.assertEqual(verify.left_to_do([good, bad], 2, records), [bad, good, bad])


class Summary(unittest.TestCase):
    def test_has_a_row_per_class_and_kernel_and_names_failures(self):
        records = [{**Case("is", "S", ranks, "mpich", "library").record(), "verdict": verdict}
                   for ranks, verdict in ((4, "verified"), (2, "TIME LIMIT"), (2, "verified"), (8, "WRONG RESULT"),
                                          (16, verify.IN_FINALIZE))]
        self.assertEqual(verify.summary(records).splitlines()[2:], [
            "| library | S | is | 2 (1 of 2 TIME LIMIT), 4, 8 (1 of 1 WRONG RESULT), 16* |", "",
            "\\* verified, hung in MPI_Finalize"])


class Store(unittest.TestCase):
    def test_goes_on_behind_a_line_that_was_cut_off(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sub", "results")
            results.Store(path).add({"a": 1})
            with open(path, "a", encoding="utf-8") as file:
                file.write('{"a": 2')
            store = results.Store(path)
            store.add({"a": 3})
            self.assertEqual(store.records, [{"a": 1}, {"a": 3}])
            self.assertEqual(results.read(path), store.records)

    def test_refuses_another_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("kernel,seconds\n")
            file.flush()
            with self.assertRaisesRegex(TrialError, "line 1"):
                results.Store(file.name)


class Speed(unittest.TestCase):
    def test_ratio_is_that_of_the_rates(self):
        ratio, official_s = speed.compare(output.ours(OURS), output.official(OFFICIAL))
        self.assertAlmostEqual(ratio, 0.5)
        self.assertAlmostEqual(official_s, 0.8)

    def test_programs_must_count_the_same_operations(self):
        with self.assertRaisesRegex(TrialError, "operations"):
            speed.compare(output.ours(OURS), output.official(OFFICIAL.replace("500.00", "400.00")))

    def test_table_has_a_verdict_on_the_target(self):
        def pairs(kernel, values):
            return [{**Case(kernel, "W", 2, "openmpi").record(), "ratio": value, "ours_s": value,
                     "official_s": 1.0} for value in values]
        text = speed.table(pairs("lu", [0.5] * 5) + pairs("cg", [1.4] * 5) + pairs("is", [1.2, 1.4, 1.4])
                           + pairs("ft", [0.5]))
        self.assertIn("| lu | W | 2 | 0.5, 1 | 0.50 (0.50-0.50) |", text)
        self.assertIn("| cg | W | 2 | 1.4, 1 | 1.40 (1.40-1.40)! |", text)
        self.assertIn("| is | W | 2 | 1.4, 1 | 1.40 (1.20-1.40)? |", text)
        self.assertIn("| ft | W | 2 | 0.5, 1 | 0.50 (one pair) |", text)


if __name__ == "__main__":
    unittest.main()
