"""classd and timerd of each node: start, stop (SIGTERM), kill (SIGKILL)."""

import json
import os
import signal
import socket
import subprocess
import time

from . import LabError, cgroups, cluster, processes

PROGRAMS = {"classd": "classd/classd", "timerd": "timerd/timerd"}  # in the order of starting
COSCHEDCTL = "ctl/coschedctl"
START_TIMEOUT_S = 5
STOP_TIMEOUT_S = 5


def built(lab, relative):
    path = os.path.join(lab["build"], relative)
    if not os.access(path, os.X_OK):
        raise LabError(f"{path} is not there: build first (cmake --build), or name a build with "
                       "`lab up --build DIR`")
    return path


def start(store, lab, nodes, which, environment=None):
    """Starts what does not run yet, with further variables. Afterwards classd answers on its socket."""
    for title in (title for title in PROGRAMS if title in which):
        program = built(lab, PROGRAMS[title])
        started = [(node, _spawn(store, lab, node, title, program, environment)) for node in nodes
                   if not processes.is_alive(node["daemons"].get(title))]
        for node, process in started:
            _wait_ready(store, node, title, process)


def _spawn(store, lab, node, title, program, environment):
    with open(_log(store, node, title), "ab") as log:
        process = subprocess.Popen(
            [*cluster.enter(node), program, "--config", "/etc/cosched.ini"], cwd="/",
            env={**cluster.clean_environment(lab), **(environment or {})}, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True, preexec_fn=lambda: cgroups.enter_daemons_group(lab["name"]))
    node["daemons"][title] = processes.identity(process.pid)
    store.save(lab)
    return process


def _log(store, node, title):
    return store.file(node["name"], f"{title}.log")


def _wait_ready(store, node, title, process):
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            # timerd has nothing to answer with: alive after a moment must do.
            status = process.wait(timeout=0.01 if title == "classd" else 0.1)
            raise LabError(f"{title} on {node['name']} ended at once (status {status}):\n"
                           + _tail(_log(store, node, title)))
        except subprocess.TimeoutExpired:
            if title != "classd" or answers(node):
                return
    raise LabError(f"{title} on {node['name']} does not answer:\n" + _tail(_log(store, node, title)))


def answers(node):
    """True when classd of the node accepts a connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        try:
            client.connect(cluster.in_node(node, cluster.RUNTIME_DIR + "/classd.socket"))
        except OSError:
            return False
    return True


def _tail(path, lines=15):
    with open(path, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-lines:])


def stop(store, lab, nodes, which, number=signal.SIGTERM):
    """Ends daemons by SIGTERM or SIGKILL, timerd first, so that none is left to ask a dead classd."""
    grace_s = STOP_TIMEOUT_S if number == signal.SIGTERM else 0
    for title in (title for title in reversed(PROGRAMS) if title in which):
        whom = [node["daemons"].pop(title) for node in nodes if title in node["daemons"]]
        left = processes.end(whom, grace_s)
        store.save(lab)
        if left:
            raise LabError(f"{title} does not end: process " + ", ".join(str(w["pid"]) for w in left))


def control(lab, node, *arguments):
    """What `coschedctl ARGUMENTS --json` says on the node, or None when it says nothing."""
    program = os.path.join(lab["build"], COSCHEDCTL)
    if not os.access(program, os.X_OK):
        return None
    try:
        done = subprocess.run([*cluster.enter(node), program, *arguments, "--json"], timeout=5,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None
