"""The lab's nodes and their daemons, which are kept running as systemd keeps its services."""

import os
import resource
import shutil
import signal
import subprocess
import time

from labkit import cgroups, cluster, daemons, processes

RESTART_SLICES = 2  # RestartSec, 1 s in the units, for slices as short as a campaign has them


def run_state(pid):
    """R, S, D, T, Z, ... of proc(5); "" when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Daemon:
    """classd or timerd of one node, as a service: what is done when it ends is done by keep()."""

    def __init__(self, node, title, program):
        self.node = node
        self.title = title
        self.program = self.usual_program = program
        self.descriptors = None  # RLIMIT_NOFILE, when it is not the usual one
        self.process = None
        self.ready = False
        self.restart_at_s = 0.0
        self._at_next_end()

    def _at_next_end(self, release=True, restart_s=None):
        self.release = release
        self.restart_s = RESTART_SLICES * self.node.lab.slice_s if restart_s is None else restart_s

    def start(self):
        command = [*cluster.enter(self.node.record), self.program, "--config", "/etc/cosched.ini"]
        if self.descriptors:
            command = ["prlimit", f"--nofile={self.descriptors}", *command]
        with open(self.node.log(self.title), "ab") as log:
            self.process = subprocess.Popen(command, cwd="/", env=self.node.environment(self.title),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        self.ready = self.title != "classd"  # nobody waits for timerd
        self.node.remember(self)
        self._at_next_end()

    def live(self):
        """Whether it can do its work now: it has started up, and is neither stopped nor ended."""
        process = self.process
        return process is not None and self.ready and run_state(process.pid) in ("R", "S", "D")

    def signal(self, number):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number, release=True, restart_s=None):
        """Ends it by a signal; classd's ExecStopPost runs afterwards if `release`."""
        self._at_next_end(release, restart_s)
        self.signal(number)

    def keep(self):
        """What systemd does: ExecStopPost after an end, a new start after RestartSec."""
        if self.process is not None and self.process.poll() is not None:
            self._clean_up()
        if self.process is None and time.monotonic() >= self.restart_at_s:
            self.start()
        if self.process is not None and not self.ready:
            self.ready = daemons.answers(self.node.record)

    def _clean_up(self):
        self.process, self.ready = None, False
        if self.title == "classd" and self.release:
            subprocess.run([*cluster.enter(self.node.record), self.usual_program, "--release",
                            "--config", "/etc/cosched.ini"], stdin=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=10, check=False)
        self.restart_at_s = time.monotonic() + self.restart_s

    def open_descriptors(self):
        """What it has open, each as its kind: numbers of sockets and inodes differ with every run."""
        folder = f"/proc/{self.process.pid}/fd"
        kinds = []
        for name in os.listdir(folder):
            try:
                kinds.append(os.readlink(os.path.join(folder, name)).split(":[")[0])
            except FileNotFoundError:
                pass
        return sorted(kinds)


def _replace(path, text):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(path + ".new", path)


