"""bench/report without gnuplot: what it chooses to draw and to tabulate, and where on the page it goes."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

import reportkit  # noqa: E402
from report import blocks, cli, experiments, figures, gantts, model, names, pages, sections, tables  # noqa: E402
from report.draw import bars, canvas, gains, gantt, lines, matrix, shapes, svg  # noqa: E402

with open(cli.PAPER, encoding="utf-8") as file:
    PAPER = json.load(file)
MPICH = ("mpich",)


def results(summary):
    return model.results(summary, reportkit.ENVIRONMENT)


def one(name, experiment):
    """model.Experiment of a made-up one."""
    return results({"format": 1, "complete": True, "experiments": {name: experiment}}).experiments[name]


class Selection(unittest.TestCase):
    def test_jobs_alone_are_no_case(self):
        found = one("dom", reportkit.dom(reportkit.Maker(), MPICH))
        self.assertEqual(experiments.cases(found), [("dom", degree) for degree in (2, 3, 4, 5)])
        self.assertEqual(experiments.case_label(found, ("dom", 3)), "degree 3")

    def test_a_fixed_scheduler_is_a_bar_or_a_level(self):
        found = one("batch", reportkit.batch(reportkit.Maker(), MPICH))
        drawn = figures.of(found, experiments.kind("batch"), PAPER["experiments"]["batch"])
        self.assertEqual(drawn[0].shape.panels[0].categories, ("queue (FCFS)", "degree 2", "degree 3", "degree 5"))
        swept = one("gmet", reportkit.swept(reportkit.Maker(), MPICH, "gmet", "GMET", (0.1, 0.2), lambda *_: 1))
        lines_, = figures.of(swept, experiments.kind("gmet"), PAPER["experiments"]["gmet"])
        self.assertEqual([panel.title for panel in lines_.shape.panels],
                         [f"MPICH, Workload {place}" for place in (1, 2, 3)])
        self.assertEqual([level.scheduler for level in lines_.shape.panels[0].levels], ["uncoordinated"])

    def test_what_sittings_share_nothing_of_is_drawn_over_the_baseline(self):
        made = reportkit.swept(reportkit.Maker(), MPICH, "slice", "time-slice", (0.5, 1.0), lambda *_: 1)
        for row in made["rows"]:
            if row["scheduler"] == "cosched":  # twice as slow, and so was what it is compared with
                slower = 2 if row["value"] == 1.0 else 1
                row["measures"]["mean_response_s"] = reportkit.statistic([30 * slower] * 3)
                row["ratios"]["mean_response_s"] = reportkit.statistic([0.5] * 3)
        drawn, = figures.of(one("slice", made), experiments.kind("slice"), None)
        self.assertEqual(drawn.shape.title, "Mean response time ÷ uncoordinated")
        for panel in drawn.shape.panels:
            self.assertEqual([point.y for point in panel.points], [0.5, 0.5])
            self.assertAlmostEqual(panel.levels[0].y, 1.0, delta=0.1)
        self.assertIn("ratio to uncoordinated", drawn.table.header)
        for row in made["rows"]:  # a session without the baseline
            row["ratios"] = {}
        drawn, = figures.of(one("slice", made), experiments.kind("slice"), None)
        self.assertEqual(drawn.shape.title, "Mean response time, seconds")
        self.assertEqual([point.y for point in drawn.shape.panels[0].points], [30, 60])

    def test_the_matrix_has_both_of_each_pair(self):
        found = one("pairs", reportkit.pairs(reportkit.Maker(), MPICH))
        drawn, = figures.of(found, experiments.kind("pairs"), None)
        self.assertEqual(drawn.shape.labels, reportkit.KERNELS)
        for panel in drawn.shape.panels:
            self.assertEqual(len(panel.cells), 64)

    def test_the_matrix_names_jobs_of_one_kernel_in_full(self):
        make, jobs = reportkit.Maker(noise=0), []
        for pair, stretches in (("cg.A.2 cg.B.2", (1.1, 1.2)), ("cg.A.2 cg.A.2", (1.3,)), ("cg.A.2 hog.2", (1.4,))):
            jobs += [make.job(pair, None, "mpich", "cosched", name, stretch)
                     for name, stretch in zip(dict.fromkeys(pair.split()), stretches)]
        rows = [make.row("cg.A.2 cg.B.2", None, "mpich", "cosched", 20.0)]
        drawn, = figures.of(one("pairs", reportkit.experiment(rows, jobs)), experiments.kind("pairs"), None)
        cells = {pair: round(value, 3) for pair, value in drawn.shape.panels[0].cells.items()}
        self.assertEqual(cells, {("cg.A.2", "cg.B.2"): 1.1, ("cg.B.2", "cg.A.2"): 1.2, ("cg.A.2", "cg.A.2"): 1.3,
                                 ("cg.A.2", "hog"): 1.4})

    def test_workloads_of_one_value_each_are_no_line(self):
        make = reportkit.Maker()
        rows = [make.row(f"workload-{number}", value, "mpich", "cosched", 20.0 * number) for number, value in ((1, 0.25), (3, 1.0))]
        drawn, = figures.of(one("gmet", reportkit.experiment(rows)), experiments.kind("gmet"), None)
        self.assertEqual([panel.title for panel in drawn.shape.panels], ["MPICH, Workload 1", "MPICH, Workload 3"])

    def test_waits_are_shorter(self):
        rows, jobs = reportkit.compared(reportkit.Maker(), MPICH, [("batch", 2, 30.0, 1.8)])
        drawn = figures.of(one("batch", reportkit.experiment(rows, jobs)), experiments.kind("batch"), None)[-1]
        self.assertTrue(drawn.shape.title.startswith("Mean wait: how many times shorter than"), drawn.shape.title)
        self.assertIn("shorter", drawn.table.rows[0][-1])

    def test_the_axis_label_is_whole_where_it_has_room(self):
        panels = tuple(shapes.Panel(title, (shapes.Point("cosched", 2, 1.0), shapes.Point("cosched", 3, 1.1))) for title in "abc")
        drawn = shapes.Lines(panels, "Title", "degree of multiprogramming")
        script = lines.draw(drawn, 720, names.colours(["cosched"])).script()
        self.assertEqual(script.count("'degree of multiprogramming'"), 3)
        self.assertIn("point pointtype 7", script)  # in the key, too

    def test_an_unknown_experiment_has_a_table(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        found = sections.report(results({"format": 1, "complete": True, "experiments": {"../new": experiment}}), [], [],
                                PAPER)
        self.assertEqual([block for block in found if isinstance(block, blocks.Figure)], [])
        self.assertIn("Experiment ../new", [block.text for block in found if isinstance(block, blocks.Heading)])

    def test_charts_are_of_one_workload_each_with_all_its_schedulers(self):
        entries = [model.GanttEntry(experiment, workload, value, mpi, scheduler, "x") for experiment, workload, value in
                   (("dom", "dom", 2), ("workloads", "workload-1", None), ("workloads", "workload-2", None))
                   for mpi in ("openmpi", "mpich") for scheduler in ("cosched", "uncoordinated")]
        entries += [model.GanttEntry("batch", "batch", None, "mpich", "fcfs", "x"),
                    *(model.GanttEntry("batch", "batch", degree, "mpich", "cosched", "x") for degree in (2, 10, 5))]
        first, batch = gantts.choose(entries)
        self.assertEqual([(entry.workload, entry.mpi, entry.scheduler) for entry in first],
                         [("workload-2", "mpich", "uncoordinated"), ("workload-2", "mpich", "cosched")])
        self.assertEqual([(entry.scheduler, entry.value) for entry in batch], [("fcfs", None), ("cosched", 10)])
        self.assertEqual(gantts.choose([]), [])

    def test_each_scheduler_of_a_session_is_drawn(self):
        def entries(experiment, workload, mpi, *schedulers):
            return [model.GanttEntry(experiment, workload, None, mpi, scheduler, "x") for scheduler in schedulers]
        found = [*entries("pairs", "cg ep", "mpich", "gang", "uncoordinated", "cosched"),
                 *entries("mixed", "mixed cg", "mpich", "uncoordinated", "cosched"),
                 *entries("mixed", "mixed cg", "openmpi", "uncoordinated", "yield", "cosched"),
                 *entries("workloads", "workload-2", "openmpi", "uncoordinated", "cosched"),
                 *entries("workloads", "workload-2", "mpich", "cosched:dcs")]
        chosen = gantts.choose(found)
        self.assertEqual([(group[0].experiment, group[0].mpi, [entry.scheduler for entry in group]) for group in chosen],
                         [("workloads", "openmpi", ["uncoordinated", "cosched"]),
                          ("workloads", "mpich", ["cosched:dcs"]),
                          ("mixed", "openmpi", ["uncoordinated", "yield", "cosched"]),
                          ("pairs", "mpich", ["uncoordinated", "gang", "cosched"])])

    def test_charts_of_one_experiment_are_files_of_their_own(self):
        chart = model.gantt(reportkit.gantt(), "x")
        groups = [[(model.GanttEntry("workloads", "workload-2", None, mpi, "cosched", "x"), chart)] for mpi in ("mpich", "openmpi")]
        made = one("workloads", reportkit.workloads(reportkit.Maker(), MPICH))
        found = sections.report(model.Results(True, {"workloads": made}, (), None, {}), groups, [], PAPER)
        self.assertEqual([figure.name for figure in pages.figures_in(found) if figure.name.startswith("gantt")],
                         ["gantt-workloads", "gantt-workloads-2"])

    def test_charts_say_of_which_value_they_are(self):
        chart = model.gantt(reportkit.gantt(), "x")
        entries = [model.GanttEntry("batch", "batch", value, "mpich", scheduler, "x")
                   for value, scheduler in ((None, "fcfs"), (2, "cosched@1s"), (5, "cosched@500ms"))]
        titles = [panel.title for panel in gantts.figure([(entry, chart) for entry in entries]).shape.panels]
        self.assertEqual([title.rpartition(", ")[2] for title in titles], ["queue (FCFS)", "degree 2", "degree 5"])

    def test_the_jobs_of_a_workload_are_counted_and_told_once(self):
        summary, _ = reportkit.complete()
        chart = model.gantt({"nodes": 2, "jobs": [{"index": place, "job": job} for place, job in enumerate(
            ["lu.A.2", "cg.A.2", "cg.A.2", "hog.2"])]}, "x")
        entries = [model.GanttEntry("batch", "batch", value, "mpich", scheduler, "x")
                   for value, scheduler in ((None, "fcfs"), (2, "cosched@1s"), (3, "cosched@1s"), (5, "cosched@1s"))]
        chosen = gantts.rosters(entries)
        self.assertEqual(len(chosen), 4)
        found = sections.report(results(summary), [], [(entry, chart.jobs) for entry in chosen], PAPER)
        table, = [block for block in found if isinstance(block, blocks.Table) and block.header[0] == "workload"]
        told = [row for row in table.rows if row[0].startswith("Against a queue")]
        self.assertEqual(told, [("Against a queue: batch", "-", "lu.A.2, cg.A.2 (2), hog.2")])
        self.assertIn("hog.2 is a process", " ".join(block.text for block in found if isinstance(block, blocks.Paragraph)))

    def test_pairs_are_summed_up(self):
        rows = [{"workload": f"a b{place}", "value": None, "mpi": "mpich", "scheduler": "cosched", "alone": False, "runs": 1,
                 "measures": {"mean_fair_stretch": reportkit.statistic([1.0 + place / 10])}} for place in range(10)]
        table = tables.of_pairs(one("pairs", {"baseline": "uncoordinated", "rows": rows, "jobs": []}))
        self.assertEqual(table.rows, (("MPICH", "coscheduled", "10", "1.45", "1.80", "1.90", "2"),))
        self.assertIsNone(tables.of_pairs(one("pairs", {"baseline": "uncoordinated", "rows": [], "jobs": []})))

    def test_what_stretch_is_reckoned_with_has_none_of_its_own(self):
        self.assertEqual({row[1] for row in tables.stretch_overview([one("mixed", reportkit.experiment(*reportkit.compared(
            reportkit.Maker(), MPICH, [("mixed cg", None, 30.0, 1.8)])))]).rows} & {"alone"}, set())

    def test_the_paper_s_tables_stand_beside_our_jobs(self):
        summary, _ = reportkit.complete()
        found = sections.report(results(summary), [], [], PAPER)
        table, = [block for block in found if isinstance(block, blocks.Table) and block.header[0] == "workload"]
        cells = {row[0]: row[1:] for row in table.rows}
        self.assertEqual(cells["degree 2 (Table 3)"], ("sp.A.16, sp.A.9", "cg.A.2*5, ep.A.2*2"))
        self.assertIn("lu.A.2 (2)", cells["Workload 2 (Table 2)"][0])

    def test_every_figure_has_its_numbers_with_both_intervals_and_runs(self):
        summary, _ = reportkit.complete()
        found = results(summary)
        for experiment in found.experiments.values():
            kind = experiments.kind(experiment.name)
            table = tables.of_measure(experiment, kind.measure)
            for name in ("90 % (bootstrap)", "90 % (Student's t)", "n", "disturbed", "not verified"):
                self.assertIn(name, table.header)
            self.assertEqual(len(table.rows), len(experiment.rows))
            for figure in figures.of(experiment, kind, PAPER["experiments"].get(experiment.name)):
                self.assertTrue(figure.alt and figure.table.rows, figure.name)
                self.assertTrue(all(len(row) == len(figure.table.header) for row in figure.table.rows))


class Geometry(unittest.TestCase):
    def test_the_texts_of_marks_that_have_none_are_left_out(self):
        refined = svg.inline(svg.refine(
            "<svg xmlns='http://www.w3.org/2000/svg'><g><text> <tspan/></text></g><g><text>a</text></g></svg>", "x", "y"))
        self.assertEqual((refined.count("<text"), refined.count("<g>")), (1, 1))

    def test_text_of_others_stays_a_text(self):
        self.assertEqual(canvas.quoted("it's\n`x` \\"), "'it''s `x` \\'")

    def test_long_labels_fit(self):
        for text in ("word " * 40, "x" * 300, "", "a b"):
            for line in canvas.wrapped(text, 60, 11):
                self.assertLessEqual(canvas.width_of(line, 11), 60)
            self.assertLessEqual(len(canvas.wrapped(text, 60, 11)), 3)

    def test_places_are_in_order_and_apart(self):
        for values in ((2, 3, 4, 5), (0.03, 0.07, 0.17, 0.33, 0.67), (0.01, 10, 11, 12), (0, 1, 100)):
            found = lines.places(values, 240)
            pixels = [found[value] for value in sorted(values)]
            self.assertTrue(all(after - before >= 29 for before, after in zip(pixels, pixels[1:])), values)
            self.assertTrue(0 <= pixels[0] and pixels[-1] <= 240)
        self.assertEqual(lines.places([3], 100), {3: 50})

    def test_tics_of_gains_hold_1_and_do_not_touch(self):
        for low, high in ((0.9, 2.3), (0.99, 1.01), (0.05, 300)):
            found = gains.tics_between(low, high, 200)
            self.assertIn(1, found)
            self.assertEqual(found, sorted(found))

    def test_spans_nobody_could_tell_apart_are_joined(self):
        spans = [(0, 0, 0.0, 1.0), (0, 0, 1.001, 2.0), (0, 1, 2.0, 3.0), (1, 0, 0.0, 1.0), (0, 0, 5.0, 6.0)]
        self.assertEqual(gantt.joined(spans, 0.01), [(0, 0, 0.0, 2.0), (0, 0, 5.0, 6.0), (0, 1, 2.0, 3.0),
                                                     (1, 0, 0.0, 1.0)])

    def test_joining_ends_where_there_are_too_many_jobs_and_nodes(self):
        spans = tuple((node, job, 0.0, 1.0) for node in range(130) for job in range(100))
        panel = shapes.GanttPanel("", "cosched", model.Gantt(130, 1.0, (), spans))
        self.assertGreater(gantt.joinable([panel], 1.0 / gantt.DETAIL), 1.0)

    def test_a_hundred_jobs_fit(self):
        for jobs in (100, 10000):
            self.assertLessEqual(jobs * gantt.lane_height(jobs, 2), 650)
        self.assertGreater(gantt.lane_height(2, 2), gantt.lane_height(100, 2))

    def test_numbers_above_bars_do_not_touch(self):
        self.assertEqual([bars.above(value) for value in (0.9771, 9.999, 54.44, 146.2)], ["0.98", "10.0", "54.4", "146"])
        points = tuple(shapes.Point(name, place, 54.4) for place in range(4) for name in ("cosched@1s", "cosched@500ms"))
        for width in (350, 500, 760):
            drawn = bars.draw(shapes.Bars((shapes.Panel("", points, ("a", "b", "c", "d")),), "t"), width, {"cosched": "#000000", "cosched@1s": "#000000", "cosched@500ms": "#000000"})
            left = [float(found) for found in re.findall(r"set label '54.4' at screen ([0-9.]+)", drawn.script())]
            pixels = sorted(width * each for each in left)
            self.assertTrue(all(after - before >= 20 for before, after in zip(pixels, pixels[1:])), (width, pixels))

    def test_of_a_panel_in_parts_each_says_so(self):
        points = tuple(shapes.Point("cosched", place, 1.0) for place in range(12))
        drawn = bars.draw(shapes.Bars((shapes.Panel("MPICH", points, tuple("abcdefghijkl")),), "t"), 350, {"cosched": "#000000", "cosched@1s": "#000000", "cosched@500ms": "#000000"})
        self.assertIn("'MPICH (1 of 3)'", drawn.script())

    def test_a_job_that_waits_is_in_the_legend_of_the_chart(self):
        waiting = dict(reportkit.gantt())
        waiting["jobs"] = [{**job, "start_s": 3.0} for job in waiting["jobs"]]
        for chart, expected in ((reportkit.gantt(jobs=1), False), (waiting, True)):
            panel = shapes.GanttPanel("", "cosched", model.gantt(chart, "x"))
            script = gantt.draw(shapes.GanttChart((panel,), ""), 760, {"cosched": "#000000", "cosched@1s": "#000000", "cosched@500ms": "#000000"}).script()
            self.assertEqual("there, but not started yet" in script, expected)

    def test_a_hog_of_which_nothing_is_recorded_has_a_frame(self):
        recorded = reportkit.gantt(jobs=1)
        recorded["jobs"].append({**recorded["jobs"][0], "index": 1, "job": "hog.2"})
        for chart, expected in ((recorded, True), (reportkit.gantt(jobs=1), False), ({**recorded, "spans": []}, False)):
            found = model.gantt(chart, "x")
            drawn = gantt.draw(shapes.GanttChart((shapes.GanttPanel("", "cosched", found),), ""), 760, {"cosched": "#000000"})
            self.assertEqual("fillstyle empty" in drawn.script(), expected)
            made = one("mixed", reportkit.workloads(reportkit.Maker(), MPICH))
            entry = model.GanttEntry("mixed", "mixed cg", None, "mpich", "cosched", "x")
            said = sections.report(model.Results(True, {"mixed": made}, (), None, {}), [[(entry, found)]], [], PAPER)
            self.assertEqual("A hog has a frame only" in " ".join(block.text for block in said if isinstance(block, blocks.Paragraph)),
                             expected)

    def test_panels_that_lack_a_value_have_its_place(self):
        panels = (shapes.Panel("", tuple(shapes.Point("cosched", x, 1.0) for x in (0.5, 1.0, 2.0))),
                  shapes.Panel("", tuple(shapes.Point("cosched", x, 1.0) for x in (1.0, 2.0))))
        script = lines.draw(shapes.Lines(panels, "", "x"), 760, {"cosched": "#000000"}).script()
        tics = re.findall(r"set xtics \((.*?)\);", script)
        self.assertEqual((len(tics), len(set(tics))), (2, 1))

    def test_cells_can_be_read(self):
        self.assertEqual(matrix.ink(matrix.colour(1.0)), "#010101")
        self.assertEqual(matrix.ink(matrix.colour(3.0)), "#ffffff")
        self.assertEqual(matrix.colour(99), matrix.colour(3.0))
        self.assertEqual(matrix.colour(0.01), matrix.colour(0.5))


if __name__ == "__main__":
    unittest.main()
