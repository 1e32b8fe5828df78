"""classd, timerd and coschedctl as they run.

Protects: shares and their swaps, who may do what, that rubbish from outside harms nobody, that no
job stays limited when a daemon stops, hangs or is killed, and that a restart loses no job.
"""

import errno
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import daemonkit
from daemonkit import (BUILD, CLASSD, CONTENDED, CTL, DEADLINE_S, EXIT, NOBODY, QUERY, REGISTER, ROOT,
                       SCHEDULE, SCHEDULED, SHUTDOWN, SWITCH, TIMERD, VERSION, Node, classes, members, packet,
                       period, quota, register_body, remove_groups)


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


class Outsiders(Node):
    def test_users_may_not_switch_or_shut_down(self):
        user = self.client(NOBODY)
        self.assertEqual(user.simple(SWITCH), errno.EPERM)
        self.assertEqual(user.simple(SHUTDOWN), errno.EPERM)
        self.assertEqual(self.ctl("status").returncode, 0)

    def test_users_see_their_own_jobs(self):
        self.job("secret")
        user = self.client(NOBODY)
        self.assertEqual(user.query_job(0)["status"], errno.ENOENT)
        self.assertEqual(user.register("own")["status"], 0)
        self.assertEqual(user.query_job(0)["job_id"], "own")
        self.assertEqual(user.query_job(1)["status"], errno.ENOENT)
        self.assertEqual([job["job_id"] for job in self.ctl_json("jobs")], ["secret", "own"])

    def test_a_job_belongs_to_a_user(self):
        self.job("same")
        user = self.job("same", uid=NOBODY)
        self.assertEqual(classes(), ["job-0-same", f"job-{NOBODY}-same"])
        self.assertEqual(user.read_page()["uid"], NOBODY)

    def test_users_cannot_write_the_page(self):
        self.assertFalse(self.job("a", uid=NOBODY).page_writable())

    def test_rubbish_is_answered_by_hanging_up(self):
        rubbish = {
            "short": b"x",
            "empty header": bytes(16),
            "other magic": packet(QUERY, magic=1),
            "cut": packet(SWITCH)[:100],
            "long": packet(SWITCH) + b"x",
            "very long": packet(SWITCH) * 100,
            "job id with a slash": packet(REGISTER, register_body("../../etc")),
            "job id with a dot first": packet(REGISTER, register_body(".a")),
            "no job id": packet(REGISTER, register_body("")),
            "endless job id": packet(REGISTER, b"a" * 40 + struct.pack("=IIII", 1, 0, 1, 0)),
            "no width": packet(REGISTER, register_body("a", 0)),
            "huge width": packet(REGISTER, register_body("a", 2**32 - 1)),
            "rank beyond ranks": packet(REGISTER, register_body("a", 1, 5, 5)),
        }
        for name, data in rubbish.items():
            with self.subTest(name):
                self.assertIsNone(self.client(NOBODY).raw(data.hex()))
        self.assertEqual(self.ctl_json("status")["jobs"], 0)
        self.assertEqual(classes(), [])

    def test_what_classd_does_not_know_is_refused(self):
        later = {
            "command": packet(77),
            "query": packet(QUERY, struct.pack("=II", 9, 0)),
            "field": packet(QUERY, struct.pack("=III", 1, 0, 1)),
            "field of a command without a reply": packet(SCHEDULE, b"\1"),
            "reserved field": packet(REGISTER, b"a".ljust(40, b"\0") + struct.pack("=IIII", 1, 0, 1, 1)),
        }
        user = self.client(NOBODY)
        for name, data in later.items():
            with self.subTest(name):
                self.assertEqual(user.raw(data.hex()), errno.EOPNOTSUPP)
                self.assertEqual(user.query_node()["status"], 0)  # by the same connection
        self.assertEqual(classes(), [])

    def test_another_version_is_told_so(self):
        user = self.client(NOBODY)
        status = user.raw(packet(QUERY, version=VERSION + 1).hex())
        self.assertEqual(status, errno.EPROTONOSUPPORT)
        self.assertEqual(user.query_node()["status"], 0)

    def test_requests_of_the_unregistered_are_ignored(self):
        user = self.client(NOBODY)
        user.schedule(100)
        self.assertEqual(user.query_node()["requests"], 0)

    def test_service_user_may_switch(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(DEADLINE_S)
        self.configure(daemon__service_user="nobody")
        self.start_classd()
        self.job("a")
        user = self.client(NOBODY)
        self.assertEqual(user.simple(SWITCH), 0)
        self.assertEqual(user.query_job(0)["job_id"], "a")


class ServiceUser(Node):
    settings = {"scheduler__time_slice": "100ms", "scheduler__gmet": "50ms"}
    warning = "neither root nor with CAP_DAC_OVERRIDE"

    def start_as_nobody(self, *options):
        command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *options, TIMERD, "--config", self.config]
        self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=self.log))

    def asked(self):
        return self.ctl_json("status")["switches"] > 0

    def test_another_timerd_is_told_who_may(self):
        self.start_as_nobody()
        self.eventually(lambda: "run timerd as root, who may lift limits" in self.log_text(), "a remedy")

    def test_a_timerd_that_can_lift_nothing_says_so(self):
        self.kill_classd()
        self.configure(daemon__service_user="nobody")
        self.classd = self.start_classd()
        self.start_as_nobody()
        self.eventually(self.asked, "it may ask")
        self.assertEqual(self.log_text().count(self.warning), 1)

    def test_one_that_can_does_not(self):
        self.kill_classd()
        self.configure(daemon__service_user="nobody")
        self.classd = self.start_classd()
        self.job("a"), self.job("b")
        self.start_as_nobody("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
        self.eventually(self.asked, "it may ask")
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(lambda: (quota("a"), quota("b")) == (-1, -1), "it lifts")
        self.assertNotIn(self.warning, self.log_text())


class Ends(Node):
    def test_sigterm_lifts_and_keeps_classes(self):
        a, b = self.job("a"), self.job("b")
        self.classd.terminate()
        self.assertEqual(self.classd.wait(DEADLINE_S), 0)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))
        self.assertFalse(os.path.exists(os.path.join(self.runtime_dir, "classd.socket")))

    def test_shutdown_removes_classes_and_pages(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.assertEqual(self.classd.wait(DEADLINE_S), 0)
        self.assertEqual(classes(), [])
        self.assertEqual(os.listdir(os.path.join(self.runtime_dir, "jobs")), [])
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))

    def test_a_second_classd_refuses(self):
        second = subprocess.run([CLASSD, "--config", self.config], capture_output=True, text=True,
                                timeout=DEADLINE_S, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"another classd (pid {self.classd.pid})", second.stderr)
        self.assertEqual(self.ctl("status").returncode, 0)

    def test_release_lifts_what_a_killed_classd_left(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual(self.ctl("release").returncode, 1)
        self.assertIn("coschedctl shutdown", self.ctl("release").stderr)
        self.assert_shares("a", "b")
        self.kill_classd()
        self.assert_shares("a", "b")
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))
        self.assertEqual(self.ctl_json("release"), {"lifted": 2})
        self.classd = self.start_classd()
        self.assert_shares("a", "b")
        self.kill_classd()
        self.assertEqual(b.flags(), CONTENDED)
        self.assertEqual(self.ctl_json("release"), {"lifted": 2})
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))

    def test_release_needs_no_sound_configuration(self):
        self.job("a"), self.job("b")
        self.kill_classd()
        with open(self.config, "a", encoding="ascii") as file:
            file.write("[scheduler]\nspeed = 11\n[cg")
        run = subprocess.run([CLASSD, "--config", self.config, "--release"], capture_output=True,
                             text=True, check=True)
        self.assertIn(f'releasing below the root "{ROOT}"', run.stderr)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        by_hand = self.ctl("release", "--json")
        self.assertEqual((by_hand.returncode, by_hand.stdout), (0, '{"lifted": 2}\n'))
        self.assertIn(f'releasing below the root "{ROOT}"', by_hand.stderr)
        os.unlink(self.config)
        gone = self.ctl("release")  # below the root of a node without a file
        self.assertIn("No such file", gone.stderr)
        self.assertIn('releasing below the root "cosched"', gone.stderr)
        self.configure()

    def move_root(self):
        self.addCleanup(remove_groups, f"{ROOT}/moved")
        self.configure(cgroup__root=f"{ROOT}/moved")

    def test_a_root_that_was_changed_meanwhile_is_lifted_all_the_same(self):
        a, b = self.job("a"), self.job("b")
        self.assertEqual(self.ctl("suspend", "a").returncode, 0)
        self.kill_classd()
        self.move_root()
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))  # which the frozen do not say

    def test_a_root_that_was_changed_meanwhile_is_cleared(self):
        a, b = self.job("a"), self.job("b")
        self.kill_classd()
        self.move_root()
        self.classd = self.start_classd()
        self.assertEqual(classes(), [])
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))
        self.assertIn(f"had its classes below {ROOT} ", self.log_text())
        self.assertEqual(self.ctl_json("release", "--force"), {"lifted": 0})

    def test_a_removed_runtime_directory_ends_it(self):
        a, b = self.job("a"), self.job("b")
        shutil.rmtree(self.runtime_dir)
        self.assertEqual(self.classd.wait(DEADLINE_S), 1)
        self.assertIn("classd.socket was removed", self.log_text())
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))
        self.start_classd()
        self.assertEqual(self.client().register("c")["status"], 0)

    def test_a_replaced_socket_stays(self):
        path = os.path.join(self.runtime_dir, "classd.socket")
        os.rename(path, path + ".old")
        with open(path, "w", encoding="ascii"):
            pass
        self.assertEqual(self.classd.wait(DEADLINE_S), 1)
        self.assertTrue(os.path.exists(path))

    def test_ctl_says_when_nobody_answers(self):
        self.kill_classd()
        for command in ("status", "jobs", "shutdown"):
            run = self.ctl(command)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertEqual(run.stderr.count("\n"), 1)

    def test_a_runtime_dir_that_others_can_write_is_refused(self):
        self.kill_classd()
        os.chmod(self.runtime_dir, 0o777)
        run = subprocess.run([CLASSD, "--config", self.config], capture_output=True, text=True,
                             timeout=DEADLINE_S, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("can be changed by others", run.stderr)
        os.chmod(self.runtime_dir, 0o755)


class Privileges(Node):
    def status(self, daemon):
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            return dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)

    def test_daemons_keep_two_capabilities(self):
        kept = 1 << 1 | 1 << 5 | 1 << 23  # CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_NICE
        timerd = self.start(TIMERD)
        self.eventually(lambda: self.status(timerd)["NoNewPrivs"] == "1", "timerd is confined")
        for daemon in (self.classd, timerd):
            status = self.status(daemon)
            sets = {name: int(status[name], 16) for name in status if name.startswith("Cap")}
            self.assertEqual(sets, {"CapInh": 0, "CapPrm": kept, "CapEff": kept,
                                    "CapBnd": kept, "CapAmb": 0})
            self.assertEqual(status["NoNewPrivs"], "1")

    @unittest.skipUnless(daemonkit.realtime_allowed(), "the kernel gives this cgroup no real-time")
    def test_daemons_go_before_ordinary_processes(self):
        timerd = self.start(TIMERD)
        realtime = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for daemon in (self.classd, timerd):
            self.eventually(lambda: os.sched_getscheduler(daemon.pid) == realtime, "it runs in real-time")
            self.assertEqual(os.sched_getparam(daemon.pid).sched_priority, 1)


