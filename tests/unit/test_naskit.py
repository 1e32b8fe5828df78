"""bench/naskit without a lab: jobs, degree, perfect sharing, schedulers, command lines, hosts; and how the
lab spreads ranks, reads settings and counts CPU time."""

import argparse
import contextlib
import dataclasses
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from labkit import LabError, cli, cluster, launch, processes, state  # noqa: E402
from naskit import (NasError, commands, environment, hosts, output, plan, schedulers, times, workload,  # noqa: E402
                    workload_file)
from naskit.workload import Cluster, Job  # noqa: E402


TWO_BY_ONE = Cluster(nodes=2, cpus_per_node=1)


class Specification(unittest.TestCase):
    def test_reads_kernel_class_ranks_and_repeat(self):
        self.assertEqual(workload.parse_job("cg.A.2*5"), Job("cg", "A", 2, 5))
        self.assertEqual(workload.parse_job("ep.W.4"), Job("ep", "W", 4, 1))

    def test_is_its_own_name(self):
        for text in ("cg.A.2*5", "ep.W.4", "hog.2"):
            self.assertEqual(str(workload.parse_job(text)), text)

    def test_rejects_what_is_none(self):
        for text in ("", "cg", "cg.A", "cg.A.0", "cg.A.2*0", "cg.A.2*", "cg.a.2", "../cg.A.2", "cg.A.2 ",
                     "hog", "hog.0", "hog.2*2"):
            with self.subTest(text=text), self.assertRaises(NasError):
                workload.parse_job(text)

    def test_a_mix_may_hold_the_same_job_twice(self):
        mix = workload.parse_mix(" cg.A.2  cg.A.2 ep.A.2 hog.2")
        self.assertEqual(len(mix), 4)
        self.assertEqual(workload.distinct([mix, mix]), [Job("cg", "A", 2), Job("ep", "A", 2)])
        self.assertEqual(workload.parse_mix(workload.mix_name(mix)), mix)

    def test_a_mix_without_a_job_that_ends_is_none(self):
        for text in (" ", "hog.2"):
            with self.subTest(text=text), self.assertRaises(NasError):
                workload.parse_mix(text)

    def test_scaled_jobs_repeat_more_or_less_but_at_least_once(self):
        self.assertEqual(str(workload.parse_job("cg.A.2*5").scaled(2)), "cg.A.2*10")
        self.assertEqual(str(workload.parse_job("cg.A.2*5").scaled(0.01)), "cg.A.2")
        self.assertEqual(str(workload.parse_job("hog.2").scaled(3)), "hog.2")

    def test_what_kernels_refuse_is_known_before(self):
        for text in ("cg.A.2", "ep.A.3", "bt.W.4", "sp.W.9", "lu.A.1", "hog.3"):
            self.assertIsNone(workload.refusal(workload.parse_job(text)), text)
        for text, what in (("cg.A.3", "power of two"), ("bt.W.2", "square"), ("ua.A.2", "no kernel ua")):
            self.assertRegex(workload.refusal(workload.parse_job(text)), what)

    def test_durations(self):
        self.assertEqual(times.seconds("500ms"), 0.5)
        self.assertEqual(times.seconds("4s"), 4)
        for text in ("4", "s", "4 parsecs", "1.2.3s", "-1s"):
            with self.subTest(text=text), self.assertRaises(NasError):
                times.seconds(text)

    def test_durations_are_written_so_that_they_are_read_the_same(self):
        for duration_s in (1, 0.25, 1.5, 0, 0.000125):
            self.assertAlmostEqual(times.seconds(times.text(duration_s)), duration_s, 9)
        self.assertEqual(times.text(1.5), "1500ms")
        self.assertAlmostEqual(times.seconds(times.text(1 / 3)), 1 / 3, 5)


