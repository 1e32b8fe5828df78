"""The installed package under a real systemd: readiness, fail-open, restart, upgrade, removal, and what classes see of it."""

import glob
import os
import re
import sys
import unittest

import node
from node import run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "system"))

from daemonkit import Client  # noqa: E402

UNITS = ("cosched-classd.service", "cosched-timerd.service")
CLASSD, TIMERD = UNITS
CONFIGURATION = {"scheduler": {"time_slice": "1h", "gmet": "1h"}}
CLASS_A, CLASS_B = "job-0-a", "job-0-b"


def show(unit, name):
    return run("systemctl", "show", "--value", "-p", name, unit).strip()


def control(command):
    return node.control(command, "/usr/bin/coschedctl")


def newest_package():
    return max(glob.glob(os.path.join(node.BUILD, "cosched_*.deb")), key=os.path.getmtime)


# Of the machine's own one dpkg would read thousands of files, which takes long here.
DATABASE = "/run/dpkg"


def dpkg(*arguments):
    if not os.path.isdir(DATABASE):
        for name in ("info", "updates", "triggers"):
            os.makedirs(os.path.join(DATABASE, name))
        open(os.path.join(DATABASE, "status"), "w", encoding="ascii").close()
    return run("dpkg", "--admindir", DATABASE, "--force-depends", *arguments)


def active():
    return [show(unit, "ActiveState") for unit in UNITS] == ["active", "active"]


def limits():
    return {name: node.limit(name) for name in node.classes()}


def limited():
    return [name for name in node.classes() if node.is_limited(name)]


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # No switch and no dead man's switch in between: what is lifted, the units have lifted.
        node.configure(**CONFIGURATION)
        dpkg("--force-confold", "--install", newest_package())  # the configuration was there before
        with open(node.CONFIG, encoding="ascii") as file:
            if not active() or "gmet = 1h" not in file.read():
                raise AssertionError("the package does not start the daemons, or has another configuration")

    def setUp(self):
        run("systemctl", "start", *UNITS)  # and not only classd, which would not wait for timerd
        self.jobs = []
        self.is_removed = False

    def tearDown(self):
        for job in self.jobs:
            job.kill()
        if self.is_removed:
            return
        run("systemctl", "start", CLASSD)
        run("/usr/bin/coschedctl", "shutdown")
        run("systemctl", "stop", *UNITS)
        self.assertEqual(node.classes(), [])

    def two_jobs(self):
        """As wide as the node each: one of them is idle."""
        for name in ("a", "b"):
            self.jobs.append(Client("/run/cosched"))
            self.assertEqual(self.jobs[-1].register(name, os.cpu_count())["status"], 0)
        self.assertEqual(limited(), [CLASS_B])

    def lifted(self):
        return limits() == {CLASS_A: ["max", "100000"], CLASS_B: ["max", "100000"]}

    def adopted(self):
        status = control("status")
        return status is not None and status["processes"] == 2 and len(limited()) == 1

    # In one go: to start and stop them takes longer than all of it.
    def test_how_they_are_when_started(self):
        for unit in UNITS:
            with self.subTest(unit):
                self.assertEqual(show(unit, "Type"), "notify")
                self.assertEqual(show(unit, "ActiveState"), "active")
                # Their weight counts beside the jobs'.
                self.assertEqual(show(unit, "ControlGroup"), f"/{unit}")
                # They go before ordinary processes.
                policy = os.sched_getscheduler(int(show(unit, "MainPID")))
                self.assertEqual(policy, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK)
        status = control("status")
        self.assertEqual((status["backend"], status["pid"]), ("v2", int(show(CLASSD, "MainPID"))))
        # No controller but cpu is switched on.
        self.assertEqual(show(CLASSD, "DelegateControllers"), "cpu")

    def test_a_killed_classd_is_lifted_and_comes_back(self):
        self.two_jobs()
        before = show(CLASSD, "MainPID")
        run("systemctl", "kill", "-s", "KILL", CLASSD)
        node.eventually(self.lifted, "ExecStopPost lifts the limits")
        node.eventually(self.adopted, "the restarted classd limits again")
        self.assertNotEqual(show(CLASSD, "MainPID"), before)
        self.assertEqual(show(CLASSD, "NRestarts"), "1")

    def test_stop_lifts_and_touches_no_job(self):
        self.two_jobs()
        run("systemctl", "stop", CLASSD)
        self.assertTrue(self.lifted(), limits())
        self.assertEqual([job.process.poll() for job in self.jobs], [None, None])
        run("systemctl", "start", CLASSD)
        node.eventually(self.adopted, "the next classd limits again")

    def configure(self):
        """What dpkg does of an upgrade, besides to put the same files in their places, which takes long here."""
        return run(f"{DATABASE}/info/cosched.postinst", "configure", "0")

    def test_an_upgrade_keeps_jobs(self):
        self.two_jobs()
        before = show(CLASSD, "MainPID")
        self.configure()
        node.eventually(self.adopted, "the new classd limits again")
        self.assertNotEqual(show(CLASSD, "MainPID"), before)

    def test_an_upgrade_with_a_broken_configuration_leaves_the_old_daemons(self):
        before = show(CLASSD, "MainPID")
        with open(node.CONFIG, "a", encoding="ascii") as file:
            file.write("nonsense = 1\n")
        self.assertIn("mend /etc/cosched.ini", self.configure())
        self.assertEqual(show(CLASSD, "MainPID"), before)
        node.configure(**CONFIGURATION)

    def test_a_removal_with_a_broken_configuration_leaves_no_class(self):
        self.two_jobs()
        with open(node.CONFIG, "a", encoding="ascii") as file:
            file.write("nonsense = 1\n")
        run(f"{DATABASE}/info/cosched.prerm", "remove")
        self.assertEqual(node.classes(), [])
        node.configure(**CONFIGURATION)

    # The last one.
    def test_when_it_is_removed_jobs_run_on(self):
        self.two_jobs()
        dpkg("--purge", "cosched")
        self.is_removed = True
        self.assertEqual(node.classes(), [])
        self.assertEqual([job.process.poll() for job in self.jobs], [None, None])
        self.assertEqual([unit for unit in UNITS if show(unit, "LoadState") != "not-found"], [])
        self.assertFalse(os.path.exists(node.CONFIG))

    def test_systemd_leaves_the_classes_alone(self):
        self.two_jobs()
        before = limits()
        run("systemctl", "daemon-reload")
        run("systemctl", "set-property", "--runtime", "system.slice", "CPUWeight=50")
        run("systemctl", "restart", TIMERD)
        self.assertEqual(limits(), before)
        self.assertEqual(limited(), [CLASS_B])

    def test_units_are_sound(self):
        for unit in UNITS:
            with self.subTest(unit):
                self.assertEqual(run("systemd-analyze", "verify", "--man=no", unit), "")
                verdict = run("systemd-analyze", "security", "--no-pager", unit)
                score = re.search(r"exposure level for \S+: ([0-9.]+) (\w+)", verdict)
                print(f"exposure of {unit}: {score[1]} {score[2]}")
                self.assertLess(float(score[1]), 3)  # doc/security.md says what is left


if __name__ == "__main__":
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        print(run("journalctl", "--boot", "--no-pager", "--output=short-monotonic", "--lines=100"))
        sys.exit(1)
