#include "pmpi/variant/leaders.h"

#include "pmpi/variant/agreement.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/growth.h"

#include <string.h>

enum {
    GROWTH_TAG = 3, // beside those of notices and headers
    CHILDREN = 8,
};

// One for each kind of message: when it is to be sent again, all have long received the last.
struct outgoing {
    MPI_Request requests[CHILDREN];
    struct growth_message message;
};

static struct {
    bool on;
    bool was_on;
    int parent; // -1: the root
    int children[CHILDREN];
    int child_count;
    struct growth growth;
    struct growth_todo todo;       // what could not be asked so far
    enum growth_question question; // to classd, not yet answered
    uint8_t seen;                  // of the page: by which sign it has begun last
    struct outgoing outgoing[GROWTH_KINDS];
} own;

void leaders_start(const int *leaders, int count, int rank, const char *job_id)
{
    int index = 0;
    while (index < count && leaders[index] != rank)
        index++;
    own.on = own.was_on = index < count;
    if (!own.on)
        return;
    own.parent = index > 0 ? leaders[(index - 1) / CHILDREN] : -1;
    own.child_count = 0;
    for (int i = CHILDREN * index + 1; i < count && i <= CHILDREN * (index + 1); i++)
        own.children[own.child_count++] = leaders[i];
    own.growth = growth_new(index == 0, (unsigned)own.child_count, agreement_seed(job_id));
    own.question = own.todo.question = GROWTH_NO_QUESTION;
    own.seen = 0;
    for (int kind = 0; kind < GROWTH_KINDS; kind++) {
        for (int i = 0; i < CHILDREN; i++)
            own.outgoing[kind].requests[i] = MPI_REQUEST_NULL;
    }
}

static bool is_sent(struct outgoing *out)
{
    for (int i = 0; i < CHILDREN; i++) {
        int done = 1;
        if (out->requests[i] != MPI_REQUEST_NULL)
            mpi_next[1].Test(&out->requests[i], &done, MPI_STATUS_IGNORE);
        if (!done)
            return false;
    }
    return true;
}

static bool all_is_sent(void)
{
    for (int kind = 0; kind < GROWTH_KINDS; kind++) {
        if (!is_sent(&own.outgoing[kind]))
            return false;
    }
    return true;
}

static void send_on(const struct growth_todo *todo)
{
    struct outgoing *out = &own.outgoing[todo->message.kind];
    bool down = todo->way == GROWTH_DOWN;
    int count = down ? own.child_count : 1;
    if (todo->way == GROWTH_NOWHERE || count == 0 || !is_sent(out))
        return; // never so: see above
    out->message = todo->message;
    for (int i = 0; i < count; i++)
        carrier_isend(&out->message, sizeof out->message, down ? own.children[i] : own.parent,
                      GROWTH_TAG, &out->requests[i]);
}

// Asks what has to be asked; again the next time where that is not possible now.
static void ask(void)
{
    struct slots_choice choice = {.slots = own.todo.message.slots, .due = own.todo.message.due};
    enum growth_question question = own.todo.question;
    bool asked = question == GROWTH_ASK ? session_ask_offer()
                                        : question != GROWTH_NO_QUESTION &&
                                              session_ask_claim(&choice, own.todo.message.term,
                                                                question == GROWTH_CLAIM);
    if (!asked)
        return;
    own.question = question == GROWTH_CLAIM ? GROWTH_NO_QUESTION : question;
    own.todo.question = GROWTH_NO_QUESTION;
}

static void go_on(struct growth_todo todo)
{
    send_on(&todo);
    if (todo.question == GROWTH_NO_QUESTION)
        return;
    own.todo = todo;
    ask();
}

// A node whose classd does not answer offers and gives nothing.
static void fetch_answer(void)
{
    struct slots_offer offer = slots_offer_nothing();
    uint64_t given = 0;
    enum growth_question question = own.question;
    if (question == GROWTH_NO_QUESTION ||
        (question == GROWTH_ASK ? session_offered(&offer) : session_claimed(&given)) ==
            SESSION_PENDING)
        return;
    own.question = GROWTH_NO_QUESTION;
    go_on(question == GROWTH_ASK ? growth_offered(&own.growth, &offer)
                                 : growth_reserved(&own.growth, given));
}

static bool comes_from_its_place(const struct growth_message *message, int source)
{
    if (message->kind >= GROWTH_KINDS || growth_goes_down((enum growth_kind)message->kind))
        return source == own.parent;
    for (int i = 0; i < own.child_count; i++) {
        if (source == own.children[i])
            return true;
    }
    return false;
}

static int receive(struct growth_message *message)
{
    memset(message, 0xff, sizeof *message); // no message, where less has come
    return carrier_receive(message, sizeof *message, GROWTH_TAG);
}

static void hear(void)
{
    struct growth_message message;
    int source;
    while (own.todo.question == GROWTH_NO_QUESTION && (source = receive(&message)) >= 0) {
        if (comes_from_its_place(&message, source))
            go_on(growth_hear(&own.growth, &message));
    }
}

static void begin_if_told(void)
{
    uint8_t sign = session_more_slots();
    if (own.parent >= 0 || own.todo.question != GROWTH_NO_QUESTION || sign == 0 ||
        sign == own.seen || own.growth.step != GROWTH_RESTS)
        return;
    own.seen = sign;
    go_on(growth_begin(&own.growth, session_slots()));
}

void leaders_look(void)
{
    if (!own.on || !all_is_sent())
        return;
    growth_has(&own.growth, session_slots());
    ask();
    fetch_answer();
    hear();
    begin_if_told();
}

void leaders_drain(void)
{
    struct growth_message message;
    own.on = false;
    while (own.was_on && receive(&message) >= 0)
        continue;
}

void leaders_stop(void)
{
    own.on = false;
    for (int kind = 0; own.was_on && kind < GROWTH_KINDS; kind++) {
        for (int i = 0; i < CHILDREN; i++) {
            MPI_Request *request = &own.outgoing[kind].requests[i];
            if (*request != MPI_REQUEST_NULL)
                mpi_next[1].Wait(request, MPI_STATUS_IGNORE);
        }
    }
}
