#include "pmpi/variant/job.h"

#include "pmpi/variant/patience.h"

struct job job;

bool job_agree(int holds)
{
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    return job.mpi->Iallreduce(&holds, &all, 1, MPI_INT, MPI_MIN, job.comm, &request) ==
               MPI_SUCCESS &&
           patience_wait(&request, PATIENCE_FOR_EVER) && all != 0;
}
