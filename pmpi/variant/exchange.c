#include "pmpi/variant/exchange.h"

#include "pmpi/variant/job.h"
#include "pmpi/variant/patience.h"

#include <limits.h>
#include <string.h>

enum { TAG = 3 }; // on the private communicator: a notice has 1, a header's copy 2

static void swap(char *one, char *other, size_t bytes)
{
    char kept[64];
    while (bytes > 0) {
        size_t piece = bytes < sizeof kept ? bytes : sizeof kept;
        memcpy(kept, one, piece);
        memcpy(one, other, piece);
        memcpy(other, kept, piece);
        one += piece;
        other += piece;
        bytes -= piece;
    }
}

static void reverse(char *elements, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count / 2; i++)
        swap(elements + i * bytes, elements + (count - 1 - i) * bytes, bytes);
}

void exchange_turn(void *elements, size_t count, size_t bytes, size_t places)
{
    char *first = elements;
    size_t behind = count > 0 ? count - places % count : 0;
    reverse(first, behind, bytes);
    reverse(first + behind * bytes, count - behind, bytes);
    reverse(first, count, bytes);
}

struct exchange_step exchange_step(int rank, int size, int have)
{
    struct exchange_step step = {.to = rank - have,
                                 .from = rank - (size - have),
                                 .count = have < size - have ? have : size - have};
    step.to += step.to < 0 ? size : 0;
    step.from += step.from < 0 ? size : 0;
    return step;
}

// One message to a peer and one from another. What is long goes in pieces that a count can have.
static bool take(const struct exchange_step *step, char *to, const char *from, size_t bytes)
{
    while (bytes > 0) {
        int piece = bytes < INT_MAX ? (int)bytes : INT_MAX;
        MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
        if (job.mpi->Irecv(to, piece, MPI_BYTE, step->from, TAG, job.comm, &in) != MPI_SUCCESS ||
            job.mpi->Isend(from, piece, MPI_BYTE, step->to, TAG, job.comm, &out) != MPI_SUCCESS ||
            !patience_wait(&in, PATIENCE_FOR_EVER) || !patience_wait(&out, PATIENCE_FOR_EVER))
            return false;
        from += piece;
        to += piece;
        bytes -= (size_t)piece;
    }
    return true;
}

bool exchange(const void *own, void *all, size_t bytes)
{
    char *words = all; // from this rank's on, as far as they have come
    memcpy(words, own, bytes);
    for (int have = 1; have < job.size;) {
        struct exchange_step step = exchange_step(job.rank, job.size, have);
        if (!take(&step, words + (size_t)have * bytes, words, (size_t)step.count * bytes))
            return false;
        have += step.count;
    }
    exchange_turn(all, (size_t)job.size, bytes, (size_t)job.rank);
    return true;
}
