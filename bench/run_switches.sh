#!/bin/sh
# What two context switches cost on this machine: see bench/micro/switches.c.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec "$root/build/release/bench/micro/switches" "$@"
