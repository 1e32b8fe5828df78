#!/bin/sh
# Makes report.html, report.md and figures/ from a folder that bench/run_nas.sh left, inside of it.
# Installs gnuplot where it is missing. Needs no root but for that.
# With --against compares the ratios of two sessions instead: status 1 where intervals do not overlap.
# With --together says for how long jobs held some of their nodes only, in each recorded run.
# Usage: bench/run_report.sh RESULTS_DIR [--against OTHER_DIR | --together]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
case ${1:-} in
-h | --help)
    sed -n '2,6s/^# //p' "$0"
    exit 0
    ;;
esac
if [ $# -ne 1 ] && [ "$#:${2:-}" != 3:--against ] && [ "$#:${2:-}" != 2:--together ]; then
    echo "run_report.sh: needs one results folder, or two with --against between them, or one and --together; try --help" >&2
    exit 2
fi
command -v gnuplot >/dev/null || "$root/tests/install_packages.sh" packages_report.txt
# Safe: not what lies in the current folder and is called report, too.
export PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 PYTHONPATH="$root/bench"
exec python3 -m report "$@"
