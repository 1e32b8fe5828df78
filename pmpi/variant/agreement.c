#include "pmpi/variant/agreement.h"

#include "common/hash.h"
#include "common/slots.h"
#include "pmpi/variant/session.h"

#include <string.h>

enum step { ASKED, RESERVED };

// Two jobs that start at once may each be given by one node what the other is given by the next.
enum { TRIES = 3 };

static struct {
    MPI_Comm comm;
    MPI_Request request;
    bool asks;
    uint64_t seed; // the same on all ranks
    enum step step;
    unsigned tries;
    uint32_t term; // of the agreement that is sought
    struct slots_offer own_offer, offer;
    struct slots_choice choice;
    uint64_t own_given, given;
} own;

// Without the function, or memory, the last step comes next, with nothing to take.
static void reduce(const void *words, void *result, size_t count)
{
    if (mpi_next[1].Iallreduce(words, result, (int)count, MPI_UINT64_T, MPI_BAND, own.comm,
                               &own.request) != MPI_SUCCESS)
        own.request = MPI_REQUEST_NULL;
}

static void ask(void)
{
    own.step = ASKED;
    own.own_offer = slots_offer_any();
    own.offer = slots_offer_nothing();
    if (own.asks && session_offer(&own.own_offer) < 0)
        own.own_offer = slots_offer_nothing();
    reduce(&own.own_offer, &own.offer, SLOTS_OFFER_WORDS);
}

static void reserve(void)
{
    own.step = RESERVED;
    own.choice = slots_choose(&own.offer, own.seed + own.tries);
    own.own_given = own.asks ? session_claim(&own.choice, own.term, false) : SLOTS_ALL;
    own.given = 0;
    reduce(&own.own_given, &own.given, 1);
}

static uint64_t agreed(void)
{
    return own.given & own.choice.slots;
}

static void take(void)
{
    struct slots_choice all = {.slots = agreed(), .due = own.choice.due};
    if (own.asks)
        session_claim(&all, own.term, true);
}

uint64_t agreement_seed(const char *job_id)
{
    return hash_with(HASH_START, job_id, strlen(job_id));
}

void agreement_start(MPI_Comm comm, bool asks, const char *job_id)
{
    own.comm = comm;
    own.asks = asks;
    own.seed = agreement_seed(job_id);
    own.tries = 0;
    own.term = own.term % (SLOTS_TERMS - 1) + 1;
    ask();
}

MPI_Request *agreement_request(void)
{
    return &own.request;
}

bool agreement_go_on(void)
{
    if (own.step == ASKED) {
        reserve();
        return false;
    }
    if (agreed() == 0 && own.choice.slots != 0 && ++own.tries < TRIES) {
        ask();
        return false;
    }
    take();
    return true;
}

uint64_t agreement_word(void)
{
    return slots_word(agreed(), own.term);
}
