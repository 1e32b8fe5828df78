"""bench/report with a real gnuplot: what it writes, from whole, partial and hostile results, and what it does about bad
ones. Needs gnuplot, no root."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "unit"))

import reportkit  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n"
MPICH = ("mpich",)
HOSTILE = "<b>&amp;\"it's\" `touch OWNED` $(touch OWNED) @x {y}^_ \\n %s ; system 'touch OWNED'\n!touch OWNED\x1b\ud800"


def run(folder):
    return subprocess.run([os.path.join(ROOT, "bench", "run_report.sh"), folder], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, check=False)


def summary_of(**experiments):
    return {"format": 1, "complete": True, "experiments": experiments, "gantt": []}


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-report-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def made(self, summary, charts=None, **options):
        """The text of report.html."""
        reportkit.write(self.folder, summary, charts, **options)
        done = run(self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        with open(self.path("report.html"), encoding="utf-8") as file:
            return file.read()

    def figures(self):
        return sorted(os.path.splitext(name)[0] for name in os.listdir(self.path("figures")) if name.endswith(".svg"))

    def check_figures(self):
        """Each SVG is sound and takes the page's colours; each has its PNG."""
        for name in self.figures():
            root = ElementTree.parse(self.path("figures", f"{name}.svg")).getroot()
            with self.subTest(figure=name):
                self.assertEqual(root.get("role"), "img")
                self.assertTrue(root.get("aria-label"))
                texts = [element for element in root.iter() if element.tag.endswith("}text")]
                self.assertGreater(len(texts), 3)
                written = ElementTree.tostring(root, encoding="unicode")
                self.assertIn('fill="currentColor"', written)
                self.assertNotRegex(written, r"rgb\(\s*0,\s*0,\s*[01]\)|#000000|\"black\"")
                with open(self.path("figures", f"{name}.png"), "rb") as file:
                    head = file.read(24)
                self.assertEqual(head[:8], PNG)
                page = [float(size) for size in root.get("viewBox").split()[2:]]
                self.assertEqual(struct.unpack(">II", head[16:]), tuple(int(2 * size) for size in page))

    def test_everything_is_drawn(self):
        page = self.made(*reportkit.complete(runs=3))
        self.assertEqual(self.figures(), sorted([
            "quick", "quick-gain", "workloads", "workloads-gain", "dom", "dom-gain", "batch", "batch-gain", "gmet",
            "slice", "pairs", "mixed", "mixed-gain", "mpl", "gantt-workloads", "gantt-batch"]))
        self.check_figures()
        for name in self.figures():
            self.assertIn(f'<figure id="{name}">', page)
        ids = re.findall(r'\bid="([^"]+)"', page)
        self.assertEqual(len(ids), len(set(ids)), "an id stands twice")
        with open(self.path("report.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(sorted(re.findall(r"\]\(figures/(.*?)\.svg\)", text)), self.figures())

    def test_texts_of_a_figure_are_those_of_the_data(self):
        self.made(summary_of(workloads=reportkit.workloads(reportkit.Maker(), MPICH)))
        root = ElementTree.parse(self.path("figures", "workloads.svg")).getroot()
        texts = " ".join(" ".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text"))
        for text in ("Mean response time, seconds", "MPICH", "Workload 2", "coscheduled", "uncoordinated"):
            self.assertIn(text, texts)

    def test_one_run_has_no_intervals(self):
        page = self.made(summary_of(dom=reportkit.dom(reportkit.Maker(runs=1), MPICH)))
        self.assertEqual(self.figures(), ["dom", "dom-gain"])
        self.assertIn("single run", page)

    def test_nulls_leave_gaps(self):
        experiment = reportkit.workloads(reportkit.Maker(), MPICH)
        for row in experiment["rows"]:
            if row["workload"] == "workload-2" or row["scheduler"] == "cosched":
                row["measures"] = {name: None for name in row["measures"]}
                row["ratios"] = {"mean_response_s": None}
        self.made(summary_of(workloads=experiment))
        self.assertEqual(self.figures(), ["workloads"])
        for row in experiment["rows"]:
            row["measures"] = {}
        self.made(summary_of(workloads=experiment))
        self.assertEqual(self.figures(), [])

    def test_a_session_that_just_began(self):
        page = self.made({"format": 1, "complete": False, "experiments": {}, "gantt": []}, environment=None)
        self.assertIn("Nothing has been measured yet", page)
        self.assertIn("environment.json is missing", page)
        self.assertEqual(self.figures(), [])

    def test_a_missing_chart_is_left_out(self):
        summary, _ = reportkit.complete(runs=2, mpis=MPICH)
        self.made(summary)
        self.assertNotIn("gantt-workloads", self.figures())

    def test_hostile_names_reach_no_shell_and_no_markup(self):
        make = reportkit.Maker()
        experiment = reportkit.dom(make, (HOSTILE,))
        for row in experiment["rows"] + experiment["jobs"]:
            row["workload"] = row["job"] = HOSTILE
        experiment["rows"] += [make.row(HOSTILE, 2, HOSTILE, HOSTILE, 30, 0.5)]
        experiment["parameter"] = {"name": HOSTILE, "label": HOSTILE, "unit": HOSTILE}
        pairs = reportkit.pairs(make, (HOSTILE,))
        for row in pairs["jobs"]:
            row["job"] = HOSTILE + row["job"]
        chart = reportkit.gantt()
        chart["jobs"][0]["job"] = HOSTILE
        summary = summary_of(dom=experiment, pairs=pairs, workloads=experiment, **{HOSTILE: experiment})
        summary["gantt"] = [{"experiment": HOSTILE, "workload": HOSTILE, "value": None, "mpi": HOSTILE,
                             "scheduler": HOSTILE, "file": "gantt/x.json"}]
        page = self.made(summary, {"gantt/x.json": chart})
        self.check_figures()
        self.assertIn("gantt-run", self.figures())
        self.assertNotIn("<b>", page)
        left = [name for _, folders, files in os.walk(self.folder) for name in folders + files]
        self.assertNotIn("OWNED", left)

    def test_many_jobs_and_many_spans_stay_small(self):
        chart = reportkit.gantt(jobs=100, duration_s=1500.0)
        chart["spans"] = [{"node": node, "job": place % 100, "from_s": place / 40, "to_s": place / 40 + 0.02}
                          for place in range(60000) for node in (0, 1)]
        summary = summary_of(batch=reportkit.batch(reportkit.Maker(), MPICH))
        summary["gantt"] = [{"experiment": "batch", "workload": "batch", "value": 2, "mpi": "mpich",
                             "scheduler": "cosched@1s", "file": "gantt/x.json"}]
        self.made(summary, {"gantt/x.json": chart})
        self.assertIn("gantt-batch", self.figures())
        with open(self.path("figures", "gantt-batch.svg"), encoding="utf-8") as file:
            self.assertIn("but for gaps below", file.read())
        self.assertLess(os.path.getsize(self.path("report.html")), 8e6)

    def test_made_again_nothing_old_is_left(self):
        self.made(*reportkit.complete(runs=2, mpis=MPICH))
        self.made(summary_of(dom=reportkit.dom(reportkit.Maker(), MPICH)))
        self.assertEqual(self.figures(), ["dom", "dom-gain"])
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_bad_input_is_one_line_and_leaves_what_was_there(self):
        self.made(summary_of(dom=reportkit.dom(reportkit.Maker(), MPICH)))
        before = sorted((name, os.stat(self.path(name)).st_mtime_ns) for name in os.listdir(self.folder))
        dom = reportkit.dom(reportkit.Maker(), MPICH)
        broken = {**dom, "rows": [{**dom["rows"][0], "runs": "x"}]}
        entry = {"experiment": "dom", "workload": "dom", "value": 2, "mpi": "mpich", "scheduler": "cosched"}
        for text, named in (("{", "summary.json"), ('{"format": 1, "experiments": {"x": NaN}}', "NaN"),
                            ("[" * 100000, "summary.json"), ('"\\ud800"', "summary.json"),
                            (summary_of(dom=broken), "dom.rows[0]"), ({"format": 9}, "format"),
                            ({**summary_of(dom=dom), "gantt": [{**entry, "file": "/etc/passwd"}]}, "outside"),
                            ({**summary_of(dom=dom), "gantt": [{**entry, "file": "report.md"}]}, "report.md")):
            with open(self.path("summary.json"), "w", encoding="utf-8") as file:
                file.write(text if isinstance(text, str) else json.dumps(text))
            done = run(self.folder)
            with self.subTest(named=named):
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rf"\Areport: .*{re.escape(named)}.*\n\Z")
                after = sorted((name, os.stat(self.path(name)).st_mtime_ns) for name in os.listdir(self.folder)
                               if name != "summary.json")
                self.assertEqual(after, [item for item in before if item[0] != "summary.json"])

    def test_what_lies_in_the_current_folder_is_not_run(self):
        with open(self.path("report.py"), "w", encoding="utf-8") as file:
            file.write("raise SystemExit(9)")
        self.made({"format": 1, "complete": True, "experiments": {}})

    def test_no_folder_no_summary_no_argument(self):
        for folder in (self.path("none"), self.folder):
            done = subprocess.run([os.path.join(ROOT, "bench", "run_report.sh"), folder], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Areport: .*bench/run_nas\.sh left\n\Z")
        for arguments in ([], ["a", "b", "c"], ["a", "--against"], ["a", "--together", "b"]):
            done = subprocess.run([os.path.join(ROOT, "bench", "run_report.sh"), *arguments], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--help", done.stderr)


if __name__ == "__main__":
    if shutil.which("gnuplot") is None:
        print("gnuplot is not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main()
