#!/bin/sh
# Policy gang: by how much the nodes' switches are apart, for slots of 100 ms and 1 s: see
# bench/micro/skew.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/skew.py" "$@"