class Degree(unittest.TestCase):
    def test_counts_the_jobs_of_full_nodes(self):
        job = Job("cg", "A", 2)
        for count in (1, 2, 5):
            self.assertEqual(TWO_BY_ONE.degree(job, [job] * count), count)

    def test_is_one_where_there_is_room(self):
        job = Job("cg", "A", 2)
        self.assertEqual(Cluster(2, 2).degree(job, [job, job]), 1)
        self.assertEqual(Cluster(2, 2).degree(job, [job, job, job]), 1.5)

    def test_ranks_beyond_the_cpus_share_within_the_job(self):
        wide = Job("cg", "A", 8)
        self.assertEqual(TWO_BY_ONE.degree(wide, [wide]), 1)
        self.assertTrue(TWO_BY_ONE.crowds_itself(wide))
        self.assertFalse(Cluster(4, 2).crowds_itself(wide))

    def test_is_that_of_the_busiest_node_of_the_job(self):
        everywhere, first = Job("cg", "A", 2), Job("ep", "A", 1)
        self.assertEqual(TWO_BY_ONE.degree(everywhere, [everywhere, first]), 2)
        self.assertEqual(TWO_BY_ONE.degree(first, [first]), 1)

    def test_room_is_up_to_the_limit_on_each_node_of_the_job(self):
        everywhere, first = Job("cg", "A", 2), Job("ep", "A", 1)
        self.assertTrue(TWO_BY_ONE.has_room(everywhere, [], 1))
        self.assertFalse(TWO_BY_ONE.has_room(everywhere, [first], 1))
        self.assertTrue(TWO_BY_ONE.has_room(everywhere, [first], 2))
        self.assertFalse(TWO_BY_ONE.has_room(everywhere, [everywhere, everywhere], 2))
        self.assertTrue(Cluster(2, 2).has_room(everywhere, [everywhere], 1))


class PerfectSharing(unittest.TestCase):
    def test_equal_jobs_end_together(self):
        jobs = [Job("cg", "A", 2)] * 3
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [4, 4, 4]), [12, 12, 12])

    def test_the_longer_job_has_the_rest_alone(self):
        jobs = [Job("cg", "A", 2), Job("ep", "A", 2)]
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [10, 4]), [14, 8])

    def test_a_queue_waits_for_room(self):
        cg = [Job("cg", "A", 2)] * 3
        self.assertEqual(workload.fair_waits(TWO_BY_ONE, cg, [4, 4, 4], [0, 0, 0], 1), [0, 4, 8])
        self.assertEqual(workload.fair_waits(TWO_BY_ONE, cg, [4, 2, 4], [0, 0, 0], 2), [0, 0, 4])
        self.assertEqual(workload.fair_waits(TWO_BY_ONE, cg, [4, 4, 4], [0, 0, 0], 3), [0, 0, 0])

    def test_nobody_waits_before_he_is_there(self):
        cg = [Job("cg", "A", 2)] * 3
        self.assertEqual(workload.fair_waits(TWO_BY_ONE, cg, [4, 2, 4], [0, 1, 20], 1), [0, 3, 0])

    def test_a_job_that_is_wider_than_the_limit_has_its_turn(self):
        jobs = [Job("cg", "A", 4), Job("cg", "A", 2)]
        self.assertEqual(workload.fair_waits(workload.Cluster(nodes=1, cpus_per_node=4), jobs, [4, 2], [0, 0], 0.5), [0, 4])

    def test_a_job_alone_takes_its_dedicated_time(self):
        self.assertEqual(workload.fair_response(TWO_BY_ONE, [Job("cg", "A", 2)], [7]), [7])

    def test_a_hog_has_its_share_to_the_end(self):
        jobs = [Job("cg", "A", 2), Job("hog", "", 2)]
        self.assertEqual(workload.fair_response(TWO_BY_ONE, jobs, [4, float("inf")])[0], 8)


