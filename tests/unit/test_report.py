"""bench/report without gnuplot: what it reads and rejects, its pages, and what it prints of recorded runs and other sessions."""

import contextlib
import copy
import io
import json
import os
import random
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

import reportkit  # noqa: E402
from report import (ReportError, agreement, blocks, cli, experiments, figures, folder, html, markdown, model,  # noqa: E402
                    names, numbers, pages, sections, tables, together)
from report.draw import gnuplot  # noqa: E402

with open(cli.PAPER, encoding="utf-8") as file:
    PAPER = json.load(file)
MPICH = ("mpich",)


def results(summary, environment=None):
    return model.results(summary, reportkit.ENVIRONMENT if environment is None else environment)


def one(name, experiment):
    """model.Experiment of a made-up one."""
    return results({"format": 1, "complete": True, "experiments": {name: experiment}}).experiments[name]


class Model(unittest.TestCase):
    def test_reads_what_the_contract_says(self):
        summary, _ = reportkit.complete()
        found = results(summary)
        self.assertEqual(list(found.experiments)[:2], ["quick", "workloads"])
        row = found.experiments["dom"].rows[1]
        self.assertEqual((row.value, row.mpi, row.runs), (2, "mpich", 5))
        self.assertEqual(row.measures["mean_response_s"].n, 5)

    def test_nulls_are_absent_figures(self):
        self.assertIsNone(model.statistic(None, "x"))
        self.assertIsNone(model.statistic({"n": 0, "median": None, "mean": None, "t": None, "bootstrap": None}, "x"))
        found = model.statistic({"n": 1, "median": 2, "mean": 2, "t": None, "bootstrap": None}, "x")
        self.assertEqual((found.median, found.t, found.bootstrap), (2, None, None))
        self.assertIsNone(model.statistic({"n": 2, "median": 1, "bootstrap": [None, 2]}, "x").bootstrap)

    def test_rejects_what_it_cannot_be_by_name(self):
        row = {"workload": "w", "value": None, "mpi": "mpich", "scheduler": "cosched", "runs": 1}
        for change, named in (({"runs": "many"}, "runs"), ({"runs": -1}, "runs"), ({"mpi": 3}, "mpi"),
                              ({"measures": [1]}, "measures"), ({"value": {}}, "value"),
                              ({"measures": {"makespan_s": {"median": "x"}}}, "makespan_s.median"),
                              ({"measures": {"makespan_s": {"median": 1, "t": [2, 1]}}}, "makespan_s.t")):
            summary = {"format": 1, "experiments": {"dom": {"rows": [{**row, **change}]}}}
            with self.subTest(change=change), self.assertRaisesRegex(ReportError, rf"dom\.rows\[0\].*{named}"):
                results(summary)

    def test_rejects_another_format(self):
        for summary in ({"format": 2}, {}, [], None, "text"):
            with self.subTest(summary=summary), self.assertRaises(ReportError):
                results(summary)

    def test_a_file_of_a_chart_stays_inside_of_the_folder(self):
        entry = model.GanttEntry("dom", "w", 2, "mpich", "cosched", "../secret.json")
        with self.assertRaisesRegex(ReportError, "outside"):
            folder.read_gantt("/tmp", entry)


class Names(unittest.TestCase):
    def test_every_colour_can_be_seen_on_both_backgrounds(self):
        def luminance(colour):
            parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        for colour in {*names.COLOURS.values(), *names.VARIANTS, *names.SPARE_COLOURS}:
            for background in ("#ffffff", "#14171a"):
                light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 3, (colour, background))

    def test_a_scheduler_keeps_its_colour_whoever_is_beside_it(self):
        many = names.colours(["cosched", "cosched@1s", "uncoordinated", "fcfs", "mine", "yield"])
        few = names.colours(["cosched", "uncoordinated"])
        self.assertEqual({name: many[name] for name in few}, few)
        self.assertEqual(len(set(many.values())), 6)

    def test_variants_have_colours_of_their_own(self):
        found = names.colours(["fcfs", "mine", *(f"cosched@{size}" for size in ("250ms", "500ms", "1s", "2s"))])
        self.assertEqual(len(set(found.values())), 6)

    def test_variants_are_said_in_words(self):
        self.assertEqual(names.scheduler("cosched:dcs@500ms"), "coscheduled by dcs, slice 500 ms")
        self.assertEqual(names.scheduler("cosched@1s"), "coscheduled, slice 1 s")
        self.assertEqual(names.scheduler("cosched+scheduler.strict=yes"), "coscheduled, strict = yes")
        self.assertEqual(names.explanation("cosched:dcs@500ms+scheduler.strict=yes"),
                         "as coscheduled, by policy dcs, each turn of 500 ms, with strict = yes")
        self.assertEqual(names.explanation("mine"), "")
        self.assertEqual(names.scheduler("cosched:dcs@1s+dcs.quantum=5ms+cgroup.period=50ms"),
                         "coscheduled by dcs, slice 1 s, quantum = 5ms, period = 50ms")
        self.assertEqual(names.scheduler("somebody's"), "somebody's")

    def test_ours_comes_last(self):
        self.assertEqual(names.schedulers(["cosched", "zzz", "dedicated", "cosched"]), ["dedicated", "zzz", "cosched"])


