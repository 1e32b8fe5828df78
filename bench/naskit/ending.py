"""How a command holds its session, and what it tells people at the end: run_nas.sh and run_dcs.sh alike."""

import sys

from . import NasError, signals


def guarded(command, main):
    """What main() returns. A signal that comes before the session or after it is said in a line, too."""
    signals.catch()
    try:
        return main()
    except signals.Interrupted as signalled:
        kept = f"; what was measured is in {signalled.folder}" if signalled.folder else ""
        print(f"{command}: interrupted{kept}", file=sys.stderr)
        return 128 + signalled.number


def hold(current, command):
    """Runs the session; returns the number of the signal that ended it, or None."""
    try:
        current.run()
    except signals.Interrupted as signalled:
        current.put_away()  # the signal may have come while that was done
        print("\ninterrupted", file=sys.stderr)
        return signalled.number
    except NasError:
        if current.runs:
            print(f"{command}: what was measured so far is in {current.results.folder}", file=sys.stderr)
        raise
    return None


def tell(current, command, draw):
    """Tells people what there is; `draw()` makes the report and returns its path, or None. Returns the exit status."""
    if not current.runs:
        return 0
    try:
        return _tell(current, command, draw)
    except signals.Interrupted as signalled:
        signalled.folder = current.results.folder
        raise


def _tell(current, command, draw):
    folder = current.results.folder
    current.summarize()
    report = draw()
    with open(current.results.path("summary.txt"), encoding="utf-8") as file:
        print(f"\n{file.read()}\nresults: {folder}" + (f"\nreport:  {report}" if report else ""))
    for run, job in current.failed():
        print(f"{command}: NOT VERIFIED: {run['scheduler']} {run['mpi']} {job['job']}, see {folder}/logs/{job['log']}",
              file=sys.stderr)
    return 1 if current.failed() else 0
