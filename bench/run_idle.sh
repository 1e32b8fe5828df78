#!/bin/sh
# What a rank that waits uses of its CPU while its job is idle: see bench/micro/idle.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/idle.py" "$@"
