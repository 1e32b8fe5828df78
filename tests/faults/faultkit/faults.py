"""The kinds of faults. Each is a function that injects one and, where nobody else would, mends it.

`world` lets time pass while services are kept and jobs run; `rng` is the only source of chance.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess

from labkit import cluster

KINDS = {}


def kind(function):
    """Makes it known by its name, with blanks as dashes."""
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def some_nodes(world, rng):
    """One node, or now and then all."""
    return world.nodes if rng.random() < 0.25 else [rng.choice(world.nodes)]


# ---- daemons that end


@kind
def classd_kill(world, rng):
    for node in some_nodes(world, rng):
        node.classd.end(signal.SIGKILL)


@kind
def classd_segv(world, rng):
    for node in some_nodes(world, rng):
        node.classd.end(signal.SIGSEGV)


@kind
def classd_kill_unreleased(world, rng):
    """Without ExecStopPost, and for so long that timerd has to lift."""
    for node in some_nodes(world, rng):
        node.classd.end(signal.SIGKILL, release=False, restart_s=4 * world.slice_s)


@kind
def timerd_kill(world, rng):
    for node in some_nodes(world, rng):
        node.timerd.end(signal.SIGKILL, restart_s=rng.choice((2, 8)) * world.slice_s)


@kind
def timerd_segv(world, rng):
    for node in some_nodes(world, rng):
        node.timerd.end(signal.SIGSEGV)


@kind
def both_kill(world, rng):
    number = rng.choice((signal.SIGKILL, signal.SIGSEGV))
    for node in some_nodes(world, rng):
        for daemon in node.daemons:
            daemon.end(number)


@kind
def both_kill_unreleased(world, rng):
    """Nobody lives for a while, so limits stay until one of them is back."""
    for node in some_nodes(world, rng):
        for daemon in node.daemons:
            daemon.end(signal.SIGKILL, release=False, restart_s=rng.uniform(1, 4) * world.slice_s)


# ---- daemons that hang


def hang(world, rng, daemons):
    for daemon in daemons:
        daemon.signal(signal.SIGSTOP)
    world.pass_time(rng.choice((rng.uniform(0.2, 3), rng.uniform(3, 12))) * world.slice_s)
    for daemon in rng.sample(daemons, len(daemons)):
        daemon.signal(signal.SIGCONT)
        world.pass_time(rng.uniform(0, 0.5) * world.slice_s)


@kind
def classd_hang(world, rng):
    hang(world, rng, [node.classd for node in some_nodes(world, rng)])


@kind
def timerd_hang(world, rng):
    hang(world, rng, [node.timerd for node in some_nodes(world, rng)])


@kind
def both_hang(world, rng):
    hang(world, rng, [daemon for node in some_nodes(world, rng) for daemon in node.daemons])


# ---- at the moment when a job registers


def wait_for_registration(world, rng):
    """Starts a short job more, and waits for a part of its start, or until its first class appears."""
    classes = [node.class_names() for node in world.nodes]
    world.jobs.start_extra()
    if rng.random() < 0.5:
        world.pass_time(rng.uniform(0, 1.0))
    else:
        world.wait_for(lambda: any(node.class_names() - before
                                   for node, before in zip(world.nodes, classes)))


@kind
def register_kill(world, rng):
    wait_for_registration(world, rng)
    for node in some_nodes(world, rng):
        node.classd.end(signal.SIGKILL)


@kind
def register_hang(world, rng):
    wait_for_registration(world, rng)
    hang(world, rng, [node.classd for node in some_nodes(world, rng)])


# ---- what the daemons stand on


@kind
def runtime_removed(world, rng):
    """classd has to notice by itself. The directory is a mount point in the lab and stays, empty."""
    node = rng.choice(world.nodes)
    for name in os.listdir(node.runtime_dir()):
        path = node.runtime_dir(name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def resize(node, size):
    """Of the tmpfs that the runtime directory is in the lab."""
    subprocess.run([*cluster.enter(node.record), "mount", "-o", f"remount,size={size}",
                    cluster.RUNTIME_DIR], check=True, stdin=subprocess.DEVNULL)


def shrink(node):
    """To 64 KiB, or to what is in it where that is more."""
    for attempt in range(5):
        state = os.statvfs(node.runtime_dir())
        try:
            resize(node, max(65536, (state.f_blocks - state.f_bfree) * state.f_frsize))
            return
        except subprocess.CalledProcessError:  # a job has registered in between
            if attempt == 4:
                raise


def fill(path):
    with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@kind
def runtime_full(world, rng):
    """New jobs find no room for their page; half of the times classd ends meanwhile as well."""
    node = rng.choice(world.nodes)
    ballast = node.runtime_dir("ballast")
    shrink(node)
    try:
        if rng.random() < 0.5:
            fill(ballast)
            world.jobs.start_extra()
        world.pass_time(rng.uniform(1, 6) * world.slice_s, meanwhile=lambda: fill(ballast))
        if rng.random() < 0.5:
            node.classd.end(signal.SIGKILL)
            world.pass_time(rng.uniform(2, 6) * world.slice_s, meanwhile=lambda: fill(ballast))
    finally:
        os.unlink(ballast)
        resize(node, "16m")


@kind
def descriptors(world, rng):
    """classd comes back with hardly any descriptors, and a user's process takes what is left of them."""
    node = rng.choice(world.nodes)
    node.classd.descriptors = len(world.base_line[node.classd]) + rng.randint(-3, 12)
    node.classd.end(signal.SIGKILL, release=rng.random() < 0.5)
    world.pass_time(4 * world.slice_s)
    with many_connections(node, 100):
        world.pass_time(rng.uniform(2, 8) * world.slice_s)
    node.classd.descriptors = None
    node.classd.end(signal.SIGKILL)


