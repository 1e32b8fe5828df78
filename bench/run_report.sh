#!/bin/sh
# Makes report.html, report.md and figures/ from a folder that bench/run_nas.sh or bench/run_dcs.sh left, inside of it.
# Installs gnuplot and Python where they are missing. Needs no root but for that.
# Of a folder of bench/run_nas.sh, with --against it compares the ratios of two sessions instead: status 1 where
# intervals do not overlap. With --together it says for how long jobs held some of their nodes only, in each recorded
# run; with --repetitions it prints what each run says, repetition by repetition; with --equal-speed it compares
# only runs during which the machine was as fast. With --reckon it first reckons all figures of either's folder anew
# from what it has of each run, as an older version may have reckoned otherwise.
# Usage: bench/run_report.sh RESULTS_DIR [--against OTHER_DIR | --together | --repetitions | --equal-speed | --reckon]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
case ${1:-} in
-h | --help)
    sed -n '2,10s/^# //p' "$0"
    exit 0
    ;;
esac
case $#:${2:-} in
1: | 2:--together | 2:--repetitions | 2:--equal-speed | 2:--reckon | 3:--against) ;;
*)
    echo "run_report.sh: needs one results folder, or two with --against between them, or one and --together," \
        "--repetitions, --equal-speed or --reckon; try --help" >&2
    exit 2
    ;;
esac
program=report kit=naskit
if grep -Eqs '^ ?"waits": ' -- "$1/summary.json"; then
    kit=dcskit # whose summary alone says how ranks waited
fi
case ${2:-} in
--repetitions) program=naskit.repetitions ;;
--equal-speed) program=naskit.equal_speed ;;
'' | --reckon) [ "$kit" = naskit ] || program=dcskit ;;
esac
[ -n "${2:-}" ] && [ "${2:-}" != --reckon ] || tools=gnuplot
for tool in python3 ${tools:-}; do
    command -v "$tool" >/dev/null || { "$root/tests/install_packages.sh" packages_report.txt; break; }
done
# Safe: not what lies in the current folder and is called report, too.
export PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 PYTHONPATH="$root/bench"
if [ "${2:-}" = --reckon ]; then
    python3 -m "$kit.reckon" "$1"
    set -- "$1"
fi
exec python3 -m "$program" "$@"