class Schedulers(unittest.TestCase):
    def test_policy_and_time_slice_are_part_of_the_name(self):
        found = schedulers.parse("cosched:uncoordinated@500ms")
        self.assertEqual((found.policy, found.time_slice_s, found.cosched),
                         ("uncoordinated", 0.5, True))
        self.assertEqual(found.name, "cosched:uncoordinated@500ms")
        self.assertEqual(schedulers.parse("fcfs").limit, 1)

    def test_so_are_settings(self):
        found = schedulers.parse("cosched:dcs@2s+scheduler.idle_total=10%+cgroup.period=50ms")
        self.assertEqual((found.policy, found.time_slice_s), ("dcs", 2))
        self.assertEqual(found.settings, (("scheduler.idle_total", "10%"), ("cgroup.period", "50ms")))
        self.assertEqual(schedulers.parse("cosched").settings, ())

    def test_what_is_none_is_named(self):
        for text in ("", "gang", "fcfs@1s", "dedicated:x", "cosched@soon", "cosched:", "/no/such/file",
                     "/tmp/", "cosched,nothing", "cosched+", "cosched+strict=yes", "cosched+scheduler.strict",
                     "cosched+scheduler.strict=", "fcfs+scheduler.strict=yes", "cosched+cgroup.root=a/b",
                     "cosched+scheduler.time_slice=1s", "cosched+scheduler.policy=gang"):
            with self.subTest(text=text), self.assertRaises(NasError):
                schedulers.parse_list(text)

    def test_a_script_is_known_by_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.sh")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            with self.assertRaisesRegex(NasError, "executable"):
                schedulers.parse(path)
            os.chmod(path, 0o755)
            self.assertEqual(schedulers.parse_list(f"cosched,{path}")["mine"].script, path)
            like_ours = os.path.join(folder, "coscheduler.sh")
            os.rename(path, like_ours)
            with self.assertRaisesRegex(NasError, "name the file otherwise"):
                schedulers.parse(like_ours)


class CommandLines(unittest.TestCase):
    """Who gets the library, who gives way, who waits at a gate."""

    units_share = 1

    class Site:
        def preload(self):
            return ["--preload"]

        def job_command(self, _job, _mpi, program, arguments):
            return [*arguments, *program]

    def line(self, name, text, yields=False, **others):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "bin"))
            one = workload.parse_job(text)
            path = os.path.join(folder, "bin", f"{one.kernel}.{one.size}.x")
            with open(path, "w", encoding="ascii"):
                os.chmod(path, 0o755)
            options = argparse.Namespace(npb_dir=folder, env=["A=b"], timeout=900, build="/")
            submissions = (workload_file.Submission(one),) * self.units_share
            unit = plan.Unit("jobs", "w", None, "openmpi", name, 1, submissions, 1.0, 0.25, 0, yields)
            scheduler = dataclasses.replace(schedulers.parse(name), **others)
            return commands.Commands(options, self.Site(), TWO_BY_ONE).of(unit, scheduler, 0, "r.json", [])

    def test_the_library_is_for_coscheduled_jobs(self):
        self.assertIn("--preload", self.line("cosched", "cg.S.2"))
        self.assertIn("--env=A=b", self.line("cosched", "cg.S.2"))
        for name in ("dedicated", "uncoordinated", "fcfs", "yield"):
            self.assertNotIn("--preload", self.line(name, "cg.S.2"))

    def test_jobs_that_crowd_themselves_give_way_under_every_scheduler_where_the_workload_says_so(self):
        for name in ("dedicated", "uncoordinated", "cosched"):
            line = self.line(name, "bt.S.4", yields=True)
            self.assertTrue({"--preload", "--env=COSCHED_WAIT=yield"} <= set(line), name)
            self.assertNotIn("--env=COSCHED_WAIT=yield", self.line(name, "cg.S.2", yields=True))
            self.assertNotIn("--env=COSCHED_WAIT=yield", self.line(name, "bt.S.4"))
            # Or the classd of --hosts would coschedule what is told as uncoordinated.
            self.assertEqual(commands.NOBODY in line, name != "cosched")

    def test_a_job_that_shares_is_given_time_for_its_peers_turn_to_end(self):
        """In MPI_Finalize a rank spins until its peer is scheduled, too, which is no hang."""
        def grace(name):
            line = self.line(name, "cg.S.2")
            return float(line[line.index("--grace-cpu") + 1])
        self.assertEqual(grace("dedicated"), 0.5)
        self.units_share = 2
        self.assertGreater(grace("cosched"), 2.0)
        self.assertEqual(grace("uncoordinated"), 2.0)

    def test_official_programs_are_looped_over(self):
        line = self.line("dedicated", "cg.S.2*7")
        self.assertEqual(line[line.index("--loop") + 1], "7")

    def test_the_mpi_gives_way_where_it_can(self):
        self.assertIn("--mpi-arg=mpi_yield_when_idle", self.line("yield", "cg.S.2"))

    def test_a_script_gets_the_command_and_no_gate(self):
        line = self.line("uncoordinated", "cg.S.2", script="/x/mine")
        self.assertEqual(line[:3], ["/x/mine", "wrap", "--"])
        self.assertNotIn("--gate", line)
        self.assertIn("--gate", self.line("uncoordinated", "cg.S.2"))


