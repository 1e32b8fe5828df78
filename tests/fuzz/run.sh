#!/bin/sh
# Fuzzes for a while. Usage: tests/fuzz/run.sh [--afl] [--seconds N] [--keep] [target...]
#
# Every target (default: all) runs for N seconds (default: 600), one after the other, from its corpus
# on; each one's executions are printed. New inputs go to build/fuzz/corpus/TARGET, what makes a target
# fail to build/fuzz/findings. With --keep the corpus in tests/fuzz/corpus becomes the smallest set
# that reaches as much. With --afl the fuzzer is AFL++ instead of libFuzzer (both
# are installed if need be); what it finds new is taken into account by the next --keep.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
top=$(dirname -- "$(dirname -- "$here")")
build=$top/build/fuzz
seconds=600
keep=
afl=

while [ $# -gt 0 ]; do
    case $1 in
    --seconds)
        [ $# -ge 2 ] || { echo "tests/fuzz/run.sh: --seconds needs a number" >&2; exit 2; }
        seconds=$2
        shift 2
        ;;
    --keep) keep=yes; shift ;;
    --afl) afl=yes; shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "tests/fuzz/run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- packets adoption page runtime config reply recording
mkdir -p "$build/findings"
cd "$top"

[ -z "$afl" ] || [ -z "$keep" ] || { echo "tests/fuzz/run.sh: --keep takes libFuzzer; run it without --afl afterwards" >&2; exit 2; }
tests/install_packages.sh packages_build.txt packages.txt packages_fuzz.txt ||
    echo "tests/fuzz/run.sh: packages cannot be installed; trying with what is here" >&2
if [ -n "$afl" ]; then
    if ! command -v afl-fuzz >/dev/null && ! tests/install_packages.sh packages_afl.txt; then
        echo "tests/fuzz/run.sh: AFL++ (Debian package afl++) cannot be installed; nothing was fuzzed" >&2
        exit 77
    fi
    cmake --preset afl >/dev/null
    cmake --build --preset afl >/dev/null
else
    cmake --preset fuzz >/dev/null
    cmake --build --preset fuzz >/dev/null
fi

# What the last run of AFL++ wrote to fuzzer_stats.
afl_figure() {
    sed -n "s/^$1 *: *//p" "$build/afl/$target/default/fuzzer_stats"
}

# Nobody watches the screen, and this machine's settings are not ours to change.
export AFL_NO_UI=1 AFL_NO_AFFINITY=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
sanitizers=abort_on_error=1:symbolize=0:halt_on_error=1

run_afl() {
    rm -rf "$build/afl/$target"
    mkdir -p "$build/afl/$target"
    set -- -m none -t 10000 -V "$seconds"
    [ ! -f "$here/$target.dict" ] || set -- "$@" -x "$here/$target.dict"
    if ! ASAN_OPTIONS=$sanitizers:detect_leaks=0 UBSAN_OPTIONS=$sanitizers \
        afl-fuzz "$@" -i "$seeds" -o "$build/afl/$target" "$top/build/afl/tests/fuzz/fuzz_$target" >"$log" 2>&1; then
        status=1
        tail -n 5 "$log"
        return
    fi
    printf '%s: AFL++: %s executions in %s s, %s crashes, %s hangs, %s inputs\n' "$target" "$(afl_figure execs_done)" \
        "$(afl_figure run_time)" "$(afl_figure saved_crashes)" "$(afl_figure saved_hangs)" "$(afl_figure corpus_count)"
    for input in "$build/afl/$target/default/queue"/id:*; do
        cp "$input" "$found/$(sha1sum "$input" | cut -d ' ' -f 1)"
    done
    for input in "$build/afl/$target/default"/crashes/id:* "$build/afl/$target/default"/hangs/id:*; do
        [ -e "$input" ] || continue
        status=1
        cp "$input" "$build/findings/$target-afl-$(sha1sum "$input" | cut -d ' ' -f 1)"
    done
}

run_libfuzzer() {
    program=$build/tests/fuzz/fuzz_$target
    set -- -max_len=1024 -timeout=120 "-artifact_prefix=$build/findings/$target-"
    [ ! -f "$here/$target.dict" ] || set -- "$@" "-dict=$here/$target.dict"
    if ! "$program" "$@" -max_total_time="$seconds" "$found" "$seeds" >"$log" 2>&1; then
        status=1
        grep -E 'not so|SUMMARY|Test unit' "$log" || tail -n 5 "$log"
    fi
    printf '%s: %s\n' "$target" "$(grep -E '^Done|^stat::number_of_executed|^#[0-9]+.*cov:' "$log" | tail -n 1)"
    [ -n "$keep" ] || return 0
    smallest=$build/smallest/$target
    rm -rf "$smallest" && mkdir -p "$smallest"
    "$program" -set_cover_merge=1 -use_counters=0 -max_len=1024 "$smallest" "$seeds" "$found" >>"$log" 2>&1
    rm -rf "$seeds" && mv "$smallest" "$seeds"
}

status=0
for target; do
    found=$build/corpus/$target
    seeds=$here/corpus/$target
    log=$build/findings/$target.log
    mkdir -p "$found" "$seeds"
    if [ -n "$afl" ]; then
        run_afl
    else
        run_libfuzzer
    fi
done
exit $status
