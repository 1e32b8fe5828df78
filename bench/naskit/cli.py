"""The command behind bench/run_nas.sh, from its options to its end."""

import argparse
import os
import subprocess
import sys
import time

from . import NasError, ending, environment, hosts, lab_site, memory, options as asked, plan, session, store, times

BENCH = lab_site.BENCH


def _new(options):
    """(results, units) of a session that begins."""
    asked.check(options)
    units = plan.build(asked.requests(options), options.mpi, options.seed, options.scale)
    asked.check_settable(options, units)
    results = store.Store(os.path.abspath(options.out or os.path.join(
        "results", time.strftime("%Y%m%d-%H%M%S"))))
    if os.path.exists(results.path("runs.jsonl")):
        raise NasError(f"{results.folder}: has results already; continue with --resume, or name "
                       "another folder")
    return results, units


def _resumed(options):
    """(options, results, units) of a session that goes on."""
    defaults = vars(asked.parser().parse_args([]))
    environment.check_alone(options, defaults, ("resume", "build", "lasting", "anew", "dry_run"))
    results = store.Store(os.path.abspath(options.resume))
    plain = results.read_json("plan.json")
    units = plan.from_json(plain, results.path("plan.json"))
    kept = argparse.Namespace(**{**vars(options), **environment.taken_up(plain["options"])})
    if options.build != defaults["build"]:
        asked.move_build(kept, os.path.abspath(options.build))
    kept.anew = plan.places_of(options.anew, units)
    return kept, results, units


def _print_plan(units):
    counted = {}
    for unit in units:
        counted[unit.key] = counted.get(unit.key, 0) + 1
    for key, count in counted.items():
        print(f"{count} x {' '.join(str(word) for word in key if word is not None)}")
    print(f"{len(units)} runs, about {times.left(sum(map(plan.nominal_s, units)))}")


def _site(options, units):
    if options.hosts:
        return hosts.HostSite(options, asked.hosts_of(options)[0])
    return lab_site.LabSite(options, memory.jobs_mib(units))


def _report(folder):
    """The pictures, by a room of its own; without it, or when it fails, the figures are there all
    the same."""
    if not os.path.isdir(os.path.join(BENCH, "report")):
        return None
    done = subprocess.run([sys.executable, "-m", "report", folder], cwd=BENCH, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    path = os.path.join(folder, "report.html")
    if done.returncode != 0 or not os.path.exists(path):
        print(f"run_nas: no report (status {done.returncode}); again with: "
              f"{os.path.join(BENCH, 'run_report.sh')} {folder}", file=sys.stderr)
        return None
    return path


def main(arguments=None):
    return ending.guarded("run_nas", lambda: _main(arguments))


def _main(arguments):
    options = asked.parser().parse_args(arguments)
    try:
        if options.resume:
            options, results, units = _resumed(options)
        else:
            results, units = _new(options)
        if options.dry_run:
            _print_plan([units[place] for place in options.anew] or results.left(units, options.noise, options.retries))
            return 0
        current = session.Session(options, _site(options, units), results, units)
        current.check()
        results.make()
        environment.write(results, options, current.site.kept_mib, current.number)
        if not options.resume:
            results.write_json("plan.json", plan.to_json(options.seed, units, environment.kept(options)))
        current.progress.announce()
        number = ending.hold(current, "run_nas")
        status = ending.tell(current, "run_nas", lambda: _report(results.folder))
    except NasError as error:
        print(f"run_nas: {error}", file=sys.stderr)
        return 2
    if not current.is_complete():
        print(f"run_nas: go on with: bench/run_nas.sh --resume {results.folder}", file=sys.stderr)
    elif current.parted():
        print(f"run_nas: {current.parted()} runs were made in another sitting than what they are compared with, and have no "
              f"ratio: bench/run_nas.sh --resume {results.folder} runs them again", file=sys.stderr)
    return status if number is None else 128 + number
