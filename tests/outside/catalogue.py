"""The applications, as Debian has them: what to run, and what of the output is a result."""

import os
from dataclasses import dataclass

BOTH = ("mpich", "openmpi")
OPENMPI = ("openmpi",)
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
    limit_s: float = 300
    tolerance: float = 0.0  # for numbers: sums whose order depends on who was first

    def program(self, family):
        return self.path.format(family=family)

    def inputs(self, folder):
        return [*(os.path.join(folder, name) for name in self.own), *self.others]


def _scalapack(routine, data):
    return Application(f"scalapack-{routine}", os.path.join(SCALAPACK, f"x{routine}"), [],
                       r"tests? completed|PASSED|FAILED|tests? (?:passed|failed)", 2, others=(os.path.join(SCALAPACK_DATA, data),),
                       files=(), ranks=4)


APPLICATIONS = [
    # Dense linear algebra, messages of all sizes, random accesses.
    Application("hpcc", "/usr/bin/hpcc", [], r"^(?:\|\|Ax.*(PASSED|FAILED)|Success=|.*(?:failed|FAILED|errors).*)", 3,
                own=("hpccinf.txt",), files=("hpccoutf.txt",), limit_s=600),
    # Molecular dynamics: neighbours' exchanges, few reductions.
    Application("lammps", "/usr/bin/lmp", ["-in", "melt.lammps", "-log", "none"], r"^\s+\d+(?:\s+[-\d.e+]+){5}\s*$", 10,
                own=("melt.lammps",), tolerance=1e-9),
    # Quantum chemistry over Global Arrays: one-sided access, a counter that all share.
    Application("nwchem", "/usr/bin/nwchem.{family}", ["water.nw"], r"Total (?:SCF|MP2|DFT) energy.*", 2,
                own=("water.nw",), families=BOTH, tolerance=1e-8),
    # Plane waves: transposes and reductions over several communicators, ScaLAPACK.
    Application("espresso", "/usr/bin/pw.x", ["-in", "silicon.in"], r"^!|highest occupied|Total force|JOB DONE", 2,
                own=("silicon.in",), others=("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz",), tolerance=1e-6),
    # Photonic bands: FFTW's transposes and HDF5's files, driven by Guile.
    Application("mpb", "/usr/bin/mpb-mpi", ["rods.ctl"], r"^t[em]freqs:.*", 8, own=("rods.ctl",), tolerance=1e-6),
    # Phylogenetics: Markov chains on different ranks that swap states.
    Application("mrbayes", "/usr/lib/mrbayes-mpi/mb-mpi", ["taxa.nex"], r"^\s+\d+ -- \[?[-(].*?(?= -- \d|$)|Likelihood of best state.*", 4,
                own=("taxa.nex",), tolerance=1e-6),
    # Sparse solvers, from Python.
    Application("petsc", PYTHON, ["poisson.py"], r"^(?:iterations|error|norm) .*", 3, own=("poisson.py",), tolerance=1e-9),
    # MPI-IO through HDF5, from Python.
    Application("hdf5", PYTHON, ["together.py"], r"^(?:rank|sum) .*", 3, own=("together.py",)),
    # Finite elements with a parallel direct solver.
    Application("freefem", "/usr/bin/FreeFem++-mpi", ["-v", "0", "-nw", "membrane.edp"], r"^(?:area|norm|dofs) .*", 3,
                own=("membrane.edp",), tolerance=1e-8),
    # Every size of message, its contents checked.
    Application("netpipe", "/usr/bin/NP{family}", ["-i", "-u", "65536", "-o", "np.out"],
                r"(?:Integrity|ntegrity|passed|failed|FAIL|error).*", 1, families=OPENMPI),
    *[_scalapack(routine, data) for routine, data in
      [("dlu", "LU.dat"), ("dllt", "LLT.dat"), ("dqr", "QR.dat"), ("dls", "LS.dat"), ("dsvd", "SVD.dat"), ("zsep", "SEP.dat"),
       ("dbrd", "BRD.dat"), ("dnep", "NEP.dat")]],
]
