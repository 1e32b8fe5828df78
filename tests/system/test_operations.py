"""What an operator does to running daemons: reload, bound users, record, watch.

Daemons as in daemonkit.py.
"""
import ctypes
import errno
import glob
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import daemonkit
from daemonkit import DEADLINE_S, NOBODY, SWITCH, TIMERD, Node, classes, quota

HAS_LIBRARY = unittest.skipUnless(os.path.exists(os.path.join(daemonkit.BUILD, "pmpi", "libcosched_pmpi.so")),
                                  "built with sanitizers, without the preloaded library")


class Reload(Node):
    def test_shares_and_times_change_under_running_jobs(self):
        a, _ = self.job("a"), self.job("b")
        self.configure(scheduler__idle_share="5%", scheduler__time_slice="7s", scheduler__gmet="2s")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual((quota("a"), quota("b")), (95000, 5000))
        page = a.read_page()
        self.assertEqual((page["time_slice"], page["gmet"]), (7 * 10**9, 2 * 10**9))
        self.assertEqual(self.ctl_json("status")["time_slice_s"], 7)

    def test_the_policy_changes_under_running_jobs(self):
        self.job("a"), self.job("b")
        self.configure(scheduler__policy="uncoordinated")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.configure()
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual(sorted([quota("a"), quota("b")]), [1000, 99000])

    def test_strict_changes_under_running_jobs(self):
        self.job("a"), self.job("b")
        self.configure(scheduler__strict="no")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual((quota("a"), quota("b")), (-1, 1000))

    def test_sighup_reloads(self):
        self.job("a"), self.job("b")
        self.configure(scheduler__idle_share="5%")
        self.classd.send_signal(signal.SIGHUP)
        self.eventually(lambda: quota("b") == 5000, "the new idle share is in force")

    def test_a_broken_file_changes_nothing_and_says_why(self):
        self.job("a"), self.job("b")
        with open(self.config, "a", encoding="ascii") as file:
            file.write("[scheduler]\ntime_slice = 5 parsecs\n")
        before = self.ctl_status_of(self.config_copy())
        answer = self.ctl_with(self.config_copy(), "reload")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("nothing has changed", answer.stderr)
        self.assertRegex(answer.stderr, r"cosched\.ini:[0-9]+")
        self.assert_shares("a", "b")
        after = self.ctl_status_of(self.config_copy())
        self.assertEqual(before["time_slice_s"], after["time_slice_s"])

    def test_what_cannot_change_is_named(self):
        self.job("a"), self.job("b")
        good = self.config_copy()
        self.configure(cgroup__root="elsewhere", scheduler__idle_share="5%")
        answer = self.ctl_with(good, "reload")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("[cgroup] root", answer.stderr)
        self.assertIn("unmanaged", answer.stderr)
        self.assert_shares("a", "b")
        for key, value in (("daemon__runtime_dir", "/run/elsewhere"), ("cgroup__backend", "v2" if daemonkit.BACKEND == "v1" else "v1"),
                           ("daemon__service_user", "nobody"), ("cgroup__period", "50ms"), ("cgroup__placement", "in-place"),
                           ("sequential__groups", "elsewhere"), ("scheduler__cpus", 63)):
            with self.subTest(key=key, value=value):
                self.configure(**{key: value})
                answer = self.ctl_with(good, "reload")
                self.assertEqual(answer.returncode, 1)
                section, _, name = key.partition("__")
                self.assertIn(f"[{section}] {name}", answer.stderr)
        self.assert_shares("a", "b")

    def test_descriptors_are_raised_with_the_connections(self):
        hard = resource.prlimit(self.classd.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(self.classd.pid, resource.RLIMIT_NOFILE, (2000, hard))
        self.configure(daemon__max_connections=1024, daemon__max_jobs=16)
        need = 2 * 1024 + 6 * 16 + 320
        if hard < need:
            self.skipTest(f"not more than {hard} descriptors here")
        self.assertRegex(self.ctl("doctor").stdout, f"(?m)^FAULT classd may open 2000 .* {need}: .*coschedctl reload")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual(resource.prlimit(self.classd.pid, resource.RLIMIT_NOFILE), (need, hard))
        self.assertNotIn("files, [daemon]", self.ctl("doctor").stdout)
        resource.prlimit(self.classd.pid, resource.RLIMIT_NOFILE, (2000, 2000))
        self.assertRegex(self.ctl("doctor").stdout, "(?m)^FAULT classd may open 2000 .*LimitNOFILE=")

    def test_users_may_not_reload(self):
        self.assertEqual(self.client(NOBODY).simple(7), errno.EPERM)

    def test_timerd_follows_the_slice(self):
        self.configure(scheduler__time_slice="300ms", scheduler__gmet="0s")
        self.start(TIMERD)  # classd's slice is an hour, as it says to timerd at the first tick
        self.eventually(lambda: "time slice 3600.000 s" in self.log_text(), "timerd has heard")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.eventually(lambda: "time slice 0.300 s" in self.log_text(), "timerd has heard again")
        before = self.ctl_json("status")["switches"]
        self.eventually(lambda: self.ctl_json("status")["switches"] > before, "timerd ticks")

    def config_copy(self):
        """A file that coschedctl can read, whatever classd's has become."""
        path = os.path.join(self.folder, "good.ini")
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"[daemon]\nruntime_dir = {self.runtime_dir}\n")
        return path

    def ctl_with(self, config, *arguments):
        kept, self.config = self.config, config
        try:
            return self.ctl(*arguments)
        finally:
            self.config = kept

    def ctl_status_of(self, config):
        return json.loads(self.ctl_with(config, "--json", "status").stdout)

    def tearDown(self):
        self.configure()
        super().tearDown()


