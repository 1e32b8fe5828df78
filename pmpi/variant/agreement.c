#include "pmpi/variant/agreement.h"

#include "common/hash.h"
#include "common/slots.h"
#include "pmpi/variant/agreement_steps.h"
#include "pmpi/variant/session.h"

#include <string.h>

static struct {
    MPI_Comm comm;
    MPI_Request request;
    bool asks;
    struct agreement agreement; // the same on all ranks
    struct slots_offer own_offer;
    uint64_t own_given; // reserved, or taken
} own;

// Without the function, or memory, nothing is offered and nothing given.
static void reduce(const void *words, void *result, size_t count)
{
    memset(result, 0, count * sizeof(uint64_t));
    if (mpi_next[1].Iallreduce(words, result, (int)count, MPI_UINT64_T, MPI_BAND, own.comm,
                               &own.request) != MPI_SUCCESS)
        own.request = MPI_REQUEST_NULL;
}

static void ask(void)
{
    own.own_offer = slots_offer_any();
    if (own.asks && session_offer(&own.own_offer) < 0)
        own.own_offer = slots_offer_nothing();
    reduce(&own.own_offer, &own.agreement.offer, SLOTS_OFFER_WORDS);
}

static void claim(bool final)
{
    own.own_given =
        own.asks ? session_claim(&own.agreement.choice, own.agreement.term, final) : SLOTS_ALL;
    reduce(&own.own_given, &own.agreement.given, 1);
}

uint64_t agreement_seed(const char *job_id)
{
    return hash_with(HASH_START, job_id, strlen(job_id));
}

void agreement_start(MPI_Comm comm, bool asks, const char *job_id)
{
    own.comm = comm;
    own.asks = asks;
    own.agreement = agreement_new(agreement_seed(job_id), own.agreement.term);
    ask();
}

MPI_Request *agreement_request(void)
{
    return &own.request;
}

bool agreement_go_on(void)
{
    agreement_step_on(&own.agreement);
    switch (own.agreement.step) {
    case AGREEMENT_ASKS:
        ask();
        break;
    case AGREEMENT_RESERVES:
        claim(false);
        break;
    case AGREEMENT_TAKES:
        claim(true);
        break;
    case AGREEMENT_DONE:
        break;
    }
    return own.agreement.step == AGREEMENT_DONE;
}

uint64_t agreement_word(void)
{
    return slots_word(own.agreement.taken, own.agreement.term);
}
