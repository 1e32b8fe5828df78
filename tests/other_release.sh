#!/bin/sh
# Runs a command with the programs, compilers and MPIs of another Debian release: those are in a root that debootstrap
# makes in build/RELEASE, kept for the next time; the command sees them in place of this machine's own, on this machine's
# kernel, network and control groups. Without a command: builds in build/RELEASE/cosched, a copy of this tree, and runs the
# tests there that need no virtual machine. Needs root.
# Usage: tests/other_release.sh RELEASE [COMMAND [ARGUMENT...]]
# For example: tests/other_release.sh trixie    (MPICH 4.2, Open MPI 5.0)
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
case ${1:-} in
-h | --help)
    sed -n '2,7s/^# //p' "$0"
    exit 0
    ;;
'' | -* | *[!a-z]*)
    echo "tests/other_release.sh: needs the name of a Debian release, for example trixie" >&2
    exit 2
    ;;
esac
release=$1
shift
[ "$(id -u)" = 0 ] || {
    echo "tests/other_release.sh: needs root, for mounts of its own" >&2
    exit 1
}
system=$root/build/$release/root
copy=$root/build/$release/cosched
command -v debootstrap >/dev/null && command -v git >/dev/null ||
    { apt-get update && apt-get install -y --no-install-recommends debootstrap git; } >&2
if [ ! -e "$system/made" ]; then
    rm -rf "$system"
    mkdir -p "$system"
    debootstrap --variant=minbase "$release" "$system" >&2
    touch "$system/made"
fi
mkdir -p "$copy"
for file in resolv.conf hosts; do
    [ ! -e "/etc/$file" ] || cp "/etc/$file" "$system/etc/"
done
git -c safe.directory='*' -C "$root" ls-files -z -co --exclude-standard | (cd "$root" && tar --null -T - -cf - --ignore-failed-read) | tar -xf - -C "$copy"

# Programs and libraries are all below usr (no Debian since 12 has them elsewhere). What is mounted so is of this command
# and what it starts, and goes with it.
# shellcheck disable=SC2016 # expanded by the inner shell
enter='for folder in usr etc var; do mount --bind "$0/$folder" "/$folder"; done; hash -r; exec "$@"'
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2016
    set -- sh -c 'cd "$1" && tests/install_packages.sh && . tests/own_python.sh && cmake --preset release >/dev/null &&
        cmake --build --preset release && exec ctest --preset release -j2 -LE vm' sh "$copy"
fi
exec unshare --mount --propagation private sh -ec "$enter" "$system" "$@"
