"""cosched on real cgroup v2, in virtual machines: see README.md. Needs root, and no cgroup of this machine.

Whole guests are the cases; what is asserted inside one is in inside/.
"""

import glob
import os
import re
import shlex
import sys
import tempfile
import unittest

import packages
import vm

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
SKIPPED = 77
# Of what prints something every minute at the most (unittest with -v does). A busy machine must not fail a test.
SILENCE_S = 180

# Those of tests/unit that are on real cgroups.
CGROUP_TESTS = ("classes", "in_place", "limits", "periods", "placing")
FAMILY_PROGRAMS = ("tracking", "tracking_subtrees", "tracking_order", "tracking_calls", "tracking_escapes")

# What the kernel decides, and is not seen in Systemd or Slurm, whose daemons are killed, stopped and restarted beside real
# limits. The rest of test_daemons.py and test_fail_open.py is the same on any version of cgroup.
DAEMON_TESTS = ("Shares.test_two_jobs_share_99_to_1", "Shares.test_death_gives_the_node_back",
                "Shares.test_helpers_of_a_dead_job_live_on_elsewhere")

# Those in which the kernel has a say and which are not Slurm's to show; emulated, one takes up to half a minute.
IN_PLACE_TESTS = ("InPlace.test_release_restores_what_a_killed_classd_left", "Timer.test_a_hung_classd_limits_nobody")
STRANGER_TESTS = ("Kept.test_another_users_process_that_comes_later",
                  "NotAlone.test_another_users_process_that_comes_later",
                  "NotAlone.test_a_limit_that_the_user_could_lift", "Units.test_a_launcher_in_a_scope_of_its_own")
FAMILY_TESTS = ("Families.test_wrappers_below_a_launcher", "Namespaces.test_a_client_in_a_pid_namespace")
TRACKING_TESTS = ("OneNode.test_each_means", "OneNode.test_a_restarted_classd_keeps_it_and_an_ended_one_lets_go",
                  "OneNode.test_release_without_a_classd", "OneNode.test_a_subtree",
                  "OneNode.test_a_debugger_keeps_its_process")
SEQUENTIAL_TESTS = ("Turns.test_they_take_turns", "Turns.test_idle_it_keeps_its_interactive_share",
                    "Peace.test_an_own_limit_is_kept_to", "Quiet.test_a_hung_classd_limits_nobody",
                    "Ends.test_release_restores_what_a_killed_classd_left")


def python(script, *arguments):
    return shlex.join(["env", f"COSCHED_BUILD_DIR={BUILD}", "python3", "-B", os.path.join(TOP, script),
                       *arguments])


class Guest(unittest.TestCase):
    def boot(self, command, **options):
        machine = vm.Machine(command, output=sys.stdout, **options)
        self.addCleanup(machine.close)
        return machine

    def finish(self, machine):
        """What the guest printed; its command must have ended well."""
        status = machine.wait(SILENCE_S)
        self.assertIsNotNone(status, f"{machine.name} did not come to its end\n{machine.text[-2000:]}\n"
                                     f"{machine.console()[-3000:]}")
        self.assertEqual(status, 0, f"{machine.name}\n{machine.text}")
        return machine.text

    def run_in_guest(self, command, **options):
        """What the guest printed; its command must have ended well. Of one that freezes, busy in the kernel and not a word
        any more, there is a second one, and only one."""
        machine = self.boot(command, **options)
        if machine.wait(SILENCE_S) is None and machine.frozen():
            print(f"{machine.name} froze after:\n{machine.text[-300:]}\n{machine.whereabouts()}\nonce more",
                  flush=True)
            machine.close()
            machine = self.boot(command, **options)
        return self.finish(machine)


class Backend(Guest):
    def test_the_backend_and_the_daemons(self):
        programs = [os.path.join(BUILD, "cgroup-backend", f"test_cgroup_{name}") for name in CGROUP_TESTS]
        text = self.run_in_guest(" && ".join(f"COSCHED_TEST_EMULATED=1 {program} 2>&1" for program in programs) + " && "
                                 + python("tests/system/test_daemons.py", "-v", *DAEMON_TESTS))
        self.assertIn("v2_root_passes_cpu_on", text)


