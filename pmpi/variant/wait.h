// How a rank waits inside a blocking call: as its MPI does, or by polls between which it looks
// after the job's scheduling (while the node is contended) or gives the CPU away, by sched_yield
// (wait = yield), by sleep (wait = block), or by what is better now (wait = auto).
#ifndef COSCHED_PMPI_VARIANT_WAIT_H
#define COSCHED_PMPI_VARIANT_WAIT_H

#include "pmpi/variant/block.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/outsiders.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait {
    uint32_t polls;
    int peer; // whose message or answer is waited for, by its rank in MPI_COMM_WORLD; PEERS_UNKNOWN
    uint64_t
        last_word_ns; // when this wait began, or peers were last told that it goes on; 0: unset
    uint32_t clocked; // of a scheduled rank: `polls` at its last look at the clock
    uint64_t yield_after_ns; // while spin_limit is set; 0: unset
    uint32_t yields;
    uint64_t yielded_ns; // under wait_adapts: when the last yield ended; 0: unset
    uint32_t napped;     // of an idle rank: `polls` at its last nap
    bool overslept;      // nothing came in that
    bool looks_first;    // its polls look, and then make progress: what the last one has brought
                         // only the next one finds
    bool looked;         // of the two polls before a pause then, the first one was made
    struct block_wait block;
};

// Set at MPI_Init, the first two also while outsiders are watched for. Whether this rank gives its
// CPU away while it waits, and then, whether by sleep, or by sleep only while somebody else
// computes there; the last holds on all ranks alike.
extern bool wait_yields HIDDEN;
extern bool wait_blocks HIDDEN;
extern bool wait_adapts HIDDEN;
extern bool wait_collectives_polled HIDDEN;

// How long to poll before the CPU is given away, by the user or the admin; 0: by the cost of that.
void wait_set_spin_limit(uint64_t spin_limit_ns);

// With the first poll, unless by the user or the admin: as an MPI does in whose place it is.
void wait_yield_at_once(void);

static inline struct wait wait_new_for(int peer)
{
    return (struct wait){.peer = peer};
}

static inline struct wait wait_new(void)
{
    return wait_new_for(PEERS_UNKNOWN);
}

// Of polls by probes, by MPI_Testsome, and by MPI_Testany, of which that is true of Open MPI's.
static inline struct wait wait_new_looking_first(int peer)
{
    return (struct wait){.peer = peer, .looks_first = true};
}

// Should a blocking call be made of polls now? While a node is not contended and nobody yields, the
// MPI's own blocking call is the fastest.
static inline bool wait_polls(void)
{
    return wait_yields || (carrier.on && session_word_contended(session_word()));
}

void wait_expects_message(const struct mpi_next *next, MPI_Count count, MPI_Datatype type) HIDDEN;

// So much is posted, to be sent or received.
static inline void wait_expects(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    if (wait_blocks && count > 0)
        wait_expects_message(next, count, type);
}

// The same of a call that is still to be made, by ranks that sleep while they wait: the type may be
// none, which nothing but that call may tell of.
void wait_will_expect(const struct mpi_next *next, MPI_Count count, MPI_Datatype type);

// Can it become of use to know that? Ranks that do not sleep may beside outsiders.
static inline bool wait_may_block(void)
{
    return wait_blocks || outsiders_on;
}

// A persistent request is to move so much each time; some begin to; one is to be freed. Of one that
// was freed out of sight this may be said again, when its handle has come back.
void wait_keeps(const struct mpi_next *next, MPI_Request request, MPI_Count count,
                MPI_Datatype type);
void wait_begins(int count, const MPI_Request *requests);
void wait_forgets(const MPI_Request *request);

// As wait_polls() for collectives. All ranks must decide alike, since a nonblocking collective does
// not match a blocking one: so this never depends on the state of one node. Not on
// intercommunicators, whose nonblocking collectives MPICH 4.0 gets wrong. Not with members outside
// of this job's MPI_COMM_WORLD (spawned, connected), who may wait in another way, or be without the
// library.
bool wait_polls_on(MPI_Comm comm);

// An intracommunicator was made of processes that need not have been in one before. No other call
// can bring strangers into one (a spawn makes an intercommunicator, a split takes from what there
// is), and all members have made it: so who has seen none there need not look for them elsewhere.
void wait_merged(MPI_Comm comm);

// Open MPI's nonblocking collectives are a component of their own, and wrong where its blocking
// ones are right: 4.1 takes one base address of both buffers for MPI_IN_PLACE, hangs on types of
// size 0 and beside ranks that have nothing to exchange, mixes up neighbours, and gives each
// operation another tag, of which there are so many, and which MPI_Dist_graph_create receives, too.
// So none is polled there: within.h has the blocking ones give the CPU away.
#ifdef OPEN_MPI
enum { WAIT_CAN_POLL_COLLECTIVES = false };
#else
enum { WAIT_CAN_POLL_COLLECTIVES = true };
#endif

