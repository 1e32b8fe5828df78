"""Where classd puts a job: in place or in a class of its own.

Protects: a group that a resource manager has made for a job is limited without moving anybody, and
given back exactly as it was, however classd ends; nobody else's process is ever limited with a job.
"""

import errno
import os
import shutil
import signal
import subprocess
import unittest

import daemonkit
import groupkit
from daemonkit import CLASSD, EXIT, NOBODY, SCHEDULED, TIMERD, V1_CPU, classes, members, quota
from groupkit import NONE, enter, limit, live_in, make, path_of, read, remove_all, set_limit, write
from placekit import BATCH, SCOPE, STEP, Placed, children_of

FREEZER = V1_CPU and next(daemonkit.mount_points("cgroup", "freezer"), None)
APART = "the job is in another group on this node, and neither is moved; classd's log has why"


class InPlace(Placed):
    def test_a_step_is_limited_where_it_is(self):
        make(STEP)
        client = self.client()
        before = client.spawn_helper()
        for pid in (client.pid, before):
            enter(STEP, pid)
        self.assertEqual(client.register("a")["status"], 0)
        after = client.spawn_helper()
        try:
            self.assert_in_place()
            self.assertEqual(limit(STEP), NONE)
            self.job("b")
            self.assertEqual((limit(STEP)[0], quota("b")), ("99000", 1000))
            self.switch()
            self.assertEqual((limit(STEP)[0], quota("b")), ("1000", 99000))
            self.assertEqual(sorted(live_in(STEP)), sorted([client.pid, before, after]))
            self.assertEqual(client.simple(EXIT), 0)
            self.assertEqual((limit(STEP), self.records()), (NONE, []))
            self.assertEqual(sorted(live_in(STEP)), sorted([client.pid, before, after]))
        finally:
            os.kill(before, signal.SIGKILL)
            os.kill(after, signal.SIGKILL)

    def test_tasks_below_the_step_are_of_it(self):
        a = self.inhabit(f"{STEP}/task_0")
        make(f"{STEP}/task_1")
        b = self.client()
        enter(f"{STEP}/task_1", b.pid)
        self.assertEqual(b.register("a")["status"], 0)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.assertEqual(limit(f"{STEP}/task_0"), NONE)
        self.assertEqual(self.ctl_json("jobs")[0]["processes"], 2)
        a.kill()
        self.assertEqual(b.simple(EXIT), 0)
        self.eventually(lambda: limit(STEP) == NONE, "the last one's end restores")

    def test_the_death_of_the_job_restores(self):
        make(STEP)
        set_limit(STEP, 60000, 100000)
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        a.kill()
        self.eventually(lambda: limit(STEP) == ("60000", "100000"), "the own limit is restored")
        self.eventually(lambda: self.records() == [], "the record is removed")

    def test_an_own_limit_is_kept_to(self):
        make(STEP)
        set_limit(STEP, 40000, 200000)
        self.inhabit(STEP)
        self.job("b")
        self.assertEqual(limit(STEP), ("40000", "200000"))  # less than the scheduled job's share
        self.switch()
        self.assertEqual(limit(STEP), ("2000", "200000"))
        self.switch()
        self.assertEqual(limit(STEP), ("40000", "200000"))

    def test_a_change_by_the_manager_is_the_own_limit(self):
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        set_limit(STEP, 30000, 100000)
        self.switch()
        self.assertEqual(limit(STEP)[0], "30000")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual(limit(STEP), ("30000", "100000"))

    def limited_with_own(self):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        a = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        return a

    def test_release_restores_what_a_killed_classd_left(self):
        self.limited_with_own()
        self.kill_classd()
        self.assertEqual(limit(STEP)[0], "1000")
        self.release()
        self.assertEqual((limit(STEP), quota("b")), (("70000", "100000"), -1))
        self.assertEqual(self.ctl_json("release"), {"lifted": 2})

    def test_release_leaves_alone_what_the_manager_has_set_since(self):
        self.limited_with_own()
        self.kill_classd()
        set_limit(STEP, 20000, 100000)
        self.release()
        self.assertEqual(limit(STEP), ("20000", "100000"))

    def test_release_leaves_a_group_alone_that_was_made_anew(self):
        a = self.limited_with_own()
        self.kill_classd()
        a.kill()
        remove_all()
        make(STEP)
        set_limit(STEP, 1000, 100000)  # the very limit that was in force
        self.release()
        self.assertEqual(limit(STEP), ("1000", "100000"))
        self.start_classd()
        self.assertEqual((limit(STEP), self.records()), (("1000", "100000"), []))

    def test_sigterm_restores(self):
        self.limited_with_own()
        self.classd.terminate()
        self.assertEqual(self.classd.wait(daemonkit.DEADLINE_S), 0)
        self.assertEqual(limit(STEP), ("70000", "100000"))

    def test_shutdown_restores_and_forgets(self):
        self.limited_with_own()
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))

    def test_a_removed_runtime_directory_restores(self):
        a = self.limited_with_own()
        shutil.rmtree(os.path.join(self.runtime_dir, "placed"))  # before classd notices
        shutil.rmtree(self.runtime_dir)
        self.assertEqual(self.classd.wait(daemonkit.DEADLINE_S), 1)
        self.assertEqual((limit(STEP), a.flags() & SCHEDULED), (("70000", "100000"), SCHEDULED))

    def test_a_restarted_classd_adopts_it(self):
        a = self.limited_with_own()
        for _ in range(3):
            self.kill_classd()
            self.classd = self.start_classd()
            self.assertEqual(self.ctl_json("status")["processes"], 2)
            self.switch()
            self.assertEqual(sorted([limit(STEP)[0], str(quota("b"))]), sorted(["1000", "99000"])
                             if limit(STEP)[0] == "1000" else sorted(["70000", "1000"]))
        a.connect()
        self.assertEqual(a.register("a")["status"], 0)
        self.assertEqual(a.simple(EXIT), 0)
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))

    def test_a_job_that_ended_meanwhile_is_restored(self):
        make(STEP)
        helper = subprocess.Popen(["sleep", "3600"])
        self.others.append(helper)
        enter(STEP, helper.pid)
        a = self.limited_with_own()
        self.kill_classd()
        a.kill()
        self.classd = self.start_classd()
        self.assertEqual((limit(STEP), self.records()), (("70000", "100000"), []))
        self.assertEqual(live_in(STEP), [helper.pid])

    def test_the_doctor_looks_and_changes_nothing(self):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        self.inhabit(STEP)
        self.ctl("doctor")  # opens every class
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.kill_classd()
        self.release()
        self.assertEqual(limit(STEP), ("70000", "100000"))

    def test_a_rubbish_record_harms_nobody(self):
        self.kill_classd()
        os.mkdir(os.path.join(self.runtime_dir, "placed"))
        make(STEP)
        set_limit(STEP, 70000, 100000)
        inode = os.stat(path_of(STEP)).st_ino
        good = (f"set {5:20} {6:20} {70000:20} {100000:20}\nown 1000 100000\ninode {inode}\nuid 0\n"
                "manager 1\n")
        rubbish = {"job-0-a": "", "job-0-b": "z" * 9000, "job-0-c": good, "nonsense": "\0",
                   "job-0-d": good + "group /../etc\n", "job-0-e": good + f"group /{groupkit.TOP}/{STEP}"}
        for name, text in rubbish.items():
            write(text, self.runtime_dir, "placed", name)
        subprocess.run([CLASSD, "--config", self.config, "--release"], check=False)
        self.classd = self.start_classd()
        self.assertEqual(limit(STEP), ("70000", "100000"))
        self.assertEqual(self.ctl_json("status")["jobs"], 0)
        self.inhabit(STEP)
        self.assertIn("classed in place", self.log_text())
        shutil.rmtree(os.path.join(self.runtime_dir, "placed"))


