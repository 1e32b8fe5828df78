"""The same as exchange.cpp with mpi4py: objects go around for some seconds, and must come back."""

import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
mine = {"from": rank, "numbers": list(range(2000))}
expected = dict(mine)
end = time.monotonic() + float(sys.argv[1])
done = 0
more = True
while more:
    for _ in range(ranks):
        mine = comm.sendrecv(mine, (rank + 1) % ranks, 1, source=(rank + ranks - 1) % ranks, recvtag=1)
    if mine != expected:
        print("exchange verified=no", flush=True)
        comm.Abort(1)
    done += 1
    more = comm.bcast(time.monotonic() < end)
if rank == 0:
    print(f"exchange verified=yes rounds={done}", flush=True)
