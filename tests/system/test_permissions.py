"""Who may do what of a node's daemons, and what the daemons may.

Protects: users see and change their own only, rubbish from outside harms nobody, timerd runs as whoever the
configuration names, and classd and timerd keep no right that they do not use.
"""

import errno
import os
import resource
import signal
import struct
import subprocess
import unittest

import daemonkit
from daemonkit import (CTL, DEADLINE_S, NOBODY, QUERY, REGISTER, SCHEDULE, SHUTDOWN, SWITCH, TIMERD, VERSION, Node,
                       classes, packet, quota, register_body)


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
        for priority, daemon in enumerate((self.classd, timerd), 1):  # who watches goes before who may loop for ever
            self.eventually(lambda: os.sched_getscheduler(daemon.pid) == realtime, "it runs in real-time")
            self.assertEqual(os.sched_getparam(daemon.pid).sched_priority, priority)
            self.eventually(lambda: resource.prlimit(daemon.pid, resource.RLIMIT_RTTIME)[0] > 0, "not for ever")


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


if __name__ == "__main__":
    daemonkit.main()
