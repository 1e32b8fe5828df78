#include "pmpi/variant/half_wrapped.h"

#include "common/units.h"
#include "pmpi/variant/patience.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROLL_CALL_NS NS_PER_SEC

// Launchers drop what they have not passed on yet of a job that is ended.
#define HEARD_NS (200 * NS_PER_MS)

enum {
    ROLL_CALL_TAG = 32749, // below what any MPI allows at most
    RANKS_LISTED = 8,
};

// A rank that runs the library, as it says itself.
struct presence {
    bool here;
    char host[64];
};

static struct {
    struct presence own;      // in messages that may be on their way for long
    struct presence *present; // by rank; null: no roll was called here
    uint8_t *heard;           // how many of each rank's messages were received
    uint8_t calls;
} roll;

static bool prepare(int rank, int size)
{
    if (roll.present != NULL)
        return true;
    roll.present = calloc((size_t)size, sizeof *roll.present + sizeof *roll.heard);
    if (roll.present == NULL)
        return false;
    roll.heard = (uint8_t *)(roll.present + size);
    roll.own.here = true;
    gethostname(roll.own.host, sizeof roll.own.host - 1);
    roll.present[rank] = roll.own;
    return true;
}

static void call_out(int rank, int size)
{
    const struct mpi_next *mpi = &mpi_next[1];
    roll.calls++;
    for (int i = 0; i < size; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (i != rank && mpi->Isend(&roll.own, sizeof roll.own, MPI_BYTE, i, ROLL_CALL_TAG,
                                    MPI_COMM_WORLD, &request) == MPI_SUCCESS)
            mpi->Request_free(&request);
    }
}

static void receive_from(int rank)
{
    mpi_next[1].Recv(&roll.present[rank], sizeof *roll.present, MPI_BYTE, rank, ROLL_CALL_TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    roll.heard[rank]++;
}

static void listen_once(void)
{
    MPI_Status status;
    int flag = 0;
    mpi_next[1].Iprobe(MPI_ANY_SOURCE, ROLL_CALL_TAG, MPI_COMM_WORLD, &flag, &status);
    if (flag)
        receive_from(status.MPI_SOURCE);
}

static bool all_here(int size)
{
    for (int i = 0; i < size; i++) {
        if (!roll.present[i].here)
            return false;
    }
    return true;
}

// Who else runs the library? Asked on MPI_COMM_WORLD, since there is no other communicator yet.
// True: all ranks do; each has answered within a moment, or the request is complete.
static bool roll_call(int rank, int size, MPI_Request *request)
{
    struct patience patience = {0};
    int complete = 0;
    call_out(rank, size);
    do {
        listen_once();
        mpi_next[1].Test(request, &complete, MPI_STATUS_IGNORE);
    } while (!complete && !all_here(size) && patience_pause(&patience, ROLL_CALL_NS));
    return complete || all_here(size);
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
        return "start it with LD_PRELOAD set for srun, and --export=ALL";
    if (getenv("PMI_RANK") != NULL)
        return "start mpiexec without -genvlist and -genvnone";
    return "export LD_PRELOAD on every node";
}

static void say_who_is_missing(int size)
{
    char with[400], without[200];
    list_ranks(roll.present, size, true, with, sizeof with);
    list_ranks(roll.present, size, false, without, sizeof without);
    fprintf(
        stderr,
        "cosched: of this job's %d ranks, %s have loaded libcosched_pmpi.so and %s have not; "
        "%s, or without the library (statically linked and set-uid programs cannot have it, nor "
        "those that take MPI_Init by dlsym() from their MPI's library). "
        "The job is ended, since its messages may be mixed up\n",
        size, with, without, launcher_remedy());
}

void half_wrapped_end(int rank, int size, MPI_Request *request)
{
    int first = 0;
    if (!prepare(rank, size) || roll.calls == UINT8_MAX || roll_call(rank, size, request))
        return;
    while (!roll.present[first].here)
        first++;
    if (first == rank) {
        say_who_is_missing(size);
        nanosleep(&(struct timespec){.tv_nsec = HEARD_NS}, NULL);
    } else {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL); // so that the first one has its say
    }
    mpi_next[1].Abort(MPI_COMM_WORLD, 1);
}

uint8_t half_wrapped_roll_calls(void)
{
    return roll.calls;
}

void half_wrapped_take(int rank, int size, int from, uint8_t roll_calls)
{
    if (from == rank || roll_calls == 0 || !prepare(rank, size))
        return;
    while (roll.heard[from] < roll_calls)
        receive_from(from);
}
