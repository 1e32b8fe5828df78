// A process's session with the node's scheduler: MPI_Register, MPI_Terminate and MPI_Schedule of
// Yoo & Jette (Table 1) and the status page. Knows nothing of MPI.
//
// Whatever happens to classd, nothing here fails or waits longer than a bounded moment, and the
// process goes on.
#ifndef COSCHED_PMPI_VARIANT_SESSION_H
#define COSCHED_PMPI_VARIANT_SESSION_H

#include "common/error.h"
#include "common/slots.h"
#include "common/status_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_identity {
    const char *runtime_dir;
    char job_id[PROTOCOL_JOB_ID_MAX];
    char list[GANG_LIST_NAME_MAX]; // empty: none is asked for
    uint32_t rank;
    uint32_t ranks;
    uint32_t width;     // CPUs that the process can use at once, at least 1
    uint64_t starts_ns; // the time of day at which the job will be known on all nodes; 0: not told
    uint64_t world;     // see pmpi/variant/origin.h
    uint64_t parent;    // likewise
};

// The status word of this process's job; of a free process while there is no session.
extern _Atomic(const _Atomic uint64_t *) session_word_at __attribute__((visibility("hidden")));

// Without a session: the word that is looked at in its place. Null: the free one again.
void session_watch(const _Atomic uint64_t *word);

static inline uint64_t session_word(void)
{
    const _Atomic uint64_t *at = atomic_load_explicit(&session_word_at, memory_order_acquire);
    return atomic_load_explicit(at, memory_order_acquire);
}

static inline bool session_word_idle(uint64_t word)
{
    return (status_word_flags(word) & STATUS_SCHEDULED) == 0;
}

static inline bool session_word_contended(uint64_t word)
{
    return (status_word_flags(word) & STATUS_CONTENDED) != 0;
}

// REGISTER (CMDREG): joins the job on this node. Returns 0, or -1 when there is no scheduler to
// join.
int session_register(const struct session_identity *identity, struct error *err);

// The job on this node which has processes of `world`, or of one that it has spawned; job_id is
// then a valid one. False: there is none, or nobody who could tell in time.
bool session_find_job(const char *runtime_dir, uint64_t world, char job_id[PROTOCOL_JOB_ID_MAX]);

// Whether a scheduler was there, when that was called, be it that it did not take this process.
bool session_met(void);

// Before MPI_Init, and so before the MPI's threads: room for a descriptor with a high number, which
// processes with threads wait for, for a grace period of the kernel's. Leaves nothing open.
void session_prepare(void);

// The page of a registered process, or null.
const struct status_page *session_page(void);

// SCHEDULE (CMDSCH): asks for the CPU, with `mates` ranks of its job on this node, itself included.
// All of them together ask about once a millisecond at most, so that one user's requests do not
// wait for each other at a scheduler that hears him only so often; a rank's first one goes at once.
// Returns true when a request was sent.
bool session_request(uint64_t now_ns, int mates);

// OFFER: what the job could have of this node's slots. Returns 0, or -1 when there is no answer.
int session_offer(struct slots_offer *offer);

// CLAIM: reserves slots for the job or, when `final`, takes them. Returns those that it was given.
// Without an answer none when it reserves. When it takes, all of them then, and on a node whose
// clock is off: what is taken last is said again to a classd that comes, or comes back, and has not
// heard it.
uint64_t session_claim(const struct slots_choice *choice, uint32_t term, bool final);

// The same without waiting, one question at a time: each returns false when it could not be asked,
// and the answer is fetched later. A final claim has none.
bool session_ask_offer(void);
bool session_ask_claim(const struct slots_choice *choice, uint32_t term, bool final);

// PENDING: ask again at the next opportunity. LOST: there will be none.
enum session_answer { SESSION_PENDING, SESSION_ANSWERED, SESSION_LOST };
enum session_answer session_offered(struct slots_offer *offer);
enum session_answer session_claimed(uint64_t *given);

// CLOCK: this node's clock is off for the job, by so much; `agreeing` of its `nodes` nodes' clocks
// agree with each other, or none. Said again as a final claim is.
void session_report_clock(int64_t ahead_ns, size_t nodes, size_t agreeing);

// NARROW: a rank of another node says what is left of the job's slots there.
void session_narrow(uint64_t slots, uint32_t term);

// The job's slots on this node, as slots_word(); 0 without any.
uint64_t session_slots(void);

// The number of the slice, as status_turn(); 0: not known.
uint16_t session_turn(void);

// What the page says about more slots; 0: none are to be had, or nobody says so.
uint8_t session_more_slots(void);

// Registers again when the page says that another classd has taken over (its generation changed).
void session_check_generation(uint64_t word);

// What an idle process may sleep on: a descriptor that is readable as soon as classd says that the
// job's turn has come; -1: it will not. It is only to be polled, and may be closed at any time.
int session_ear(void);

// Takes what has been said there, before the status word is looked at and the next sleep begins.
void session_listen(void);

// PART: this process is about to end, and with its mates here needs no more turns. session_exit()
// follows.
void session_part(void);

// EXIT (CMDOUT): leaves the job.
void session_exit(void);

// The same of a process that goes on without a scheduler. A classd that has taken over meanwhile
// has adopted it, and would limit it for as long as it lives: it is told, too, if it comes within
// two seconds.
void session_leave(void);

#endif