class Hosts(unittest.TestCase):
    def test_reads_names_and_cpus(self):
        found = hosts.parse("# ours\na.example:4\n\nroot@b # the other\n", "/h")
        self.assertEqual(found, [hosts.Host("a.example", 4), hosts.Host("root@b")])
        self.assertEqual(hosts.take([hosts.Host("a")], None, None, "/h"), (["a"], 1))

    def test_names_file_and_line_of_what_is_none(self):
        for text, line in (("a\nb c\n", 2), ("a\na:2\n", 2), ("-oProxyCommand=x\n", 1), ("a:0\n", 1)):
            with self.subTest(text=text), self.assertRaisesRegex(NasError, f"/h:{line}: "):
                hosts.parse(text, "/h")
        with self.assertRaisesRegex(NasError, "names no host"):
            hosts.parse("# none\n", "/h")

    def test_takes_the_first_and_refuses_unlike_ones(self):
        found = [hosts.Host("a", 2), hosts.Host("b", 2), hosts.Host("c", 4)]
        self.assertEqual(hosts.take(found, 2, None, "/h"), (["a", "b"], 2))
        self.assertEqual(hosts.take(found, None, 2, "/h"), (["a", "b", "c"], 2))
        for nodes, cpus in ((3, None), (4, None), (2, 3)):
            with self.assertRaises(NasError):
                hosts.take(found, nodes, cpus, "/h")
        self.assertEqual(hosts.take([hosts.Host("a")], None, 3, "/h"), (["a"], 3))


