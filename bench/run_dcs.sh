#!/bin/sh
# Dynamic coscheduling: the paper's workloads and figures, on a virtual cluster: see bench/dcskit/README.md.
# Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
# Without Ghostscript its part of the mixed workload is left out.
[ "$build" = no ] || "$root/tests/install_packages.sh" packages_dcs.txt || true
exec python3 -c 'import sys; from guard import guarded; from dcskit import cli; sys.exit(guarded(cli.main))' "$@"
