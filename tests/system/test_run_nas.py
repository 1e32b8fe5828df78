"""bench/run_nas.sh with real jobs on a virtual cluster, a small session of everything: what it leaves in
the folder, that it leaves nothing else, interruption and resumption, schedulers that users bring, and hosts
over (a stand-in for) ssh. Needs root.

Times are never asserted, but for the order of jobs that a scheduler decides. Jobs that share are EP: what CG
takes uncoordinated depends on the machine beyond any deadline.
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.realpath(__file__))
BENCH = os.path.realpath(os.path.join(TESTS, "..", "..", "bench"))
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
NAME = "cosched-lab-run-nas"
FAMILY = next((family for family in ("mpich", "openmpi") if shutil.which("mpiexec." + family)), None)
LIMIT_S = 240
SMALL = ["--mpi", FAMILY or "", "--runs", "1", "--time-slice", "200ms", "--gmet", "50ms", "--retries", "0",
         "--timeout", "60"]
QUIET = ["--noise", "0"]  # nobody looks whether the machine is disturbed, which takes a second or more for each run

# Runs the command here, whatever host was asked for: options of ssh before it are skipped.
SSH = r"""#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    case $1 in -o) shift 2 ;; *) shift ;; esac
done
echo "$1" >>"$STAND_IN_LOG"
shift
exec env -u LD_PRELOAD sh -c "$*"
"""

COSCHEDCTL = r"""#!/bin/sh
case "$*" in
*status*) echo '{"switches": 3, "requests": 2, "requests_granted": 1, "requests_discarded": 1,
                 "time_slice_s": 15.0, "gmet_s": 5.0}' ;;
*) exit 1 ;;
esac
"""


def marked():
    """Processes of our lab that live."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"COSCHED_LAB={NAME}:".encode() in file.read():
                    found.append(path)
        except OSError:
            pass
    return found


def groups():
    return glob.glob(f"/sys/fs/cgroup/{NAME}.*") + glob.glob(f"/sys/fs/cgroup/*/{NAME}.*")