class HostSite(unittest.TestCase):
    """By an ssh that is a script of the test's."""

    def site(self, script, noise=1.2, cpus=1):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        ssh = os.path.join(folder.name, "ssh")
        with open(ssh, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nhost=$1\nshift\ncase "$*" in\n' + script + "\nesac\n")
        os.chmod(ssh, 0o755)
        self.addCleanup(setattr, hosts, "SSH", hosts.SSH)
        hosts.SSH = [ssh]
        self.folder = folder.name
        return hosts.HostSite(argparse.Namespace(cpus_per_node=cpus, noise=noise, build="/", preloaded="/opt/own.so"), ["a", "b"])

    COSCHED = schedulers.parse("cosched")
    UNIT = argparse.Namespace(time_slice_s=1.0, yields=False)
    GOOD = "true) ;;\ntest*) ;;\nnproc) echo 2 ;;\npython3*) cat >/dev/null; echo 0.5 ;;\n*status) echo '{\"cpus\": 1}' ;;"

    def test_hosts_have_the_cpus_that_are_reckoned_with(self):
        self.site(self.GOOD, cpus=2).up()
        with self.assertRaisesRegex(NasError, "host a: it has 2 CPUs, and 3"):
            self.site(self.GOOD, cpus=3).up()
        for chatter, said in (("echo Welcome; echo 2", "'Welcome'"), (":", "'nothing'")):
            with self.assertRaisesRegex(NasError, f"host a: its login says {said} and not how many CPUs"):
                self.site(self.GOOD.replace("echo 2", chatter), cpus=2).up()
        self.site(self.GOOD).prepare(self.COSCHED, self.UNIT)
        with self.assertRaisesRegex(NasError, r"host a: classd there shares 1 CPUs, and 2 .*\[scheduler\] cpus"):
            self.site(self.GOOD, cpus=2).prepare(self.COSCHED, self.UNIT)

    def test_the_library_is_on_every_host_before_a_job_needs_it(self):
        site = self.site("test\\ -r\\ *) [ $host = a ] ;;\n" + self.GOOD)
        missing = r"host b: has no library /opt/own.so .* --library"
        with self.assertRaisesRegex(NasError, missing):
            site.prepare(self.COSCHED, self.UNIT)
        site.prepare(schedulers.parse("uncoordinated"), self.UNIT)
        with self.assertRaisesRegex(NasError, missing):
            site.prepare(schedulers.parse("uncoordinated"), argparse.Namespace(time_slice_s=1.0, yields=True))

    def test_the_time_slice_is_that_of_the_hosts(self):
        site = self.site("*status) echo \"{\\\"time_slice_s\\\": $(echo $host | tr ab 35)}\" ;;\ntest*) ;;\n")
        self.assertEqual(site.time_slice_s(self.UNIT), 1.0)
        site.prepare(self.COSCHED, self.UNIT)
        self.assertEqual(site.time_slice_s(self.UNIT), 5)
        mute = self.site("*) exit 1 ;;")
        mute.prepare(dataclasses.replace(schedulers.parse("uncoordinated"), script="/mine.sh"), self.UNIT)
        self.assertEqual(mute.time_slice_s(self.UNIT), 1.0)

    def test_all_calibrate_at_the_same_time(self):
        site = self.site("python3*) cat >/dev/null; touch $(dirname $0)/$host; while [ ! -e $(dirname $0)/a ] || "
                         "[ ! -e $(dirname $0)/b ]; do sleep 0.01; done; echo 0.$(echo $host | tr ab 57) ;;")
        self.addCleanup(setattr, hosts, "ASK_S", hosts.ASK_S)
        hosts.ASK_S = 10
        self.assertEqual(site.calibrate(), 0.7)

    def test_who_cannot_calibrate_is_told_once_and_waited_for_no_longer(self):
        self.addCleanup(setattr, hosts, "ASK_S", hosts.ASK_S)
        hosts.ASK_S = 0.5
        for script in ("python3*) exit 127 ;;", "python3*) exec sleep 60 ;;"):
            site = self.site(script + "\nnproc) echo 1 ;;\n*) ;;")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                site.up()
            self.assertIn("disturbed runs are not noticed", said.getvalue())

    def test_hosts_are_described_as_far_as_they_tell(self):
        site = self.site("uname*) printf '6.1\\n4\\nA CPU\\n' ;;\n*--print-config) printf '; meaning\\n[scheduler]\\n"
                         "policy = dcs\\n\\n[dcs]\\nquantum = 5ms\\n' ;;")
        site.nodes = ["me@a"]
        self.assertEqual(site.described(), {"nodes": [{
            "name": "a", "kernel": "6.1", "cpus": 4, "cpu": "A CPU",
            "classd": {"scheduler.policy": "dcs", "dcs.quantum": "5ms"}}]})
        mute = self.site("*) exit 1 ;;")
        self.assertEqual(mute.described()["nodes"][1], {"name": "b", "kernel": None, "cpus": None, "cpu": None, "classd": {}})

    def test_an_mpi_that_the_distribution_does_not_know_is_asked(self):
        for mpi, said, version in (("mpich", "HYDRA build details:\n    Version:         4.2.1", "mpich 4.2.1"),
                                   ("openmpi", "mpiexec (OpenRTE) 4.1.4\n", "openmpi 4.1.4"),
                                   ("openmpi", "mpiexec (Open MPI) 5.0.3\n", "openmpi 5.0.3"), ("mpich", "", None)):
            answers = {f"mpiexec.{mpi}": said}
            with mock.patch.object(environment, "_output", lambda *command, answers=answers: answers.get(command[0], "")):
                self.assertEqual(environment._mpi_version(mpi), version)

    def test_a_recording_is_ended(self):
        site = self.site('*) echo "$*" >>$(dirname $0)/said; echo "{}" ;;')
        site.trace_start()
        self.assertEqual(site.trace_dumps(), ["{}\n", "{}\n"])
        with open(os.path.join(self.folder, "said"), encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[-2:], ["coschedctl trace stop"] * 2)
        site.down()
        site.trace_start()
        site.down()  # the run was broken off
        with open(os.path.join(self.folder, "said"), encoding="ascii") as file:
            later = file.read().splitlines()[len(lines):]
        self.assertEqual([line.split()[:3] for line in later], [["coschedctl", "trace", what] for what in ("start", "start", "stop", "stop")])

    def test_a_file_of_hosts_that_is_no_text_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"n\xf6de\n")
            file.flush()
            with self.assertRaisesRegex(NasError, "is not UTF-8"):
                hosts.read(file.name)


