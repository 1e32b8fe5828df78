"""What the sentences of bench/report claim, tested against data whose answer is known, both ways."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

import reportkit  # noqa: E402
from report import cli, compare, experiments, headlines, model, names, sentences  # noqa: E402

with open(cli.PAPER, encoding="utf-8") as file:
    PAPER = json.load(file)
MPICH = ("mpich",)
GMET_SAYS = PAPER["experiments"]["gmet"]["says"]
BOTH = ("mpich", "openmpi")


def one(name, experiment):
    """model.Experiment of a made-up one."""
    return model.results({"format": 1, "experiments": {name: experiment}}, None).experiments[name]


def ratio(values):
    return model.statistic(reportkit.statistic(values), "test")


def said(name, experiment):
    return " ".join(sentences.of(one(name, experiment), experiments.kind(name), PAPER["experiments"].get(name)))


def headlines_of(name, experiment):
    return headlines.of(one(name, experiment), experiments.kind(name), PAPER["experiments"].get(name))


class Comparison(unittest.TestCase):
    def test_a_difference_is_claimed_only_where_both_intervals_exclude_1(self):
        self.assertEqual(compare.compare(ratio([0.45, 0.47, 0.5])).kind, "faster")
        self.assertEqual(compare.compare(ratio([1.5, 1.6, 1.7])).kind, "slower")
        self.assertEqual(compare.compare(ratio([0.7, 1.0, 1.4])).kind, "unclear")
        torn = model.Statistic(3, 0.8, 0.82, t=(0.6, 1.05), bootstrap=(0.7, 0.95))
        self.assertEqual(compare.compare(torn).kind, "torn")

    def test_narrow_around_1_is_a_finding(self):
        self.assertEqual(compare.compare(ratio([0.99, 1.0, 1.01])).kind, "equal")
        # Of two runs the bootstrap has nothing but both: Student's interval says how little that is.
        two = model.Statistic(2, 1.0, 1.0, t=(0.937, 1.063), bootstrap=(0.99, 1.01))
        self.assertEqual(compare.compare(two).kind, "unclear")

    def test_one_run_claims_nothing(self):
        found = compare.compare(ratio([0.5]))
        self.assertEqual(found.kind, "single")
        self.assertIn("chance", compare.phrase(found))

    def test_nothing_is_missing(self):
        for nothing in (None, model.Statistic(3, 0.0, 0.0)):
            self.assertEqual(compare.phrase(compare.compare(nothing)), "not known")

    def test_factors_and_their_intervals_turn_around_together(self):
        faster = compare.phrase(compare.compare(model.Statistic(5, 0.5, 0.5, (0.4, 0.6), (0.4, 0.55))))
        self.assertEqual(faster, "2.0 times (1.7–2.5) faster")
        slower = compare.phrase(compare.compare(model.Statistic(5, 2.0, 2.0, (1.8, 2.2), (1.9, 2.5))))
        self.assertEqual(slower, "2.0 times (1.8–2.5) slower")

    def test_of_few_runs_brackets_are_no_narrower_than_students(self):
        """As a reader takes them for 90 %."""
        two = model.Statistic(2, 0.3, 0.3, t=(0.2, 0.4), bootstrap=(0.284, 0.315))
        self.assertEqual(compare.phrase(compare.compare(two)), "3.3 times (2.5–5.0) faster")

    def test_an_interval_that_reaches_0_has_no_greatest_factor(self):
        for t, words in (((-0.2, 0.8), "2.0 times (1.2 and more) faster"), ((-2.0, 3.0), "perhaps 2.0 times (0.3 and more) faster")):
            self.assertTrue(compare.phrase(compare.compare(model.Statistic(2, 0.5, 0.5, t=t, bootstrap=(0.4, 0.6)))).startswith(words))
        slower = compare.compare(model.Statistic(2, 2.0, 2.0, t=(-1.0, 5.0), bootstrap=(1.5, 2.5)))
        self.assertIn("perhaps 2.0 times (up to 5.0) slower", compare.phrase(slower))
        unclear = compare.compare(model.Statistic(2, 1.0, 1.0, t=(-1.0, 3.0), bootstrap=(0.5, 1.5)))
        self.assertEqual(compare.phrase(unclear), "faster or slower, which cannot be told (0.33 and more times faster)")

    def test_an_interval_that_is_wide_is_not_called_the_same(self):
        for bounds, words in (((0.9, 1.1), "as fast, as far as can be seen, here (0.91–1.11 times faster)"),
                              ((0.5, 1.5), "faster or slower, which cannot be told here (0.7–2.0 times faster)")):
            found = compare.compare(model.Statistic(5, 1.0, 1.0, bounds, bounds))
            self.assertEqual(compare.phrase(found, where=" here"), words)

    def test_a_bound_far_away_has_no_decimals(self):
        found = compare.compare(model.Statistic(2, 0.504, 0.504, (0.43, 0.58), (0.0125, 0.996)))
        self.assertEqual(compare.phrase(found), "1.984 times (1.004–80) faster")

    def test_a_claim_never_reads_as_no_difference(self):
        found = compare.compare(model.Statistic(9, 0.99, 0.99, (0.985, 0.999), (0.985, 0.998)))
        self.assertEqual(compare.phrase(found), "1.010 times (1.001–1.015) faster")

    def test_two_statistics_are_apart_where_no_interval_of_theirs_overlaps(self):
        low, high = ratio([1.0, 1.1, 1.2]), ratio([2.0, 2.1, 2.2])
        self.assertEqual((compare.between(low, high), compare.between(high, low)), ("higher", "lower"))
        self.assertEqual(compare.between(low, ratio([1.15, 1.3])), "same")
        wide = model.Statistic(2, 1.5, 1.5, t=(0.5, 2.5), bootstrap=(1.4, 1.6))
        self.assertEqual(compare.between(low, wide), "same")
        self.assertIsNone(compare.between(low, ratio([3.0])))
        self.assertIsNone(compare.between(None, low))

    def test_percent_and_factor(self):
        self.assertAlmostEqual(compare.from_less_pct(50), 2)
        self.assertAlmostEqual(compare.less_pct(compare.from_less_pct(85)), 85)


class Sentences(unittest.TestCase):
    def workloads(self, gains, **options):
        return said("workloads", reportkit.workloads(reportkit.Maker(**options), MPICH, gains))

    def test_a_gain_is_told_with_the_paper_beside_it(self):
        text = self.workloads((1.3, 2.1, 1.0))
        self.assertRegex(text, r"^Under MPICH, Workload 1 responds 1\.\d+ times \(.*\) faster coscheduled than uncoo")
        self.assertRegex(text, r"Workload 2 responds 2\.1 times \(2\.\d–2\.\d\) faster \(the paper saw 2\.0 times\)")
        self.assertNotRegex(text, r"Workload 3 responds [0-9.]+ times \([0-9.–]+\) (faster|slower)")

    def test_a_loss_is_told_as_a_loss(self):
        text = self.workloads((1.3, 0.5, 1.0))
        self.assertRegex(text, r"Workload 2 responds \d\.\d+ times \(.*\) slower")
        self.assertNotRegex(text, r"Workload 2 responds [^;]* faster")

    def test_no_difference_is_said_to_be_none(self):
        text = self.workloads((1.0, 1.0, 1.0), noise=0.2)
        self.assertEqual(text.count("no difference can be seen"), 3)

    def test_equality_is_said_where_it_was_measured(self):
        self.assertIn("Workload 3 responds practically as fast", self.workloads((1.3, 2.1, 1.0), noise=0.004))

    def test_a_single_run_is_said_to_be_one(self):
        self.assertIn("may be chance", self.workloads((1.3, 2.1, 1.0), runs=1))

    def test_a_missing_ratio_is_said_to_be_missing(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        for row in experiment["rows"]:
            row["ratios"] = {"mean_response_s": None}
        self.assertEqual(said("workloads", experiment).count("there is no comparison"), 3)

    def test_nothing_of_ours_allows_no_statement(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        experiment["rows"] = [row for row in experiment["rows"] if row["scheduler"] != "cosched"]
        self.assertEqual(said("workloads", experiment), "What is there allows no statement yet.")

    def test_the_gain_by_degree_shrinks_grows_or_cannot_be_told(self):
        for gains_, words in (((3.0, 2.4, 1.8, 1.4), "shrinks from degree 2 to degree 5: 3.0 times, then 1.4 times"),
                              ((1.4, 1.8, 2.4, 3.0), "grows from degree 2 to degree 5"),
                              ((2.0, 2.0, 2.0, 2.0), "cannot be told")):
            with self.subTest(gains=gains_):
                self.assertIn(words, said("dom", reportkit.dom(reportkit.Maker(), MPICH, gains_)))

    def test_where_there_is_no_gain_none_shrinks(self):
        for gains_ in ((0.9, 0.8, 0.7, 0.5), (1.0, 0.9, 0.7, 0.5)):
            text = said("dom", reportkit.dom(reportkit.Maker(), MPICH, gains_))
            self.assertIn("slower", text)
            self.assertNotIn("gain", text)

    def test_the_paper_stands_only_beside_its_own_degree(self):
        text = said("dom", reportkit.dom(reportkit.Maker(), MPICH))
        self.assertEqual(text.count("the paper saw 6.7 times"), 1)
        self.assertRegex(text, r"at degree 2 the jobs respond [^;]*the paper saw 6\.7 times")

    def test_the_only_case_so_far_is_named(self):
        def only(name, experiment, wanted):
            rows = [row for row in experiment["rows"] if (row["workload"], row["value"]) == wanted]
            return said(name, {**experiment, "rows": rows})
        self.assertIn("at degree 2 the jobs respond", only("dom", reportkit.dom(reportkit.Maker(), MPICH), ("dom", 2)))
        self.assertIn("Workload 3 responds", only("workloads", reportkit.workloads(reportkit.Maker(noise=0.004), MPICH),
                                                  ("workload-3", None)))

    def test_a_wait_below_what_sharing_allows_is_explained(self):
        experiment = reportkit.batch(reportkit.Maker(noise=0.001), MPICH)
        for row in experiment["rows"]:
            if row.get("ideals"):
                row["ideals"]["mean_wait_s"] = reportkit.statistic([0.6, 0.6, 0.6])
        self.assertIn("would be 0.600 times that in the queue; it is 0.500, as they took less of the nodes' time than in the queue.",
                      said("batch", experiment))
        for row in experiment["rows"]:  # there may be another reason
            if "makespan_s" in row["ratios"]:
                row["ratios"]["makespan_s"] = reportkit.statistic([1.05] * 3)
        self.assertIn("would be 0.600 times that in the queue; it is 0.500.", said("batch", experiment))

    def test_the_batch_names_its_best_setting_and_the_makespan(self):
        text = said("batch", reportkit.batch(reportkit.Maker(noise=0.001), MPICH))
        self.assertRegex(text, r"at best \(degree 2, coscheduled, .*\) the average job waits 2\.0 times .* shorter")
        self.assertRegex(text, r"\(50 % less\); the time until the last job ends is 2\.0 times .* shorter")
        self.assertIn("The paper saw up to 41 % less wait.", text)
        self.assertRegex(text, r"their wait would be 0\.470 times that in the queue; it is 0\.500\.")

    def test_a_worse_batch_is_told_as_worse(self):
        experiment = reportkit.batch(reportkit.Maker(noise=0.001), MPICH)
        for row in experiment["rows"]:
            row["ratios"]["mean_wait_s"] = reportkit.statistic([1.5, 1.6, 1.7])
        text = said("batch", experiment)
        self.assertRegex(text, r"waits 1\.6 times \(.*\) longer than in the queue \(60 % more\)")

    def test_a_parameter_that_matters_and_one_that_does_not(self):
        swept = reportkit.swept(reportkit.Maker(), MPICH, "gmet", "GMET", (0.1, 0.2, 0.4),
                                lambda place, value: 1 + (place == 2) * 0.1 / value)
        text = said("gmet", swept)
        self.assertRegex(text, r"Workload 2 responds fastest with GMET 0\.4 s \(.*\) and slowest with GMET 0\.1 s")
        for place in (1, 3):
            self.assertIn(f"for Workload {place} no effect can be seen", text)

    def guaranteed(self, requests, granted=None):
        """GMET, by the requests of a run and how many of them were granted, at each value."""
        swept = reportkit.swept(reportkit.Maker(), MPICH, "gmet", "GMET", (0.1, 0.2, 0.4),
                                lambda place, value: 1 + (place == 2) * 0.1 / value)
        for row in swept["rows"]:
            row["jobs"] = 8
            if row["value"] is not None:
                place = (0.1, 0.2, 0.4).index(row["value"])
                row["measures"]["requests"] = reportkit.statistic([requests[place]] * 3)
                row["measures"]["granted"] = reportkit.statistic([granted[place]] * 3) if granted else None
        return swept

    def test_nothing_is_said_of_a_guaranteed_time_that_nobody_asked_to_end(self):
        swept = self.guaranteed((0, 19, 1))
        text = said("gmet", swept)
        self.assertEqual(text.count("nothing can be said, since its jobs made hardly any requests (0 to 19 in a run)"), 3)
        self.assertNotIn("fastest", text)
        self.assertEqual(headlines_of("gmet", swept), [f"The guaranteed time: it had next to nothing to limit under MPICH. The paper saw: {GMET_SAYS}."])

    def test_of_a_guaranteed_time_that_was_tried_it_is_said_what_it_refused(self):
        text = said("gmet", self.guaranteed((40, 50, 60), (40, 25, 6)))
        self.assertRegex(text, r"slowest with GMET 0\.1 s \(.*; of 40 to 60 requests in a run, from the lowest value to the highest, 100, 50, 10 % were granted")

    def test_a_parameter_with_single_runs_says_nothing(self):
        swept = reportkit.swept(reportkit.Maker(runs=1), MPICH, "slice", "time-slice", (1.0, 2.0), lambda *_: 1)
        self.assertEqual(said("slice", swept).count("nothing can be said (single pairs have no intervals; 1 pair a value)"), 3)

    def test_values_are_compared_by_their_pairs(self):
        """What one sitting measured twice as slow as another is no effect of the parameter."""
        swept = reportkit.swept(reportkit.Maker(), MPICH, "slice", "time-slice", (0.5, 1.0, 2.0), lambda *_: 1)
        for row in swept["rows"]:
            if row["value"] == 1.0:
                row["measures"]["mean_response_s"] = reportkit.statistic([60.0, 61.0, 62.0])
            if (row["workload"], row["value"]) == ("workload-2", 2.0):  # it had its baseline in another sitting
                row["ratios"]["mean_response_s"] = None
        text = said("slice", swept)
        self.assertIn("by the time over that of uncoordinated in the same repetition and sitting", text)
        for place, pairs in ((1, "5 pairs"), (2, "0 to 5 pairs"), (3, "5 pairs")):
            self.assertIn(f"for Workload {place} no effect can be seen (the intervals of best and worst overlap; {pairs} "
                          "a value)", text)

    def test_without_a_baseline_values_are_compared_by_their_seconds(self):
        swept = reportkit.swept(reportkit.Maker(), MPICH, "gmet", "GMET", (0.1, 0.4), lambda place, value: 1 + (place == 2) * 0.1 / value)
        swept["rows"] = [{**row, "ratios": {}} for row in swept["rows"] if row["scheduler"] == "cosched"]
        text = said("gmet", swept)
        self.assertRegex(text, r"Workload 2 responds fastest with GMET 0\.4 s \([0-9.]+ s\)")
        self.assertNotIn("pair", text)

    def test_single_pairs_do_not_hide_what_others_show(self):
        swept = reportkit.swept(reportkit.Maker(), MPICH, "slice", "time-slice", (0.5, 1.0, 2.0), lambda place, value: value)
        for row in swept["rows"]:
            if row["value"] == 2.0:
                row["ratios"]["mean_response_s"] = reportkit.statistic([0.1])
        self.assertRegex(said("slice", swept), r"Workload 1 responds fastest with time-slice 0\.5 s \(.*?\) and slowest with "
                                               r"time-slice 1 s \(.*?, 2\.\d+ times as long; 1 to 5 pairs a value\)")

    def test_instances_of_one_program_name_the_worst_place_and_count_what_is_certain(self):
        made = reportkit.mpl(reportkit.Maker(noise=0.01), MPICH)
        for text in (said("mpl", made), " ".join(headlines_of("mpl", made))):
            self.assertRegex(text, r"nder MPICH, jobs at worst take 1\.[12][0-9] \(.*\) times .* \(SP, degree 3\)")
            self.assertIn("the intervals are above 1 in 1 of 9 places.", text)

    def test_instances_run_once_claim_nothing_certain(self):
        text = said("mpl", reportkit.mpl(reportkit.Maker(runs=1), MPICH))
        self.assertRegex(text, r"at worst take 1\.[0-9]+ times their time alone")
        self.assertNotIn("intervals", text)

    def test_pairs_name_the_worst(self):
        make = reportkit.Maker(runs=3, noise=0)
        jobs = [make.job("cg.A.2 lu.A.2", None, "mpich", "cosched", name, stretch)
                for name, stretch in (("cg.A.2", 1.5), ("lu.A.2", 1.01))]
        jobs.append(make.job("lu.A.2 lu.A.2", None, "mpich", "cosched", "lu.A.2", 1.02))
        text = said("pairs", reportkit.experiment([], jobs) | {"rows": [
            make.row("cg.A.2 lu.A.2", None, "mpich", "cosched", 20, 0.5)]})
        self.assertIn("1.02 in the middle and 1.50 at worst coscheduled (cg.A.2 beside lu.A.2)", text)

    def test_what_cannot_be_trusted_is_told(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        self.assertEqual(sentences.quality(one("workloads", experiment)), [])
        experiment["rows"][1]["unverified"] = 2
        experiment["rows"][2]["disturbed"] = 1
        experiment["rows"][1]["hung_in_finalize"] = 3
        experiment["rows"][2]["hung_in_finalize"] = 0
        text = " ".join(sentences.quality(one("workloads", experiment)))
        self.assertIn("2 jobs of this experiment did not verify", text)
        self.assertIn("in no figure", text)
        self.assertIn("Workload 1 uncoordinated under MPICH", text)
        self.assertIn("1 run of this experiment", text)
        self.assertNotIn("that count were disturbed", text)
        experiment["rows"][2]["counted_disturbed"] = 1
        self.assertRegex(" ".join(sentences.quality(one("workloads", experiment))), r"\b1 of the \d+ runs that count were disturbed each time")
        self.assertIn("hung in MPI_Finalize after they had verified (MPICH uncoordinated 3 times)", text)
        single = sentences.quality(one("workloads", reportkit.workloads(reportkit.Maker(runs=1), MPICH)))
        self.assertIn("single run", " ".join(single))

    def test_reservations_end_the_clause(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        torn = {"n": 3, "median": 0.5, "mean": 0.6, "t": [0.2, 1.1], "bootstrap": [0.4, 0.9]}
        for row in experiment["rows"]:
            row["ratios"]["mean_response_s"] = torn
        self.assertIn("Workload 1 responds perhaps 2.00 times (0.91–5.00) faster coscheduled than uncoordinated, but "
                      "only one of the two intervals", said("workloads", experiment))

    def test_intervals_on_both_sides_of_1_tell_nothing(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        for row in experiment["rows"]:
            row["ratios"]["mean_response_s"] = {"n": 21, "median": 0.98, "mean": 1.16, "t": [1.05, 1.27], "bootstrap": [0.975, 0.985]}
        text = said("workloads", experiment)
        self.assertIn("Workload 1", text)
        self.assertNotIn("1.02 times (", text)

    def test_a_script_of_a_like_name_is_not_ours(self):
        self.assertEqual([names.is_cosched(name) for name in ("cosched", "cosched@1s", "cosched:dcs", "cosched+a.b=c", "coscheduler")],
                         [True] * 4 + [False])

    def test_workloads_named_after_their_experiment_lose_its_name(self):
        rows, jobs = reportkit.compared(reportkit.Maker(), MPICH, [(f"mixed {name}+hog", None, 30.0, 1.8)
                                                                   for name in ("cg", "lu")])
        text = said("mixed", reportkit.experiment(rows, jobs))
        self.assertRegex(text, r"Under MPICH, cg\+hog responds .*; lu\+hog responds")


class Headlines(unittest.TestCase):
    def test_both_mpis_are_in_one_line(self):
        for name, experiment in reportkit.complete()[0]["experiments"].items():
            text = " ".join(headlines_of(name, experiment))
            with self.subTest(experiment=name):
                self.assertIn("MPICH", text)
                self.assertIn("Open MPI", text)

    def test_what_is_the_same_is_said_once(self):
        experiment = reportkit.experiment(*reportkit.compared(reportkit.Maker(noise=0), BOTH,
                                                              [("quick", None, 20.0, 2.0)]))
        self.assertEqual(headlines_of("quick", experiment),
                         ["A quick look: coscheduled instead of uncoordinated, the jobs respond 2.0 times (2.0–2.0) "
                          "faster under MPICH and Open MPI."])

    def test_the_best_case_is_said_to_be_that_and_the_worst_stands_beside_it(self):
        rows, jobs = reportkit.compared(reportkit.Maker(noise=0.001), MPICH, [
            (f"mixed {name}+hog", None, 30.0, gain) for name, gain in (("cg", 3.0), ("ep", 1.0), ("lu", 0.6))])
        first, second = headlines_of("mixed", reportkit.experiment(rows, jobs))
        self.assertRegex(first, r", at best cg\+hog responds 3\.0 times .* faster")
        self.assertRegex(second, r", at worst lu\+hog responds 1\.7 times .* slower")

    def test_each_statement_of_the_paper_has_its_line(self):
        lines = headlines_of("workloads", reportkit.workloads(reportkit.Maker(), MPICH))
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[1], r"Workload 2 responds 2\.1 times .* The paper saw: 2\.0 times faster \(50 %")
        self.assertIn("The paper saw: almost identical.", lines[2])

    def test_a_parameter_without_effect_is_said_to_have_none(self):
        swept = reportkit.swept(reportkit.Maker(), MPICH, "gmet", "GMET", (0.1, 0.2), lambda *_: 1)
        self.assertEqual(headlines_of("gmet", swept),
                         [f"The guaranteed time: it makes no difference that can be seen under MPICH. The paper saw: {GMET_SAYS}."])
        for row in swept["rows"]:
            if row["workload"] != "workload-2" and row["scheduler"] == "cosched":
                row["ratios"]["mean_response_s"] = None
        self.assertEqual(headlines_of("gmet", swept),
                         ["The guaranteed time: it makes no difference that can be seen for Workload 2 under MPICH. "
                          f"The paper saw: {GMET_SAYS}."])

    def test_a_parameter_with_single_pairs_is_said_to_tell_nothing(self):
        swept = reportkit.swept(reportkit.Maker(), MPICH, "slice", "time-slice", (0.1, 0.2), lambda *_: 1)
        for row in swept["rows"]:
            if row["scheduler"] == "cosched":
                row["ratios"]["mean_response_s"] = reportkit.statistic([0.5])
        line, = headlines_of("slice", swept)
        self.assertTrue(line.startswith("The time-slice: it was measured too rarely to say anything under MPICH. The paper saw:"))

    def test_nothing_comparable_has_no_line(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        for row in experiment["rows"]:
            row["ratios"] = {}
        self.assertEqual(headlines_of("workloads", experiment), [])


if __name__ == "__main__":
    unittest.main()
