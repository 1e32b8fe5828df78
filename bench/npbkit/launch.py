"""One run of an MPI program on this machine, without a lab."""

import os
import subprocess

from labkit import LabError, launch, processes

from . import TrialError

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Whether or not this machine has a classd.
YIELDING = {"COSCHED_WAIT": "yield", "COSCHED_RUNTIME_DIR": "/nonexistent"}
# What else runs on the machine hardly counts then; only root may.
FIRST = ["nice", "-n", "-20"]


def run(mpi, ranks, command, timeout_s, library=None):
    """What the program printed, or why there is nothing to read (TrialError). With `library`, that is
    preloaded and ranks that wait yield."""
    environment = {**os.environ, **AS_ROOT}
    if library:
        try:
            environment.update(YIELDING, LD_PRELOAD=launch.preloadable(library))
        except LabError as error:
            raise TrialError(str(error)) from None
    launcher = [f"mpiexec.{mpi}", *["--oversubscribe"] * (mpi == "openmpi"), "-n", str(ranks)]
    if os.geteuid() == 0:
        launcher = [*FIRST, *launcher]
    processes.become_subreaper()
    with subprocess.Popen([*launcher, *command], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            text = process.communicate(timeout=timeout_s)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise TrialError(f"{' '.join(command)} on {ranks} ranks of {mpi} took longer than "
                             f"{timeout_s:g} s (--timeout)") from None
        finally:
            processes.end(processes.descendants(), 0)
    if process.returncode != 0:
        raise TrialError(f"{' '.join(command)} on {ranks} ranks of {mpi} ended with {process.returncode}:\n"
                         + text[-2000:])
    return text
