#!/bin/sh
# The cost of the library for a job that is alone: see bench/micro/alone.py. Needs root.
set -e
flags=--against-itself
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/alone.py" "$@"
