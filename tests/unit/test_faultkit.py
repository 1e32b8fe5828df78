"""The fault campaign: what it must complain of, and what it must not."""

import io
import os
import sys
import tempfile
import unittest
import unittest.mock

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "faults"), os.path.join(os.path.dirname(TESTS), "bench")]

from faultkit import campaign, report  # noqa: E402
from faultkit.watch import Judge, Peaks  # noqa: E402


class JudgeTest(unittest.TestCase):
    """Time is in slices here."""

    def setUp(self):
        self.judge_by("yoo-jette")

    def judge_by(self, policy):
        self.judge = Judge(1.0, policy, tolerance_s=0.5)
        self.now = 0.0

    def hold(self, slices, limited="a", classd=True, timerd=True, refusing=False, classes="ab"):
        """One state for so long; `limited` and `classes` are lists of classes by their letters."""
        end = self.now + slices
        while self.now <= end:
            self.judge.observe(self.now, classd, timerd, {name: name in limited for name in classes},
                               refusing)
            self.now += 0.0625

    def assert_blames(self, *names):
        self.assertEqual(sorted(text.split()[0].rstrip(",") for text in self.judge.complaints),
                         sorted(names))

    def test_turns_are_fine(self):
        for _ in range(10):
            self.hold(1, "a")
            self.hold(1, "b")
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.waited_s, 1, delta=0.1)

    def test_a_limit_that_timerd_lifts_in_time_is_fine(self):
        self.hold(1, "a")
        self.hold(2, "a", classd=False)
        self.hold(9, "", classd=False)
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.orphaned_s, 2, delta=0.1)

    def test_a_limit_that_timerd_does_not_lift_is_blamed_once(self):
        self.hold(1, "a")
        self.hold(9, "a", classd=False)
        self.assert_blames("a")

    def test_every_class_is_judged(self):
        self.hold(9, "ab", classd=False)
        self.assert_blames("a", "b")

    def test_it_counts_from_classds_end(self):
        self.hold(3, "a")
        self.hold(2, "a", classd=False)
        self.assert_blames()

    def test_without_anybody_it_only_counts(self):
        self.hold(9, "a", classd=False, timerd=False)
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.unattended_s, 9, delta=0.1)

    def test_timerd_has_two_slices_from_its_own_start(self):
        self.hold(9, "a", classd=False, timerd=False)
        self.hold(2, "a", classd=False)
        self.assert_blames()
        self.hold(1, "a", classd=False)
        self.assert_blames("a")

    def test_a_living_classd_starves_nobody(self):
        self.hold(5, "a")
        self.assert_blames()
        self.hold(3, "a")
        self.assert_blames("a")

    def test_slots_may_be_further_apart_than_slices(self):
        self.judge_by("gang")
        self.hold(17, "a")
        self.assert_blames()
        self.hold(3, "a")
        self.assert_blames("a")

    def test_the_only_job_waits_for_nobody(self):
        self.hold(5, "a", classes="a")
        self.assert_blames("a")

    def test_nobody_is_blamed_for_what_the_kernel_refuses(self):
        self.hold(9, "a", refusing=True)
        self.assert_blames()
        self.hold(9, "a")
        self.assert_blames("a")

    def test_a_new_class_starts_anew(self):
        for _ in range(3):
            self.hold(4, "a")
            self.hold(0.1, "", classes="b")
        self.assert_blames()


class FaultlessWorld:
    """In which nothing happens but what its watch sees."""

    nodes = []
    slice_s = 0.0

    def __init__(self):
        self.watch = self.jobs = self
        self.kind = None
        self.seen = []

    def take(self):
        seen, self.seen = self.seen, []
        return Peaks(), seen

    def take_complaints(self):
        return []

    def take_ended(self):
        return []

    def wait_for(self, condition, deadline_s):
        """Between two faults."""
        self.seen.append("a is limited for too long")

    def pass_time(self, seconds):
        pass

    def start(self):
        pass

    settle = drain = start

    def expect(self, find_faults):
        return True


class CampaignTest(unittest.TestCase):
    def run_one(self, faults, shared=True):
        with unittest.mock.patch.dict(campaign.KINDS, {"nothing": lambda world, rng: None}), \
                unittest.mock.patch.object(campaign.Campaign, "_shared", lambda self: shared), \
                unittest.mock.patch.object(campaign.Campaign, "_known", lambda self: {}):
            run = campaign.Campaign(FaultlessWorld(), faults, 1, only="nothing", progress=io.StringIO())
            run.run()
        return run

    def test_what_is_seen_between_two_faults_counts(self):
        run = self.run_one(2)
        self.assertEqual([outcome.complaints for outcome in run.outcomes], [[], []])
        self.assertEqual(run.complaints, ["before fault 1, nothing: a is limited for too long",
                                          "before fault 2, nothing: a is limited for too long"])

    def test_faults_that_came_upon_nobody_have_tried_nothing(self):
        for shared in (True, False):
            complaints = [text for text in self.run_one(12, shared).complaints if "not tried" in text]
            self.assertEqual(len(complaints), not shared)


def found(slice_s=0.5, **changes):
    """What a campaign of one fault has written."""
    one = {"seed": 1, "faults_wanted": 1, "only": None, "slice_s": slice_s, "seconds": 60, "commit": "c",
           "kernel": "k", "mpi": ["mpich"], "complaints": [], "longest_gap_s": 0.1,
           "faults": [{"number": 1, "kind": "classd-kill", "shared": True, "complaints": [],
                       "peaks": {"orphaned_s": 0.5, "unattended_s": 0.0, "waited_s": 1.0}}],
           "jobs": [{"verified": True, "hung_in_finalize": False, "scheduled": True,
                     "faults": ["classd-kill"]}]}
    return {**one, **changes}


class ReportTest(unittest.TestCase):
    def row(self, several, title):
        rows = {row[0]: dict(zip(report.COLUMNS, row)) for row in report.rows(several)}
        return rows[title]

    def test_several_campaigns_make_one_table(self):
        row = self.row([found(), found(slice_s=0.25)], "classd-kill")
        self.assertEqual((row["injected"], row["jobs"], row["verified"]), (2, 2, 2))
        self.assertEqual((row["orphaned"], row["waited"]), ("2.00", "4.00"))

    def test_leaks_and_other_complaints_are_counted(self):
        bad = found(complaints=["after x: for ever: leak: process 7 is left behind", "job j: not done in time"])
        self.assertEqual(self.row([bad], "classd-kill")["failures"], 0)
        row = self.row([bad], "all")
        self.assertEqual((row["leaks"], row["failures"]), (1, 2))

    def test_the_command_of_a_campaign_is_told_with_its_policy(self):
        self.assertIn("`tests/faults/campaign.py --faults 1 --seed 1`: ", report.section([found()]))
        self.assertIn("--seed 1 --policy gang`: ", report.section([found(policy="gang")]))
        self.assertIn("--seed 1 --only upgrade`: ", report.section([found(policy="yoo-jette", only="upgrade")]))

    def test_a_document_keeps_what_is_around_its_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"before\n{report.MARK}\nold\n{report.END_MARK}\nafter\n")
            for _ in range(2):
                report.write_section([found()], path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("before\n" + report.MARK) and text.endswith(report.END_MARK + "\nafter\n"))
        self.assertEqual(text.count("| classd-kill"), 1)
        self.assertNotIn("old", text)


if __name__ == "__main__":
    unittest.main()
