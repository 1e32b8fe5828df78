// What each job has of the node, and in which order that is put in force.
//
// What idle jobs keep is for noticing messages of scheduled senders (section 2.2.2: 1 % each), and
// whatever else they compute with it is dear: a millisecond is over before their data is back in
// the caches, and the scheduled job's have gone meanwhile. Where all nodes of a job switch to it at
// the same ticks there is nothing to notice. That it is so is seen here, with no word from other
// nodes: turns come by the node's own ticks, and the job has not asked before. Such jobs together
// keep no more than `idle_total`, or `idle_share` where that is more.
//
// Who is dormant may be there for somebody who types: together they keep `interactive_share`, or
// each as much as an idle job where that is more; also when they are awake again, until their first
// turn.
//
// Who has little CPU time may not get as far as to ask. So every few turns a job waits with all of
// idle_share, and a newcomer always, unless nobody on the node has asked for a while.
#ifndef COSCHED_CLASSD_POLICY_SHARES_H
#define COSCHED_CLASSD_POLICY_SHARES_H

#include "classd/policy/aside.h"

// Idle jobs together never get more than half the node, however many they are: else with a hundred
// jobs of 1 % each nothing would be left for the scheduled ones. Half of that at most is for the
// sequential class, which comes first: people have been promised that their shells stay usable.
#define SHARES_IDLE_MOST_PPM        (ENGINE_WHOLE_PPM / 2)
#define SHARES_INTERACTIVE_MOST_PPM (SHARES_IDLE_MOST_PPM / 2)

// Less than that of a CPU no kernel enforces: 1 ms in a second.
#define SHARES_LEAST_PPM 1000u

// Whoever asked while idle needs to notice messages, until so many turns in a row came unasked.
#define SHARES_IN_STEP 4u

// Of so many waits one is with all of idle_share.
#define SHARES_LISTEN 8u

// A newcomer is taken for one in step when nobody has asked for so many rounds, of a slice for each
// job.
#define SHARES_QUIET_ROUNDS 2u

struct shares {
    uint32_t idle_ppm;
    uint32_t idle_total_ppm; // 0: as much as they are

    // Its own, zero at first. What comes and goes between ticks changes no share of others: each
    // time that a limit is set the kernel gives a whole quota at once.
    uint64_t jobs;        // at the last tick, the sequential class not counted; 0: there was none
    uint64_t quiet_ticks; // since somebody asked
};

void shares_note_tick(struct shares *shares, const struct policy_node *node, size_t aside_count);

// What an idle job's share is a part of: the CPUs that it can use; `anew` at a tick and while it is
// scheduled. Between ticks that only doubles: who tells of more and of fewer in turn, or of more
// and more, would have its limit set each time.
void shares_note_width(const struct policy_node *node, struct policy_job *job, bool anew);

// The job, which is idle, asks.
void shares_note_request(struct shares *shares, struct policy_job *job);

// The job becomes scheduled.
void shares_note_turn(struct policy_job *job);

// What `turns_in_step` of a newcomer is.
uint32_t shares_of_newcomer(const struct shares *shares);

// Writes to `decisions`, of room for all jobs, those that differ from what was decided last, in the
// order in which they are to be carried out; returns how many.
size_t shares_decide(const struct shares *shares, struct policy_node *node, struct aside *aside,
                     bool limited, struct engine_decision *decisions);

#endif
