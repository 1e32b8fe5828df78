"""Poisson's equation on a square: conjugate gradients with a block Jacobi preconditioner, then GMRES."""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

SIDE = 160


def laplacian():
    matrix = PETSc.Mat().createAIJ([SIDE * SIDE] * 2, nnz=5)
    matrix.setUp()
    first, last = matrix.getOwnershipRange()
    for row in range(first, last):
        y, x = divmod(row, SIDE)
        matrix[row, row] = 4.0
        for there, inside in [(row - 1, x > 0), (row + 1, x < SIDE - 1), (row - SIDE, y > 0), (row + SIDE, y < SIDE - 1)]:
            if inside:
                matrix[row, there] = -1.0
    matrix.assemble()
    return matrix


matrix = laplacian()
solution, right = matrix.createVecs()
wanted = right.duplicate()
first, last = wanted.getOwnershipRange()
for row in range(first, last):
    wanted[row] = (row % 17) / 17.0
wanted.assemble()
matrix.mult(wanted, right)
for kind in ("cg", "gmres"):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(kind)
    solver.getPC().setType("bjacobi")
    solver.setTolerances(rtol=1e-9, max_it=2000)
    solution.set(0.0)
    solver.solve(right, solution)
    difference = solution.copy()
    difference.axpy(-1.0, wanted)
    count, error, norm = solver.getIterationNumber(), difference.norm(), solution.norm()
    if PETSc.COMM_WORLD.getRank() == 0:
        print(f"iterations {kind} {count}")
        print(f"error {kind} {error:.3e}")
        print(f"norm {kind} {norm:.12e}", flush=True)