static inline bool wait_polls_collectives(MPI_Comm comm)
{
    return wait_collectives_polled && (comm == MPI_COMM_WORLD || wait_polls_on(comm));
}

// A poll's flag that the MPI has not set: it has found fault with an argument, and there is nothing
// to wait for, whatever a handler of the program's has made of that.
enum { WAIT_UNTOLD = -1 };

// After a poll that found nothing.
void wait_pause(struct wait *wait);

// Between a probe that found nothing and the pause: makes progress of everything that MPI has
// begun, as the blocking call does. Open MPI's nonblocking probe looks at its transport only, under
// some transports: what a peer waits for, such as this rank's part of a nonblocking collective,
// would stand still.
void wait_progress(void);

// The same in the midst of a call of the MPI's, so without any of its functions. Where the MPI
// gives the CPU away by itself after this, the second one says whether it should.
void wait_pause_within(struct wait *wait, bool sleeps);
bool wait_yields_within(struct wait *wait);

// Of a rank whose job is idle: it sleeps for some milliseconds, now and then, unless something
// comes.
void wait_nap_while_idle(struct wait *wait);

// Does a rank of this job that is scheduled wait by sleep now?
bool wait_sleeps_now(void);

// Set by the first persistent collective or partitioned message. With those MPICH 4.0's MPI_Testall
// fails.
extern _Atomic bool wait_whole;

// Set by the first generalized request. MPIs have the program tell its status, once it is complete,
// whenever it is looked at, and the program may count on being asked once.
extern _Atomic bool wait_generalized;

// Set by the first persistent request of a message.
extern _Atomic bool wait_persistent;

// MPI_Waitany by polls where MPI_Testany would tell too little. True: one of them is complete, or
// it has failed, and *rc is what the call returns; false: the call is to be polled as others are.
bool wait_for_any(const struct mpi_next *next, int count, MPI_Request *requests, int *index,
                  MPI_Status *status, int *rc);

// MPI_Waitall by polls. True: they have completed all, or failed, and *rc is what the call returns;
// false: it is to be made, which takes no time any more, or is all that can be done.
bool wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests,
                  MPI_Status *statuses, int *rc);

// Whether a collective moves no more than 2 GiB, `blocks` times `count` elements, from or to a
// rank: MPICH's nonblocking ones reckon with 32 bits where its blocking ones do not. True of a type
// that is none, of which the nonblocking one tells as well.
bool wait_is_small(const struct mpi_next *next, MPI_Comm comm, MPI_Count count, MPI_Datatype type,
                   bool blocks);

// Polls a request of the library's own making until it is complete. `peer` as in struct wait.
int wait_request(const struct mpi_next *next, MPI_Request *request, MPI_Status *status, int peer);

// The same of a send or a receive that has just begun, with a rank of the communicator.
int wait_send(const struct mpi_next *next, MPI_Request *request, MPI_Comm comm, int dest);
int wait_receive(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                 MPI_Comm comm, int source);

// Whether there can be a message like this at all: else the fault has been told, and *rc is what
// MPI_Probe returns.
bool wait_can_probe(const struct mpi_next *next, int source, int tag, MPI_Comm comm, int *rc);

// Frees the request `trial`, then waits until there is a message to receive. `apart` says then
// whether it should be received by polls, too: it is large, its sender may have to be answered, and
// may sleep; and it fits the buffer, as the fault of one that does not is the blocking call's.
int wait_for_message(const struct mpi_next *next, MPI_Request *trial, int source, int tag,
                     MPI_Comm comm, MPI_Count count, MPI_Datatype type, bool *apart);

// The end of an MPI_Sendrecv that has come to `rc`; either request may be null. One to send may be
// left under way: it is not null then.
int wait_sent(const struct mpi_next *next, int rc, MPI_Request *trial, MPI_Request *send);

// At the end of a call of the program, which may have moved something for `rank` of the
// communicator, or for anybody: peers that sleep are woken.
static inline void wait_over_for(MPI_Comm comm, int rank)
{
    if (doorbell.room == NULL)
        return;
    if (doorbell_announced)
        doorbell_withdraw();
    doorbell_ring(peers_world_rank(comm, rank));
}

static inline void wait_over(void)
{
    wait_over_for(MPI_COMM_WORLD, MPI_ANY_SOURCE);
}

// The same of a call that looks and does not wait. What found nothing rings now and then only:
// programs look all the time, and nobody would get to sleep.
void wait_tested_in_vain(void);

static inline void wait_tested(bool found)
{
    if (found)
        wait_over();
    else if (doorbell.room != NULL)
        wait_tested_in_vain();
}

#endif
