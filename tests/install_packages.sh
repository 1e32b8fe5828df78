#!/bin/sh
# Installs those packages of lists (default: packages_build.txt packages.txt) that are missing; does nothing when none is.
# Usage: tests/install_packages.sh [LIST...]
set -e
[ $# -gt 0 ] || set -- packages_build.txt packages.txt
folder=$(dirname -- "$0")
lists=
missing=
for list; do
    [ -r "$folder/$list" ] || { echo "install_packages.sh: there is no list $folder/$list to read; see $folder/packages*.txt" >&2; exit 2; }
    lists="$lists $folder/$list"
done
for package in $(cd "$folder" && sed 's/#.*//' "$@"); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install_packages.sh: no apt-get here: install what corresponds to$lists; to bench/run_*.sh that build, give --build DIR then" >&2
    exit 1
fi
echo "installing:$missing" >&2
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "install_packages.sh: only root may install these, and there is no sudo: ask root, or build what needs less (README.md, Not installed?)" >&2; exit 1; }
    sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update >&2
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -y --no-install-recommends $missing >&2
