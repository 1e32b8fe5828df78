#!/bin/sh
# What busy jobs really get of a node: see bench/micro/shares.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/shares.py" "$@"
