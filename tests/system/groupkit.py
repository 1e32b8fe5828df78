"""Groups that somebody else has made, as classd finds them: a resource manager's, or users' sessions.

All of them live below TOP, beside the root of the classes; remove_all() ends them.
"""

import atexit
import errno
import os
import sys
import time

import daemonkit
from daemonkit import ROOT, SWITCH, V1_CPU, Node, mount_points

TOP = f"{ROOT}-manager"
NONE = ("-1", "100000") if V1_CPU else ("max", "100000")
HIERARCHIES = ([V1_CPU, next(mount_points("cgroup", "cpuacct"), None)] if V1_CPU
               else [next(mount_points("cgroup2"), "/sys/fs/cgroup")])


def path_of(group, hierarchy=HIERARCHIES[0]):
    return os.path.join(hierarchy, TOP, group)


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="ascii") as file:
        file.write(text)


def make(group):
    for hierarchy in HIERARCHIES:
        path = hierarchy
        for part in [TOP, *group.split("/")]:
            if not V1_CPU and "cpu" not in read(path, "cgroup.subtree_control").split():
                write("+cpu", path, "cgroup.subtree_control")
            path = os.path.join(path, part)
            os.makedirs(path, exist_ok=True)


def enter(group, pid):
    for hierarchy in HIERARCHIES:
        write(str(pid), path_of(group, hierarchy), "cgroup.procs")


def live_in(group):
    return [int(pid) for pid in read(path_of(group), "cgroup.procs").split()]


def limit(group):
    if V1_CPU:
        return (read(path_of(group), "cpu.cfs_quota_us").strip(),
                read(path_of(group), "cpu.cfs_period_us").strip())
    return tuple(read(path_of(group), "cpu.max").split())


def set_limit(group, quota_us, period_us):
    if V1_CPU:
        write(str(period_us), path_of(group), "cpu.cfs_period_us")
        write(str(quota_us), path_of(group), "cpu.cfs_quota_us")
    else:
        write(f"{quota_us} {period_us}", path_of(group), "cpu.max")


def remove_all():
    for hierarchy in HIERARCHIES:
        end = time.monotonic() + daemonkit.DEADLINE_S
        for folder, _, _ in os.walk(os.path.join(hierarchy, TOP), topdown=False):
            while True:
                try:
                    os.rmdir(folder)
                    break
                except OSError as fault:  # whoever is exiting
                    if fault.errno != errno.EBUSY or time.monotonic() > end:
                        print(f"left behind: {folder}: {fault}", file=sys.stderr)
                        break
                    time.sleep(0.01)


class Grouped(Node):
    """A node beside such groups. Processes in `others` live in them until the test's end."""

    def setUp(self):
        self.others = []
        super().setUp()

    def tearDown(self):
        for other in self.others:
            other.kill()
            other.wait()
        super().tearDown()
        remove_all()

    def switch(self):
        self.assertEqual(self.client().simple(SWITCH), 0)

    def records(self):
        """What is recorded of groups that are limited in place."""
        folder = os.path.join(self.runtime_dir, "placed")
        return sorted(os.listdir(folder)) if os.path.exists(folder) else []


def main():
    atexit.register(remove_all)
    daemonkit.main()