class Timer(Placed):
    settings = {"scheduler__time_slice": "200ms", "scheduler__gmet": "100ms"}

    def check(self, stop):
        make(STEP)
        set_limit(STEP, 70000, 100000)
        self.inhabit(STEP), self.job("b")
        self.start(TIMERD)
        self.eventually(lambda: limit(STEP)[0] == "1000", "it is limited")
        self.classd.send_signal(stop)
        self.eventually(lambda: (limit(STEP), quota("b")) == (("70000", "100000"), -1), "timerd lifts the limits")
        self.eventually(lambda: "classd is silent" in self.log_text(), "a line")

    def test_a_killed_classd_limits_nobody(self):
        self.check(signal.SIGKILL)
        self.classd.wait()
        self.classd = self.start_classd()
        self.eventually(lambda: limit(STEP)[0] == "1000", "the new classd limits again")

    def test_a_hung_classd_limits_nobody(self):
        self.check(signal.SIGSTOP)
        self.classd.send_signal(signal.SIGCONT)
        self.eventually(lambda: limit(STEP)[0] == "1000", "the woken classd limits again")


class NotAlone(Placed):
    def test_another_users_process_in_the_group(self):
        make(SCOPE)
        self.stranger(SCOPE)
        client = self.inhabit(SCOPE)
        self.job("b")
        self.switch()
        self.assert_moved(client, SCOPE)
        self.assertIn("is not of this job", self.log_text())

    def test_another_users_process_that_comes_later(self):
        client = self.inhabit(SCOPE)
        self.job("b")
        self.switch()
        self.assertEqual(limit(SCOPE)[0], "1000")
        stranger = self.stranger(SCOPE)
        self.switch()
        self.assert_moved(client, SCOPE)
        self.assertEqual(live_in(SCOPE), [stranger.pid])
        self.assert_shares("a", "b")
        self.assertIn("is moved out of its group", self.log_text())

    def test_a_job_of_the_groups_user(self):
        own = f"slurm/uid_{NOBODY}/job_3/step_0"
        self.inhabit(own, uid=NOBODY)
        self.assert_in_place(own, f"job-{NOBODY}-a")

    def test_a_second_job_in_the_group(self):
        self.inhabit(SCOPE)
        second = self.inhabit(SCOPE, "b")
        self.assertEqual(self.records(), ["job-0-a"])
        self.assertIn(second.pid, members("b"))
        self.assertNotIn(second.pid, live_in(SCOPE))

    def test_a_rank_outside_the_group(self):
        first = self.inhabit(SCOPE)
        second = self.job("a")
        self.assert_moved(first, SCOPE)
        self.assertEqual(sorted(members("a")), sorted([first.pid, second.pid]))

    def test_steps_that_hold_more_than_a_job(self):
        for name in ("step_extern", "step_interactive"):
            with self.subTest(name):
                group = f"slurm/uid_0/job_3/{name}"
                client = self.inhabit(group, name)
                self.assert_moved(client, group, name)

    def test_a_limit_that_the_user_could_lift(self):
        make(STEP)
        os.chown(os.path.join(path_of(STEP), "cpu.cfs_quota_us" if V1_CPU else "cpu.max"), NOBODY, -1)
        self.assert_kept(self.inhabit(STEP, status=errno.EXDEV), STEP)
        self.assertIn("can be changed by others", self.log_text())

    def test_move_moves(self):
        self.assertEqual(self.ctl("shutdown").returncode, 0)
        self.classd.wait(daemonkit.DEADLINE_S)
        self.configure(cgroup__placement="move")
        self.classd = self.start_classd()
        self.assert_moved(self.inhabit(STEP), STEP)

    def test_placement_is_fixed_while_classd_runs(self):
        self.configure(cgroup__placement="move")
        answer = self.ctl("reload")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("[cgroup] placement", answer.stderr)