class Hidden(Node):
    """classd in a mount namespace of its own, whose /proc shows other users' processes to one group only."""

    GROUP = 54321  # nobody else's
    settings = {"daemon__log_level": "info"}
    groups = ()

    def hiding(self, program, *arguments):
        script = f'mount -t proc -o hidepid=2,gid={self.GROUP} proc /proc && exec "$0" "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, program, "--config", self.config, *arguments]

    def start(self, program):
        daemon = subprocess.Popen(self.hiding(program), stdin=subprocess.DEVNULL, stderr=self.log, extra_groups=self.groups)
        self.daemons.append(daemon)
        return daemon

    def test_the_remedy_is_said_once(self):
        for name in ("a", "b"):
            self.assertEqual(self.client(NOBODY).register(name)["status"], errno.EACCES)
        self.assertEqual(self.log_text().count("SupplementaryGroups="), 1)

    def test_the_remedy_helps(self):
        self.kill_classd()
        self.groups = (self.GROUP,)
        self.classd = self.start_classd()
        self.assertEqual(self.client(NOBODY).register("a")["status"], 0)

    def test_the_doctor_names_the_group(self):
        run = subprocess.run(self.hiding(CTL, "doctor"), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertRegex(run.stdout, f"(?m)^note  /proc is mounted with hidepid: .*SupplementaryGroups={self.GROUP}")
        self.assertNotIn("hidepid", self.ctl("doctor").stdout)


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
            self.assertEqual(systemd.recv(100), b"READY=1")
            for _ in range(3):
                self.assertEqual(systemd.recv(100), b"WATCHDOG=1")
            daemon.terminate()
            said = b"WATCHDOG=1"
            while said == b"WATCHDOG=1":
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


class Adoption(Node):
    def restart(self, kill):
        if kill:
            self.kill_classd()
        else:
            self.classd.terminate()
            self.classd.wait()
        self.classd = self.start_classd()

    def service(self, job):
        with open(os.path.join(self.runtime_dir, "jobs", f"0-{job}"), "rb") as file:
            file.seek(4096)
            return struct.unpack("=Q", file.read(8))[0]

    def check_restart(self, kill):
        a, b = self.job("a"), self.job("b")
        self.client().simple(SWITCH)
        self.assert_shares("b", "a")
        before = a.read_page()
        service = {name: self.service(name) for name in "ab"}
        self.restart(kill)
        after = a.read_page()
        self.assertNotEqual(after["generation"], before["generation"])
        self.assertNotEqual(after["generation"], 0)
        self.assertEqual(after["node_id"], before["node_id"])
        self.assert_shares("b", "a")
        self.assertEqual((a.flags(), b.flags()), (CONTENDED, SCHEDULED | CONTENDED))
        for name in "ab":
            self.assertGreaterEqual(self.service(name), service[name])
        for client, name in ((a, "a"), (b, "b")):
            client.connect()
            self.assertEqual(client.register(name)["status"], 0)
        status = self.ctl_json("status")
        self.assertEqual((status["jobs"], status["processes"]), (2, 2))
        a.kill()
        self.eventually(lambda: quota("b") == -1, "an adopted process's death is noticed")

    def test_after_kill(self):
        self.check_restart(kill=True)

    def test_after_sigterm(self):
        self.check_restart(kill=False)

    def test_turns_go_on_in_the_order_of_arrival(self):
        names = ["c", "a", "d", "b"]
        clients = {name: self.job(name) for name in names}
        for turn in range(6):
            self.client().simple(SWITCH)
            self.restart(kill=turn % 2 == 0)
            self.assertEqual([job["job_id"] for job in self.ctl_json("jobs")], names)
            scheduled = [name for name in names if clients[name].flags() & SCHEDULED]
            self.assertEqual(scheduled, [names[(turn + 1) % len(names)]])

    def test_jobs_that_ended_meanwhile_are_removed(self):
        a, b = self.job("a"), self.job("b")
        helper = a.spawn_helper()
        self.kill_classd()
        a.kill()
        self.classd = self.start_classd()
        try:
            self.assertEqual(classes(), ["job-0-b"])
            self.assertEqual(os.listdir(os.path.join(self.runtime_dir, "jobs")), ["0-b"])
            self.assertEqual((quota("b"), b.flags()), (-1, SCHEDULED))
            os.kill(helper, 0)
        finally:
            os.kill(helper, signal.SIGKILL)

    def test_rubbish_pages_are_removed(self):
        a = self.job("a")
        self.kill_classd()
        pages = os.path.join(self.runtime_dir, "jobs")
        for name, content in {"0-x": b"", "0-y": bytes(20480), "nonsense": b"z" * 20480}.items():
            with open(os.path.join(pages, name), "wb") as file:
                file.write(content)
        os.symlink("/etc/passwd", os.path.join(pages, "0-link"))
        with open(os.path.join(pages, "0-a"), "r+b") as file:
            file.seek(4096 + 8)
            file.write(struct.pack("=I", 2**32 - 1))  # impossibly many members
        self.classd = self.start_classd()
        self.assertEqual(os.listdir(pages), [])
        self.assertEqual(classes(), [])
        a.connect()
        self.assertEqual(a.register("a")["status"], 0)

    def pid_in_the_lock(self):
        with open(os.path.join(self.runtime_dir, "classd.lock"), encoding="ascii") as file:
            return file.read().strip()

    def begin_slowly(self):
        """A classd that has much to clear away, and has not begun to."""
        pages = os.path.join(self.runtime_dir, "jobs")
        for number in range(3000):
            with open(os.path.join(pages, f"0-rubbish{number}"), "wb"):
                pass
        self.classd = self.start(CLASSD)
        end = time.monotonic() + DEADLINE_S
        while self.pid_in_the_lock() != str(self.classd.pid):
            self.assertLess(time.monotonic(), end)

    def test_a_reload_at_the_start_kills_nobody(self):
        self.job("a"), self.job("b")
        self.kill_classd()
        self.begin_slowly()
        self.classd.send_signal(signal.SIGHUP)
        self.eventually(lambda: "configuration reloaded" in self.log_text(), "the file is read again")
        self.eventually(lambda: self.ctl("status").returncode == 0, "classd serves")
        self.assert_shares("a", "b")

    def test_sigterm_at_the_start_lifts(self):
        a, b = self.job("a"), self.job("b")
        self.kill_classd()
        self.begin_slowly()
        self.classd.terminate()
        self.assertEqual(self.classd.wait(DEADLINE_S), 0)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))
        self.assertEqual((a.flags(), b.flags()), (SCHEDULED, SCHEDULED))

    def test_many_kills_lose_no_job(self):
        a, b = self.job("a"), self.job("b")
        for _ in range(10):
            self.restart(kill=True)
            self.client().simple(SWITCH)
        self.assertEqual(self.ctl_json("status")["processes"], 2)
        self.assertEqual(sorted((quota("a"), quota("b"))), [1000, 99000])
        self.assertEqual((a.flags() | b.flags()) & SCHEDULED, SCHEDULED)


