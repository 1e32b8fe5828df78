"""The options of bench/run_nas.sh: what they are, whether they make sense, what they ask for."""

import argparse
import os

from labkit import LabError, launch

from . import (NasError, environment, experiments, hosts, plan, schedulers, times, workload_file)

MOST_SCALE = 1000
MOST_S = 7 * 24 * 3600


def parser():
    top = argparse.ArgumentParser(
        prog="run_nas.sh", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs NAS jobs under several schedulers on a virtual cluster (or, with --hosts, a real\n"
                    "one) and compares them.",
        epilog="experiments:\n" + "\n".join(
            f"  {experiment.name:10} {experiment.title}" for experiment in experiments.TABLE.values())
        + "\n  all        all of them but quick and mpl")
    top.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="default: quick")
    top.add_argument("--out", metavar="DIR", help="where results go (default: results/<time>)")
    top.add_argument("--resume", metavar="DIR",
                     help="go on with a session that was interrupted; all else is in DIR")
    top.add_argument("--anew", action="append", default=[], metavar="EXPERIMENT[:REPETITION]",
                     help="with --resume: run just that once more, in one sitting; what was run of it before stays in "
                          "runs.jsonl and does not count any longer; may be repeated")
    top.add_argument("--for", dest="lasting", metavar="T",
                     help="begin nothing that would end later than T, e.g. 30min, from now; go on with --resume")
    top.add_argument("--mpi", action="append", choices=["mpich", "openmpi"],
                     help="may be repeated (default: both)")
    top.add_argument("--jobs", action="append", default=[], metavar="MIX",
                     help="jobs that are started together, KERNEL.CLASS.RANKS[*REPEAT] or hog.RANKS "
                          "each, e.g. \"cg.A.2*5 ep.A.2\"; may be repeated for several mixes")
    top.add_argument("--workload", action="append", default=[], metavar="NAME|FILE",
                     help="of bench/workloads, or an .ini file: instead of the experiments' own; may be "
                          "repeated")
    top.add_argument("--scale", type=float, default=1.0, metavar="F",
                     help="make jobs, and times of arrival, F times as long")
    top.add_argument("--npb-dir", metavar="DIR",
                     help="use the official NPB binaries DIR/bin/KERNEL.CLASS.x; {mpi} in DIR stands "
                          "for mpich or openmpi")
    top.add_argument("--runs", type=int, metavar="N", help="repetitions (default: the experiment's own, 2, 3 or 5)")
    top.add_argument("--schedulers", metavar="LIST", help=schedulers.HELP.replace("%", "%%"))
    top.add_argument("--time-slice", metavar="T", help="default: mostly 1s; of policy gang the slot")
    top.add_argument("--gmet", metavar="T", help="default: the experiment's own, mostly 133ms to 333ms, at most the time-slice")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="any other setting of cosched.ini")
    top.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                     help="set a variable for jobs that run with the library")
    top.add_argument("--nodes", type=int, metavar="N", help="default: 2, or all of --hosts")
    top.add_argument("--cpus-per-node", type=int, metavar="N", help="default: 1, or as --hosts says")
    top.add_argument("--hosts", metavar="FILE",
                     help="run on these hosts, over ssh, whose cosched runs already; a line is HOST or "
                          "HOST:CPUS")
    top.add_argument("--library", dest="preloaded", metavar="FILE",
                     help="libcosched_pmpi.so, at the same path on all --hosts (default: the build's)")
    top.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of runs and jobs")
    top.add_argument("--noise", type=float, default=1.2, metavar="F",
                     help="a run is disturbed when the calibration before or after it, or a piece of work while its "
                          "jobs run, takes F times its median (default: 1.2; 0: do not look)")
    top.add_argument("--retries", type=int, default=2, metavar="N",
                     help="how often a disturbed run is repeated (default: 2)")
    top.add_argument("--timeout", type=float, default=900, metavar="S", help="limit of one job")
    top.add_argument("--build", default=os.path.join(environment.ROOT, "build", "release"),
                     metavar="DIR", help="use this build as it is (default: build/release, made anew)")
    top.add_argument("--dry-run", action="store_true",
                     help="print the plan and a guess of how long it takes, and run nothing")
    return top


