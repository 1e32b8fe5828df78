"""One HDF5 file that all ranks write and read, collectively and each for itself."""

import h5py
import numpy
from mpi4py import MPI

ROWS, COLUMNS = 400, 300
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
mine = slice(rank * ROWS, (rank + 1) * ROWS)
with h5py.File("together.h5", "w", driver="mpio", comm=world) as file:
    table = file.create_dataset("table", (size * ROWS, COLUMNS), dtype="f8")
    with table.collective:
        table[mine] = numpy.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) + rank / 8
    for row in range(8):
        table[rank * ROWS + row, 0] = rank + row
world.Barrier()
with h5py.File("together.h5", "r", driver="mpio", comm=world) as file:
    table = file["table"]
    other = (rank + 1) % size
    with table.collective:
        part = table[other * ROWS:(other + 1) * ROWS]
    sums = world.gather((rank, float(part.sum()), float(part[:8, 0].sum())))
total = world.allreduce(float(part.sum()))
if rank == 0:
    for who, everything, corner in sums:
        print(f"rank {who} read {everything!r} {corner!r}")
    print(f"sum {total!r}", flush=True)
