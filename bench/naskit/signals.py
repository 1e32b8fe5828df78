"""Signals that end a session: as an exception, so that what it has made is put away."""

import contextlib
import signal

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal; not an Exception, so that nobody takes it for a fault of his own."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number
        self.folder = None  # that has what was measured, where somebody knows


_kept = None  # while nobody may be interrupted, the signals that came meanwhile


def _interrupted(number, _frame):
    if _kept is not None:
        _kept.append(number)
        return
    # What is left behind is put away now; a second ctrl-C must not stop that.
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


@contextlib.contextmanager
def kept():
    """A signal that comes meanwhile raises Interrupted behind it: a process that has been started is known by then, and is
    ended."""
    global _kept
    _kept = []
    try:
        yield
    finally:
        came, _kept = _kept, None
    if came:
        _interrupted(came[0], None)


def catch():
    """From now on they raise Interrupted; one that is ignored stays so, as nohup does it."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupted)