class Numbers(unittest.TestCase):
    def test_plain(self):
        for value, text in ((None, "-"), (0, "0"), (61.234, "61.2"), (1.019, "1.02"), (1234.5, "1234"),
                            (0.05, "0.0500"), (2.5e7, "2.5e+07"), (-3.14159, "-3.14")):
            self.assertEqual(numbers.plain(value), text)

    def test_settings_are_short_and_not_wrong(self):
        for value, text in ((1 / 30, "0.033"), (0.25, "0.25"), (0.125, "0.125"), (15.0, "15"), (1 / 3, "0.33"),
                            (1234, "1.23e+03"), ("1s, 2", "1s, 2"), (None, "-")):
            self.assertEqual(numbers.setting(value), text)

    def test_listing(self):
        self.assertEqual([numbers.listing(list("abc"[:size])) for size in range(4)], ["", "a", "a and b", "a, b and c"])


HOSTILE = "<script>alert('1')</script>\"`touch /tmp/owned`$(x)|*_[a](b)\n\x1b[31m&amp;"


class Pages(unittest.TestCase):
    def pages(self, summary, environment=None):
        found = sections.report(results(summary, environment), [], [], PAPER)
        drawings = {figure.name: ("<svg/>", "<svg/>") for figure in pages.figures_in(found)}
        return html.page(found, drawings, ""), markdown.page(found)

    def hostile(self):
        experiment = reportkit.workloads(reportkit.Maker(), (HOSTILE,))
        for row in experiment["rows"] + experiment["jobs"]:
            row["workload"] = HOSTILE
        for row in experiment["jobs"]:
            row["job"] = HOSTILE
        return {"format": 1, "complete": True, "experiments": {"workloads": experiment, HOSTILE: experiment}}

    def test_hostile_names_are_text(self):
        page, text = self.pages(self.hostile(), {HOSTILE: [HOSTILE, {"a": None}]})
        for written in (page, text):
            self.assertNotIn("<script>alert", written)
            self.assertNotIn("\x1b", written)
        self.assertIn("&lt;script&gt;alert(&#x27;1&#x27;)", page)
        self.assertNotIn("[a](b)", text)
        self.assertEqual(set(re.findall("<[^>]*>", text)), {"<details>", "</details>", "<summary>", "</summary>"})

    def test_a_page_loads_nothing(self):
        summary, _ = reportkit.complete()
        page, _ = self.pages(summary)
        self.assertIn("default-src 'none'", page)
        for word in ("http:", "https:", "<script", "<link", "@import", "url("):
            self.assertNotIn(word, page)

    def test_a_stranger_is_told_first_what_it_is_about(self):
        _, text = self.pages(reportkit.complete()[0])
        lead = text.split("\n\n")[1]
        for word in ("nodes", "Coscheduling lets all processes of one job run at the same moment", "2 nodes", "MPICH"):
            self.assertIn(word, lead)

    def test_sections_can_be_reached_even_where_two_have_one_name(self):
        page = html.page([blocks.Heading(1, "T"), blocks.Heading(2, "A"), blocks.Heading(2, "A")], {}, "")
        self.assertEqual(re.findall('href="#(.*?)"', page), re.findall('<h2 id="(.*?)"', page))
        self.assertEqual(len(set(re.findall('id="(.*?)"', page))), 2)

    def test_the_lead_fits_what_was_run(self):
        summary, _ = reportkit.complete(runs=2, mpis=MPICH)
        self.assertIn("MPICH, the library through which", self.pages(summary)[1])
        summary["experiments"] = {"quick": summary["experiments"]["quick"]}
        self.assertNotIn("Beside each result stands", self.pages(summary)[1])

    def test_remarks_are_at_the_top_and_with_the_experiment(self):
        found = sections.report(model.results(reportkit.complete()[0], None, {"mixed": "Not under Open MPI."}), [], [], PAPER)
        top, *rest = re.split("^## ", markdown.page(found), flags=re.MULTILINE)
        self.assertIn("Not under Open MPI.", top)
        self.assertEqual([part.startswith(experiments.kind("mixed").title) for part in rest if "Not under Open MPI." in part],
                         [True])
        with self.assertRaisesRegex(ReportError, "remarks.json.mixed: must be text"):
            model.results(reportkit.complete()[0], None, {"mixed": 1})

    def test_nodes_that_share_cpus_are_told(self):
        summary, _ = reportkit.complete()
        for changed, said in (({}, False), ({"nodes": 4}, True), ({"cpus_per_node": 2}, True),
                              ({"nodes": 4, "hosts": "/hosts.txt"}, False), ({"nodes": "x"}, False)):
            with self.subTest(changed=changed):
                here = {**reportkit.ENVIRONMENT, "options": {**reportkit.ENVIRONMENT["options"], **changed}}
                page, _ = self.pages(summary, here)
                self.assertEqual("4 CPUs together, and the machine had 2" in page, said)

    def test_an_environment_of_any_shape_is_a_table(self):
        self.assertEqual(list(tables.flattened({"a": {"b": [1, None]}, "c": [{"d": True}], "e": []})),
                         [("a · b", "1, not known"), ("c 1 · d", "yes"), ("e", "none")])

    def test_sittings_of_different_commits_are_told(self):
        summary, _ = reportkit.complete()
        here = reportkit.ENVIRONMENT
        for resumed, said in ((None, False), ([], False), ([{**here}], False), ("text", False),
                              ([{**here, "git_commit": "fedcba"}], True)):
            with self.subTest(resumed=resumed):
                page, _ = self.pages(summary, {**here, "resumed": resumed})
                self.assertEqual("had 2 sittings, not all with the same commit (" in page, said)
        page, _ = self.pages(summary, {**here, "resumed": [{**here, "kernel": "9", "git_commit": "x"}]})
        self.assertIn("with the same commit and kernel (", page)
        page, _ = self.pages(summary, {**here, "build": "a", "mpi": {"mpich": "4"}, "resumed":
                                       [{**here, "build": "b", "mpi": {"mpich": "5"}}]})
        self.assertIn("with the same build and MPI (", page)
        page, _ = self.pages(summary, {**here, "cpu": "A", "resumed": [{**here, "cpu": "B"}]})
        self.assertIn("with the same CPU (", page)
        old = {key: value for key, value in here.items() if key != "cpu"}
        self.assertNotIn("not all with the same", self.pages(summary, {**here, "cpu": "A", "resumed": [old]})[0])

    def test_a_machine_whose_memory_is_slow_to_come_by_is_told(self):
        summary, _ = reportkit.complete()
        here = reportkit.ENVIRONMENT
        for known, said in ((here, False), ({**here, "page_us": 2.1}, False), ({**here, "page_us": "9"}, False),
                            ({**here, "page_us": 17.4}, True), ({**here, "page_us": 2.1, "resumed": [{"page_us": 16.8}]}, True)):
            with self.subTest(environment=known):
                self.assertEqual("page took up to 17 microseconds" in self.pages(summary, known)[0], said)

    def test_what_is_incomplete_or_missing_is_said(self):
        page, _ = self.pages({"format": 1, "complete": False,
                              "experiments": {"dom": reportkit.dom(reportkit.Maker(), MPICH)}})
        self.assertIn("incomplete", page)
        self.assertIn("Figure 4 (bench/run_nas.sh batch)", page)
        self.assertNotIn("Figure 3 (bench/run_nas.sh", page)
        page, _ = self.pages(reportkit.complete()[0])
        self.assertNotIn("incomplete", page)

    def test_nothing_at_all_is_said_to_be_nothing(self):
        page, text = self.pages({"format": 1, "complete": False, "experiments": {}})
        for written in (page, text):
            self.assertIn("Nothing has been measured yet", written)

    def test_tables_of_markdown_keep_their_columns(self):
        table = blocks.Table(("a", "b"), (("x|y", ("1", "2")),))
        self.assertEqual(markdown.page([table]), "| a | b |\n|---|---:|\n| x\\|y | 1; 2 |\n")


