"""mpi4py: Python opens the MPI for itself, so the library must find it there. For two ranks; prints
lines as the C programs do."""

import array
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD.Dup()
rank = comm.Get_rank()
other = 1 - rank
outcome = {"cases": 0, "failed": 0}


def case(function):
    """Runs the case, on all ranks, and prints its line."""
    wrong = 0
    try:
        function()
    except AssertionError as error:
        wrong = 1
        print(f"conform: rank {rank} of {function.__name__}: {error!r}", file=sys.stderr)
    wrong = comm.allreduce(wrong)
    outcome["cases"] += 1
    outcome["failed"] += wrong > 0
    if rank == 0:
        print("FAILED" if wrong else "ok", function.__name__, flush=True)


@case
def objects():
    for thing in (None, 5, "text", [1, 2.5, "x"], {"key": list(range(3000))}, b"x" * 100000):
        assert comm.sendrecv(thing, other, 1, source=other, recvtag=1) == thing


@case
def objects_by_wildcard():
    status = MPI.Status()
    request = comm.isend({"from": rank}, other, 7)
    got = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
    request.wait()
    assert got == {"from": other} and status.Get_source() == other and status.Get_tag() == 7


@case
def buffers():
    for length in (0, 1, 127, 128, 129, 1023, 1024, 1025, 50000):
        mine = array.array("d", [rank + 0.5] * length)
        got = array.array("d", [-1.0] * (length + 3))
        status = MPI.Status()
        comm.Sendrecv([mine, MPI.DOUBLE], other, 1, [got, MPI.DOUBLE], other, 1, status)
        assert status.Get_count(MPI.DOUBLE) == length
        assert list(got) == [other + 0.5] * length + [-1.0] * 3


@case
def probes():
    message = bytes(range(256)) * 20
    request = comm.Isend([message, MPI.BYTE], other, 3)
    status = MPI.Status()
    matched = comm.Mprobe(MPI.ANY_SOURCE, 3, status)
    assert status.Get_count(MPI.BYTE) == len(message)
    got = bytearray(status.Get_count(MPI.BYTE))
    matched.Recv([got, MPI.BYTE], status)
    request.Wait()
    assert bytes(got) == message and status.Get_source() == other


@case
def many_requests():
    got = [array.array("i", [-1]) for _ in range(50)]
    numbers = [array.array("i", [100 * rank + i]) for i in range(50)]
    requests = [comm.Irecv([got[i], MPI.INT], other, i) for i in range(50)]
    requests += [comm.Isend([numbers[i], MPI.INT], other, i) for i in range(50)]
    MPI.Request.Waitall(requests)
    assert [one[0] for one in got] == [100 * other + i for i in range(50)]


@case
def persistent():
    out, got = array.array("i", [0] * 500), array.array("i", [0] * 500)
    requests = [comm.Recv_init([got, MPI.INT], other, 2), comm.Send_init([out, MPI.INT], other, 2)]
    for turn in range(5):
        for i in range(500):
            out[i] = turn + i + rank
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        assert list(got) == [turn + i + other for i in range(500)]
    for request in requests:
        request.Free()


@case
def exceptions():
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        comm.Send([bytearray(1), MPI.BYTE], 77, 1)
        raise AssertionError("no exception")
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_RANK


@case
def collectives():
    assert comm.allreduce(rank + 1) == 3
    assert comm.allgather(rank) == [0, 1]
    assert comm.bcast("word" if rank == 0 else None) == "word"
    assert comm.scatter(["a", "b"] if rank == 1 else None, root=1) == "ab"[rank]
    total = array.array("l", [0])
    comm.Allreduce([array.array("l", [rank + 4]), MPI.LONG], [total, MPI.LONG])
    assert total[0] == 9


@case
def communicators():
    part = comm.Split(0, -rank)
    assert part.Get_rank() == other
    assert part.sendrecv(rank, rank, source=rank) == other
    part.Free()


if rank == 0:
    print(f"end: {outcome['cases']} cases, {outcome['failed']} failed", flush=True)
comm.Free()
