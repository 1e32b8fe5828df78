"""Programs that are ended from outside, and have labs, jobs and daemons to put away: by SIGTERM or SIGHUP, as at the end
of an allocation or of a terminal's, or because their reader leaves: `run_nas.sh all --dry-run | head`."""

import os
import select
import signal
import sys

ENDING = (signal.SIGTERM, signal.SIGHUP)
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


def _unwind(number, _frame):
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)  # what was made is put away now
    sys.exit(128 + number)


def guarded(main, *arguments):
    """What main(*arguments) returns; STATUS, without a word, when standard output or standard error has no reader any more.
    The signal itself would end a program that still has something to put away: this unwinds it, and so do SIGTERM and
    SIGHUP, by SystemExit. Any other BrokenPipeError, as of a process that has died, passes through."""
    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, _unwind)
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
