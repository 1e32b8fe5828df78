// A C++ program that computes and exchanges for some seconds: vectors go around, their sum is known.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <vector>

static long rounds(MPI_Comm comm, double seconds)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    std::vector<double> mine(2000), theirs(mine.size());
    std::iota(mine.begin(), mine.end(), rank * 1000.0);
    const double expected = std::accumulate(mine.begin(), mine.end(), 0.0);
    const double end = MPI_Wtime() + seconds;
    long done = 0;
    for (int more = 1; more != 0; done++) {
        for (int i = 0; i < ranks; i++) {
            MPI_Sendrecv(mine.data(), (int)mine.size(), MPI_DOUBLE, (rank + 1) % ranks, 1, theirs.data(),
                         (int)theirs.size(), MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, comm,
                         MPI_STATUS_IGNORE);
            mine.swap(theirs);
        }
        if (std::accumulate(mine.begin(), mine.end(), 0.0) != expected)
            throw std::runtime_error("a vector came back changed");
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, comm);
    }
    return done;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        long done = rounds(MPI_COMM_WORLD, argc > 1 ? std::atof(argv[1]) : 1);
        if (rank == 0)
            std::printf("exchange verified=yes rounds=%ld\n", done);
        std::fflush(stdout);
    } catch (const std::exception &error) {
        std::printf("exchange verified=no: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
