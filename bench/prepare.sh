# Sourced by the entries of this folder: installs what is missing and builds build/release, unless the
# caller names a build of its own or only asks for help or a plan. Sets $root. An entry that takes a program
# with arguments of its own sets $flags before, to those of its options that have no value: so it is known where
# the program stands.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=yes
is_value=no
for argument; do
    if [ "$is_value" = yes ]; then
        is_value=no
        continue
    fi
    case $argument in
    --build | --build=* | -h | --help | --dry-run) build=no ;;
    esac
    [ -n "${flags+set}" ] || continue
    case " $flags -h --help " in
    *" $argument "*) continue ;;
    esac
    case $argument in
    --) break ;;
    --*=* | -[!-]?*) ;; # a value is in it
    -?*) is_value=yes ;;
    *) break ;;
    esac
done
if [ "$build" = yes ]; then
    "$root/tests/install_packages.sh"
    (cd "$root" && cmake --preset release && cmake --build --preset release) >&2
fi
# What is measured has the settings that the measurement says, and the library where that says so: not those of a caller who
# works with it.
for setting in LD_PRELOAD COSCHED_WAIT COSCHED_SPIN_LIMIT COSCHED_LIST COSCHED_PIGGYBACK COSCHED_STATS COSCHED_INIT_TIMEOUT; do
    eval "[ -n \"\${$setting+set}\" ]" || continue
    echo "$(basename -- "$0"): $setting is left out" >&2
    unset "$setting"
done
. "$root/tests/own_python.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/bench"
