#!/bin/sh
# What memory costs that a virtual machine has given back to its host: see bench/micro/pages.py.
set -e
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
exec python3 "$root/bench/micro/pages.py" "$@"
