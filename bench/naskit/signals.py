"""Signals that end a session: as an exception, so that what it has made is put away."""

import signal

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal; not an Exception, so that nobody takes it for a fault of his own."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _interrupted(number, _frame):
    # What is left behind is put away now; a second ctrl-C must not stop that.
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def catch():
    """From now on they raise Interrupted."""
    for number in ENDING:
        signal.signal(number, _interrupted)