class UserLimits(Node):
    settings = {"daemon__max_jobs_per_user": 2, "daemon__max_requests_per_second": 50}

    def test_a_user_gets_so_many_jobs(self):
        self.job("a", uid=NOBODY), self.job("b", uid=NOBODY)
        self.assertEqual(self.client(NOBODY).register("c")["status"], errno.ENOSPC)
        for name in "xyz":
            self.job(name)  # root gets more
        self.assertEqual(len(classes()), 5)

    def test_a_flood_waits_in_its_own_socket(self):
        flood = self.job("flood", uid=NOBODY)
        honest = self.job("honest")
        begin = time.monotonic()
        flood.schedule(300)
        self.assertGreater(time.monotonic() - begin, 1.5)  # at most 200 at once, four seconds' worth, then 50 a second
        self.assertEqual(honest.query_node()["status"], 0)
        self.assertLessEqual(honest.query_node()["requests"], 300)


class Allowance(Node):
    def test_who_waits_is_heard_as_often_as_allowed(self):
        flood = self.job("flood", uid=NOBODY)
        begin = time.monotonic()
        flood.schedule(5000)  # 2000 at once, then 2000 a second
        self.assertLess(time.monotonic() - begin, DEADLINE_S)
        self.assertEqual(flood.query_node()["requests"], 5000)