class RunNas(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-test-")
        self.out = os.path.join(self.folder, "out")

    def tearDown(self):
        subprocess.run([os.path.join(BENCH, "lab"), "--name", NAME, "down"], check=False,
                       stdin=subprocess.DEVNULL)
        shutil.rmtree(self.folder)

    def command(self, *arguments):
        return [os.path.join(BENCH, "run_nas.sh"), "--build", BUILD, *arguments]

    def environment(self, **others):
        return {**os.environ, "COSCHED_NAS_LAB": NAME, **others}

    def nas(self, *arguments, status=0, environment=None):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, env=environment or self.environment(),
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def json(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file)

    def runs(self):
        with open(os.path.join(self.out, "runs.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def assert_nothing_left(self):
        self.assertEqual(marked(), [])
        self.assertEqual(groups(), [])
        self.assertFalse(os.path.exists(f"/run/{NAME}"))

    def test_a_session_leaves_its_results_and_nothing_else(self):
        script = os.path.join(BENCH, "naskit", "examples", "one_at_a_time.sh")
        self.nas("--jobs", "ep.S.2*4 ep.S.2*4 hog.2", "--schedulers",
                 f"dedicated,uncoordinated,cosched,cosched:uncoordinated,fcfs,{script}", *SMALL,
                 "--out", self.out)
        self.assert_nothing_left()
        plan, summary, runs = self.json("plan.json"), self.json("summary.json"), self.runs()
        self.assertEqual(len(plan["units"]), 6)
        self.assertEqual([run["place"] for run in runs], list(range(6)))
        self.assertTrue(summary["complete"])
        for name in ("environment.json", "results.json", "summary.txt"):
            self.assertTrue(os.path.exists(os.path.join(self.out, name)), name)
        environment = self.json("environment.json")
        self.assertGreater(environment["page_us"], 0)
        self.assertEqual(environment["sitting"], runs[0]["sitting"])
        self.assertEqual(environment["classd"]["scheduler.policy"], "yoo-jette")
        self.assertLess(environment["memory_kept_mib"], 1024)  # jobs of class S
        for record in self.json("results.json"):
            self.assertTrue(record["verified"])
        self.check_runs({run["scheduler"]: run for run in runs})
        self.check_charts(summary)

    def check_runs(self, runs):
        cosched = runs["cosched"]
        self.assertEqual((cosched["time_slice_s"], cosched["gmet_s"]), (0.2, 0.05))
        self.assertGreater(cosched["counters"]["switches"], 0)
        counters = cosched["counters"]
        self.assertLessEqual(counters["false"], counters["requests"])
        self.assertIsNone(runs["uncoordinated"]["counters"]["false"])
        self.assertIsNone(runs["uncoordinated"]["counters"]["switches"])
        self.assertIsNone(runs["uncoordinated"]["time_slice_s"])
        for run in runs.values():
            self.assertGreater(run["pace_s"], 0)
        for name in ("cosched", "uncoordinated"):
            hog = runs[name]["jobs"][2]
            self.assertEqual(hog["job"], "hog.2")
            self.assertGreater(hog["cpu_s"], 0)
            self.assertGreater(runs[name]["jobs"][0]["fairness"], 0)
        first, second, _ = runs["one_at_a_time"]["jobs"]
        self.assertTrue(first["end_s"] <= second["start_s"] or second["end_s"] <= first["start_s"])

    def check_charts(self, summary):
        charts = {chart["scheduler"]: chart["file"] for chart in summary["gantt"]}
        self.assertEqual(set(charts), {"uncoordinated", "cosched", "cosched:uncoordinated", "fcfs",
                                       "one_at_a_time"})
        chart = self.json(charts["cosched"])
        held = {(span["node"], span["job"]) for span in chart["spans"]}
        self.assertEqual(held, {(node, job) for node in (0, 1) for job in (0, 1)})
        self.assertEqual(self.json(charts["fcfs"])["spans"], [])

    def test_jobs_beyond_the_limit_wait_in_order_of_arrival(self):
        workload = os.path.join(self.folder, "mine.ini")
        with open(workload, "w", encoding="ascii") as file:
            file.write("[workload]\narrival = every 10ms\njobs = ep.S.2*2 (4)\n")
        self.nas("batch", "--workload", workload, "--schedulers", "fcfs,cosched", *SMALL, *QUIET, "--out", self.out)
        runs = {(run["scheduler"], run["value"]): run["jobs"] for run in self.runs()}
        self.assertEqual(set(runs), {("fcfs", None), ("cosched", 2), ("cosched", 5), ("cosched", 10)})
        fcfs = runs["fcfs", None]
        for earlier, later in zip(fcfs, fcfs[1:]):
            self.assertLess(earlier["end_s"], later["start_s"])
        two = runs["cosched", 2]
        self.assertLess(two[1]["start_s"], two[0]["end_s"])
        self.assertGreater(two[2]["start_s"], min(two[0]["end_s"], two[1]["end_s"]))
        row = next(row for row in self.json("summary.json")["experiments"]["batch"]["rows"]
                   if row["scheduler"] == "cosched" and row["value"] == 5)
        self.assertEqual(row["ratios"]["mean_wait_s"]["n"], 1)

    def test_jobs_that_the_library_does_not_reach_are_not_told_as_coscheduled(self):
        """As those of statically linked programs."""
        os.mkdir(os.path.join(self.folder, "bin"))
        program = os.path.join(self.folder, "bin", "ep.S.x")
        with open(program, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nunset LD_PRELOAD\nexec {BUILD}/bench/npb/{FAMILY}/bin/ep S\n")
        os.chmod(program, 0o755)
        done = self.nas("--npb-dir", self.folder, "--jobs", "ep.S.2 ep.S.2", "--schedulers", "cosched", *SMALL, *QUIET,
                        "--out", self.out, status=2)
        self.assertIn("cosched: none of the 2 launches of ep.S.2 registered with classd", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.out, "runs.jsonl")))
        self.assert_nothing_left()

    def test_an_interrupted_session_keeps_what_it_has_and_goes_on(self):
        process = subprocess.Popen(
            self.command("--jobs", "ep.S.2*6 ep.S.2*6", "--schedulers", "uncoordinated,cosched", *SMALL, *QUIET,
                         "--runs", "2", "--out", self.out), stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=self.environment())
        deadline = time.monotonic() + LIMIT_S
        while not os.path.exists(os.path.join(self.out, "runs.jsonl")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        time.sleep(0.5)  # into the next unit
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)  # an impatient user must not stop the tidying up
        _, said = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, said)
        self.assertIn("--resume " + self.out, said)
        self.assert_nothing_left()
        before = self.runs()
        self.assertLess(len(before), 4)
        self.assertFalse(self.json("summary.json")["complete"])
        self.nas("--resume", self.out)
        after = self.runs()
        self.assertEqual(after[:len(before)], before)
        self.assertEqual([run["place"] for run in after if not run.get("again")], list(range(4)))
        self.assertTrue(self.json("summary.json")["complete"])
        later, = self.json("environment.json")["resumed"]
        self.assertEqual(later["sitting"], after[-1]["sitting"])

    def stand_ins(self):
        """A PATH on which ssh and coschedctl are ours."""
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        for name, text in (("ssh", SSH), ("coschedctl", COSCHEDCTL)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(os.path.join(folder, name), 0o755)
        self.asked = os.path.join(self.folder, "asked")
        return self.environment(PATH=folder + ":" + os.environ["PATH"], STAND_IN_LOG=self.asked)

    def test_hosts_are_reached_over_ssh_and_no_lab_is_made(self):
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            file.write("alpha\nbeta # the other\n")
        self.nas("--hosts", hosts, "--jobs", "ep.S.2 ep.S.2", "--schedulers", "uncoordinated,cosched",
                 "--mpi", "mpich", "--runs", "1", "--retries", "0", "--timeout", "60", "--out", self.out,
                 environment=self.stand_ins())
        self.assertFalse(os.path.exists(f"/run/{NAME}"))
        with open(self.asked, encoding="ascii") as file:
            self.assertEqual(set(file.read().split()), {"alpha", "beta"})
        runs = {run["scheduler"]: run for run in self.runs()}
        self.assertEqual((runs["cosched"]["time_slice_s"], runs["cosched"]["gmet_s"]), (15.0, 5.0))
        self.assertIsNone(runs["uncoordinated"]["time_slice_s"])
        self.assertIsNone(runs["cosched"]["jobs"][0]["cpu_s"])
        self.assertEqual([(node["name"], node["kernel"]) for node in self.json("environment.json")["nodes"]],
                         [("alpha", os.uname().release), ("beta", os.uname().release)])
        for run in runs.values():
            self.assertEqual([job["verified"] for job in run["jobs"]], [True, True])

    def test_what_cannot_be_done_is_said_in_one_line(self):
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            file.write("alpha\n")
        for arguments, what in (
                (["figure-2"], "figure-2"), (["--workload", "none"], "none"), (["--runs", "0"], "--runs"),
                (["--schedulers", "gang"], "gang"), (["--jobs", "cg"], "cg"),
                (["--jobs", "lu.Q.2"], "class Q"), (["--jobs", "lu.S.3"], "power of two"),
                (["--resume", self.folder], "plan.json"),
                (["slice", "--hosts", hosts], "experiment slice"),
                (["--hosts", os.path.join(self.folder, "missing")], "missing"),
                (["--hosts", hosts, "--nodes", "2"], "--nodes 2")):
            with self.subTest(arguments=arguments):
                done = self.nas(*arguments, "--out", self.out, status=2) if "--resume" not in arguments \
                    else self.nas(*arguments, status=2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(what, done.stderr)
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root, for namespaces and cgroups")
        sys.exit(77)
    if not FAMILY:
        print("skipped: no MPI")
        sys.exit(77)
    unittest.main()
