"""How fast the machine is while a unit runs, by `pace` of the build, which looks at every CPU five times a second."""

import contextlib
import os
import subprocess

from . import NasError


def program(build):
    return os.path.join(build, "bench", "naskit", "pace")


class Pace:
    """Watches these CPUs until it is closed."""

    def __init__(self, build, cpus):
        self.path = program(build)
        try:
            self.process = subprocess.Popen([self.path, *map(str, cpus)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True, start_new_session=True)
        except OSError as error:
            raise NasError(f"{self.path} cannot be run ({error.strerror}): build first") from None

    def since_last(self):
        """Seconds of a piece of work on the slowest CPU, on average since this was last asked; None when it was asked
        just now."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            means_ns = [int(word) for word in self.process.stdout.readline().split()]
        except (BrokenPipeError, ValueError):
            means_ns = []
        if not means_ns:
            raise NasError(f"{self.path} ended with status {self.process.wait()}")
        return max(means_ns) / 1e9 or None

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # one that has died was not told what is still to be written
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
