"""classd and its jobs as they run, and what every program of the node does.

Protects: shares and their swaps, the guaranteed minimum, limits of the configuration, readiness, and options.
Who may do what is in test_permissions.py, ends and restarts in test_fail_open.py.
"""

import errno
import os
import signal
import socket
import subprocess
import tempfile
import unittest

import daemonkit
from daemonkit import (BUILD, CLASSD, CONTENDED, CTL, DEADLINE_S, EXIT, NOBODY, SCHEDULED, SWITCH, TIMERD, Node,
                       classes, members, period, quota)


class Shares(Node):
    def test_a_single_job_is_not_limited(self):
        a = self.job("a")
        self.assertEqual(quota("a"), -1)
        self.assertEqual(a.flags(), SCHEDULED)
        self.assertIn(a.pid, members("a"))

    def test_two_jobs_share_99_to_1(self):
        a, b = self.job("a"), self.job("b")
        self.assert_shares("a", "b")
        self.assertEqual(a.flags(), SCHEDULED | CONTENDED)
        self.assertEqual(b.flags(), CONTENDED)

    def test_many_idle_jobs_share_2_percent_until_one_asks(self):
        timer = self.client()
        self.assertEqual(timer.simple(SWITCH), 0)
        jobs = {name: self.job(name) for name in "abcde"}
        timer.simple(SWITCH)
        idle = [name for name, job in jobs.items() if not job.flags() & SCHEDULED]
        self.assertEqual([(quota(name), period(name)) for name in idle], [(1000, 200000)] * 4)
        jobs[idle[0]].schedule()
        self.assertEqual([(quota(name), period(name)) for name in idle], [(1000, 100000)] + [(1000, 200000)] * 3)

    def test_the_page_tells_the_facts(self):
        a, b = self.job("a"), self.job("b")
        page = a.read_page()
        node = a.query_node()
        self.assertEqual(page["node_id"], node["node_id"])
        self.assertEqual(page["node_id"], b.read_page()["node_id"])
        self.assertEqual(page["generation"], node["generation"])
        self.assertEqual((page["time_slice"], page["gmet"]), (3600 * 10**9, 3600 * 10**9))
        self.assertEqual((page["cpus"], page["degree"], page["uid"], page["ranks"]), (1, 2, 0, 1))
        self.assertEqual((page["job_id"], page["piggyback"], page["wait"]), ("a", 1, 2))

    def test_switch_swaps(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual(self.client().simple(SWITCH), 0)
        self.assert_shares("b", "a")
        self.assertEqual((a.flags(), b.flags()), (CONTENDED, SCHEDULED | CONTENDED))

    def test_who_was_idle_is_told_of_his_turn(self):
        a, b = self.job("a"), self.job("b")
        b2 = self.client()
        self.assertEqual(b2.register("b", 1, 1, 2)["status"], 0)
        self.assertEqual((a.turns(), b.turns(), b2.turns()), (0, 0, 0))
        self.client().simple(SWITCH)
        self.assertEqual((a.turns(), b.turns(), b2.turns()), (0, 1, 1))
        for _ in range(4):  # what has not been taken is not said again
            self.client().simple(SWITCH)
        self.assertEqual((a.turns(), b.turns(), b2.turns()), (1, 1, 1))
        for _ in range(2):
            self.client().simple(SWITCH)
        # It is no reply that was not read.
        self.assertEqual(b.register("b", 2)["status"], 0)
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual(b.simple(EXIT), 0)
        self.assertEqual(b2.turns(), 1)

    def test_a_turn_makes_no_room_for_a_second_unread_page(self):
        self.job("a")
        b = self.job("b", uid=NOBODY)
        self.client().simple(SWITCH)
        self.assertEqual(b.turns(), 1)
        self.assertEqual(b.hoard_pages("b", 5), 1)

    def test_a_request_within_gmet_is_discarded(self):
        self.job("a")
        b = self.job("b")
        b.schedule()
        self.assert_shares("a", "b")
        node = b.query_node()
        self.assertEqual((node["requests"], node["granted"], node["discarded"]), (1, 0, 1))

    def test_exit_gives_the_node_back(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual(classes(), ["job-0-b"])
        self.assertEqual((quota("b"), b.flags()), (-1, SCHEDULED))
        self.assertEqual(a.flags() & SCHEDULED, SCHEDULED)
        self.assertEqual(b.read_page()["degree"], 1)
        self.assertEqual(a.simple(EXIT), errno.ESRCH)

    def test_who_parts_gives_the_node_back_and_is_limited_no_more(self):
        a, b = self.job("a"), self.job("b")
        b.part()
        self.assertEqual((quota("a"), a.flags()), (-1, SCHEDULED))
        self.assertEqual((b.query_node()["jobs"], b.flags()), (1, SCHEDULED))
        self.assertIn(quota("b"), (-1, None))  # None: it took us long to ask
        self.eventually(lambda: classes() == ["job-0-a"], "the class is removed")
        self.assertEqual(b.simple(EXIT), errno.ESRCH)

    def test_death_gives_the_node_back(self):
        a, b = self.job("a"), self.job("b")
        a.kill()
        self.eventually(lambda: classes() == ["job-0-b"], "the class of the dead job is removed")
        self.eventually(lambda: quota("b") == -1, "the other job is not limited any more")
        self.assertEqual(b.flags(), SCHEDULED)

    def test_helpers_of_a_dead_job_live_on_elsewhere(self):
        a = self.job("a")
        helper = a.spawn_helper()
        try:
            self.assertIn(helper, members("a"))
            a.kill()
            self.eventually(lambda: classes() == [], "the class is removed")
            os.kill(helper, 0)
        finally:
            os.kill(helper, signal.SIGKILL)

    def test_one_process_of_two_leaves(self):
        a, b = self.job("a"), self.job("a")
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual(members("a"), [b.pid])

    def test_a_lost_connection_is_no_exit(self):
        a, b = self.job("a"), self.job("b")
        a.connect()
        self.assertEqual(b.query_node()["jobs"], 2)
        self.assertEqual(a.simple(EXIT), errno.ESRCH)  # not registered on this connection
        self.assertEqual(a.register("a")["status"], 0)
        self.assertEqual(b.query_node()["processes"], 2)
        self.assertEqual(a.simple(EXIT), 0)

    def test_registering_again_changes_the_width(self):
        a = self.job("a", width=1)
        self.assertEqual(a.register("a", 3)["status"], 0)
        job = a.query_job(0)
        self.assertEqual((job["processes"], job["width"]), (1, 3))

    def test_a_process_is_in_one_job(self):
        a = self.job("a")
        self.assertEqual(a.register("b")["status"], errno.EBUSY)
        self.assertEqual(classes(), ["job-0-a"])


    def test_who_has_given_up_waiting_is_not_registered(self):
        waiting = self.client()
        self.classd.send_signal(signal.SIGSTOP)
        waiting.give_up("a")
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(lambda: "REGISTER of" in self.log_text(), "a line")
        self.assertIn("has given up", self.log_text())
        self.assertEqual(self.client().query_node()["jobs"], 0)
        self.assertEqual(classes(), [])

    def test_who_gives_up_before_he_is_told_is_not_registered(self):
        a, waiting = self.job("a"), self.client()
        self.assertTrue(waiting.give_up_untold("b"))
        self.eventually(lambda: a.query_node()["jobs"] == 1, "he is forgotten")
        self.assertEqual(classes(), ["job-0-a"])
        self.assertEqual((quota("a"), a.flags()), (-1, SCHEDULED))

    def test_a_turn_that_nobody_takes_is_no_exit(self):
        a, b = self.job("a"), self.job("b")
        a.simple(SWITCH)
        b.hang_up()  # TURN is in its socket
        for _ in range(10):
            self.assertEqual(a.query_node()["jobs"], 2)
        self.assertEqual(classes(), ["job-0-a", "job-0-b"])


class NotStrict(Node):
    settings = {"scheduler__strict": "no"}

    def test_only_idle_jobs_are_limited(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual((quota("a"), quota("b")), (-1, 1000))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED | CONTENDED, CONTENDED))


class Sleepers(Node):
    settings = {"scheduler__skip_dormant": "yes", "scheduler__time_slice": "300ms", "scheduler__gmet": "100ms",
                "scheduler__strict": "no"}

    def states(self):
        """(scheduled, dormant, limited) of each job."""
        return [(job["scheduled"], job["dormant"], job["limited"]) for job in self.ctl_json("jobs")]

    def test_who_sleeps_has_no_turns_until_it_computes(self):
        awake = (True, False, False)
        self.start(TIMERD)
        a, b = self.job("a"), self.job("b")
        b.spawn_hog()
        self.eventually(lambda: self.states() == [(False, True, True), awake], "a sleeps, and b has the node")
        self.assertEqual((a.flags(), b.flags()), (CONTENDED, SCHEDULED))
        self.assertEqual((quota("a"), quota("b")), (5000, -1))
        self.assertRegex(self.ctl("jobs").stdout, r"(?m)^a .* dormant ")
        self.assertIn('cosched_job_dormant{job="a",uid="0"} 1', self.ctl("metrics").stdout)
        hog = a.spawn_hog()
        self.eventually(lambda: self.states()[0] == (True, False, True), "a has a turn")
        self.eventually(lambda: self.states()[1] == (True, False, True), "b has one, too")
        a.end_helper(hog)
        self.eventually(lambda: self.states() == [(False, True, True), awake], "a sleeps again")
        b.kill()
        self.eventually(lambda: self.states() == [(True, True, False)], "a has nobody to stand aside for")


@unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "needs CPUs 0 and 1")
class Bound(Node):
    settings = {"scheduler__cpus": 2}

    def bound(self, name, cpu):
        client = self.client()
        os.sched_setaffinity(client.pid, {cpu})
        self.assertEqual(client.register(name)["status"], 0)
        return client

    def test_who_is_bound_to_the_same_cpu_takes_turns(self):
        self.bound("a", 0)
        b = self.bound("b", 0)
        self.assertEqual(b.flags(), CONTENDED)
        self.assertNotEqual(quota("b"), -1)
        self.assertEqual(self.client().simple(SWITCH), 0)
        self.assertEqual(b.flags(), SCHEDULED | CONTENDED)
        self.assertNotEqual(quota("a"), -1)

    def test_who_is_bound_to_others_does_not(self):
        a, b = self.bound("a", 0), self.bound("b", 1)
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))
        self.assertEqual((quota("a"), quota("b")), (-1, -1))

    def test_who_is_bound_anew_is_judged_anew(self):
        a, b = self.bound("a", 0), self.bound("b", 1)
        os.sched_setaffinity(b.pid, {0})
        self.assertEqual(self.client().simple(SWITCH), 0)
        self.assertEqual(sorted((a.flags(), b.flags())), [CONTENDED, SCHEDULED | CONTENDED])


