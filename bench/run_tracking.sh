#!/bin/sh
# Context switches of trees of processes by share, freezer and signals, see bench/tracking/tracking.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/tracking/tracking.py" "$@"