class Node:
    def __init__(self, lab, record, programs):
        self.lab = lab
        self.record = record
        self.name = record["name"]
        self.refusing = False  # the kernel refuses limits: see refuse()
        self.classd = Daemon(self, "classd", programs["classd"])
        self.timerd = Daemon(self, "timerd", programs["timerd"])
        self.daemons = (self.classd, self.timerd)

    # ---- files

    def inside(self, path):
        return cluster.in_node(self.record, path)

    def runtime_dir(self, *parts):
        return os.path.join(self.inside(cluster.RUNTIME_DIR), *parts)

    def log(self, title):
        return self.lab.store.file(self.name, f"{title}.log")

    def write_config(self, text):
        """Replaces the node's cosched.ini; None removes it."""
        if text is None:
            os.unlink(self.inside("/etc/cosched.ini"))
        else:
            cluster.write_in_node(self.record, "/etc/cosched.ini", text)

    def config(self):
        with open(self.inside("/etc/cosched.ini"), encoding="utf-8") as file:
            return file.read()

    def mend_config(self):
        cluster.write_config(self.lab.store, self.lab.record, self.record)

    def pages(self):
        try:
            return set(os.listdir(self.runtime_dir("jobs")))
        except FileNotFoundError:
            return set()

    # ---- daemons

    def environment(self, title):
        variables = cluster.clean_environment(self.lab.record)
        variables["COSCHED_CLOCK"] = self._clock()
        variables["LD_PRELOAD"] = self.lab.interposers["clock"]
        if title == "classd":
            variables["LD_PRELOAD"] += ":" + self.lab.interposers["limits"]
            variables["COSCHED_REFUSE"] = self._refusal()
        return variables

    def _refusal(self):
        return self.lab.store.file(self.name, "refuse")

    def _clock(self):
        return self.lab.store.file(self.name, "clock")

    def set_clock(self, ahead_s):
        """The daemons' time of day is so far ahead of the machine's from now on."""
        _replace(self._clock(), str(int(ahead_s * 1e9)))

    def refuse(self, word):
        """From now on the kernel refuses classd's limits: "ERRNO limits" those that are numbers,
        "ERRNO all" also those that lift a limit."""
        self.refusing = True
        _replace(self._refusal(), word)

    def accept(self):
        os.unlink(self._refusal())
        self.refusing = False

    def mend(self):
        """Takes back whatever a fault may have left that was cut short."""
        for daemon in self.daemons:
            daemon.descriptors = None
            daemon.program = daemon.usual_program
            daemon.signal(signal.SIGCONT)
        if self.refusing:
            self.accept()
        self.set_clock(0)
        self.mend_config()

    def remember(self, daemon):
        """So that `lab down` ends the daemon, whatever becomes of the campaign."""
        self.record["daemons"][daemon.title] = processes.identity(daemon.process.pid)
        self.lab.store.save(self.lab.record)

    def keep(self):
        for daemon in self.daemons:
            daemon.keep()

    def ask(self, what):
        """What `coschedctl WHAT` says, or None."""
        return daemons.control(self.lab.record, self.record, what)

    # ---- classes

    def group(self, hierarchy):
        return os.path.join(hierarchy, cgroups.classes_group(self.lab.store.name, self.name))

    def classes(self):
        """{name of a class: whether it is limited}"""
        found = {}
        for name in self.class_names():
            try:
                with open(os.path.join(self.group(self.lab.cpu_hierarchy), name, self.lab.limit_file),
                          encoding="ascii") as file:
                    found[name] = file.read().split()[0] not in ("-1", "max")
            except OSError:
                pass  # the job has just ended
        return found

    def class_names(self):
        return {entry.name for entry in os.scandir(self.group(self.lab.cpu_hierarchy)) if entry.is_dir()}

    def class_groups(self, name):
        return [os.path.join(self.group(one), name) for one in self.lab.hierarchies
                if os.path.isdir(os.path.join(self.group(one), name))]


class Lab:
    """A lab whose daemons are the campaign's own."""

    def __init__(self, store, build, settings, programs, interposers, slice_s):
        self.store = store
        self.interposers = interposers  # {what it stands before: library}
        self.slice_s = slice_s
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes on purpose need no core
        with store.locked():
            self.record = cluster.up(store, 2, 1, build, settings, os.getpid())
        tops = cgroups.places(cgroups.node_group(store.name, self.record["nodes"][0]["name"]))
        self.hierarchies = [os.path.dirname(top) for top in tops]
        self.cpu_hierarchy, self.limit_file = next(
            (os.path.dirname(top), file) for top in tops for file in ("cpu.cfs_quota_us", "cpu.max")
            if os.path.exists(os.path.join(top, file)))
        self.nodes = [Node(self, record, programs) for record in self.record["nodes"]]

    def strays(self):
        """Groups beside the nodes', for processes that a fault takes out of their class."""
        groups = [os.path.join(one, cgroups.node_group(self.store.name, "strays")) for one in self.hierarchies]
        for group in groups:
            os.makedirs(group, exist_ok=True)
        return groups

    def keep(self):
        for node in self.nodes:
            node.keep()

    def down(self):
        for node in self.nodes:
            for daemon in node.daemons:
                daemon.signal(signal.SIGCONT)
        with self.store.locked():
            self.store.load()
            cluster.down(self.store)
        for node in self.nodes:
            for daemon in node.daemons:
                if daemon.process is not None:
                    daemon.process.wait()

    def leftovers(self):
        """What `lab down` has left; its network and its mounts live in processes."""
        return ([f"process {who['pid']}" for who in processes.marked(self.store.name)]
                + cgroups.existing(self.store.name)
                + [self.store.directory] * os.path.exists(self.store.directory))


def need(build, programs):
    """Paths below the build directory that are missing, and tools."""
    missing = [os.path.join(build, path) for path in programs
               if not os.path.exists(os.path.join(build, path))]
    return missing + [tool for tool in ("prlimit", "nsenter", "mount") if not shutil.which(tool)]
