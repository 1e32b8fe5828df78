#!/bin/sh
# What the preloaded library costs, as one table: see bench/micro/costs.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/costs.py" "$@"
