# Sourced by entries. Where `python3` is a script that looks for the interpreter, as pyenv's is, each start of one of our
# tools by its "#!" line would take half a second, of a CPU that jobs are measured on: the interpreter itself goes first.
command -v python3 >/dev/null || { echo "$(basename -- "$0"): there is no python3; install it: apt-get install python3" >&2; exit 1; }
python=$(python3 -c 'import sys; print(sys.executable)')
if [ "$(realpath "$python")" != "$(realpath "$(command -v python3)")" ] && [ -x "$(dirname "$python")/python3" ]; then
    PATH=$(dirname "$python"):$PATH
    export PATH
fi
unset python
