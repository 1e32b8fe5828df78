"""The applications, as Debian has them: what to run, and what of the output is a result."""

import glob
import os
from dataclasses import dataclass

OPENMPI = ("openmpi",)
MPICH = ("mpich",)
PYTHON = "/usr/bin/python3"  # whose modules Debian's are
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests"
SCALAPACK_DATA = "/usr/share/scalapack"


@dataclass
class Application:
    name: str
    path: str  # {family} stands for the MPI
    arguments: list
    compared: str  # pattern of lines that must stay the same; of groups in it, only these
    least: int  # so many of them, or it has not run as it should
    own: tuple = ()  # files of inputs/
    others: tuple = ()  # files that a package brings
    files: tuple = ()  # outputs beside stdout that are compared
    families: tuple = OPENMPI
    ranks: int = 2
    limit_s: float = 120
    tolerance: float = 0.0  # for numbers: sums whose order depends on who was first
    done: str = ""  # pattern of the last line, of a program that may hang in MPI_Finalize after it
    variables: tuple = ()  # NAME=VALUE; a * in it stands for what is there

    def program(self, family):
        return self.path.format(family=family)

    def environment(self):
        """NAME=VALUE of all that it needs."""
        pairs = [pair.split("=", 1) for pair in ("OMP_NUM_THREADS=1", *self.variables)]
        return [f"{name}={next(iter(sorted(glob.glob(value))), value) if '*' in value else value}" for name, value in pairs]

    def inputs(self, folder):
        return [*(os.path.join(folder, name) for name in self.own), *self.others]


def _scalapack(routine, data):
    return Application(f"scalapack-{routine}", os.path.join(SCALAPACK, f"x{routine}"), [],
                       r"^(?:WALL|CPU)? .*(PASSED|FAILED)|(.*tests? (?:completed|passed|failed).*)", 5, others=(os.path.join(SCALAPACK_DATA, data),),
                       limit_s=300)


APPLICATIONS = [
    # Dense linear algebra, messages of all sizes, random accesses.
    Application("hpcc", "/usr/bin/hpcc", [], r"^(?:\|\|Ax.*(PASSED|FAILED)|Success=|.*(?:failed|FAILED|errors).*)", 3,
                own=("hpccinf.txt",), files=("hpccoutf.txt",)),
    # Molecular dynamics: neighbours' exchanges, few reductions.
    Application("lammps", "/usr/bin/lmp", ["-in", "melt.lammps", "-log", "none"], r"^\s+\d+(?:\s+[-\d.e+]+){5}\s*$", 10,
                own=("melt.lammps",), tolerance=1e-9),
    # Quantum chemistry over Global Arrays: one-sided access, a counter that all share. Open MPI's windows over TCP take minutes.
    Application("nwchem", "/usr/bin/nwchem.{family}", ["water.nw"], r"Total (?:SCF|MP2|DFT) energy.*", 2,
                own=("water.nw",), families=MPICH, tolerance=1e-8, done=r"Total times +cpu:"),
    # Plane waves: transposes and reductions over several communicators, ScaLAPACK.
    Application("espresso", "/usr/bin/pw.x", ["-in", "silicon.in"], r"^!|highest occupied|Total force|JOB DONE", 2,
                own=("silicon.in",), others=("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz",), tolerance=1e-6),
    # Photonic bands: FFTW's transposes and HDF5's files, driven by Guile.
    Application("mpb", "/usr/bin/mpb-mpi", ["rods.ctl"], r"^t[em]freqs:.*", 8, own=("rods.ctl",), tolerance=1e-6),
    # Sparse solvers, from Python.
    Application("petsc", PYTHON, ["poisson.py"], r"^(?:iterations|error|norm) .*", 3, own=("poisson.py",), tolerance=1e-9,
                variables=("PETSC_DIR=/usr/lib/petscdir/petsc3.*/*-real",)),
    # MPI-IO through HDF5, from Python.
    Application("hdf5", PYTHON, ["together.py"], r"^(?:rank|sum) .*", 3, own=("together.py",)),
    # Finite elements, the ranks' parts summed by reductions.
    Application("freefem", "/usr/bin/FreeFem++-mpi", ["-v", "0", "-nw", "membrane.edp"], r"^(?:steps|norm|area) .*", 3,
                own=("membrane.edp",), tolerance=1e-8),
    # Every size of message, its contents checked.
    Application("netpipe", "/usr/bin/NP{family}", ["-i", "-u", "65536", "-o", "np.out"],
                r"^\s*\d+: +(\d+) bytes.*([Ii]ntegrity check \w+)", 20),
    *[_scalapack(routine, data) for routine, data in
      [("dlu", "LU.dat"), ("dqr", "QR.dat"), ("dls", "LS.dat"), ("dnep", "NEP.dat"), ("dbrd", "BRD.dat")]],
]
