#!/bin/sh
# NAS jobs dedicated, uncoordinated and coscheduled, on a virtual cluster: see bench/naskit/README.md.
# Can be the first command ever typed on a fresh machine: installs what is missing and builds first.
set -e
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

build=yes
for argument; do
    case $argument in
    --build | --build=* | -h | --help) build=no ;;
    esac
done

if [ "$build" = yes ]; then
    "$root/tests/install_packages.sh"
    (cd "$root" && cmake --preset release && cmake --build --preset release) >&2
fi
exec env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/bench" \
    python3 -c 'import sys; from naskit import cli; sys.exit(cli.main())' "$@"
