#include "classd/policy/exchange.h"

// Of four turns one at which it has asked in others' slices is enough to go on, and two in a row
// are to begin with.
enum { STRAYED = 3, AT_HOME = 1, BELIEVED = 4, MOST = 9 };

void exchange_begin_slice(struct policy_node *node, const struct policy_job *by_clock,
                          const struct policy_job *first)
{
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        job->by_clock = job == by_clock;
        job->began = by_clock != NULL && job == first;
    }
}

void exchange_note_request(struct policy_node *node, struct policy_job *requester)
{
    for (size_t i = 0; i < node->count && !requester->by_clock; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (job->began && job->scheduled && !job->next)
            requester->owes = job->id;
    }
}

static struct policy_job *find(struct policy_node *node, engine_job_t id)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].id == id)
            return &node->jobs[i];
    }
    return NULL;
}

struct policy_job *exchange_turn(struct policy_node *node, struct policy_job *job)
{
    engine_job_t creditor = job->owes;
    job->owes = 0;
    if (creditor == 0) {
        job->strays -= job->strays > 0 ? AT_HOME : 0;
        return NULL;
    }
    job->strays = job->strays + STRAYED < MOST ? job->strays + STRAYED : MOST;
    return job->strays >= BELIEVED ? find(node, creditor) : NULL;
}
