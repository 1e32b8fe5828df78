#!/bin/sh
# A scheduler for --schedulers: each job has the cluster for itself, in no particular order. What `up`,
# `down` and `wrap` must do is in bench/naskit/README.md.
set -eu
lock=$NASKIT_OUT/one_at_a_time.lock
case $1 in
up) : >"$lock" ;;
down) rm -f "$lock" ;;
wrap)
    shift 2 # wrap --
    exec flock "$lock" "$@"
    ;;
*)
    echo "usage: $0 up | down | wrap -- COMMAND..." >&2
    exit 2
    ;;
esac
