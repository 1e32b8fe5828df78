"""The sequential class: processes that are nobody's MPI job take turns with the jobs.

Protects: they do so while they compute, and keep their interactive share in others' slots; with
nobody computing, or with no job, nothing is limited; their group is as it was before, however classd
ends. Only quotas and ratios of CPU time are looked at, so a busy machine fails no test.
"""

import os
import signal
import subprocess
import sys
import time

import daemonkit
import groupkit
from daemonkit import CLASSD, CONTENDED, SCHEDULED, TIMERD, quota
from groupkit import NONE, TOP, Grouped, enter, limit, make, remove_all, set_limit

SESSIONS = "sessions"
OWN = ("70000", "100000")
BURN = "while True: pass"
PAUSE_S = 2.5  # a few of classd's looks, which come once a second


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Mixed(Grouped):
    """A node of one CPU, with the sessions' group and classd looking after it."""

    settings = {"scheduler__strict": "no", "sequential__groups": f"{TOP}/{SESSIONS}"}

    def setUp(self):
        make(SESSIONS)
        super().setUp()

    def inhabitant(self, *program):
        process = subprocess.Popen(program, stdin=subprocess.DEVNULL)
        self.others.append(process)
        enter(SESSIONS, process.pid)
        return process

    def busy(self):
        return self.inhabitant(sys.executable, "-c", BURN)

    def line(self):
        """What people are told of the class; None when there is none."""
        lines = [job for job in self.ctl_json("jobs") if job["job_id"] == "sequential"]
        return lines[0] if lines else None

    def limited(self):
        """A busy process, and a job that has the node; the job's client and the process."""
        process = self.busy()
        client = self.job("a")
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "the group is limited")
        return client, process


class Turns(Mixed):
    def test_they_take_turns(self):
        client, _ = self.limited()
        self.assertEqual((quota("a"), client.flags()), (-1, SCHEDULED | CONTENDED))
        self.switch()
        self.assertEqual((limit(SESSIONS), quota("a")), (NONE, 1000))
        self.assertEqual(client.flags(), CONTENDED)
        self.switch()
        self.assertEqual((limit(SESSIONS)[0], quota("a")), ("5000", -1))
        self.assertEqual(client.flags(), SCHEDULED | CONTENDED)
        self.assertEqual(client.read_page()["degree"], 2)

    def test_people_see_it_beside_the_jobs(self):
        self.assertEqual(self.line()["limited"], False)
        self.limited()
        line = self.line()
        self.assertEqual((line["scheduled"], line["limited"], line["share"]), (False, True, 0.05))
        self.assertGreater(line["cpu_s"], 0)
        self.switch()
        self.assertTrue(self.line()["scheduled"])
        self.assertEqual(self.ctl_json("status")["jobs"], 1)
        self.assertIn("sequential", self.ctl("jobs").stdout)
        self.assertIn("sequential", self.ctl("metrics").stdout)

    def test_idle_it_keeps_its_interactive_share(self):
        _, process = self.limited()
        before, begin = cpu_s(process.pid), time.monotonic()
        time.sleep(PAUSE_S)
        share = (cpu_s(process.pid) - before) / (time.monotonic() - begin)
        self.assertGreater(share, 0.01)
        self.assertLess(share, 0.15)

    def test_a_reload_changes_the_share(self):
        self.limited()
        self.configure(sequential__interactive_share="10%")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual(limit(SESSIONS)[0], "10000")

    def test_the_groups_are_fixed_while_classd_runs(self):
        self.configure(sequential__groups="elsewhere")
        answer = self.ctl("reload")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("[sequential] groups", answer.stderr)


class Peace(Mixed):
    def test_without_a_job_nothing_is_limited(self):
        self.busy()
        time.sleep(PAUSE_S)
        self.assertEqual(limit(SESSIONS), NONE)
        client = self.job("a")
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "they take turns with a job")
        client.kill()
        self.eventually(lambda: limit(SESSIONS) == NONE, "the last job's end lifts the limit")

    def test_with_nobody_computing_nothing_is_limited(self):
        self.inhabitant("sleep", "3600")
        client = self.job("a")
        time.sleep(PAUSE_S)
        self.switch()
        self.assertEqual((limit(SESSIONS), quota("a")), (NONE, -1))
        self.assertEqual(client.flags(), SCHEDULED)

    def test_an_own_limit_is_kept_to(self):
        set_limit(SESSIONS, *map(int, OWN))
        self.limited()
        self.switch()
        self.assertEqual(limit(SESSIONS), OWN)


class Quiet(Mixed):
    settings = {**Mixed.settings, "scheduler__time_slice": "1s", "scheduler__gmet": "500ms"}

    def test_when_they_have_computed_the_job_has_the_node(self):
        client, process = self.limited()
        self.start(TIMERD)
        self.eventually(lambda: quota("a") == 1000, "their turn")
        process.kill()
        self.eventually(lambda: "take no part" in self.log_text(), "they take part no longer")
        self.assertEqual((limit(SESSIONS), quota("a")), (NONE, -1))
        self.assertEqual(client.flags(), SCHEDULED)
        self.busy()
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "they compute again")

    def test_a_hung_classd_limits_nobody(self):
        set_limit(SESSIONS, *map(int, OWN))
        self.limited()
        self.start(TIMERD)
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "their slot is over")
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(lambda: (limit(SESSIONS), quota("a")) == (OWN, -1), "timerd lifts the limits")
        self.eventually(lambda: "classd is silent" in self.log_text(), "a line")
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "the woken classd limits again")


class Ends(Mixed):
    def setUp(self):
        super().setUp()
        set_limit(SESSIONS, *map(int, OWN))

    def test_release_restores_what_a_killed_classd_left(self):
        self.limited()
        self.kill_classd()
        self.assertEqual(limit(SESSIONS)[0], "5000")
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)
        self.assertEqual(limit(SESSIONS), OWN)

    def test_a_new_classd_gives_it_back_and_goes_on(self):
        self.limited()
        self.kill_classd()
        self.classd = self.start_classd()
        self.assertEqual(self.ctl_json("status")["jobs"], 1)
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "they take turns again")
        self.classd.terminate()
        self.classd.wait(daemonkit.DEADLINE_S)
        self.assertEqual(limit(SESSIONS), OWN)

    def test_a_new_classd_that_does_not_know_it_gives_it_back(self):
        self.limited()
        self.kill_classd()
        self.configure(sequential__groups="")
        self.classd = self.start_classd()
        self.assertEqual((limit(SESSIONS), self.records()), (OWN, []))
        self.assertIsNone(self.line())

    def test_an_ordered_end_restores(self):
        self.limited()
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(daemonkit.DEADLINE_S)
        self.assertEqual((limit(SESSIONS), self.records()), (OWN, []))


class Later(Mixed):
    def setUp(self):
        super().setUp()
        remove_all()

    def test_a_group_that_comes_later_is_found(self):
        self.job("a")
        self.eventually(lambda: f"sequential group {TOP}/{SESSIONS} is gone" in self.log_text(), "a line")
        self.assertIsNone(self.line())
        self.switch()
        self.assertIn("is left out for now: there is no group", self.log_text())
        make(SESSIONS)
        self.busy()
        self.switch()
        self.eventually(lambda: limit(SESSIONS)[0] == "5000", "it is found")

    def test_a_group_without_which_classd_starts(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(daemonkit.DEADLINE_S)
        self.classd = self.start_classd()
        self.assertIn("is left out for now: there is no group", self.log_text())


if __name__ == "__main__":
    groupkit.main()
