#!/bin/sh
# What 10 ms of CPU time cost somebody who types: see bench/micro/interactive.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/interactive.py" "$@"