class Timer(Node):
    settings = {"scheduler__time_slice": "200ms", "scheduler__gmet": "100ms",
                "timer__align": "yes"}

    def both_limited(self):
        return sorted((quota("a"), quota("b"))) == [1000, 99000]

    def lifted(self):
        return (quota("a"), quota("b")) == (-1, -1)

    def test_timerd_swaps(self):
        self.job("a"), self.job("b")
        self.start(TIMERD)
        for _ in range(3):
            self.eventually(lambda: quota("b") == 99000, "b is scheduled")
            self.eventually(lambda: quota("a") == 99000, "a is scheduled")
        self.assertGreater(self.ctl_json("status")["switches"], 2)  # those that were asked for

    def test_without_timerd_classd_swaps_by_itself(self):
        self.job("a"), self.job("b")
        for _ in range(3):
            self.eventually(lambda: quota("b") == 99000, "b is scheduled")
            self.eventually(lambda: quota("a") == 99000, "a is scheduled")
        self.assertEqual(self.ctl_json("status")["switches"], 0)
        self.assertEqual(self.log_text().count("switches by itself"), 1)
        self.start(TIMERD)
        self.eventually(lambda: "asks for switches again" in self.log_text(), "a line")

    def test_a_timerd_that_hangs_is_reported(self):
        timerd = self.start(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.eventually(lambda: " switches, heard " in self.ctl("doctor").stdout, "the doctor says so")
        timerd.send_signal(signal.SIGSTOP)
        self.eventually(lambda: self.ctl_json("status")["timer_silent_s"] > 0.4, "time passes")
        self.assertRegex(self.ctl("status").stdout, "(?m)^timerd +not heard of for .*: see whether")
        self.assertRegex(self.ctl("doctor").stdout, "(?m)^FAULT timerd is not heard of for")
        self.assertRegex(self.ctl("metrics").stdout, r"(?m)^cosched_timer_silent_seconds [0-9.]+$")

    def test_free_running(self):
        self.configure(timer__align="no")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.job("a"), self.job("b")
        self.start(TIMERD)
        self.eventually(lambda: quota("b") == 99000, "b is scheduled")
        self.eventually(lambda: quota("a") == 99000, "a is scheduled")

    def test_a_killed_classd_limits_nobody(self):
        self.job("a"), self.job("b")
        self.start(TIMERD)
        self.eventually(lambda: quota("b") == 99000, "timerd works")
        self.kill_classd()
        self.eventually(self.lifted, "timerd lifts the limits")
        self.eventually(lambda: "classd is silent" in self.log_text(), "a line")
        self.classd = self.start_classd()
        self.eventually(self.both_limited, "the new classd limits again")
        self.eventually(lambda: "classd answers again" in self.log_text(), "a line")

    def test_a_hung_classd_limits_nobody(self):
        self.job("a"), self.job("b")
        self.start(TIMERD)
        self.eventually(lambda: quota("b") == 99000, "timerd works")
        before = self.log_text().count("classd is silent")
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(self.lifted, "timerd lifts the limits")
        time.sleep(1)  # several further ticks of the outage
        self.assertEqual(self.log_text().count("classd is silent"), before + 1)
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(self.both_limited, "the woken classd limits again")
        self.eventually(lambda: "classd answers again" in self.log_text(), "a line")

    def test_a_broken_configuration_is_no_reason_to_limit_for_ever(self):
        self.job("a"), self.job("b")
        with open(self.config, "a", encoding="ascii") as file:
            file.write("[scheduler]\nspeed = 11\n[cg")
        timerd = self.start(TIMERD)
        self.eventually(lambda: f'going on by the rest, below the root "{ROOT}"' in self.log_text(), "a line")
        self.configure()  # for coschedctl; timerd reads it once
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(self.lifted, "timerd lifts the limits")
        self.assertIsNone(timerd.poll())

    def start_unheard(self, *command):
        """With something to say, by a file of its own, and nobody at the other end of its standard error."""
        with open(self.config, encoding="ascii") as good, \
                open(os.path.join(self.folder, "broken.ini"), "w", encoding="ascii") as file:
            file.write(good.read() + "[scheduler]\nspeed = 11\n")
        reader, writer = os.pipe()
        os.close(reader)
        daemon = subprocess.Popen([*command, "--config", file.name], stdin=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        self.daemons.append(daemon)
        return daemon

    def test_a_log_that_nobody_reads_is_no_reason_to_limit_for_ever(self):
        self.job("a"), self.job("b")
        timerd = self.start_unheard(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        for _ in range(2):  # it says so each time
            self.classd.send_signal(signal.SIGSTOP)
            self.eventually(self.lifted, "timerd lifts the limits")
            self.classd.send_signal(signal.SIGCONT)
            self.eventually(self.both_limited, "the woken classd limits again")
        self.assertIsNone(timerd.poll())

    def test_who_releases_lifts_also_where_nobody_reads_what_is_said(self):
        self.job("a"), self.job("b")
        self.kill_classd()
        self.assertEqual(self.start_unheard(CLASSD, "--release").wait(DEADLINE_S), 0)
        self.assertTrue(self.lifted())

    def test_timerd_may_start_first(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.start(TIMERD)
        self.eventually(lambda: "classd is silent" in self.log_text(), "timerd runs")
        self.start_classd()
        self.job("a"), self.job("b")
        self.eventually(lambda: quota("b") == 99000, "b is scheduled")
        self.eventually(lambda: quota("a") == 99000, "a is scheduled")


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
                      ["--subtree", "1", "resume", "x"], ["--json", "top"], ["--json", "trace", "stop"]):
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
