#!/bin/sh
# What memory costs that a virtual machine has given back to its host: see bench/micro/pages.py.
set -e
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "run_pages.sh: there is no python3; install it: apt-get install python3" >&2; exit 1; }
exec python3 "$root/bench/micro/pages.py" "$@"
