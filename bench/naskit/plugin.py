"""Schedulers that users bring: when their scripts are told `up` and `down`. README.md has the interface."""

import errno
import os
import signal
import subprocess
import sys

from . import NasError


LIMIT_S = 120  # for a script to do what it is told


class Plugin:
    """At most one script is up."""

    def __init__(self, options, site, folder):
        self.options = options
        self.site = site
        self.folder = folder
        self.path = ""

    def need(self, scheduler, unit):
        """Has the scheduler's script up, and no other, and the environment tell it of the unit."""
        if self.path != scheduler.script:
            self.down()
        if scheduler.script:
            os.environ.update(self._environment(unit))
        if self.path != scheduler.script:
            self.path = scheduler.script
            fault = _call(self.path, "up")
            if fault:
                raise NasError(fault)

    def down(self):
        """Harmless when none is up. What fails is told: other things are still to be put away."""
        path, self.path = self.path, ""
        fault = _call(path, "down") if path else None
        if fault:
            print(f"run_nas: {fault}", file=sys.stderr)

    def _environment(self, unit):
        return {"NASKIT_NODES": str(self.options.nodes), "NASKIT_BUILD": self.options.build,
                "NASKIT_CPUS_PER_NODE": str(self.options.cpus_per_node), "NASKIT_MPI": unit.mpi,
                "NASKIT_TIME_SLICE_S": f"{unit.time_slice_s:g}", "NASKIT_OUT": self.folder,
                **self.site.environment()}


def _call(path, word):
    """Why it failed, or None. What takes too long is ended with all that it has started, as is what is interrupted."""
    try:
        script = subprocess.Popen([path, word], stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        hint = ": its first line must name an interpreter, like #!/bin/sh" if error.errno == errno.ENOEXEC else ""
        return f"{path} {word}: {error.strerror}{hint}"
    try:
        return f"{path} {word}: failed" if script.wait(LIMIT_S) else None
    except subprocess.TimeoutExpired:
        return f"{path} {word}: took longer than {LIMIT_S:g} s, and was ended"
    finally:
        if script.returncode is None:
            os.killpg(script.pid, signal.SIGKILL)
            script.wait()
