#!/bin/sh
# More ranks than CPUs, without daemons: see bench/micro/waiting.py. bench/run_waiting.sh [options]
# [PROGRAM ARGUMENTS]; options come first.
set -e
flags=--hogs
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/waiting.py" "$@"