class Damage(unittest.TestCase):
    """Whatever stands in a summary, there is a report or one clear error."""

    VALUES = (None, 0, -1, 1e300, -1e300, 1e-300, "x", "", [], {}, [1, 2], True, 0.5, 3, "\ud800", 1e18)
    ROUNDS = 40

    def places(self, value, path=()):
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield path + (key,)
            yield from self.places(value[key], path + (key,))

    def damaged(self, experiment, rng):
        found = copy.deepcopy(experiment)
        for _ in range(rng.choice((1, 1, 2, 5, 20))):
            path = rng.choice(list(self.places(found)))
            value = found
            for key in path[:-1]:
                value = value[key]
            value[path[-1]] = rng.choice(self.VALUES)
        return found

    def attempt(self, name, experiment):
        found = results({"format": 1, "complete": True, "experiments": {name: experiment}})
        used = [row.scheduler for row in (*found.experiments[name].rows, *found.experiments[name].jobs)]
        made = sections.report(found, [], [], PAPER)
        for figure in pages.figures_in(made):
            for width in (gnuplot.WIDE_PX, gnuplot.NARROW_PX):
                gnuplot.canvas(figure.shape, width, names.colours(used)).script().encode()
        html.page(made, {figure.name: ("", "") for figure in pages.figures_in(made)}, "").encode()
        markdown.page(made).encode()

    def test_damaged_summaries(self):
        rng = random.Random(1)
        survived = 0
        for name, experiment in reportkit.complete(runs=2, mpis=MPICH)[0]["experiments"].items():
            experiment = {**experiment, "rows": experiment["rows"][:12], "jobs": experiment["jobs"][:6]}
            for _ in range(self.ROUNDS):
                try:
                    self.attempt(name, self.damaged(experiment, rng))
                    survived += 1
                except ReportError:
                    pass
        self.assertGreater(survived, self.ROUNDS)


