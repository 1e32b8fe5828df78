"""The command of each job of a unit: program, limits, library. Looks whether programs are there; runs
nothing."""

import os
import shutil

from . import NasError, records, workload

# Of CPU time in MPI_Finalize, after which a job that hangs there is ended. A job that ends needs a
# hundredth of a second, and alone it may be ended soon, for the next one of a queue waits for that.
# Where jobs share, a rank may also spin there because it is not its peer's turn.
GRACE_CPU_ALONE_S = 0.5
GRACE_CPU_SHARED_S = 2.0

# On --hosts classd runs under every scheduler: jobs that must not be scheduled look where there is none.
NOBODY = "--env=COSCHED_RUNTIME_DIR=/nonexistent"


class Commands:
    """`options` are the session's, `site` is where jobs run."""

    def __init__(self, options, site, cluster):
        self.options = options
        self.site = site
        self.cluster = cluster

    def check(self, mpi, job):
        """Raises NasError when the job cannot be run."""
        refusal = workload.refusal(job)
        if refusal:
            raise NasError(f"job {job}: {refusal}")
        if not job.is_hog:
            self.program(mpi, job)
            if shutil.which(f"mpiexec.{mpi}") is None:
                raise NasError(f"mpiexec.{mpi} is not there: install it, link your launcher under that name in PATH, or say --mpi with "
                               "the other")

    def program(self, mpi, job):
        """(command, loop): official programs are looped over, ours repeat by themselves."""
        if self.options.npb_dir:
            folder = self.options.npb_dir.replace("{mpi}", mpi)
            path = os.path.join(folder, "bin", f"{job.kernel}.{job.size}.x")
            arguments, loop = [], job.repeat
        else:
            if job.size not in workload.SIZES:
                raise NasError(f"job {job}: there is no class {job.size}: must be of {workload.SIZES}")
            path = os.path.join(self.options.build, "bench", "npb", mpi, "bin", job.kernel)
            arguments, loop = [job.size, "--repeat", str(job.repeat)], 1
        if not os.access(path, os.X_OK):
            raise NasError(f"job {job} for {mpi}: there is no program {path}: " + (
                "look at --npb-dir, or leave the job out" if self.options.npb_dir else
                "build first, name a build with --build DIR, or say --mpi with the other"))
        return [path, *arguments], loop

    def of(self, unit, scheduler, index, report, runs):
        """The command that runs job `index` and writes `report`; `runs` are those so far."""
        job = unit.jobs[index]
        program, loop = self.program(unit.mpi, job)
        arguments = ["--loop", str(loop), "--report", report, "--timeout",
                     str(self._limit_s(unit, job, runs)), "--grace", str(_grace_s(unit, scheduler)),
                     "--grace-cpu", str(_grace_cpu_s(unit, scheduler)), *self._library(unit, scheduler, job)]
        if not scheduler.script:
            arguments.append("--gate")
        arguments += [f"--mpi-arg={text}" for text in scheduler.mpi_arguments.get(unit.mpi, [])]
        command = self.site.job_command(job, unit.mpi, program, arguments)
        return [scheduler.script, "wrap", "--", *command] if scheduler.script else command

    def _library(self, unit, scheduler, job):
        gives_way = unit.yields and self.cluster.crowds_itself(job)
        if not scheduler.cosched and not gives_way:
            return []
        return [*self.site.preload(), *(f"--env={text}" for text in self.options.env),
                *["--env=COSCHED_WAIT=yield"] * gives_way, *[NOBODY] * (not scheduler.cosched)]

    def _limit_s(self, unit, job, runs):
        """Far more than the worst uncoordinated sharing takes, when we know the job."""
        known_s = records.Dedicated(runs).everywhere(unit.mpi, str(job))
        generous_s = 60 + 15 * _sharing(unit) * max(known_s) if known_s else self.options.timeout
        return min(self.options.timeout, generous_s)


def _sharing(unit):
    return unit.limit or len(unit.jobs)


def _grace_cpu_s(unit, scheduler):
    if _sharing(unit) == 1:
        return GRACE_CPU_ALONE_S
    return GRACE_CPU_SHARED_S + (unit.time_slice_s if scheduler.cosched else 0)


def _grace_s(unit, scheduler):
    """For MPI_Finalize; where nodes are time-shared, the job may have to wait for its turn."""
    return 10 + (2 * _sharing(unit) * unit.time_slice_s if scheduler.cosched else 0)
