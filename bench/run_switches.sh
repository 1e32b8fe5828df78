#!/bin/sh
# What two context switches cost on this machine: see bench/micro/switches.c.
# Usage: bench/run_switches.sh [--build DIR]
set -eu
case $#:${1:-} in
0: | 2:--build) ;;
1:-h | 1:--help)
    sed -n '2,3s/^# //p' "$0"
    exit 0
    ;;
*)
    echo "run_switches.sh: takes --build DIR only; try --help" >&2
    exit 2
    ;;
esac
. "$(dirname -- "$0")/prepare.sh"
switches=${2:-$root/build/release}/bench/micro/switches
[ -x "$switches" ] || { echo "run_switches.sh: there is no program $switches: build first, or name a build with --build DIR" >&2; exit 2; }
exec "$switches"
