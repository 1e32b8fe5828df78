#!/bin/sh
# From the CPUs of one node to those of all: how long, see bench/micro/noticing.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/noticing.py" "$@"
