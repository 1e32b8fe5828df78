"""The lab as the variants need it. Only `bench/lab` and programs of the build are called."""

import os
import shutil
import subprocess
import sys
import tempfile

from naskit import NasError, hosts, lab_site

from . import outcome, workloads

HERE = os.path.dirname(os.path.realpath(__file__))
LAB_NAME = "cosched-lab-dcs"
JOBS_MIB = 512  # what three programs and tools at once have, at most


class Site(lab_site.LabSite):
    def __init__(self, options):
        super().__init__(options, JOBS_MIB, os.environ.get("COSCHED_DCS_LAB", LAB_NAME))

    # -- what there is

    def program(self, mpi, name):
        if shutil.which(f"mpiexec.{mpi}") is None:
            raise NasError(f"mpiexec.{mpi} is not there: install it, or say --mpi with the other")
        path = os.path.join(self.options.build, "bench", "dcs", mpi, name)
        if not os.access(path, os.X_OK):
            raise NasError(f"{path} is not there: build first (cmake --build), or name a build with --build DIR")
        return path

    def takes_wait(self, value):
        """Whether the build knows `[client] wait = VALUE`: asked of its own classd."""
        classd = os.path.join(self.options.build, "classd", "classd")
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as config:
            config.write(f"[client]\nwait = {value}\n")
            config.flush()
            try:
                done = subprocess.run([classd, "--config", config.name, "--check-config"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            except FileNotFoundError:
                raise NasError(f"{classd} is not there: build first, or name a build with --build DIR") from None
        return done.returncode == 0

    # -- daemons

    def use(self, settings, lag_s):
        """Fresh daemons with these settings on all nodes; the timers of all but the first begin `lag_s` later."""
        if self.daemons:
            self._lab("daemons", "stop")
        self.daemons = None
        self._start([f"--set={key}={value}" for key, value in settings.items()], lag_s)
        self.daemons = dict(settings)

    # -- jobs

    def command(self, mpi, job, report, limit_s):
        """The command that runs a job that ends, writes `report`, and waits for a line first."""
        common = ["--gate", "--report", report, "--timeout", str(limit_s)]
        if job.in_class:
            loops, program = self._sequential(job.name)
            return [sys.executable, "-B", os.path.join(HERE, "sequential_job.py"), "--lab", self.name, "--node",
                    self.nodes[job.node], *common, "--loop", str(loops), "-n", "1", *program]
        arguments = workloads.PROGRAMS[job.name].arguments(self.options.scale, self.options.spread)
        return [lab_site.LAB, "--name", self.name, "mpiexec", "--mpi", mpi, "-n", str(len(self.nodes)), "--preload",
                "--done-pattern", outcome.DONE, *common, self.program(mpi, job.name), *arguments]

    def _sequential(self, name):
        """(how often, command)."""
        loops = {"tar": workloads.TAR_LOOPS, "gs": workloads.GS_LOOPS}[name]
        files = self.options.files
        commands = {"tar": ["sh", "-c", "tar -chf - -C \"$0\" text | gzip >/dev/null", files],
                    "gs": ["gs", "-q", "-dNODISPLAY", "-dNOPAUSE", "-dBATCH", os.path.join(files, "pages.ps")]}
        return max(1, round(loops * self.options.scale)), commands[name]

    def competitor_commands(self, mpi, job):
        """One that computes until it is ended, and waits for a line first."""
        if job.in_class:
            return self.hog_commands_of_users()
        return [[lab_site.LAB, "--name", self.name, "mpiexec", "--mpi", mpi, "-n", str(len(self.nodes)), "--preload", "--gate",
                 self.program(mpi, "competitor")]]

    def hog_commands_of_users(self):
        return [[lab_site.LAB, "--name", self.name, "exec", "--users", node, "sh", "-c",
                 hosts.gated("while :; do :; done")] for node in self.nodes]