class Output(unittest.TestCase):
    """Which lines say that a program's numbers are right."""

    LINES = (("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=yes", True),
             ("NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.4 mops=1 verified=no", False),
             (" Verification    =               SUCCESSFUL", True),
             (" Verification    =             UNSUCCESSFUL", False))

    def verdict(self, text, iterations=1, **report):
        return output.verified({"exit_status": 0, "timed_out": False, **report}, text, iterations)

    def test_lines_of_both_suites(self):
        for line, good in self.LINES:
            with self.subTest(line=line):
                self.assertRegex(line, output.DONE)
                self.assertEqual(self.verdict("hello\n" + line + "\n"), good)

    def test_every_iteration_must_say_so(self):
        line = self.LINES[0][0]
        self.assertFalse(self.verdict(line, iterations=2))
        self.assertTrue(self.verdict(f"{line}\n{line}", iterations=2))
        self.assertFalse(self.verdict(f"{line}\n{self.LINES[1][0]}", iterations=2))

    def test_the_job_must_end_well(self):
        self.assertFalse(self.verdict(self.LINES[0][0], exit_status=1))
        self.assertFalse(self.verdict(self.LINES[0][0], timed_out=True))

    def test_other_lines_say_nothing(self):
        self.assertNotRegex(" Verification Successful", output.DONE)


class Processes(unittest.TestCase):
    """CPU time below a process counts those that have ended, as ranks do a moment before their launcher."""

    BURN = "import time\nwhile time.process_time() < 0.2: pass"

    def used_s(self, script):
        """By what the script, which then waits for its input, has started."""
        parent = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, sys.executable, self.BURN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        parent.stdout.readline()
        used_s = processes.below_cpu_s(parent.pid)
        parent.communicate(b"\n")
        return used_s

    def test_of_children_that_were_waited_for(self):
        script = ("import subprocess, sys\nsubprocess.run([sys.argv[1], '-I', '-S', '-c', sys.argv[2]])\n"
                  "print(flush=True)\ninput()")
        self.assertGreaterEqual(self.used_s(script), 0.15)

    def test_of_children_that_were_not(self):
        script = ("import os, subprocess, sys\n"
                  "child = subprocess.Popen([sys.argv[1], '-I', '-S', '-c', sys.argv[2]])\n"
                  "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\nprint(flush=True)\ninput()")
        self.assertGreaterEqual(self.used_s(script), 0.15)