def check(options):
    """Fills in what was left out."""
    options.mpi = list(dict.fromkeys(options.mpi or ["mpich", "openmpi"]))
    for name, least in (("runs", 1), ("nodes", 1), ("cpus_per_node", 1), ("retries", 0)):
        if getattr(options, name) is not None and getattr(options, name) < least:
            raise NasError(f"--{name.replace('_', '-')}: must be at least {least}")
    if not 0 < options.scale <= MOST_SCALE:
        raise NasError(f"--scale {options.scale}: must be a number above 0 and up to {MOST_SCALE}")
    if not (options.noise == 0 or 1 < options.noise <= MOST_SCALE):
        raise NasError(f"--noise {options.noise}: must be more than 1, like 1.2, or 0 not to look")
    if not 0 < options.timeout <= MOST_S:
        raise NasError(f"--timeout {options.timeout}: must be seconds, above 0 and up to {MOST_S}")
    if options.anew:
        raise NasError(f"--anew {options.anew[0]}: is for a session that is there; name it with --resume DIR")
    if options.jobs and options.workload and not options.experiments:
        raise NasError("--jobs and --workload: name an experiment that the workload is for, e.g. workloads, or "
                       "leave out one of the two")
    for text in options.set:
        if "=" not in text or "." not in text.partition("=")[0]:
            raise NasError(f"--set {text}: must be section.key=value")
        _times_of_set(options, text)
    for text in options.env:
        if not text.partition("=")[0] or "=" not in text:
            raise NasError(f"--env {text}: must be NAME=VALUE")
    for name in ("time_slice", "gmet", "lasting"):
        if getattr(options, name):
            times.seconds(getattr(options, name))
    _check_place(options)
    options.build = os.path.abspath(options.build)
    if options.schedulers:
        options.schedulers = ",".join(scheduler.script or scheduler.name for scheduler in
                                      schedulers.parse_list(options.schedulers).values())
    if options.npb_dir:
        options.npb_dir = os.path.abspath(options.npb_dir)


def _check_place(options):
    """Where jobs run."""
    if options.hosts:
        options.hosts = os.path.abspath(options.hosts)
        _, options.cpus_per_node, options.nodes = hosts_of(options)
        if options.set or options.time_slice or options.gmet:
            raise NasError("--hosts: cosched's settings there are left as they are: leave out --set, "
                           "--time-slice and --gmet, and set them on the hosts")
    elif options.preloaded:
        raise NasError("--library: is for --hosts; in the virtual cluster jobs have the library of --build")
    options.nodes = options.nodes or 2
    options.cpus_per_node = options.cpus_per_node or 1
    options.preloaded = _preloadable(os.path.abspath(options.preloaded or _library_of(options.build)))


def _preloadable(library):
    try:
        return launch.preloadable(library)
    except LabError as error:
        raise NasError(str(error)) from None


def _library_of(build):
    return os.path.join(build, "pmpi", "libcosched_pmpi.so")


def move_build(options, build):
    """Another build, and its library where that of the old one was meant."""
    if options.preloaded == _library_of(options.build):
        options.preloaded = _preloadable(_library_of(build))
    options.build = build


def hosts_of(options):
    """(names, CPUs of each, how many)."""
    names, cpus = hosts.take(hosts.read(options.hosts), options.nodes, options.cpus_per_node,
                             options.hosts)
    return names, cpus, len(names)


