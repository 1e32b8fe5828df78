"""Processes by identity (pid and start time), so that a reused pid is never mistaken for ours."""

import ctypes
import os
import signal
import time

MARKER = "COSCHED_LAB"  # in the environment of all that the lab starts: <lab name>:<lab id>

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def _stat(pid):
    """State, parent and start time of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1]), int(fields[19])


def identity(pid):
    """What to record of a process: tells it from any later one of the same pid."""
    stat = _stat(pid)
    return {"pid": pid, "start": stat[2] if stat else 0}


def is_alive(who):
    stat = _stat(who["pid"]) if who else None
    return stat is not None and stat[2] == who["start"] and stat[0] not in "ZX"


def is_asleep(pid):
    """Whether a process waits for something, or has ended."""
    stat = _stat(pid)
    return stat is None or stat[0] in "SZX"


def _cpu_times(pid):
    """CPU time of a process, and of its children that have ended and were waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, (int(fields[13]) + int(fields[14])) / ticks


def cpu_s(pid):
    """CPU time that a process has used, 0 when it is gone."""
    return _cpu_times(pid)[0]


def below_cpu_s(pid):
    """CPU time of all descendants of a process, also of those that have ended, whether they were waited
    for or not."""
    below = descendants(pid, without=())
    return _cpu_times(pid)[1] + sum(sum(_cpu_times(who["pid"])) for who in below)


def send(who, number):
    """Signals exactly this process: the descriptor is opened first, then the identity is checked."""
    try:
        descriptor = os.pidfd_open(who["pid"])
    except OSError:
        return
    try:
        if is_alive(who):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def wait_gone(whom, timeout_s):
    """Waits until none is alive; returns those that still are."""
    deadline = time.monotonic() + timeout_s
    pause_s = 0.001
    while True:
        left = [who for who in whom if is_alive(who)]
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)


def end(whom, grace_s):
    """SIGTERM, then after the grace SIGKILL; returns those that even that did not end."""
    whom = [who for who in whom if is_alive(who)]
    if grace_s > 0:
        for who in whom:
            send(who, signal.SIGTERM)
        whom = wait_gone(whom, grace_s)
    for who in whom:
        send(who, signal.SIGKILL)
    return wait_gone(whom, 5)


def _all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _network(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def _lineage():
    """This process and its ancestors: never to be killed by themselves."""
    pids, pid = set(), os.getpid()
    while pid > 0:
        pids.add(pid)
        stat = _stat(pid)
        pid = stat[1] if stat else 0
    return pids


def marked(name=None, holders=()):
    """All living processes of the lab `name` (None: of any lab): those that carry its marker, and those
    that live in a network namespace of a living holder (a program may have cleared its environment)."""
    prefix = (f"{MARKER}={name}:" if name else f"{MARKER}=").encode()
    networks = {_network(who["pid"]) for who in holders if is_alive(who)} - {None, _network(os.getpid())}
    spared = _lineage()
    found = []
    for pid in _all_pids():
        if pid in spared:
            continue
        if _network(pid) in networks or any(word.startswith(prefix) for word in _environment(pid)):
            who = identity(pid)
            if is_alive(who):
                found.append(who)
    return found


def _prctl(option, value, name):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({name})")


def become_subreaper():
    """From now on orphaned descendants become our children: none escapes, all are accounted for."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def end_with(parent):
    """In a child that was just made: SIGTERM when its parent, a pid, ends, however that is; a program that it becomes keeps
    this."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM, "PR_SET_PDEATHSIG")
    if os.getppid() != parent:  # it has ended meanwhile
        os._exit(1)


def descendants(ancestor=None, without=("Z", "X")):
    """All living descendants of a process (None: of this one): none in a state of `without`."""
    children = {}
    for pid in _all_pids():
        stat = _stat(pid)
        if stat and stat[0] not in without:
            children.setdefault(stat[1], []).append({"pid": pid, "start": stat[2]})
    found, parents = [], [ancestor or os.getpid()]
    while parents:
        for who in children.get(parents.pop(), []):
            found.append(who)
            parents.append(who["pid"])
    return found


def reap():
    """Collects all children that have ended; True when no child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return True
    return False
