// A job under policy gang comes by more slots while it runs (doc/design/gang.md, section 5): what
// one of its nodes does, as pure code. One rank speaks for each node; they are a tree, rank 0 its
// root. What goes down is the root's: begin, what it chose, what all have reserved. What goes up is
// merged on the way: what the nodes below offer, and what they have reserved.
//
// Nobody waits for anything: between any two steps may be hours, and the last may never come. At
// most one agreement of a job is under way, so between two ranks at most one message of a kind.
#ifndef COSCHED_PMPI_VARIANT_GROWTH_H
#define COSCHED_PMPI_VARIANT_GROWTH_H

#include "common/slots.h"

#include <stdbool.h>
#include <stdint.h>

enum growth_kind {
    GROWTH_BEGIN, // down
    GROWTH_OFFER, // up: `offer`
    GROWTH_WISH,  // down: `slots`, of which others keep `due`
    GROWTH_GIVEN, // up: `slots`
    GROWTH_TAKE,  // down: `slots` and their `term`
    GROWTH_KINDS,
};

struct growth_message {
    uint8_t kind; // enum growth_kind
    uint8_t due;
    uint8_t term;
    uint8_t reserved[5];
    uint64_t slots;
    struct slots_offer offer;
};

// What the caller is to do next: with the message, and with the node's classd.
enum growth_way { GROWTH_NOWHERE, GROWTH_DOWN, GROWTH_UP };
enum growth_question { GROWTH_NO_QUESTION, GROWTH_ASK, GROWTH_RESERVE, GROWTH_CLAIM };

struct growth_todo {
    enum growth_way way;           // to all children, or the parent
    enum growth_question question; // RESERVE and CLAIM: of what the message says
    struct growth_message message;
};

enum growth_step { GROWTH_RESTS, GROWTH_ASKS, GROWTH_HAS_OFFERED, GROWTH_RESERVES };

struct growth {
    bool leads; // the root
    unsigned children;
    uint64_t seed;
    enum growth_step step;
    unsigned missing; // answers that are still to come: the own node's, and the children's
    struct slots_offer offer;
    struct growth_message wish;
    uint64_t given;
    uint64_t own; // the root: what the job has had since it began, throughout
    uint8_t term; // the root: of the agreement that is sought
};

// `seed` matters to the root alone, where two jobs are to choose differently.
struct growth growth_new(bool leads, unsigned children, uint64_t seed);

// The root begins, unless an agreement is under way. `word` is what the job has now, as
// slots_word().
struct growth_todo growth_begin(struct growth *growth, uint64_t word);

// A message came, from the parent or from a child as its kind demands. One that does not belong to
// the step, or says what cannot be, is forgotten.
struct growth_todo growth_hear(struct growth *growth, const struct growth_message *message);

// Does a message of this kind go down?
bool growth_goes_down(enum growth_kind kind);

// The root's job has this now, as slots_word(): it may have lost some since the agreement began, and
// more than what it has left is worth taking.
void growth_has(struct growth *growth, uint64_t word);

// The own node's classd has answered GROWTH_ASK (with slots_offer_nothing() if it has not), or
// GROWTH_RESERVE.
struct growth_todo growth_offered(struct growth *growth, const struct slots_offer *offer);
struct growth_todo growth_reserved(struct growth *growth, uint64_t given);

#endif