class Trace(Node):
    settings = {"scheduler__gmet": "0s"}

    def record(self):
        self.job("a")
        self.assertEqual(self.ctl("trace", "start").returncode, 0)
        b = self.job("b")
        b.schedule()
        self.assertEqual(self.client().simple(SWITCH), 0)
        return b

    def test_what_was_scheduled_when_is_recorded(self):
        self.record()
        dump = self.ctl("trace", "dump", "node7")
        self.assertEqual(dump.returncode, 0, dump.stderr)
        trace = json.loads(dump.stdout)
        self.assertEqual(trace["node"], "node7")
        names = {job["job"]: job["job_id"] for job in trace["jobs"]}
        self.assertEqual(sorted(names.values()), ["a", "b"])
        story = [(names.get(job, ""), kind) for _, job, kind, _ in trace["events"]]
        came, scheduled, idle, free, granted, switch = 1, 3, 4, 5, 6, 8
        self.assertEqual(story[:2], [("a", came), ("a", free)])
        for event in [("b", came), ("b", scheduled), ("a", idle), ("b", granted), ("", switch)]:
            self.assertIn(event, story)
        self.assertLess(abs(trace["events"][-1][0] / 1e9 - time.time()), 60)

    def test_jobs_of_one_name_are_told_apart_by_their_users(self):
        self.job("a")
        self.assertEqual(self.ctl("trace", "start").returncode, 0)
        self.job("a", uid=NOBODY).schedule()
        trace = json.loads(self.ctl("trace", "dump").stdout)
        self.assertEqual([(job["job_id"], job["uid"]) for job in trace["jobs"]], [("a", 0), ("a", NOBODY)])
        self.assertEqual(len({job["job"] for job in trace["jobs"]}), 2)
        lines = [line.split()[:3] for line in self.ctl("trace", "requests").stdout.splitlines()]
        self.assertEqual(lines[1:], [["a", "root", "0"], ["a", "nobody", "1"]])

    def test_exports_are_drawn_and_merged(self):
        self.record()
        time.sleep(0.05)
        self.client().simple(SWITCH)
        files = []
        for name in ("node0", "node1"):
            files.append(os.path.join(self.folder, name))
            with open(files[-1], "w", encoding="ascii") as file:
                file.write(self.ctl("trace", "dump", name).stdout)
        svg = self.ctl("trace", "export", "svg", *files)
        self.assertEqual(svg.returncode, 0, svg.stderr)
        self.assertIn("100.0 % coscheduled", svg.stdout)
        events = json.loads(self.ctl("trace", "export", "json", *files).stdout)["traceEvents"]
        self.assertEqual({event["args"]["name"] for event in events
                          if event["name"] == "process_name"}, {"node0", "node1"})
        fractions = self.ctl("trace", "coscheduled", *files).stdout.split()
        self.assertEqual(fractions[2::3], ["1.000", "1.000"])
        self.assertEqual(self.ctl("trace", "export", "svg").returncode, 0)  # of the running classd

    def test_a_stopped_trace_stays_readable(self):
        b = self.record()
        self.assertEqual(self.ctl("trace", "stop").returncode, 0)
        before = self.ctl("trace", "dump").stdout
        # When it was stopped is not known: it says nothing of the time after its last event.
        self.assertEqual(json.loads(before)["until"], json.loads(before)["events"][-1][0])
        b.schedule()
        self.client().simple(SWITCH)
        self.assertEqual(len(json.loads(before)["events"]),
                         len(json.loads(self.ctl("trace", "dump").stdout)["events"]))

    def test_the_ring_is_bounded(self):
        self.job("a")
        b = self.job("b")
        self.assertEqual(self.ctl("trace", "start", "10").returncode, 0)
        b.schedule(100)
        trace = json.loads(self.ctl("trace", "dump").stdout)
        self.assertEqual(len(trace["events"]), 10)
        self.assertGreaterEqual(trace["lost"], 90)
        for events in ("1048577", "0"):
            refused = self.ctl("trace", "start", events)
            self.assertEqual((refused.returncode, "give 1 to 1048576" in refused.stderr), (2, True), refused.stderr)

    def test_users_may_not_record_or_read(self):
        user = self.client(NOBODY)
        self.assertEqual(user.simple(8), errno.EPERM)
        self.assertEqual(user.query(3, 0), errno.EPERM)
        self.assertEqual(user.query(4, 0), errno.EPERM)

    def test_nonsense_is_explained(self):
        for words in (["trace"], ["trace", "paint"], ["trace", "export", "gif"]):
            run = self.ctl(*words)
            self.assertEqual(run.returncode, 2)
            self.assertIn("export json|svg", run.stderr)
        self.assertEqual(self.ctl("trace", "start", "many").returncode, 2)
        self.assertIn("nothing was recorded", self.ctl("trace", "export", "svg").stderr)


