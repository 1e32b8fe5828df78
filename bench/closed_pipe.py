"""Programs whose reader leaves before they have said all: `run_nas.sh all --dry-run | head`."""

import os
import select
import signal
import sys

STATUS = 128 + signal.SIGPIPE  # what a shell says of a program that the signal ended


def _has_lost_its_reader(stream):
    """Whether whoever read what is written there has gone."""
    try:
        ends = select.poll()
        ends.register(stream.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in ends.poll(0))
    except (AttributeError, OSError, ValueError):
        return False  # there is no such stream, or it is no file


def _discard(stream):
    """What is still to be written there goes nowhere; Python would complain about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def guarded(main, *arguments):
    """What main(*arguments) returns; STATUS, without a word, when standard output or standard error has no reader any more.
    The signal itself would end a program that still has labs, jobs and daemons to put away: this unwinds it. Any other
    BrokenPipeError, as of a process that has died, passes through."""
    try:
        try:
            return main(*arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        lost = [stream for stream in (sys.stdout, sys.stderr) if _has_lost_its_reader(stream)]
        if not lost:
            raise
        for stream in lost:
            _discard(stream)
        return STATUS
