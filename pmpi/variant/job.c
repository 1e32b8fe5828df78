#include "pmpi/variant/job.h"

#include "pmpi/variant/patience.h"

#include <stdio.h>

#ifndef JOB_EXCHANGES // tests have a library of another version
#define JOB_EXCHANGES 3
#endif

enum first_word { ABLE, EXCHANGES, NEGATED_EXCHANGES, SPARE_WORD, FIRST_WORDS };

struct job job;

bool job_meet(bool able)
{
    int own[FIRST_WORDS] = {
        [ABLE] = able, [EXCHANGES] = JOB_EXCHANGES, [NEGATED_EXCHANGES] = -JOB_EXCHANGES};
    int least[FIRST_WORDS] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.mpi->Iallreduce(own, least, FIRST_WORDS, MPI_INT, MPI_MIN, job.comm, &request) !=
            MPI_SUCCESS ||
        !patience_wait(&request, PATIENCE_FOR_EVER))
        return false;
    if (least[EXCHANGES] == -least[NEGATED_EXCHANGES])
        return least[ABLE] != 0;
    job.comm = MPI_COMM_NULL; // they do not meet at the end either
    if (job.rank == 0)
        fprintf(stderr,
                "cosched: this job's ranks have libraries of different versions (their exchanges "
                "are of version %d to %d), so the job runs without a scheduler; install the same "
                "cosched on all its nodes\n",
                least[EXCHANGES], -least[NEGATED_EXCHANGES]);
    return false;
}

bool job_agree(int holds)
{
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    return job.mpi->Iallreduce(&holds, &all, 1, MPI_INT, MPI_MIN, job.comm, &request) ==
               MPI_SUCCESS &&
           patience_wait(&request, PATIENCE_FOR_EVER) && all != 0;
}