def forbid_asking_the_clock():
    """In this process and those that it starts, as systemd-nspawn does: adjtimex() and clock_adjtime() are EPERM."""
    adjtimex, clock_adjtime = {"x86_64": (159, 305), "aarch64": (171, 266)}[os.uname().machine]
    load, equal, answer = 0x20, 0x15, 0x06  # of classic BPF
    allow, refuse = 0x7fff0000, 0x00050000 | errno.EPERM
    program = b"".join(struct.pack("=HBBI", *step) for step in (
        (load, 0, 0, 0), (equal, 2, 0, adjtimex), (equal, 1, 0, clock_adjtime),
        (answer, 0, 0, allow), (answer, 0, 0, refuse)))
    steps = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(steps)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filtered = 38, 22, 2
    if (libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0
            or libc.prctl(seccomp, filtered, ctypes.c_void_p(ctypes.addressof(head)), 0, 0) != 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Watching(Node):
    def test_metrics_are_openmetrics(self):
        self.job("a"), self.job("b", uid=NOBODY)
        text = self.ctl("metrics").stdout
        self.assertTrue(text.endswith("# EOF\n"))
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        samples = re.findall(r"^([a-z_]+)(\{[^}]*\})? (\S+)$", text, re.MULTILINE)
        self.assertGreater(len(samples), 20)
        self.assertLessEqual(set(types.values()), {"counter", "gauge"})  # which textfile collectors know, too
        for name, _, value in samples:
            float(value)
            family = next(f for f in (name, name.removesuffix("_total")) if f in types)
            self.assertEqual(name.endswith("_total"), types[family] == "counter")
        self.assertIn(f'cosched_job_scheduled{{job="b",uid="{NOBODY}"}} 0', text)
        self.assertIn('cosched_job_share_ratio{job="a",uid="0"} 0.99', text)
        self.assertIn("cosched_jobs 2\n", text)

    def test_top_prints_a_table_where_there_is_no_terminal(self):
        self.job("a"), self.job("b")
        run = self.ctl("top", "100ms")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = {line.split()[0]: line for line in run.stdout.splitlines()[2:]}
        self.assertIn("scheduled", rows["a"])
        self.assertIn("idle", rows["b"])
        self.assertEqual(self.ctl("top", "1").returncode, 2)
        self.assertEqual(self.ctl("top", "1ms").returncode, 2)
        self.assertEqual(self.ctl("top", "1s", "2s").returncode, 2)

    def test_top_needs_a_terminal_to_type_at(self):
        self.job("a")
        master, slave = pty.openpty()
        with os.fdopen(master, "rb", buffering=0) as screen, os.fdopen(slave, "wb", buffering=0) as own:
            run = subprocess.run([daemonkit.CTL, "--config", self.config, "top", "100ms"], stdin=subprocess.DEVNULL,
                                 stdout=own, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False,
                                 env={**os.environ, "TERM": "xterm"})
            self.assertEqual((run.returncode, run.stderr), (0, b""))
            self.assertIn(b"STRETCH", screen.read(4096))

    def test_half_of_an_output_is_a_failure(self):
        self.job("a")
        for words in (["status"], ["jobs"], ["--json", "jobs"], ["metrics"], ["doctor"], ["top", "100ms"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                run = subprocess.run([daemonkit.CTL, "--config", self.config, *words], stdin=subprocess.DEVNULL,
                                     stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                                     check=False)
                self.assertEqual(run.returncode, 1)
                if words != ["doctor"]:  # which may have found something, too
                    self.assertEqual(run.stderr,
                                     "coschedctl: write to standard output: No space left on device\n")

    def test_the_doctor_names_what_is_missing(self):
        run = self.ctl("doctor")
        self.assertRegex(run.stdout, r"(?m)^ok .*classd .* answers")
        self.assertRegex(run.stdout, r"(?m)^ok .*cgroup v[12]")
        self.ctl("shutdown")
        run = self.ctl("doctor")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, r"(?m)^FAULT .*no classd is running")

    def test_the_doctor_sees_cpus_that_are_not_there(self):
        there = os.sysconf("SC_NPROCESSORS_ONLN")
        if there > 1:  # the configuration has one
            self.assertRegex(self.ctl("doctor").stdout, f"(?m)^note +this machine has {there} CPUs, but classd reckons with 1, ")
        self.kill_classd()
        self.configure(scheduler__cpus=there + 1)
        self.classd = self.start_classd()
        self.assertRegex(self.ctl("doctor").stdout, f"(?m)^FAULT this machine has {there} CPUs, but classd reckons with {there + 1}: ")

    def test_the_doctor_waits_for_the_first_switch(self):
        self.assertRegex(self.ctl("doctor").stdout, "(?m)^note +timerd has not asked for a switch yet")
        self.assertEqual(self.client().simple(daemonkit.SWITCH), 0)
        self.assertNotIn("has not asked", self.ctl("doctor").stdout)

    def test_the_doctor_looks_for_sequential_groups(self):
        self.configure(sequential__groups="cosched-nobody.slice")
        self.assertRegex(self.ctl("doctor").stdout, r"(?m)^note +\[sequential\] groups: there is no cosched-nobody\.slice ")

    def test_who_finds_no_classd_is_told_how_to_start_it(self):
        remedy = r"\Acoschedctl: no classd is running at \S+; start it \(systemctl start cosched-classd\), or name its file "
        self.kill_classd()  # it leaves its socket there
        self.assertRegex(self.ctl("status").stderr, remedy)
        os.unlink(os.path.join(self.runtime_dir, "classd.socket"))
        self.assertRegex(self.ctl("status").stderr, remedy)

    def test_the_doctor_sees_binding_conflicts(self):
        one = min(os.sched_getaffinity(0))
        clients = [self.job("a"), self.job("b")]
        for client in clients:
            os.sched_setaffinity(client.pid, {one})
        if len(os.sched_getaffinity(0)) > 1:
            self.assertRegex(self.ctl("doctor").stdout, r"(?m)^FAULT .*--bind-to none")
        if len(os.sched_getaffinity(0)) > 2:  # as to cores of two hardware threads
            two = sorted(os.sched_getaffinity(0))[:2]
            for client in (*clients, self.job("c")):
                os.sched_setaffinity(client.pid, set(two))
            self.assertRegex(self.ctl("doctor").stdout, r"(?m)^note +3 processes of 3 jobs, .* same 2 CPUs .*--bind-to none")
            for client in clients:
                os.sched_setaffinity(client.pid, {one})
        # Where there is but one CPU nothing else is free.
        alone = subprocess.run(["taskset", "-c", str(one), daemonkit.CTL, "--config", self.config, "doctor"],
                               capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertRegex(alone.stdout, r"(?m)^ok .*classd .* answers")
        self.assertNotIn("--bind-to none", alone.stdout)


class Installed(unittest.TestCase):
    @HAS_LIBRARY
    def test_units_start_what_was_installed(self):
        for prefix in ("/opt/cosched", "/usr"):  # the last one as it was configured
            with self.subTest(prefix=prefix), tempfile.TemporaryDirectory() as top:
                subprocess.run(["cmake", "--install", daemonkit.BUILD, "--prefix", prefix], check=True,
                               stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": top})
                units = glob.glob(f"{top}{prefix}/lib/systemd/system/*.service")
                self.assertEqual(len(units), 2)
                for unit in units:
                    with open(unit, encoding="ascii") as file:
                        programs = re.findall(r"^Exec(?!Reload)\w+=(\S+)", file.read(), re.MULTILINE)
                    self.assertTrue(programs)
                    for program in programs:
                        self.assertTrue(program.startswith(prefix + "/"), program)
                        self.assertTrue(os.access(top + program, os.X_OK), program)
                self.assertNotIn("libcosched_pmpi.so", self.doctor(top + prefix))  # it is found

    def test_a_configuration_that_was_edited_is_kept(self):
        with tempfile.TemporaryDirectory() as top:
            def install():
                subprocess.run(["cmake", "--install", daemonkit.BUILD, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                               env={**os.environ, "DESTDIR": top})
                found = {}
                for path in glob.glob(f"{top}/etc/cosched.ini*"):
                    with open(path, encoding="utf-8") as file:
                        found[os.path.basename(path)] = file.read()
                return found
            fresh = install()
            self.assertEqual(list(fresh), ["cosched.ini"])
            with open(f"{top}/etc/cosched.ini", "w", encoding="utf-8") as file:
                file.write("[scheduler]\ntime_slice = 2s\n")
            self.assertEqual(install(), {"cosched.ini": "[scheduler]\ntime_slice = 2s\n", "cosched.ini.new": fresh["cosched.ini"]})

    def test_what_is_generated_is_so_below_any_path(self):
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
        with tempfile.TemporaryDirectory(prefix="cosched test ") as top:
            for folder in ("doc", "etc"):
                shutil.copytree(f"{source}/{folder}", f"{top}/{folder}", ignore=shutil.ignore_patterns("results"))
            os.symlink(daemonkit.CLASSD, f"{top}/classd")
            with open(f"{top}/CMakeLists.txt", "w", encoding="ascii") as file:
                file.write("cmake_minimum_required(VERSION 3.25)\nproject(pages NONE)\ninclude(GNUInstallDirs)\n"
                           "add_executable(classd IMPORTED)\n"
                           'set_target_properties(classd PROPERTIES IMPORTED_LOCATION "${CMAKE_SOURCE_DIR}/classd")\n'
                           "function(cosched_unit_script)\nendfunction()\nset(COSCHED_DAEMONS ON)\n"  # no tests here
                           "add_subdirectory(doc)\nadd_subdirectory(etc)\n")
            for step in (["-S", top, "-B", f"{top}/build"], ["--build", f"{top}/build"]):
                run = subprocess.run(["cmake", *step], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            with open(f"{top}/build/etc/cosched.ini", encoding="ascii") as file:
                self.assertIn("\n[cgroup]\n", file.read())
            if shutil.which("scdoc"):
                with open(f"{top}/build/doc/cosched.ini.5", encoding="utf-8") as file:
                    self.assertIn("placement", file.read())
                self.assertTrue(os.path.exists(f"{top}/build/doc/coschedctl.1"))

    @HAS_LIBRARY
    def test_a_library_that_serves_no_mpi_is_a_fault(self):
        with tempfile.TemporaryDirectory() as top:
            subprocess.run(["cmake", "--install", daemonkit.BUILD, "--prefix", top], check=True,
                           stdout=subprocess.DEVNULL)
            variants = glob.glob(f"{top}/lib*/**/libcosched_pmpi_*.so", recursive=True)
            self.assertEqual("serves no MPI" in self.doctor(top), not variants)
            for variant in variants:
                os.unlink(variant)
            self.assertRegex(self.doctor(top), "(?m)^FAULT the library serves no MPI: .*-DCOSCHED_MPICC_mpich=")

    def test_the_doctor_knows_launchers_by_their_names_only(self):
        with tempfile.TemporaryDirectory() as empty:
            said = subprocess.run([daemonkit.CTL, "--config", "/dev/null", "doctor"], capture_output=True, text=True,
                                  check=False, env={**os.environ, "PATH": empty}).stdout
        self.assertRegex(said, "(?m)^note  MPICH: no mpiexec.mpich in PATH$")
        self.assertRegex(said, r"(?m)^note +\[sequential\] groups names nobody")
        self.assertNotIn("is not installed", said)

    def test_the_doctor_does_not_guess_the_clock(self):
        run = subprocess.run([daemonkit.CTL, "--config", "/dev/null", "doctor"], capture_output=True, text=True,
                             timeout=DEADLINE_S, check=False, preexec_fn=forbid_asking_the_clock)
        self.assertNotRegex(run.stdout, "(?m)^ok +the clock")
        self.assertRegex(run.stdout, r"(?m)^note .* clock is synchronised cannot be asked here \(Operation not permitted\)")

    def doctor(self, prefix):
        return subprocess.run([f"{prefix}/bin/coschedctl", "--config", "/dev/null", "doctor"], capture_output=True,
                              text=True, check=False).stdout


if __name__ == "__main__":
    daemonkit.main()
