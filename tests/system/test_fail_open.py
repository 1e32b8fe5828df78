"""How classd ends and begins, and timerd beside it.

Protects: no job stays limited when a daemon stops, hangs or is killed, and a restart loses no job.
"""

import os
import shutil
import signal
import struct
import subprocess
import time

import daemonkit
from daemonkit import (CLASSD, CONTENDED, DEADLINE_S, ROOT, SCHEDULED, SWITCH, TIMERD, Node, classes,
                       limit_by_hand, quota, remove_groups)


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

    def test_release_leaves_the_limits_of_a_classd_that_serves(self):
        self.job("a"), self.job("b")
        release = [CLASSD, "--config", self.config, "--release"]
        run = subprocess.run(release, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
        self.assertIn("coschedctl shutdown", run.stderr)
        self.assert_shares("a", "b")
        self.classd.send_signal(signal.SIGSTOP)  # which then is no reason to wait
        subprocess.run(release, timeout=DEADLINE_S, check=True)
        self.assertEqual((quota("a"), quota("b")), (-1, -1))

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
        # As a classd that wakes up for a moment does.
        limit_by_hand("b", 1000)
        self.eventually(self.lifted, "timerd lifts them again in the same outage")
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

    def start_unread(self, program):
        """With nobody who reads what is said, and no room for more."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        try:
            while os.write(writer, bytes(4096)):
                pass
        except BlockingIOError:
            os.set_blocking(writer, True)
        daemon = subprocess.Popen([program, "--config", self.config], stdin=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        self.daemons.append(daemon)
        return daemon

    def test_a_log_that_is_full_is_no_reason_to_limit_for_ever(self):
        self.classd.terminate()
        self.classd.wait(DEADLINE_S)
        self.classd = self.start_unread(CLASSD)
        self.eventually(lambda: self.ctl("status").returncode == 0, "classd serves")
        self.job("a"), self.job("b")
        self.start_unread(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(self.lifted, "timerd lifts the limits")
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(self.both_limited, "the woken classd limits again")
        self.classd.terminate()
        self.assertEqual(self.classd.wait(DEADLINE_S), 0)
        self.eventually(self.lifted, "it lifts at its end")

    def test_timerd_may_start_first(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.start(TIMERD)
        self.eventually(lambda: "classd is silent" in self.log_text(), "timerd runs")
        self.start_classd()
        self.job("a"), self.job("b")
        self.eventually(lambda: quota("b") == 99000, "b is scheduled")
        self.eventually(lambda: quota("a") == 99000, "a is scheduled")


class Weights(Node):
    settings = {"scheduler__cpus": 2, "scheduler__time_slice": "200ms", "scheduler__gmet": "100ms", "timer__align": "yes"}

    def weights(self):
        """Of the root and of the class: how many CPUs' worth."""
        usual, name = (1024, "cpu.shares") if daemonkit.V1_CPU else (100, "cpu.weight")
        texts = []
        for folder in (daemonkit.CPU_ROOT, os.path.join(daemonkit.CPU_ROOT, "job-0-a")):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                texts.append(file.read())
        return [int(text) / usual for text in texts]

    def test_they_go_and_come_with_the_limits(self):
        self.job("a", 2), self.job("b", 2)
        self.start(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.assertEqual(self.weights(), [2, 2])
        self.classd.send_signal(signal.SIGSTOP)
        self.eventually(lambda: self.weights() == [1, 1], "timerd takes them back")
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(lambda: self.weights() == [2, 2], "the woken classd has them again")
        self.classd.terminate()
        self.assertEqual(self.classd.wait(DEADLINE_S), 0)
        self.assertEqual(self.weights(), [1, 1])
        self.classd = self.start_classd()
        self.eventually(lambda: self.weights() == [2, 2], "the next one has them")
        self.kill_classd()
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=True)
        self.assertEqual(self.weights(), [1, 1])


if __name__ == "__main__":
    daemonkit.main()