def check_settable(options, units):
    """Nodes of --hosts keep their settings, so what compares settings cannot be run there."""
    if not options.hosts:
        return
    for name in dict.fromkeys(unit.experiment for unit in units):
        own = [unit for unit in units if unit.experiment == name]
        known = plan.known_schedulers(own, options.schedulers)
        settings = {(unit.time_slice_s, unit.gmet_s) for unit in own if known[unit.scheduler].cosched}
        if len(settings) > 1 or any(scheduler.policy or scheduler.time_slice_s or scheduler.settings
                                    for scheduler in known.values()):
            raise NasError(f"experiment {name}: compares settings of cosched, and those of --hosts are "
                           "not changed; choose others, or one scheduler without :, @ and +")


def _times_of_set(options, text):
    """--set scheduler.time_slice=T is --time-slice T: units set theirs, and must not undo it."""
    key, _, value = (part.strip() for part in text.partition("="))
    for name in ("time_slice", "gmet"):
        if key == "scheduler." + name:
            setattr(options, name, value)


def requests(options):
    """What is asked of each experiment."""
    names = options.experiments or ([] if options.jobs else
                                    ["workloads" if options.workload else "quick"])
    chosen = experiments.choose(names)
    files = _files(options.workload)
    found = [_request(options, experiment, files or
                      [workload_file.read(name) for name in experiment.workloads])
             for experiment in chosen]
    if options.jobs:
        found.append(_request(options, experiments.BY_HAND,
                              list({made.name: made for made in map(workload_file.of_mix, options.jobs)}.values())))
    _check_times(options, found)
    for request in found:
        for key, _ in request.experiment.settings:
            if key in schedulers.given(options.set):
                raise NasError(f"--set {key}: experiment {request.experiment.name} sets it itself; say --schedulers "
                               f"uncoordinated,cosched+{key}=VALUE")
    return found


def _check_times(options, requested):
    """What was said of times is somebody's, or would be ignored without a word."""
    given = schedulers.given(options.set)
    for name, text, said in (("slice", options.time_slice, "--time-slice"), ("gmet", options.gmet, "--gmet"),
                             ("slot", given.get("gang.slot"), "--set gang.slot")):
        heeding = [_heeds(request, scheduler, name) for request in requested for scheduler in request.schedulers
                   if scheduler.cosched or scheduler.script]
        if text and not any(heeding):
            raise NasError(f"{said}: nothing of this heeds it, as the experiment or its schedulers say their own, or their "
                           "policies have none; leave it out")


def _heeds(request, scheduler, name):
    """Whether a time that was asked for, "slice", "gmet" or "slot", is the scheduler's in any unit."""
    if name == "gmet" and scheduler.alone:
        return False  # nobody else asks for its nodes
    if name != "gmet":
        has_slot = bool(request.slot_s) and scheduler.policy == schedulers.GANG
        if scheduler.time_slice_s or has_slot != (name == "slot"):
            return False
        name = "slice"
    parameter = request.experiment.parameter
    varied = parameter is not None and parameter.name == name and scheduler.cosched and not scheduler.alone
    return not varied and name in scheduler.heeds


def _files(names):
    """Each file once; results are known by the names of files, so no two may have the same."""
    paths = {}
    for path in map(workload_file.find, names):
        name = os.path.basename(path)
        if not os.path.samefile(paths.setdefault(name, path), path):
            raise NasError(f"--workload {paths[name]} and {path}: both are called {name}; rename one")
    return [workload_file.read(path) for path in paths.values()]


def _request(options, experiment, files):
    named = schedulers.parse_list(options.schedulers or ",".join(experiment.schedulers)).values()
    given = schedulers.given(options.set)
    return plan.Request(
        experiment, tuple(files), tuple(scheduler.configured(given) for scheduler in named),
        options.runs or experiment.runs,
        times.seconds(options.time_slice) if options.time_slice else experiment.time_slice_s,
        times.seconds(options.gmet) if options.gmet else experiment.gmet_s, bool(options.gmet),
        times.seconds(given["gang.slot"]) if "gang.slot" in given else None)