class Gmet(Node):
    settings = {"scheduler__gmet": "0s"}

    def test_a_request_after_gmet_is_granted(self):
        self.job("a")
        b = self.job("b")
        b.schedule()
        self.assert_shares("b", "a")
        self.assertEqual(b.query_job(1)["requests"], 1)
        self.assertEqual(b.query_node()["granted"], 1)


class Limits(Node):
    settings = {"daemon__max_jobs": 2, "daemon__max_processes": 2, "daemon__max_connections": 40,
                "daemon__max_connections_per_user": 20}

    def test_further_jobs_are_refused(self):
        self.job("a"), self.job("b")
        self.assertEqual(self.client().register("c")["status"], errno.ENOSPC)
        self.assertEqual(classes(), ["job-0-a", "job-0-b"])
        # He hears of the node's limits, but not who is in which job.
        self.assertIn("[daemon] max_jobs = 2 jobs", self.client().register("c")["text"])
        self.assertEqual(self.clients[0].register("b"), {"status": errno.EBUSY, "text": ""})
        self.assertRegex(self.ctl("status").stdout, r"\nrefused +3 registrations; ")
        self.assertIn("\ncosched_registrations_refused_total 3\n", self.ctl("metrics").stdout)

    def test_further_processes_are_refused(self):
        self.job("a"), self.job("a")
        third = self.client()
        self.assertEqual(third.register("a")["status"], errno.ENOSPC)
        self.assertNotIn(third.pid, members("a"))

    def test_a_user_gets_his_connections_and_root_its_own(self):
        self.assertEqual(self.client(NOBODY).connections(40), 19)
        self.assertEqual(self.ctl("status").returncode, 0)

    def test_a_client_that_does_not_read_is_closed(self):
        flood = self.client(NOBODY)
        self.assertIsNotNone(flood.flood())
        self.assertEqual(self.ctl("status").returncode, 0)
        self.assertIn("does not read", self.log_text())


