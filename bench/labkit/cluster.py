"""Nodes: namespaces, network, private directories; how to enter one; how all of it goes away."""

import os
import shlex
import shutil
import subprocess
import uuid

from . import LabError, cgroups, processes

NAMESPACES = ["--net", "--uts", "--ipc", "--mount"]
RUNTIME_DIR = "/run/cosched"
# Set for the launchers when a job is to be in its nodes' groups of users.
AMONG_USERS = "COSCHED_LAB_AMONG_USERS"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Runs inside a node. $1 host name, $2 runtime directory, $3 the node's private directory (a tmpfs).
# /etc gets an overlay, so that the node has its own files there and the host's stay as they are; a
# sysfs is mounted only long enough to bind its network part, for UCX lists interfaces from there
# (the rest of /sys, cgroups above all, stays the host's).
SETUP = r"""
set -e
hostname "$1"
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 cosched "$2"
mount -t tmpfs -o mode=755 private "$3"
cd "$3"
mkdir upper work sys
mkdir -m 1777 tmp
if ! mount -t overlay -o lowerdir=/etc,upperdir="$3"/upper,workdir="$3"/work etc /etc 2>/dev/null; then
    cp -a /etc/. upper
    mount --bind upper /etc
fi
mount -t sysfs sysfs sys
mount --bind sys/class/net /sys/class/net
mount --bind sys/devices/virtual/net /sys/devices/virtual/net
umount sys
"""


def need_root():
    if os.geteuid() != 0:
        raise LabError("the lab makes namespaces and cgroups: run it as root")
    missing = [tool for tool in ("unshare", "nsenter", "ip", "taskset") if not shutil.which(tool)]
    if missing:
        raise LabError(f"not found: {', '.join(missing)} (Debian packages iproute2 and util-linux)")


def node_cpus(index, cpus_per_node):
    """CPUs of node `index`: the next ones of those that we may use, again from the first when there
    are fewer than the lab wants."""
    allowed = sorted(os.sched_getaffinity(0))
    first = index * cpus_per_node
    return sorted({allowed[(first + i) % len(allowed)] for i in range(cpus_per_node)})


def address(index):
    return f"10.99.{index // 250}.{index % 250 + 1}"


def is_healthy(lab):
    """Complete, every namespace alive, and whoever it was made for still there."""
    holders = [lab["switch"]] + [node["holder"] for node in lab["nodes"]]
    owner = lab.get("owner")
    return lab["complete"] and all(map(processes.is_alive, holders)) and (
        owner is None or processes.is_alive(owner))


def is_made_for(lab, pid):
    return lab.get("owner") == processes.identity(pid)


def up(store, nodes, cpus_per_node, build, settings, owner=None, users=False):
    """Makes the cluster, without daemons. `settings` is {section: {key: value}} of cosched.ini; with `users`
    each node has a sequential class."""
    need_root()
    lab = store.load()
    if lab and is_healthy(lab):
        raise LabError(f"a lab is up in {store.directory}: `lab down` first")
    down(store)
    os.makedirs(store.file("private"))
    lab = {
        "name": store.name,
        "id": uuid.uuid4().hex,
        "complete": False,
        "owner": processes.identity(owner) if owner else None,
        "build": os.path.abspath(build),
        "cpus_per_node": cpus_per_node,
        "settings": settings,
        "users": users,
        "switch": None,
        "nodes": [],
    }
    store.save(lab)
    try:
        os.makedirs(RUNTIME_DIR, exist_ok=True)
        lab["switch"] = _hold(lab, ["--net"], "switch")
        store.save(lab)
        for index in range(nodes):
            lab["nodes"].append(_make_node(store, lab, index))
            store.save(lab)
        _connect(lab)
        for node in lab["nodes"]:
            _furnish(store, lab, node)
        cgroups.make(store.name, {node["name"]: len(node["cpus"]) for node in lab["nodes"]})
        _write_agent(store, lab)
        lab["complete"] = True
        store.save(lab)
    except BaseException:
        down(store)
        raise
    return lab


def _hold(lab, namespaces, title, cpus=None):
    """A process that does nothing but keep new namespaces alive."""
    command = ["unshare", *namespaces]
    if "--mount" in namespaces:
        command += ["--propagation", "private"]
    ready, told = os.pipe()
    # The shell tells that it is inside, then becomes the holder.
    command += ["sh", "-c", "echo; exec sleep infinity >/dev/null 2>&1", title]
    if cpus:
        command = ["taskset", "-c", ",".join(map(str, cpus)), *command]
    process = subprocess.Popen(command, env=clean_environment(lab), cwd="/",
                               stdin=subprocess.DEVNULL, stdout=told, start_new_session=True)
    os.close(told)
    with os.fdopen(ready, "rb") as pipe:
        if not pipe.read(1):
            raise LabError(f"cannot make namespaces ({' '.join(namespaces)}) for {title}")
    return processes.identity(process.pid)


def _make_node(store, lab, index):
    name = f"node{index}"
    os.makedirs(store.file(name))
    cpus = node_cpus(index, lab["cpus_per_node"])
    return {"name": name, "index": index, "address": address(index), "cpus": cpus,
            "holder": _hold(lab, NAMESPACES, name, cpus), "daemons": {}}


