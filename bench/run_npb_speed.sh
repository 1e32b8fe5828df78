#!/bin/sh
# How fast our NAS kernels are beside official NPB programs: see bench/npbkit/README.md.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 -c 'import sys; from guard import guarded; from npbkit import speed; sys.exit(guarded(speed.main))' "$@"