class Placement(Guest):
    def test_where_processes_are(self):
        self.run_in_guest(python("tests/system/test_placement.py", "-v", *IN_PLACE_TESTS, *STRANGER_TESTS) + " && "
                          + python("tests/system/test_families.py", "-v", *FAMILY_TESTS))


class Tracking(Guest):
    def test_suspend_resume_kill(self):
        programs = [os.path.join(BUILD, "cgroup-backend", f"test_{name}") for name in FAMILY_PROGRAMS]
        text = self.run_in_guest(" && ".join(f"{program} 2>&1" for program in programs) + " && "
                                 + python("tests/system/test_tracking.py", "-v", *TRACKING_TESTS))
        for name in ("the_freezer_stops_all", "no_parent_sees_its_child_stopped", "a_fork_storm_ends", "nobody_escapes",
                     "who_was_stopped_with_a_subtree_is_continued_whoever_has_died"):
            self.assertRegex(text, rf"\[ +OK \] {name}\n")


class Sequential(Guest):
    def test_turns_with_users(self):
        self.run_in_guest(python("tests/system/test_sequential.py", "-v", *SEQUENTIAL_TESTS))


class Shares(Guest):
    """The split as bench/run_shares.sh measures it natively, in a lab inside the guest. By hand only: it takes long, and that
    limits are kept is seen in Backend."""

    def test_the_idle_job_gets_about_one_percent(self):
        text = self.run_in_guest(
            "modprobe -a veth bridge && "
            + python("bench/micro/shares.py", "--build", BUILD, "--jobs", "2", "--seconds", "20",
                     "--tolerance", "100"))
        row = re.search(r"^ *2 +([0-9.]+) \( *99\) +([0-9.]+)$", text, re.MULTILINE)
        self.assertIsNotNone(row, text)
        scheduled, idle = map(float, row.groups())
        self.assertGreater(scheduled, 80)
        self.assertGreater(idle, 0.3)
        self.assertLess(idle, 3)


class Cluster(Guest):
    def test_a_job_over_two_guests(self):
        folder = tempfile.TemporaryDirectory(prefix="cosched-vm-")
        self.addCleanup(folder.cleanup)
        wire = os.path.join(folder.name, "wire")
        nodes = []
        for name, address, side in (("node0", "10.98.0.1/24", "on"), ("node1", "10.98.0.2/24", "off")):
            nodes.append(self.boot(python("tests/vm/inside/test_cluster.py"), name=name, cpus=1, address=address,
                                   network=f"stream,server={side},addr.type=unix,addr.path={wire}"))
            vm.wait_for(lambda: os.path.exists(wire), "the first guest's network")
        seen = [re.findall(r"^job (\S+) of 2 ranks$", self.finish(node), re.MULTILINE) for node in nodes]
        self.assertEqual(len(seen[0]), 1)
        self.assertEqual(seen[0], seen[1])


class Systemd(Guest):
    def test_the_units(self):
        if not glob.glob(os.path.join(BUILD, "cosched_*.deb")):
            self.fail(f"no package is in {BUILD}: make one, cmake --build {BUILD} --target package")
        text = self.run_in_guest(python("tests/vm/inside/test_units.py", "-v"), systemd=True)
        self.assertEqual(len(re.findall(r"exposure of cosched-", text)), 2)


class Slurm(Guest):
    def test_its_jobs(self):
        try:
            tree = packages.unpacked(os.path.join(BUILD, "slurm"), "slurmctld", "slurmd", "slurm-client", "munge")
        except packages.Unavailable as missing:
            self.skipTest(str(missing))
        self.run_in_guest(f"COSCHED_SLURM={shlex.quote(tree)} " + python("tests/vm/inside/test_slurm.py", "-v"), systemd=True)


def main():
    if os.geteuid() != 0:
        print("skipped: needs root", file=sys.stderr)
        sys.exit(SKIPPED)
    try:
        vm.require()
    except vm.Unavailable as missing:
        print(f"skipped: {missing}", file=sys.stderr)
        sys.exit(SKIPPED)
    if not os.path.exists(os.path.join(BUILD, "classd", "classd")):
        sys.exit("not built; set COSCHED_BUILD_DIR")
    result = unittest.main(exit=False).result
    if result.testsRun == len(result.skipped):
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