class Agreement(unittest.TestCase):
    """--against"""

    def session(self, ratios, response_s=20.0, runs=3, scheduler="cosched"):
        """A session whose ratios of mean response are `ratios`."""
        make = reportkit.Maker(runs, noise=0.0)
        baseline = make.row("quick", None, "mpich", "uncoordinated", response_s, 1.0)
        row = make.row("quick", None, "mpich", scheduler, response_s)
        row["measures"]["mean_stretch"] = baseline["measures"]["mean_stretch"] = reportkit.statistic([1.0] * runs)
        row["ratios"]["mean_response_s"] = reportkit.statistic(ratios)
        return results({"format": 1, "complete": True,
                        "experiments": {"quick": reportkit.experiment([baseline, row])}})

    def overlaps(self, here, there):
        return [figure.overlaps for figure in agreement.compare(here, there)
                if figure.name == "mean response time / uncoordinated"]

    def test_ratios_are_compared_by_their_intervals(self):
        here = self.session([0.70, 0.72, 0.74])
        self.assertEqual([True], self.overlaps(here, self.session([0.71, 0.74, 0.77])))
        self.assertEqual([False], self.overlaps(here, self.session([0.90, 0.91, 0.92])))
        self.assertEqual([False], self.overlaps(self.session([0.90, 0.91, 0.92]), here))

    def test_another_speed_of_the_machine_is_no_difference(self):
        here, there = self.session([0.7, 0.8, 0.9]), self.session([0.7, 0.8, 0.9], response_s=40.0)
        self.assertEqual({True}, {figure.overlaps for figure in agreement.compare(here, there)})

    def test_single_runs_are_told_and_not_counted(self):
        figures = agreement.compare(self.session([0.7], runs=1), self.session([0.9], runs=1))
        self.assertEqual({None}, {figure.overlaps for figure in figures})
        self.assertIn("No interval", agreement.verdict(figures))
        self.assertIn("one run", agreement.rows(figures)[-1])

    def test_every_figure_that_both_have_is_there_once(self):
        summary, _ = reportkit.complete()
        figures = agreement.compare(results(summary), results(summary))
        self.assertEqual(f"{len(figures)} of {len(figures)} figures agree: their 90 % intervals overlap.",
                         agreement.verdict(figures))
        keys = [(figure.experiment, figure.case, figure.mpi, figure.scheduler, figure.name) for figure in figures]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertLessEqual({"quick", "workloads", "dom", "batch", "pairs", "mixed"}, {key[0] for key in keys})
        self.assertNotIn("dedicated", {key[3] for key in keys})
        del summary["experiments"]["pairs"]
        self.assertLess(len(agreement.compare(results(reportkit.complete()[0]), results(summary))), len(figures))

    def test_nothing_in_common_is_an_error(self):
        with self.assertRaisesRegex(ReportError, "--against: .*no figure in common"):
            agreement.compare(self.session([0.7, 0.8]), results({"format": 1, "experiments": {}}))

    def test_the_status_tells(self):
        with tempfile.TemporaryDirectory() as top:
            paths = {}
            for name, ratio in (("here", 0.7), ("same", 0.72), ("other", 1.4)):
                make = reportkit.Maker(5)
                rows = [make.row("quick", None, "mpich", who, 20.0, which)
                        for who, which in (("uncoordinated", 1.0), ("cosched", ratio))]
                paths[name] = reportkit.write(os.path.join(top, name), {
                    "format": 1, "complete": True, "experiments": {"quick": reportkit.experiment(rows)}})
            for other, status in (("same", 0), ("other", 1)):
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    self.assertEqual(status, cli.main([paths["here"], "--against", paths[other]]))
                self.assertEqual(status, said.getvalue().count("NO") and 1)
                self.assertFalse(os.path.exists(os.path.join(paths["here"], "report.html")))