class Kept(Placed):
    """What is in a step of Slurm is not moved out of it: Slurm would neither signal it, nor suspend nor end it."""

    def test_another_users_process_in_the_step(self):
        make(STEP)
        self.stranger(STEP)
        self.assert_kept(self.inhabit(STEP, status=errno.EXDEV), STEP)

    def test_another_users_process_that_comes_later(self):
        client = self.inhabit(STEP)
        self.job("b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        stranger = self.stranger(STEP)
        self.switch()
        self.assertEqual(limit(STEP), NONE)
        self.assertEqual(sorted(live_in(STEP)), sorted([client.pid, stranger.pid]))
        self.assertEqual(client.flags(), SCHEDULED)
        self.assertIn("runs without a limit", self.log_text())

    def test_another_users_step(self):
        other = f"slurm/uid_{NOBODY}/job_3/step_0"
        self.assert_kept(self.inhabit(other, status=errno.EXDEV), other)

    def test_a_second_job_in_the_step(self):
        self.inhabit(STEP)
        second = self.inhabit(STEP, "b", status=errno.EXDEV)
        self.assert_kept(second, STEP, "b")
        self.assertEqual(self.records(), ["job-0-a"])

    def test_a_rank_elsewhere(self):
        first = self.inhabit(STEP)
        second = self.client()
        for _ in range(2):
            self.assertEqual(second.register("a"), {"status": errno.EXDEV, "text": APART})
        self.assertEqual(live_in(STEP), [first.pid])
        self.assertEqual(classes(), [])
        self.assertEqual(self.log_text().count("who lives elsewhere is not taken"), 1)

    def test_a_rank_of_a_job_that_is_elsewhere(self):
        first = self.job("a")
        second = self.inhabit(STEP, status=errno.EXDEV)
        self.assertEqual((live_in(STEP), members("a")), ([second.pid], [first.pid]))

    def test_a_rank_of_a_job_that_is_in_place_elsewhere(self):
        first = self.inhabit(SCOPE)
        second = self.inhabit(STEP, status=errno.EXDEV)
        self.assertEqual((live_in(STEP), live_in(SCOPE), classes()), ([second.pid], [first.pid], []))

    @unittest.skipUnless(FREEZER, "cgroup v2 has one hierarchy")
    def test_a_step_that_only_the_freezer_has(self):
        """cgroup v1, and Slurm does not account by groups."""
        path = os.path.join(FREEZER, groupkit.TOP, STEP)
        os.makedirs(path)
        self.addCleanup(lambda: [os.rmdir(folder) for folder, _, _ in os.walk(os.path.join(FREEZER, groupkit.TOP), topdown=False)])
        client = self.client()
        write(str(client.pid), path, "cgroup.procs")
        self.assertEqual(client.register("a")["status"], errno.EXDEV)
        self.assertEqual(read(path, "cgroup.procs").split(), [str(client.pid)])
        self.assertIn("JobAcctGatherType", self.log_text())
        client.kill()


class Scripts(Placed):
    """Slurm's batch scripts, and what MPIs start in them without srun."""

    def script(self, job="a"):
        return self.launched(BATCH, *self.launcher("slurm_script"), *self.launcher("mpirun"), job=job)

    def test_a_job_is_limited_with_its_script(self):
        first = self.script()
        self.assert_in_place(BATCH)
        self.job("b")
        self.switch()
        self.assertEqual(limit(BATCH)[0], "1000")
        self.assertEqual(len(live_in(BATCH)), 3)
        self.assertEqual(first.simple(EXIT), 0)
        self.assertEqual((limit(BATCH), self.records()), (NONE, []))
        first.kill()
        self.eventually(lambda: live_in(BATCH) == [], "its launcher ends")
        self.script("c")  # the next one
        self.assertEqual(self.records(), ["job-0-c"])

    def test_a_second_job_at_the_same_time(self):
        """Its launcher would wait for the first one's turns."""
        first = self.script()
        self.assertEqual(self.records(), ["job-0-a"])
        second = self.script("b")
        self.assertEqual((limit(BATCH), self.records()), (NONE, []))
        self.assertEqual((members("a"), members("b")), ([first.pid], [second.pid]))
        self.assertEqual(len(live_in(BATCH)), 4)  # scripts and launchers
        self.assert_shares("a", "b")
        third = self.script("c")  # beside their launchers
        self.assertEqual((members("c"), self.records()), ([third.pid], []))

    def test_a_new_classd_and_a_second_job(self):
        first = self.script()
        self.job("b")
        self.kill_classd()
        self.classd = self.start_classd()
        self.eventually(lambda: self.records() == ["job-0-a"], "it is taken up again")
        second = self.script("c")
        self.assertEqual((limit(BATCH), self.records()), (NONE, []))
        self.assertEqual((members("a"), members("c")), ([first.pid], [second.pid]))

    def test_release_restores_what_a_killed_classd_left(self):
        self.script()
        self.job("b")
        self.switch()
        self.assertEqual(limit(BATCH)[0], "1000")
        self.kill_classd()
        self.release()
        self.assertEqual(limit(BATCH), NONE)

    def test_proxies_are_the_jobs(self):
        self.launched(BATCH, *self.launcher("slurm_script"), *self.launcher("mpiexec"), *self.launcher())
        self.assert_in_place(BATCH)

    def test_what_no_launcher_has_started(self):
        """A notebook's server, say, whose programs are jobs of one process."""
        self.assert_moved(self.launched(BATCH, *self.launcher("slurm_script")), BATCH)

    def test_another_user_comes(self):
        client = self.script()
        self.job("b")
        self.switch()
        self.assertEqual(limit(BATCH)[0], "1000")
        stranger = self.stranger(BATCH)
        self.switch()
        self.assertEqual(limit(BATCH), NONE)
        self.assertIn(client.pid, members("a"))
        self.assertNotIn(stranger.pid, members("a"))


class Units(Placed):
    def test_a_launcher_in_a_scope_of_its_own(self):
        self.launched(SCOPE, *self.launcher("mpiexec"), *self.launcher(), "env")
        self.assert_in_place(SCOPE)
        self.assertEqual(len(live_in(SCOPE)), 3)
        self.job("b")
        self.switch()
        self.assertEqual(limit(SCOPE)[0], "1000")

    def test_a_script_that_may_start_more(self):
        client = self.launched(SCOPE, *self.launcher("job_script"), *self.launcher("mpiexec"))
        self.assert_moved(client, SCOPE)

    def test_another_program_in_the_unit(self):
        make(SCOPE)
        other = subprocess.Popen([*self.launcher("something"), "sleep", "3600"])
        self.others.append(other)
        self.eventually(lambda: children_of(other.pid), "the other runs")
        inner, = children_of(other.pid)
        enter(SCOPE, inner)
        try:
            self.assert_moved(self.launched(SCOPE, *self.launcher("mpiexec")), SCOPE)
        finally:
            os.kill(inner, signal.SIGKILL)

    def test_units_that_enclose_more_than_a_job(self):
        for group in ("user.slice/session-3.scope", "user.slice/user@0.service/init.scope", "init.scope",
                      "some/group"):
            with self.subTest(group):
                name = group.replace("/", "-").replace("@", "-")
                self.assert_moved(self.inhabit(group, name), group, name)


class Only(Placed):
    settings = {"cgroup__placement": "in-place"}

    def test_any_group_of_its_own_will_do(self):
        self.inhabit("some/group")
        self.assert_in_place("some/group")

    def test_without_one_it_runs_unmanaged(self):
        client = self.client()
        self.assertEqual(client.register("a")["status"], errno.EXDEV)
        self.assertEqual((classes(), self.records()), ([], []))
        self.assertIn("runs unmanaged", self.log_text())
        self.assertEqual(self.ctl_json("status")["jobs"], 0)

    def test_a_stranger_frees_it(self):
        a = self.inhabit(STEP)
        self.inhabit("slurm/uid_0/job_4/step_0", "b")
        self.switch()
        self.assertEqual(limit(STEP)[0], "1000")
        self.stranger(STEP)
        self.inhabit("slurm/uid_0/job_5/step_0", "c")
        self.switch()
        self.assertEqual(limit(STEP), NONE)
        self.assertIn(a.pid, live_in(STEP))
        self.assertEqual(a.flags(), SCHEDULED)
        self.assertIn("runs without a limit", self.log_text())


if __name__ == "__main__":
    groupkit.main()
