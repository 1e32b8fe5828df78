#!/bin/sh
# Six jobs on different nodes of four under policy gang, coming and going: see bench/micro/gang.py.
# Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/gang.py" "$@"
