#!/bin/sh
# Installs those packages of a list (default: packages.txt) that are missing; does nothing when none is.
# Usage: tests/install_packages.sh [LIST]
set -e
list=$(dirname -- "$0")/${1:-packages.txt}
[ -r "$list" ] || { echo "install_packages.sh: there is no list $list to read; see $(dirname -- "$0")/packages*.txt" >&2; exit 2; }
missing=
for package in $(sed 's/#.*//' "$list"); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install_packages.sh: no apt-get here: install what corresponds to $list, build, and give bench/run_*.sh --build DIR" >&2
    exit 1
fi
echo "installing:$missing" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update >&2
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -y --no-install-recommends $missing >&2
