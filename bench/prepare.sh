# Sourced by the entries of this folder: installs what is missing and builds build/release, unless the
# caller names a build of its own or only asks for help or a plan. Sets $root.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=yes
for argument; do
    case $argument in
    --build | --build=* | -h | --help | --dry-run) build=no ;;
    esac
done
if [ "$build" = yes ]; then
    "$root/tests/install_packages.sh"
    (cd "$root" && cmake --preset release && cmake --build --preset release) >&2
fi
. "$root/tests/own_python.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/bench"