class Lab(unittest.TestCase):
    def test_a_pattern_that_is_none_is_refused(self):
        with self.assertRaisesRegex(LabError, "--done-pattern '[(]': is no regular expression"):
            launch.compiled("(")

    def test_spreads_ranks_evenly(self):
        self.assertEqual(launch.spread(2, 2), [1, 1])
        self.assertEqual(launch.spread(4, 2), [2, 2])
        self.assertEqual(launch.spread(5, 3), [2, 2, 1])
        self.assertEqual(launch.spread(1, 2), [1, 0])

    def test_who_spins_beside_one_that_has_left_is_noticed(self):
        spinning = subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"])
        try:
            before = {spinning.pid: processes.cpu_s(spinning.pid), 2 ** 22 + 1: 4.0}  # no pid is as large
            deadline = time.monotonic() + 20
            while processes.cpu_s(spinning.pid) < 0.1 and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertGreater(launch.used_since_s(before), 0)
        finally:
            spinning.kill()
            spinning.wait()

    def test_chooses_nodes(self):
        lab = {"name": "x", "nodes": [{"name": "node0"}, {"name": "node1"}, {"name": "node2"}]}
        self.assertEqual(launch.chosen(lab, None), lab)
        self.assertEqual([node["name"] for node in launch.chosen(lab, "node2,node0")["nodes"]], ["node0", "node2"])
        for names in ("node3", "node0,", "node0 node1"):
            with self.subTest(names=names), self.assertRaises(LabError):
                launch.chosen(lab, names)

    def test_no_library_is_left_out_for_its_name(self):
        self.assertEqual(launch.preloadable("/b/libcosched_pmpi.so"), "/b/libcosched_pmpi.so")
        for folder in ("/home/a b", "/x:y"):
            with self.subTest(folder=folder), self.assertRaisesRegex(LabError, "LD_PRELOAD cannot name"):
                launch.preloadable(folder + "/libcosched_pmpi.so")

    def test_a_job_looks_for_its_nodes_scheduler_and_not_the_callers(self):
        lab = {"name": "x", "id": "1", "build": "/", "nodes": [
            {"name": "node0", "cpus": [0], "holder": {"pid": 1, "start": 0}}]}
        job = argparse.Namespace(mpi="mpich", ranks=1, transport="tcp", on=None, preload=False, users=False, mpi_arguments=[],
                                 program="p", arguments=[], environment={})
        with mock.patch.dict(os.environ, {"COSCHED_RUNTIME_DIR": "/elsewhere"}):
            found = launch.command_line(state.Store("cosched-lab-x"), lab, job)[1]
            self.assertEqual(found["COSCHED_RUNTIME_DIR"], "/run/cosched")
            job.environment = {"COSCHED_RUNTIME_DIR": "/asked/for"}
            found = launch.command_line(state.Store("cosched-lab-x"), lab, job)[1]
            self.assertEqual(found["COSCHED_RUNTIME_DIR"], "/asked/for")

    def test_reads_settings(self):
        self.assertEqual(cli.parse_settings(["scheduler.gmet=1s", "scheduler.cpus=2"]),
                         {"scheduler": {"gmet": "1s", "cpus": "2"}})
        for text in ("gmet=1s", "scheduler.gmet", ".gmet=1s", "scheduler.=1s"):
            with self.subTest(text=text), self.assertRaises(LabError):
                cli.parse_settings([text])

    def test_a_setting_is_taken_back(self):
        settings = {"scheduler": {"gmet": "1s", "cpus": "2"}}
        changes = cli.parse_settings(["cgroup.period=1s", "sequential.groups="])
        cli.change_settings(settings, changes, ["scheduler.gmet", "dcs.quantum", "cgroup.period"])
        self.assertEqual(settings, {"scheduler": {"cpus": "2"}, "cgroup": {"period": "1s"},
                                    "sequential": {"groups": ""}})

    def test_takes_no_name_that_others_may_use(self):
        for name in ("system.slice", "..", "cosched-lab/..", "cosched", "cosched-lab-"):
            with self.subTest(name=name), self.assertRaises(LabError):
                state.Store(name)
        self.assertEqual(state.Store("cosched-lab-test").directory, "/run/cosched-lab-test")

    def down(self, directory):
        """Of a lab that has neither processes nor cgroups."""
        with mock.patch.multiple(cluster, need_root=lambda: None, processes=mock.Mock(**{"end.return_value": [],
                                 "marked.return_value": []}), cgroups=mock.Mock(**{"remove.return_value": []})):
            cluster.down(state.Store("cosched-lab-test", directory))

    def test_a_directory_that_has_something_else_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("lab.json", "private", "thesis.tex"):
                with open(os.path.join(folder, name), "w", encoding="ascii"):
                    pass
            with self.assertRaisesRegex(LabError, "thesis.tex"):
                self.down(folder)
            self.assertEqual(sorted(os.listdir(folder)), ["lab.json", "private", "thesis.tex"])
            with self.assertRaisesRegex(LabError, "no directory"):
                self.down(os.path.join(folder, "thesis.tex"))

    def test_a_directory_of_a_labs_goes_with_it(self):
        record = '{"name": "cosched-lab-test", "nodes": [], "switch": null}'
        for files in ({}, {"lab.json": record, "notes": ""}, {"private": "", "lab.json.new": "", "node12": "", "agent": ""}):
            with self.subTest(files=files), tempfile.TemporaryDirectory() as folder:
                directory = os.path.join(folder, "lab")
                os.mkdir(directory)
                for name, text in files.items():
                    with open(os.path.join(directory, name), "w", encoding="ascii") as file:
                        file.write(text)
                self.down(directory)
                self.assertFalse(os.path.exists(directory))
                self.down(directory)


if __name__ == "__main__":
    unittest.main()
