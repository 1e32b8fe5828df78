"""The lab's own cgroup subtrees, /<lab name>.<node> and /<lab name>.daemons, in every hierarchy that carries classes.

Each node has a subtree of its own, as each would have a kernel of its own: below one for all of them, whoever is outside
of it waits for a CPU for up to minutes on some kernels (doc/reliability.md).

Nothing is mounted, and nothing outside the subtrees is changed, with one exception that cgroup v2
forces: its root must pass on the cpu controller before any child can have it.
"""

import contextlib
import glob
import os
import signal
import time

CONTROLLERS = {"cpu", "cpuacct", "freezer"}
DAEMONS_WEIGHT = 10000  # CPUWeight= of the units of classd and timerd
REALTIME_PERIOD_US = 10000
LABS_REALTIME_US = 2000  # of each CPU in each period: more than daemons take, and four labs can have it at once


def _mounts():
    """(mount point, "v1" or "v2", controllers) of each cgroup hierarchy."""
    seen = set()
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            point, device = left.split()[4], left.split()[2]
            kind, _, options = right.split()[:3]
            if kind not in ("cgroup", "cgroup2") or device in seen:
                continue
            seen.add(device)
            if kind == "cgroup":
                yield point, "v1", CONTROLLERS & set(options.split(","))
            else:
                yield point, "v2", set(_read(os.path.join(point, "cgroup.controllers")).split())


def _read(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _pass_on_cpu(group):
    control = os.path.join(group, "cgroup.subtree_control")
    if "cpu" not in _read(control).split():
        _write(control, "+cpu")


def make(lab, nodes):
    """Makes the subtrees of nodes, {name: number of CPUs}. Daemons make the classes there, and are in one that weighs
    what their units do."""
    for point, version, controllers in _mounts():
        if not controllers or (version == "v2" and "cpu" not in controllers):
            continue
        if version == "v2":
            _pass_on_cpu(point)
        daemons = os.path.join(point, _daemons_group(lab))
        os.makedirs(daemons, exist_ok=True)
        weigh(daemons, DAEMONS_WEIGHT)
        allow_realtime(daemons, LABS_REALTIME_US)
        for node, cpus in nodes.items():
            top = os.path.join(point, node_group(lab, node))
            os.makedirs(top, exist_ok=True)
            weigh(top, 100 * cpus)
            if version == "v2":
                _pass_on_cpu(top)
            os.makedirs(os.path.join(point, classes_group(lab, node)), exist_ok=True)
            os.makedirs(os.path.join(point, users_group(lab, node)), exist_ok=True)


def weigh(group, weight):
    """Gives a group, where it has the cpu controller, a weight as cgroup v2 has them: 100 is usual."""
    weight = min(weight, 10000)
    _write_if_there(os.path.join(group, "cpu.shares"), str(weight * 1024 // 100))
    _write_if_there(os.path.join(group, "cpu.weight"), str(weight))


def allow_realtime(group, runtime_us):
    """Has daemons in it run in real-time, as their units let them, where the kernel gives a group none by itself
    (cgroup v1 with CONFIG_RT_GROUP_SCHED). Once too many have some, they do without."""
    _write_if_there(os.path.join(group, "cpu.rt_period_us"), str(REALTIME_PERIOD_US))
    _write_if_there(os.path.join(group, "cpu.rt_runtime_us"), str(runtime_us))


class DaemonsGroup:
    """A group with the weight of the daemons' units, for one that is measured outside of a lab."""

    def __init__(self, name):
        self.groups = [os.path.join(point, name) for point, version, controllers in _mounts()
                       if "cpu" in controllers
                       and (version == "v1" or "cpu" in _read(os.path.join(point, "cgroup.subtree_control")).split())]
        for group in self.groups:
            os.mkdir(group)
            weigh(group, DAEMONS_WEIGHT)
            allow_realtime(group, REALTIME_PERIOD_US * 9 // 10)

    def enter(self):
        """This process, and what it becomes and starts, is in it."""
        for group in self.groups:
            _write(os.path.join(group, "cgroup.procs"), str(os.getpid()))

    def remove(self):
        for group in self.groups:
            _remove_group(group, os.path.dirname(group))


def _daemons_group(lab):
    return f"{lab}.daemons"


def node_group(lab, node):
    """Of all of a node, but for its daemons."""
    return f"{lab}.{node}"


def classes_group(lab, node):
    """[cgroup] root of a node's classd."""
    return f"{node_group(lab, node)}/cosched"


def enter_daemons_group(lab):
    """This process is one of the lab's daemons, which have their units' weight."""
    _enter(_daemons_group(lab))


def users_group(lab, node):
    """Of the node's sequential class: who is nobody's MPI job, as in a user's session."""
    return f"{node_group(lab, node)}/users"


def users_lists(lab, node):
    """The files that a process of the node's sequential class is written to."""
    return _lists(users_group(lab, node))


def enter_users_group(lab, node):
    """This process, and what it becomes and starts, is the node's sequential class."""
    _enter(users_group(lab, node))


def places(group):
    """The directories of a group, one in each hierarchy that has it."""
    found = (os.path.join(point, group) for point, _, _ in _mounts())
    return [place for place in found if os.path.isdir(place)]


def _lists(group):
    return [os.path.join(place, "cgroup.procs") for place in places(group)]


def _enter(group):
    for path in _lists(group):
        _write(path, str(os.getpid()))


def existing(lab):
    """The directories of the lab's subtrees that are there, in each hierarchy."""
    return [top for point, _, _ in _mounts() for top in sorted(glob.glob(os.path.join(glob.escape(point), f"{lab}.*")))]


def remove(lab):
    """Moves what still runs in the subtrees to the hierarchy's root and removes the subtrees. Returns
    the directories that could not be removed."""
    return [top for top in existing(lab) if not _remove_tree(top, os.path.dirname(top))]


def _remove_tree(top, root):
    for group, _, _ in os.walk(top, topdown=False):
        if not _remove_group(group, root):
            return False
    return True


def _remove_group(group, root):
    for _ in range(100):
        _write_if_there(os.path.join(group, "freezer.state"), "THAWED")
        for pid in _read(os.path.join(group, "cgroup.procs")).split():
            _write_if_there(os.path.join(root, "cgroup.procs"), pid)
        if _is_removed(group):
            return True
        time.sleep(0.02)  # the last process is still on its way out
    return False


def end(tops):
    """Ends whoever is in these subtrees, which may be of several hierarchies, and removes them. Returns the directories
    that could not be removed."""
    groups = [group for top in tops for group, _, _ in os.walk(top, topdown=False)]
    for _ in range(100):
        for group in groups:  # all first: who is frozen in one hierarchy does not die in another
            _write_if_there(os.path.join(group, "freezer.state"), "THAWED")
            _write_if_there(os.path.join(group, "cgroup.freeze"), "0")
        for pid in {pid for group in groups for pid in _read(os.path.join(group, "cgroup.procs")).split()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        groups = [group for group in groups if not _is_removed(group)]
        if not groups:
            break
        time.sleep(0.02)
    return groups


def _is_removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return not os.path.isdir(group)
    return True


def _write_if_there(path, text):
    try:
        if os.path.exists(path):
            _write(path, text)
    except OSError:
        pass