@contextlib.contextmanager
def many_connections(node, count):
    """Held by a process of their own, as the user nobody."""
    pid = os.fork()
    if pid == 0:
        try:
            hold_connections(node, count)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def hold_connections(node, count):
    os.chdir(node.runtime_dir())  # the path leads through a /proc that only root may pass
    os.setgid(65534)
    os.setuid(65534)
    held = []
    for _ in range(count):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.setblocking(False)
        with contextlib.suppress(OSError):
            client.connect("classd.socket")
        held.append(client)
    signal.pause()


# ---- classes


def empty_class(world, groups):
    """Moves the processes of a class to where nobody looks for them."""
    for group, stray in zip(groups, world.lab.strays()):
        with open(os.path.join(group, "cgroup.procs"), encoding="ascii") as file:
            pids = file.read().split()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError), \
                    open(os.path.join(stray, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(pid)


def pick_class(world, rng):
    """(groups of a class, one in each hierarchy) of some node, waiting for one to be there."""
    world.wait_for(lambda: any(node.class_names() for node in world.nodes))
    node = rng.choice([node for node in world.nodes if node.class_names()])
    return node.class_groups(rng.choice(sorted(node.class_names())))


@kind
def class_emptied(world, rng):
    with contextlib.suppress(FileNotFoundError):  # its job may end in this moment
        empty_class(world, pick_class(world, rng))
    world.pass_time(rng.uniform(1, 5) * world.slice_s)


@kind
def class_removed(world, rng):
    with contextlib.suppress(FileNotFoundError):
        groups = pick_class(world, rng)
        empty_class(world, groups)
        for group in groups:
            with contextlib.suppress(OSError):  # a process that was just forked
                os.rmdir(group)
    world.pass_time(rng.uniform(1, 5) * world.slice_s)


@contextlib.contextmanager
def refused(node, rng):
    error = rng.choice(("EPERM", "ENOSPC", "EINVAL"))
    node.refuse(f"{error} {rng.choice(('limits', 'all'))}")
    try:
        yield
    finally:
        node.accept()


@kind
def quota_refused(world, rng):
    """The kernel refuses limits that are numbers, or every change of a limit."""
    node = rng.choice(world.nodes)
    with refused(node, rng):
        world.pass_time(rng.uniform(1, 6) * world.slice_s)
        if rng.random() < 0.3:
            node.classd.end(signal.SIGKILL)
            world.pass_time(4 * world.slice_s)


@kind
def quota_refused_at_the_end(world, rng):
    """The same while a job ends: the one that stays must not keep its limit when the fault is over."""
    with refused(rng.choice(world.nodes), rng):
        world.jobs.draining = True
        running = set(world.jobs.alive())
        world.wait_for(lambda: running - set(world.jobs.alive()))
    world.pass_time(4 * world.slice_s)
    world.jobs.draining = False


# ---- time


@kind
def clock_stepped(world, rng):
    """The wall clock of a node is set, and set right again; or of all of them, to different times."""
    for node in some_nodes(world, rng):
        ahead_s = rng.choice((rng.uniform(0.1, 1.0) * world.slice_s, 90, 86400, 400 * 86400))
        node.set_clock(rng.choice((-1, 1)) * ahead_s)
    world.pass_time(rng.uniform(0.5, 5) * world.slice_s)
    for node in world.nodes:
        node.set_clock(0)


# ---- configuration and upgrade

BROKEN = {
    "cut": lambda text: text[:len(text) // 2].rstrip("\n") + "\n[sched",
    "no sense": lambda text: "\0\xff\n= = =\n" * 100,
    "unknown key": lambda text: text + "\n[scheduler]\nspeed = 11\n",
    "impossible value": lambda text: text.replace("time_slice = ", "time_slice = -"),
    "gmet beyond time_slice": lambda text: text.replace("gmet = ", "gmet = 1h ; "),
    "another root": lambda text: text.replace("root = ", "root = cosched-nowhere/"),
    "empty": lambda text: "",
    "missing": lambda text: None,
}


@kind
def config_broken(world, rng):
    """A file that must not be taken over, and SIGHUP; the settings in force stay."""
    node = rng.choice(world.nodes)
    breakage = rng.choice(sorted(BROKEN))
    before = settings_in_force(node)
    node.write_config(BROKEN[breakage](node.config()))
    try:
        for daemon in node.daemons:
            daemon.signal(signal.SIGHUP)
        world.pass_time(rng.uniform(1, 4) * world.slice_s)
    finally:
        node.mend_config()
    after = settings_in_force(node)
    if after != before:
        world.complain(f"{node.name}: SIGHUP with a broken configuration ({breakage}) changed {before} "
                       f"to {after}")
    for daemon in node.daemons:
        daemon.signal(signal.SIGHUP)


def settings_in_force(node):
    status = node.ask("status") or {}
    names = ("pid", "generation", "policy", "time_slice_s", "gmet_s", "idle_share", "cpus")
    return {name: status.get(name) for name in names}


@kind
def upgrade(world, rng):
    """To daemons of another protocol version, while processes of the present one are registered, and
    back. Now and then timerd is forgotten."""
    node = rng.choice(world.nodes)
    daemons = node.daemons if rng.random() < 0.5 else (node.classd,)
    for daemon in daemons:
        daemon.program = world.upgraded[daemon.title]
        daemon.end(signal.SIGTERM, restart_s=0)
    world.pass_time(rng.uniform(2, 12) * world.slice_s)
    for daemon in daemons:
        daemon.program = daemon.usual_program
        daemon.end(signal.SIGTERM, restart_s=0)
