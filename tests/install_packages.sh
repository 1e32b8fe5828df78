#!/bin/sh
# Installs those packages of a list (default: packages.txt) that are missing; does nothing when none is.
# Usage: tests/install_packages.sh [LIST]
set -e
list=$(dirname -- "$0")/${1:-packages.txt}
missing=
for package in $(sed 's/#.*//' "$list"); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "installing:$missing" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update >&2
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -y --no-install-recommends $missing >&2
