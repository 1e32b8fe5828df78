#!/bin/sh
# A picture of policy gang with two lengths of slots and slots of the sequential class: see
# bench/micro/gang_trace.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/gang_trace.py" "$@"
