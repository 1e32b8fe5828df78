#!/bin/sh
# Two jobs that share a virtual cluster of two nodes, recorded: prints each job's coscheduled fraction and
# leaves a Gantt chart (SVG), the Perfetto JSON and the nodes' dumps in DIR. Needs root.
# Usage: bench/run_trace.sh [--build DIR] [--mpi mpich|openmpi] [--out DIR] [--repeat N]
set -eu
. "$(dirname -- "$0")/prepare.sh"
build=$root/build/release mpi=mpich out=$root/results/trace repeat=8
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '2,4s/^# //p' "$0"
        exit 0
        ;;
    --build | --mpi | --out | --repeat)
        [ $# -ge 2 ] || { echo "run_trace.sh: $1 needs a value" >&2; exit 2; }
        name=${1#--}
        eval "$name=\$2"
        shift 2
        ;;
    *)
        echo "run_trace.sh: unknown argument $1; try --help" >&2
        exit 2
        ;;
    esac
done
refuse() {
    echo "run_trace.sh: $1" >&2
    exit 2
}
case $mpi in mpich | openmpi) ;; *) refuse "--mpi $mpi: must be mpich or openmpi" ;; esac
case $repeat in '' | *[!0-9]* | 0*) refuse "--repeat $repeat: must be a whole number, at least 1" ;; esac
[ -x "$build/bench/npb/$mpi/bin/cg" ] && [ -x "$build/ctl/coschedctl" ] ||
    refuse "$build: has no bench/npb/$mpi/bin/cg or ctl/coschedctl: build first, or name a build with --build DIR"
build=$(CDPATH='' cd -- "$build" && pwd)
lab() { "$root/bench/lab" --name cosched-lab-trace "$@"; }
ctl() { "$build/ctl/coschedctl" "$@"; }
mkdir -p -- "$out" && [ -w "$out" ] || refuse "--out $out: cannot be written: name another folder"
trap 'trap "" HUP INT TERM; lab down --owner $$' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
lab up --build "$build" --owner $$ --set scheduler.time_slice=1s --set scheduler.gmet=250ms
for node in node0 node1; do lab exec $node "$build/ctl/coschedctl" trace start >/dev/null; done
job() { lab mpiexec --mpi "$mpi" -n 2 --preload --done-pattern verified= "$build/bench/npb/$mpi/bin/cg" A --repeat "$repeat"; }
job >"$out/job1.txt" &
first=$!
job >"$out/job2.txt" &
second=$!
wait $first # which a signal ends, as it would not end a command
wait $second
for node in node0 node1; do
    lab exec $node "$build/ctl/coschedctl" trace dump $node >"$out/$node.trace"
done
ctl trace export svg "$out/node0.trace" "$out/node1.trace" >"$out/gantt.svg"
ctl trace export json "$out/node0.trace" "$out/node1.trace" >"$out/perfetto.json"
grep -h '^NPB' "$out/job1.txt" "$out/job2.txt"
echo "coscheduled fraction:"
fractions=$(ctl trace coscheduled "$out/node0.trace" "$out/node1.trace")
echo "$fractions"
[ "$(echo "$fractions" | grep -c '[0-9]')" -ge 2 ] || {
    echo "run_trace.sh: not both jobs were scheduled: they ran without the library, or it had turned itself off" >&2
    exit 1
}
echo "chart: $out/gantt.svg"
