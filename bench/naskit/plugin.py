"""Schedulers that users bring: when their scripts are told `up` and `down`. README.md has the interface."""

import os
import subprocess

from . import NasError


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
            if self._call("up") != 0:
                raise NasError(f"{scheduler.script} up: failed")

    def down(self):
        """Harmless when none is up."""
        if self.path:
            self._call("down")
            self.path = ""

    def _call(self, word):
        return subprocess.run([self.path, word], stdin=subprocess.DEVNULL, start_new_session=True,
                              check=False).returncode

    def _environment(self, unit):
        return {"NASKIT_NODES": str(self.options.nodes), "NASKIT_BUILD": self.options.build,
                "NASKIT_CPUS_PER_NODE": str(self.options.cpus_per_node), "NASKIT_MPI": unit.mpi,
                "NASKIT_TIME_SLICE_S": f"{unit.time_slice_s:g}", "NASKIT_OUT": self.folder,
                **self.site.environment()}
