// Slots of policy gang, as nodes and ranks speak of them: sets of slots as words, what a job could
// have on its nodes, and what it then takes. Pure; see doc/design/gang.md.
//
// A rank asks its node for an offer, all ranks of the job merge theirs, and each chooses the same
// from that. Merging is bitwise AND of all words, so that one reduction does it.
#ifndef COSCHED_COMMON_SLOTS_H
#define COSCHED_COMMON_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_ROUND  60u
#define SLOTS_ALL    ((UINT64_C(1) << SLOTS_ROUND) - 1)
#define SLOTS_LEVELS 14u

// How many slots everybody has when so many jobs share the round evenly: 60, 30, 20, ... 1, every
// number that a division can lead to.
extern const uint8_t slots_dues[SLOTS_LEVELS];

// By level: the slots that a job can have if all whom it takes from keep the level's due. Those of
// level 0 are free. `most` is how many of them it can have at most: a word with that many bits.
struct slots_offer {
    uint64_t slots[SLOTS_LEVELS];
    uint64_t most[SLOTS_LEVELS];
    uint64_t cut;  // slots of others are taken in whole pieces, from one of these to before the
                   // next; 0: in single slots
    uint64_t room; // how many slots jobs have, without the sequential class's: a word with that
                   // many bits, 0: all. Dues are parts of these
};

#define SLOTS_OFFER_WORDS (sizeof(struct slots_offer) / sizeof(uint64_t))

// What changes nothing when it is merged: of a rank that has nothing to say.
struct slots_offer slots_offer_any(void);

// Merged with this nothing is left: of a rank whose node offers nothing.
struct slots_offer slots_offer_nothing(void);

// What two nodes can offer together, as the reduction by AND has it.
void slots_offer_merge(struct slots_offer *offer, const struct slots_offer *other);

// A level's `most` as a word, up to 64.
uint64_t slots_most(unsigned count);

// What to take: all that is free, and where that is less than the first level's due that can be had
// in full, or but for a part of a piece, the rest of it evenly from what others hold, in whole
// pieces; where the due is shorter than a piece, in single slots. `due` is what those keep. The
// same on all ranks; jobs with different seeds choose differently.
struct slots_choice {
    uint64_t slots;
    uint8_t due;
};
struct slots_choice slots_choose(const struct slots_offer *offer, uint64_t seed);

unsigned slots_count(uint64_t slots);

// Once the nodes have said what of the choice each could reserve, `agreed` being what all of them
// have: is the job to ask them again, having asked so often? Not where one of them does not answer;
// else where it has less than it chose, or could choose nothing: another job was in the way, or one
// that is to give something had less of it than was thought. Each time it chooses with another
// seed.
#define SLOTS_TIMES_ASKED 3u // at most
bool slots_ask_again(const struct slots_offer *offer, const struct slots_choice *choice,
                     uint64_t agreed, unsigned asked);

// Would a job that has `own` choose more of this offer?
bool slots_offer_more(const struct slots_offer *offer, uint64_t own);

// Of what a rank of another node says is left of the job's slots there (`word`), beside what is
// left here, both as slots_word(). Nothing where they are of different agreements.
struct slots_heard {
    bool lost;    // some are lost there: they are to be given up here, and that is to be told
    bool unaware; // else: who said this does not know what is lost here, and is to be told again
};
struct slots_heard slots_hear(uint64_t here, uint64_t word);

// Agreements of a job about its slots are numbered, its terms, from 1 to SLOTS_TERMS - 1 and then
// again. A set and its term are one word, so that they are read together.
#define SLOTS_TERMS 16u

static inline uint64_t slots_word(uint64_t slots, uint32_t term)
{
    return (uint64_t)(term % SLOTS_TERMS) << SLOTS_ROUND | (slots & SLOTS_ALL);
}

static inline uint64_t slots_of_word(uint64_t word)
{
    return word & SLOTS_ALL;
}

static inline uint32_t slots_term_of_word(uint64_t word)
{
    return (uint32_t)(word >> SLOTS_ROUND);
}

#endif
