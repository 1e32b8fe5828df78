#!/bin/sh
# NAS jobs dedicated, uncoordinated and coscheduled, on a virtual cluster: see bench/naskit/README.md.
# Can be the first command ever typed on a fresh machine. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 -c 'import sys; from guard import guarded; from naskit import cli; sys.exit(guarded(cli.main))' "$@"
