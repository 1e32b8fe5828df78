#!/bin/sh
# What a job that sleeps costs one that computes: see bench/micro/sleeping.py. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 "$root/bench/micro/sleeping.py" "$@"
