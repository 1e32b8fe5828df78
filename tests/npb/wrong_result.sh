#!/bin/sh
# Runs a command that is a kernel with other input: it must end with 1 and say that its result is wrong.
said=$("$@")
status=$?
printf '%s\n' "$said"
if [ "$status" -ne 1 ]; then
    echo "wrong_result.sh: ended with $status, not 1" >&2
    exit 1
fi
case $said in
*" verified=yes"*) ;;
*" verified=no"*) exit 0 ;;
esac
echo "wrong_result.sh: not said to be wrong" >&2
exit 1
