#!/bin/sh
# Builds and runs all tests. Can be the first command ever typed on a fresh Debian machine: installs
# what is missing first. Usage: tests/run.sh [--preset dev|release|asan|tsan] [ctest arguments]
# Needs root for packages and for the system tests; without root those are skipped and said so.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
preset=release

case ${1:-} in
--preset)
    [ $# -ge 2 ] || { echo "tests/run.sh: --preset needs a name, for example dev" >&2; exit 2; }
    preset=$2
    shift 2
    ;;
-h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac

"$root/tests/install_packages.sh"
"$root/tests/install_packages.sh" packages_vm.txt ||
    echo "tests/run.sh: packages for virtual machines cannot be installed; the tests in tests/vm are skipped" >&2
"$root/tests/install_packages.sh" packages_browser.txt ||
    echo "tests/run.sh: the browser cannot be installed; system/report_browser is skipped" >&2
. "$root/tests/own_python.sh"
cd "$root"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
# Three at a time: two guests at most, and what mostly sleeps; what needs more CPUs, or the machine to itself, says so.
failed=build/$preset/Testing/Temporary/LastTestsFailed.log
rm -f "$failed"
ctest --preset "$preset" --no-tests=error -j3 "$@" && exit
# Other work on the machine can disturb what real daemons, jobs and guests do in real time. A few of those may try once
# more, alone; whoever fails both times has failed. Unit tests have no such excuse, but for those of real processes and
# groups; kernels and replays neither.
if [ ! -s "$failed" ] || [ "$(wc -l <"$failed")" -gt 4 ] ||
    grep -vE '^[0-9]+:unit/(cgroup_(classes|in_place|limits|periods|placing)|tracking(_(calls|escapes|order|subtrees))?)$' "$failed" |
        grep -qE '^[0-9]+:(unit|npb|fuzz)/'; then
    exit 1
fi
echo "tests/run.sh: once more, alone: $(cut -d : -f 2 "$failed" | tr '\n' ' ')" >&2
exec ctest --preset "$preset" "$@" --rerun-failed
