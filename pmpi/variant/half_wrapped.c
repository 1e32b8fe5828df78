#include "pmpi/variant/half_wrapped.h"

#include "common/units.h"
#include "pmpi/variant/core.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROLL_CALL_NS NS_PER_SEC

enum {
    ROLL_CALL_TAG = 32749, // below what any MPI allows at most
    RANKS_LISTED = 8,
};

// A rank that runs the library.
struct presence {
    bool here;
    char host[64];
};

// Who else runs the library? Asked on MPI_COMM_WORLD, since there is no other communicator yet, and
// only when the job is lost. present[r] is set for each rank that answers within a moment.
static void roll_call(struct presence *present, int rank, int size)
{
    const struct mpi_next *mpi = &mpi_next[1];
    struct presence *own = &present[rank];
    MPI_Request request = MPI_REQUEST_NULL;
    own->here = true;
    gethostname(own->host, sizeof own->host - 1);
    for (int i = 0; i < size; i++) {
        if (i != rank)
            mpi->Isend(own, sizeof *own, MPI_BYTE, i, ROLL_CALL_TAG, MPI_COMM_WORLD, &request);
    }
    for (uint64_t end = clock_now_ns() + ROLL_CALL_NS; clock_now_ns() < end; sched_yield()) {
        MPI_Status status;
        int flag = 0;
        mpi->Iprobe(MPI_ANY_SOURCE, ROLL_CALL_TAG, MPI_COMM_WORLD, &flag, &status);
        if (flag)
            mpi->Recv(&present[status.MPI_SOURCE], sizeof *own, MPI_BYTE, status.MPI_SOURCE,
                      ROLL_CALL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

// "0 (node0), 1 (node0)" or, of those who are not here, "2, 3"; cut short after a few.
static void list_ranks(const struct presence *present, int ranks, bool here, char *text,
                       size_t size)
{
    size_t used = 0;
    int listed = 0;
    text[0] = '\0';
    for (int i = 0; i < ranks && used < size; i++) {
        if (present[i].here != here)
            continue;
        if (listed++ == RANKS_LISTED) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%d", used > 0 ? ", " : "", i);
        if (here && used < size)
            used += (size_t)snprintf(text + used, size - used, " (%.*s)",
                                     (int)sizeof present[i].host - 1, present[i].host);
    }
}

static const char *launcher_remedy(void)
{
    if (getenv("OMPI_COMM_WORLD_RANK") != NULL)
        return "start it with mpirun -x LD_PRELOAD";
    if (getenv("SLURM_STEP_ID") != NULL)
        return "start it with srun --export=ALL";
    if (getenv("PMI_RANK") != NULL)
        return "start mpiexec without -genvlist and -genvnone";
    return "export LD_PRELOAD on every node";
}

void half_wrapped_end(int rank, int size)
{
    struct presence *present = calloc((size_t)size, sizeof *present);
    char with[400] = "?", without[200] = "?";
    int first = rank;
    if (present != NULL) {
        roll_call(present, rank, size);
        for (first = 0; !present[first].here;)
            first++;
        list_ranks(present, size, true, with, sizeof with);
        list_ranks(present, size, false, without, sizeof without);
    }
    if (first == rank)
        fprintf(
            stderr,
            "cosched: of this job's %d ranks, %s have loaded libcosched_pmpi.so and %s have not; "
            "%s, or without the library (statically linked and set-uid programs cannot have it). "
            "The job is ended, since its messages may be mixed up\n",
            size, with, without, launcher_remedy());
    else
        sleep(1); // so that the first one has its say
    free(present);
    mpi_next[1].Abort(MPI_COMM_WORLD, 1);
}
