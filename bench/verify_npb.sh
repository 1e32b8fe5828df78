#!/bin/sh
# Do our NAS kernels verify, on a virtual cluster, in any class and on any number of ranks? See
# bench/npbkit/README.md. Needs root.
set -e
. "$(dirname -- "$0")/prepare.sh"
exec python3 -c 'import sys; from guard import guarded; from npbkit import verify; sys.exit(guarded(verify.main))' "$@"
