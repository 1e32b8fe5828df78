#!/bin/sh
# Whether the nodes give sequential processes their shares at the same moments: see
# bench/micro/periods.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/periods.py" "$@"
