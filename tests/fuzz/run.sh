#!/bin/sh
# Fuzzes for a while. Usage: tests/fuzz/run.sh [--seconds N] [--keep] [target...]
#
# Every target (default: all) runs for N seconds (default: 600), one after the other, from its corpus
# on; each one's executions are printed. New inputs go to build/fuzz/corpus/TARGET, what makes a target
# fail to build/fuzz/findings. With --keep the corpus in tests/fuzz/corpus becomes the smallest set
# that reaches as much.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$(dirname -- "$(dirname -- "$here")")/build/fuzz
seconds=600
keep=

while [ $# -gt 0 ]; do
    case $1 in
    --seconds)
        [ $# -ge 2 ] || { echo "tests/fuzz/run.sh: --seconds needs a number" >&2; exit 2; }
        seconds=$2
        shift 2
        ;;
    --keep) keep=yes; shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "tests/fuzz/run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- packets adoption page runtime config reply

cd "$build/../.."
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz >/dev/null
mkdir -p "$build/findings"

status=0
for target; do
    program=$build/tests/fuzz/fuzz_$target
    found=$build/corpus/$target
    seeds=$here/corpus/$target
    log=$build/findings/$target.log
    mkdir -p "$found" "$seeds"
    options="-max_len=1024 -timeout=120 -artifact_prefix=$build/findings/$target-"
    [ ! -f "$here/$target.dict" ] || options="$options -dict=$here/$target.dict"
    # shellcheck disable=SC2086 # a list of words
    if ! "$program" $options -max_total_time="$seconds" "$found" "$seeds" >"$log" 2>&1; then
        status=1
        grep -E 'not so|SUMMARY|Test unit' "$log" || tail -n 5 "$log"
    fi
    printf '%s: %s\n' "$target" "$(grep -E '^Done|^stat::number_of_executed|^#[0-9]+.*cov:' "$log" | tail -n 1)"
    [ -n "$keep" ] || continue
    smallest=$build/smallest/$target
    rm -rf "$smallest" && mkdir -p "$smallest"
    "$program" -set_cover_merge=1 -use_counters=0 -max_len=1024 "$smallest" "$seeds" "$found" >>"$log" 2>&1
    rm -rf "$seeds" && mv "$smallest" "$seeds"
done
exit $status