def _connect(lab):
    """One bridge in the switch's namespace, one veth pair per node."""
    switch = lab["switch"]["pid"]
    lines = ["link set lo up", "link add br0 type bridge", "link set br0 up"]
    for node in lab["nodes"]:
        port = f"port{node['index']}"
        lines += [f"link add {port} type veth peer name eth0 netns {node['holder']['pid']}",
                  f"link set {port} master br0 up"]
    _ip(switch, lines)
    for node in lab["nodes"]:
        _ip(node["holder"]["pid"], ["link set lo up", "link set eth0 up",
                                    f"address add {node['address']}/16 dev eth0"])


def _ip(pid, lines):
    run_checked(["nsenter", "--target", str(pid), "--net", "ip", "-batch", "-"], "\n".join(lines))


def _furnish(store, lab, node):
    run_checked([*enter(node), "sh", "-c", SETUP, "setup", node["name"], RUNTIME_DIR,
                 store.file("private")])
    hosts = ["127.0.0.1 localhost"]
    hosts += [f"{other['address']} {other['name']}" for other in lab["nodes"]]
    write_in_node(node, "/etc/hosts", "\n".join(hosts) + "\n")
    write_config(store, lab, node)


def write_config(store, lab, node):
    """The node's cosched.ini: what a node of the lab must have, then what the user asked for."""
    config = {"scheduler": {"cpus": str(len(node["cpus"]))},
              "cgroup": {"root": cgroups.classes_group(store.name, node["name"])},
              "daemon": {"runtime_dir": RUNTIME_DIR}}
    if lab.get("users"):
        config["sequential"] = {"groups": cgroups.users_group(store.name, node["name"])}
    for section, keys in lab["settings"].items():
        config.setdefault(section, {}).update(keys)
    lines = []
    for section, keys in config.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {value}" for key, value in keys.items()]
    write_in_node(node, "/etc/cosched.ini", "\n".join(lines) + "\n")


def write_in_node(node, path, text):
    """Replaces a file as the node sees it (a symbolic link there would lead out of the node)."""
    inside = in_node(node, path)
    if os.path.lexists(inside):
        os.unlink(inside)
    with open(inside, "w", encoding="utf-8") as file:
        file.write(text)


def in_node(node, path):
    """The path, from outside, of a file that the node knows as `path`."""
    return f"/proc/{node['holder']['pid']}/root{path}"


def clean_environment(lab, tmpdir=None):
    """What a login over ssh gives, and the marker by which `lab down` finds its processes."""
    variables = {"PATH": PATH, "HOME": os.environ.get("HOME", "/root"), "USER": "root",
                 "LOGNAME": "root", "SHELL": "/bin/sh", "LANG": "C.UTF-8",
                 processes.MARKER: f"{lab['name']}:{lab['id']}"}
    if tmpdir:
        variables["TMPDIR"] = tmpdir
    return variables


def enter(node):
    """The command prefix that runs something inside a node, on its CPUs."""
    cpus = ",".join(map(str, node["cpus"]))
    return ["taskset", "-c", cpus, "nsenter", "--target", str(node["holder"]["pid"]), *NAMESPACES,
            "--"]


def _write_agent(store, lab):
    """The remote shell of the launchers: `agent HOST COMMAND...` runs COMMAND as ssh would, with a
    login's environment and none of the caller's."""
    cases = [f"{node['name']}|{node['address']}) set -- {shlex.join(enter(node))} \"$@\"; "
             f"groups={shlex.quote(' '.join(cgroups.users_lists(store.name, node['name'])))} ;;"
             for node in lab["nodes"]]
    variables = [f"{key}={value}" for key, value in
                 clean_environment(lab, store.file("private", "tmp")).items()]
    script = "\n".join([
        "#!/bin/sh",
        "# Written by `lab up`.",
        "while [ \"${1#-}\" != \"$1\" ]; do shift; done # options of ssh mean nothing here",
        "host=$1; shift",
        f"set -- env -i {shlex.join(variables)} sh -c \"$*\"",
        "case $host in",
        *cases,
        "*) echo \"lab agent: no node $host\" >&2; exit 255 ;;",
        "esac",
        f"[ -z \"${{{AMONG_USERS}:-}}\" ] || for group in $groups; do echo $$ >\"$group\" || exit 255; done",
        "exec \"$@\"",
    ]) + "\n"
    with open(store.file("agent"), "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(store.file("agent"), 0o755)


def run_checked(command, text=None):
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise LabError(f"{shlex.join(command[:8])} ... failed:\n{done.stdout.strip()}")
    return done.stdout


def down(store):
    """Removes everything that the lab made; harmless when there is nothing. Needs no record but the
    lab's name, though with a record it also finds processes that cleared their environment."""
    need_root()
    store.check_own()
    lab = store.load() or {"nodes": [], "switch": None}
    holders = [who for who in [lab["switch"], *(n["holder"] for n in lab["nodes"])] if who]
    daemons = [who for node in lab["nodes"] for who in node["daemons"].values()]
    processes.end(daemons, 3)  # first: a classd that ends by itself lifts its limits
    others = [who for who in processes.marked(store.name, holders) if who not in holders]
    processes.end(others, 1)
    left = processes.end(holders, 0) + processes.end(processes.marked(store.name), 0)
    groups = cgroups.remove(store.name)
    if left or groups:
        raise LabError("could not remove: " + ", ".join([f"process {w['pid']}" for w in left] + groups))
    shutil.rmtree(store.directory, ignore_errors=True)
    # RUNTIME_DIR stays, empty: removing it would unmount what the nodes of other labs have there.
