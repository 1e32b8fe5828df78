#!/bin/sh
# What classd costs, and how quick it is: see bench/daemon/costs.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/daemon/costs.py" "$@"
