"""Programs that are ended from outside, and have labs, jobs and daemons to put away: by SIGTERM or SIGHUP, as at the end
of an allocation or of a terminal's, or because their reader leaves: `run_nas.sh all --dry-run | head`."""

import contextlib
import os
import select
import signal
import sys

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
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


def _unwind(number, frame):
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)  # what was made is put away now, by programs, too, that are started for that
    if number == signal.SIGINT:
        signal.default_int_handler(number, frame)
    sys.exit(128 + number)


def unwind_by_signals():
    """From now on SIGTERM and SIGHUP unwind this program by SystemExit, and SIGINT as ever by KeyboardInterrupt, so that what
    it has made does not outlive it; a second one changes nothing. One that is ignored stays so, as nohup does it."""
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _unwind)


@contextlib.contextmanager
def putting_away():
    """While this lasts, the signals wait, here and in programs that are started: one would end the program that puts a lab away,
    and leave half of it. For the main thread."""
    came = []
    waiting = [number for number in ENDING if signal.getsignal(number) is _unwind]
    for number in waiting:
        # Another thread, if there is one, takes the signal, and Python calls this one's handler.
        signal.signal(number, lambda number, frame: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        for number in waiting:
            signal.signal(number, _unwind)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            _unwind(came[0], None)


def guarded(main, *arguments):
    """What main(*arguments) returns; STATUS, without a word, when standard output or standard error has no reader any more.
    The signal itself would end a program that still has something to put away: this unwinds it, and so do those of
    unwind_by_signals(). Any other BrokenPipeError, as of a process that has died, passes through."""
    unwind_by_signals()
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
