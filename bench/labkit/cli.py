"""The command `bench/lab`: up, down, exec, status, daemons, mpiexec."""

import argparse
import json
import os
import signal
import sys

from . import LabError, cgroups, cluster, daemons, launch, processes
from .state import DEFAULT_NAME, Store

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def default_build():
    release = os.path.join(ROOT, "build", "release")
    return release if os.path.isdir(release) else os.path.join(ROOT, "build", "dev")


def parse_settings(texts):
    """["section.key=value", ...] as {section: {key: value}}."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise LabError(f"--set {text}: must be section.key=value")
        settings.setdefault(section, {})[key] = value.strip()
    return settings


def change_settings(settings, changes, taken_back=()):
    """`taken_back` are names, section.key."""
    for name in taken_back:
        section, _, key = name.partition(".")
        settings.get(section, {}).pop(key, None)
    for section, keys in changes.items():
        settings.setdefault(section, {}).update(keys)


def parse_variables(texts):
    pairs = [text.partition("=") for text in texts]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise LabError(f"--env {name}: must be NAME=VALUE")
    return {name: value for name, _, value in pairs}


def find_node(lab, text):
    for node in lab["nodes"]:
        if text in (node["name"], str(node["index"])):
            return node
    raise LabError(f"no node {text}: there are " + ", ".join(node["name"] for node in lab["nodes"]))


def command_up(store, options):
    settings = parse_settings(options.set)
    with store.locked():
        lab = cluster.up(store, options.nodes, options.cpus_per_node, options.build, settings,
                         options.owner, options.users)
        try:
            if options.daemons == "all":
                daemons.start(store, lab, lab["nodes"], list(daemons.PROGRAMS))
        except BaseException:
            cluster.down(store)
            raise
    return 0


def command_down(store, options):
    with store.locked():
        lab = store.load()
        if options.owner is None or lab is None or cluster.is_made_for(lab, options.owner):
            cluster.down(store)
    return 0


def command_daemons(store, options):
    with store.locked():
        lab = store.require()
        nodes = [find_node(lab, text) for text in options.node] or lab["nodes"]
        which = options.only or list(daemons.PROGRAMS)
        if options.action == "start":
            if options.set or options.unset:
                change_settings(lab["settings"], parse_settings(options.set), options.unset)
                store.save(lab)
                for node in nodes:
                    cluster.write_config(store, lab, node)
            daemons.start(store, lab, nodes, which, parse_variables(options.env))
        else:
            number = signal.SIGTERM if options.action == "stop" else signal.SIGKILL
            daemons.stop(store, lab, nodes, which, number)
    return 0


def command_exec(store, options):
    lab = store.require()
    node = find_node(lab, options.node)
    os.environ[processes.MARKER] = f"{lab['name']}:{lab['id']}"
    if options.users:
        cgroups.enter_users_group(lab["name"], node["name"])
    command = [*cluster.enter(node), "env", "-C", os.getcwd(), options.command, *options.arguments]
    os.execvp(command[0], command)


def describe(store, lab):
    nodes = [{"name": node["name"], "address": node["address"], "cpus": node["cpus"],
              "pid": node["holder"]["pid"], "alive": processes.is_alive(node["holder"]),
              "daemons": {title: who["pid"] for title, who in node["daemons"].items()
                          if processes.is_alive(who)},
              "scheduler": daemons.control(lab, node, "status"),
              "jobs": daemons.control(lab, node, "jobs")} for node in lab["nodes"]]
    return {"name": store.name, "state": store.directory, "build": lab["build"],
            "up": cluster.is_healthy(lab), "cgroups": cgroups.existing(store.name), "nodes": nodes}


def command_status(store, options):
    lab = store.load()
    if options.json:
        print(json.dumps(describe(store, lab) if lab else {"up": False, "nodes": []}, indent=1))
        return 0
    if not lab:
        print(f"no lab in {store.directory}")
        return 0
    found = describe(store, lab)
    print(f"{found['name']}: {'up' if found['up'] else 'broken, run `lab down`'}, "
          f"state in {found['state']}, build {found['build']}")
    for node in found["nodes"]:
        running = ", ".join(f"{title} {pid}" for title, pid in node["daemons"].items())
        print(f"  {node['name']}  {node['address']}  CPUs {','.join(map(str, node['cpus']))}  "
              f"{'pid %d' % node['pid'] if node['alive'] else 'dead'}  "
              f"{running or 'no daemons'}")
    return 0


def command_mpiexec(store, options):
    lab = store.require()
    options.environment = parse_variables(options.env)
    if options.report and not os.path.isdir(os.path.dirname(os.path.abspath(options.report))):
        raise LabError(f"--report {options.report}: its folder is not there")
    if options.gate and not launch.wait_for_gate():
        return 130
    if options.users:
        cgroups.enter_users_group(lab["name"], launch.chosen(lab, options.on)["nodes"][0]["name"])
    report = launch.run(store, lab, options)
    if options.report:
        launch.write_report(report, options.report)
    return report["exit_status"]


def parser():
    top = argparse.ArgumentParser(prog="lab", description="A cluster of namespaces on one machine.")
    top.add_argument("--name", default=DEFAULT_NAME, help="name of the lab, for several at once")
    top.add_argument("--state", metavar="DIR", help="state directory, which goes with the lab (default: /run/NAME)")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, help_text):
        added = commands.add_parser(name, help=help_text, description=help_text)
        added.set_defaults(function=function)
        return added

    up = command("up", command_up, "make the nodes and start their daemons")
    up.add_argument("--nodes", type=int, default=2, metavar="N")
    up.add_argument("--cpus-per-node", type=int, default=1, metavar="N")
    up.add_argument("--build", default=default_build(), metavar="DIR",
                    help="build directory that daemons and library come from")
    up.add_argument("--daemons", choices=["all", "none"], default="all")
    up.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                    help="a setting of cosched.ini, e.g. scheduler.time_slice=4s")
    up.add_argument("--users", action="store_true",
                    help="a sequential class on each node, for `exec --users`")
    up.add_argument("--owner", type=int, metavar="PID",
                    help="when this process has ended, the next `up` may replace the lab")

    down = command("down", command_down, "remove everything that the lab made")
    down.add_argument("--owner", type=int, metavar="PID",
                      help="only a lab that `up --owner PID` made for this process; another is left alone")

    status = command("status", command_status, "show nodes, daemons and jobs")
    status.add_argument("--json", action="store_true")

    control = command("daemons", command_daemons, "start or end classd and timerd")
    control.add_argument("action", choices=["start", "stop", "kill"])
    control.add_argument("--node", action="append", default=[], metavar="NODE")
    control.add_argument("--only", action="append", choices=list(daemons.PROGRAMS))
    control.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                         help="with start: change a setting first")
    control.add_argument("--unset", action="append", default=[], metavar="SECTION.KEY",
                         help="with start: take a setting back first")
    control.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                         help="with start: set a variable for the daemons")

    execute = command("exec", command_exec, "run a command inside a node")
    execute.add_argument("--users", action="store_true", help="in the cgroup of the node's sequential class")
    execute.add_argument("node", help="node0 or 0")
    execute.add_argument("command")
    execute.add_argument("arguments", nargs=argparse.REMAINDER)

    mpiexec = command("mpiexec", command_mpiexec, "run an MPI job across the nodes")
    mpiexec.add_argument("--transport", choices=list(launch.TRANSPORTS), default="tcp",
                         help="between ranks of one node: TCP, as between nodes, or shared memory")
    mpiexec.add_argument("--users", action="store_true",
                         help="in each node's group of its sequential class, as a user's program that nobody schedules")
    mpiexec.add_argument("--on", metavar="NODE,...", help="the ranks' nodes (default: all)")
    launch.add_options(mpiexec)
    return top


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        if getattr(options, "nodes", 1) < 1 or getattr(options, "cpus_per_node", 1) < 1:
            raise LabError("a lab has at least one node, and a node one CPU")
        return options.function(Store(options.name, options.state), options)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
