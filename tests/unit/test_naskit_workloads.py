"""bench/workloads/*.ini: what may stand in them, what comes of it, and how a mistake is named."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import NasError, experiments, schedulers, workload, workload_file  # noqa: E402


def parse(text):
    return workload_file.parse(text, "/w/mine.ini")


def names(submissions):
    return [str(submission.job) for submission in submissions]


class Files(unittest.TestCase):
    def test_jobs_with_counts_in_lines_or_in_a_row(self):
        for text in ("[workload]\njobs =\n  cg.A.2*5 (2)\n  ep.B.8\n",
                     "[workload]\njobs = cg.A.2*5 (2), ep.B.8\n",
                     "# mine\n[workload] # here\ntitle = x\njobs = cg.A.2*5 (2) # twice\n\n  ep.B.8\n"):
            with self.subTest(text=text):
                self.assertEqual(names(parse(text).submissions()), ["cg.A.2*5", "cg.A.2*5", "ep.B.8"])

    def test_is_known_by_its_file(self):
        self.assertEqual(parse("[workload]\njobs = cg.A.2\n").name, "mine")

    def test_named_lists(self):
        found = parse("[workload]\njobs 2 = cg.A.2 (2)\njobs 3 = cg.A.2 (2)\n    ep.A.2\n")
        self.assertEqual([len(found.submissions(label)) for label in ("2", "3")], [2, 3])

    def test_a_mistake_is_named_with_file_and_line(self):
        for text, line, what in (
                ("jobs = cg.A.2\n", 1, r"\[workload\] first"),
                ("[workload]\njobs = cg.A\n", 2, "cg.A"),
                ("[workload]\njobs =\n  cg.A.2\n  cg.A.2 (0)\n", 4, "COUNT"),
                ("[workload]\njobs = cg.A.2 at noon\n", 2, "noon"),
                ("[workload]\n  cg.A.2\n", 2, "belongs to no"),
                ("[workload]\njobs = cg.A.2\ntitle = x\n  ep.A.2\n", 4, "belongs to no"),
                ("[workload]\njobs\n", 2, "KEY = VALUE"),
                ("[workload]\njob = cg.A.2\n", 2, "unknown key 'job'"),
                ("[workload]\njobs = cg.A.2\njobs = ep.A.2\n", 3, "twice"),
                ("[workload]\narrival = sometimes\n", 2, "together, every TIME"),
                ("[workload]\narrival = every 0s\n", 2, "every TIME"),
                ("[workload]\norder = random\n", 2, "given or shuffled"),
                ("[workload]\nwait = block\n", 2, "own or yield")):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, f"^/w/mine.ini:{line}: .*{what}"):
                parse(text)

    def test_a_file_without_a_job_that_ends_is_named(self):
        for text in ("[workload]\ntitle = x\n", "[workload]\njobs =\n", "[workload]\njobs = hog.2\n"):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, "^/w/mine.ini: "):
                parse(text)

    def test_a_file_that_is_no_text_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.ini")
            with open(path, "wb") as file:
                file.write("[workload]\ntitle = Prüfung\njobs = cg.A.2\n".encode("latin-1"))
            with self.assertRaisesRegex(NasError, f"^{path}: byte 22 is not UTF-8"):
                workload_file.read(path)

    def test_an_unknown_name_is_told_the_known_ones(self):
        with self.assertRaisesRegex(NasError, "workload-1"):
            workload_file.find("workload-9")


class Arrivals(unittest.TestCase):
    def arrivals(self, text, **others):
        return [one.arrival_s for one in parse("[workload]\n" + text).submissions(**others)]

    def test_together(self):
        self.assertEqual(self.arrivals("jobs = cg.A.2 (3)\n"), [0, 0, 0])

    def test_at_regular_intervals(self):
        self.assertEqual(self.arrivals("arrival = every 2s\njobs = cg.A.2 (3)\n"), [0, 2, 4])

    def test_at_given_times_in_order_of_time(self):
        found = parse("[workload]\njobs = cg.A.2 at 10s, ep.A.2 (2) at 500ms, is.A.2\n").submissions()
        self.assertEqual([(str(one.job), one.arrival_s) for one in found],
                         [("is.A.2", 0), ("ep.A.2", 0.5), ("ep.A.2", 0.5), ("cg.A.2", 10)])

    def test_at_random_with_the_mean_that_was_asked_for_and_the_same_for_a_seed(self):
        text = "arrival = poisson 2s\njobs = cg.A.2 (2000)\n"
        first, same, other = (self.arrivals(text, seed=seed) for seed in ("1", "1", "2"))
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)
        self.assertAlmostEqual(first[-1] / 1999, 2, delta=0.2)

    def test_a_shuffled_order_depends_on_the_seed_alone(self):
        found = parse("[workload]\norder = shuffled\njobs = cg.A.2 (20), ep.A.2 (20)\n")
        self.assertEqual(names(found.submissions(seed="1")), names(found.submissions(seed="1")))
        self.assertNotEqual(names(found.submissions(seed="1")), names(found.submissions(seed="2")))
        self.assertEqual(sorted(names(found.submissions(seed="1"))), ["cg.A.2"] * 20 + ["ep.A.2"] * 20)

    def test_scaling_keeps_the_load(self):
        found = parse("[workload]\narrival = every 2s\njobs = cg.A.2*3 (2)\n").submissions(scale=2.0)
        self.assertEqual([(one.job.repeat, one.arrival_s) for one in found], [(6, 0), (6, 4)])


class Shipped(unittest.TestCase):
    def every(self):
        for file in sorted(os.listdir(workload_file.FOLDER)):
            if file.endswith(".ini"):
                yield workload_file.read(file[:-4])

    def test_every_file_can_be_read(self):
        self.assertGreater(len(list(self.every())), 6)

    def test_jobs_are_admissible_in_a_lab_of_two_nodes(self):
        """Also, more ranks than CPUs only where they give way: as the file says, or since all schedulers of its experiment have
        the library."""
        wrapped = {name for experiment in experiments.TABLE.values() for name in experiment.workloads
                   if all(schedulers.parse(one).cosched for one in experiment.schedulers)}
        for file in self.every():
            for submissions in file.sets.values():
                for job in (one.job for one in submissions):
                    with self.subTest(file=file.name, job=str(job)):
                        self.assertIsNone(workload.refusal(job))
                        self.assertTrue(job.ranks <= 2 or file.yields or file.name in wrapped)

    def test_batch_has_a_hundred_jobs_of_which_two_are_long(self):
        found = names(workload_file.read("batch").submissions())
        self.assertEqual(len(found), 100)
        self.assertEqual(found.count("lu.A.2*6"), 2)

    def test_the_papers_workloads_have_as_many_jobs_as_in_its_table(self):
        counts = [len(workload_file.read(f"workload-{number}").submissions()) for number in (1, 2, 3)]
        self.assertEqual(counts, [7, 8, 8])


if __name__ == "__main__":
    unittest.main()