class Systemd(Node):
    def check(self, program):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            path = os.path.join(self.folder, "notify")
            systemd.bind(path)
            systemd.settimeout(DEADLINE_S)
            journal, stream = os.pipe()
            about = os.fstat(stream)
            daemon = subprocess.Popen([program, "--config", self.config], stdin=subprocess.DEVNULL, stderr=stream,
                                      env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000",
                                           "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"})
            os.close(stream)
            self.daemons.append(daemon)
            lives = b"READY=1\nWATCHDOG=1"  # READY again, for the first may have been lost
            self.assertEqual(systemd.recv(100), b"READY=1")
            for _ in range(3):
                self.assertEqual(systemd.recv(100), lives)
            daemon.terminate()
            said = lives
            while said == lives:
                said = systemd.recv(100)
            self.assertEqual(said, b"STOPPING=1")
            os.unlink(path)
            self.assertEqual(daemon.wait(DEADLINE_S), 0)
            with open(journal, encoding="ascii") as lines:
                self.assertRegex(lines.read(), "^<5>")

    def test_classd_notifies(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(DEADLINE_S)
        self.check(CLASSD)

    def test_timerd_notifies(self):
        self.check(TIMERD)


class Programs(unittest.TestCase):
    """What needs no running daemon."""

    def run_all(self, *arguments):
        for program in (CLASSD, TIMERD, CTL):
            yield program, subprocess.run([program, *arguments], capture_output=True, text=True,
                                          timeout=DEADLINE_S, check=False)

    def test_help_and_version(self):
        for option in ("--help", "--version"):
            for program, run in self.run_all(option):
                with self.subTest(program=program, option=option):
                    self.assertEqual((run.returncode, run.stderr), (0, ""))
                    self.assertIn(os.path.basename(program), run.stdout)

    def test_wrong_options(self):
        for program, run in self.run_all("--nonsense"):
            with self.subTest(program=program):
                self.assertEqual((run.returncode, run.stdout), (2, ""))

    def test_options_that_mean_nothing_are_refused(self):
        for words in (["--json", "doctor"], ["--json", "metrics"], ["--force", "shutdown"], ["--means", "share", "kill", "x"],
                      ["--subtree", "1", "release"], ["--json", "top"], ["--json", "trace", "stop"]):
            with self.subTest(words=words):
                run = subprocess.run([CTL, *words], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertRegex(run.stderr, rf"\Acoschedctl: {words[0]} means nothing with \w+; leave it out\n\Z")

    def test_half_of_a_configuration_is_a_failure(self):
        for option in ("--print-config", "--print-manual"):
            with self.subTest(option=option), open("/dev/full", "wb") as full:
                run = subprocess.run([CLASSD, option, "--config", "/dev/null"], stdout=full, stderr=subprocess.PIPE, text=True,
                                     timeout=DEADLINE_S, check=False)
                self.assertEqual(run.returncode, 1)
                self.assertIn("write to standard output: No space left on device", run.stderr)

    def test_half_of_a_help_is_a_failure(self):
        for program in (CLASSD, TIMERD, CTL):
            for option in ("--help", "--version"):
                with self.subTest(program=program, option=option), open("/dev/full", "wb") as full:
                    run = subprocess.run([program, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                                         check=False)
                    self.assertEqual(run.returncode, 1)
                    self.assertEqual(run.stderr, f"{os.path.basename(program)}: write to standard output: No space left on device\n")

    def test_a_missing_config_is_an_error_when_named(self):
        for program, run in self.run_all("--config", "/nonexistent", *()):
            with self.subTest(program=program):
                self.assertNotEqual(run.returncode, 0)

    def test_print_config_is_a_config(self):
        text = subprocess.run([CLASSD, "--print-config", "--config", "/dev/null"],
                              capture_output=True, text=True, check=True).stdout
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write(text)
            file.flush()
            subprocess.run([CLASSD, "--check-config", "--config", file.name], check=True)

    def test_the_installed_example_has_the_defaults_of_no_machine(self):
        text = subprocess.run([CLASSD, "--print-config", "--config", "/dev/null"],
                              capture_output=True, text=True, check=True).stdout
        with open(os.path.join(BUILD, "etc", "cosched.ini"), encoding="ascii") as file:
            self.assertEqual(file.read(), text)

    def test_check_config_names_the_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write("[scheduler]\ngmet = 5\n")
            file.flush()
            run = subprocess.run([CLASSD, "--check-config", "--config", file.name],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{file.name}:2", run.stderr)


if __name__ == "__main__":
    daemonkit.main()