class Together(unittest.TestCase):
    """--together"""

    @staticmethod
    def chart(*spans):
        return model.gantt({"nodes": 2, "duration_s": 9.0, "jobs": [], "spans": [
            dict(zip(("node", "job", "from_s", "to_s"), span)) for span in spans]}, "x")

    def test_what_a_job_has_of_one_node_alone_counts(self):
        chart = self.chart((0, 7, 1.0, 3.0), (1, 7, 1.5, 3.25), (0, 8, 3.0, 4.0))
        self.assertAlmostEqual(together.apart_s(chart), 0.5 + 0.25)
        self.assertAlmostEqual(together.held_s(chart), 2.0 + 1.75 + 1.0)

    def test_nodes_that_follow_each_other_are_apart(self):
        self.assertAlmostEqual(together.apart_s(self.chart((0, 1, 0.0, 1.0), (1, 1, 1.0, 2.0))), 2.0)
        self.assertAlmostEqual(together.apart_s(self.chart((0, 1, 0.0, 1.0), (0, 1, 1.0, 2.0), (1, 1, 0.0, 2.0))), 0.0)

    def test_of_three_nodes_two_count_twice(self):
        chart = self.chart((0, 1, 0.0, 1.0), (1, 1, 0.0, 1.0), (2, 1, 0.0, 0.25))
        self.assertAlmostEqual(together.apart_s(chart), 1.5)

    def test_each_recorded_run_has_a_line(self):
        summary, charts = reportkit.complete()
        with tempfile.TemporaryDirectory() as top:
            path = reportkit.write(os.path.join(top, "all"), summary, charts)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(cli.main([path, "--together"]), 0)
            self.assertFalse(os.path.exists(os.path.join(path, "report.html")))
        with_spans = sum(bool(chart["spans"]) for chart in charts.values())
        self.assertEqual(len(said.getvalue().splitlines()), 1 + with_spans)
        self.assertIn("0.5%", said.getvalue())  # the second node is 10 ms late, of 1970

    def test_nothing_recorded_is_an_error(self):
        with tempfile.TemporaryDirectory() as top:
            path = reportkit.write(os.path.join(top, "none"), {"format": 1, "complete": True, "experiments": {}})
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(cli.main([path, "--together"]), 1)
        self.assertRegex(said.getvalue(), r"\Areport: .*no run that was recorded")


if __name__ == "__main__":
    unittest.main()
