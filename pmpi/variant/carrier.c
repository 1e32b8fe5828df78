#include "pmpi/variant/carrier.h"

#include "pmpi/variant/freshness.h"
#include "pmpi/variant/leaders.h"
#include "pmpi/variant/quick.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONTACTS_MAX = 64, // told at once; further peers are told before the next message to them
    OUTBOX_SLOTS = 256,
    REPEATS_MAX = 64, // to a peer that says nothing
    NEWS_MAX = 1024,  // likewise: of hours, unless slices are short
};

// How long a word from a scheduled peer is worth acting on without a message: twice the time
// between two runs of an idle job (one period of the bandwidth limit).
#define EVIDENCE_NS UINT64_C(200000000)

struct outgoing {
    MPI_Request request;
    struct carrier_notice notice;
};

struct carrier carrier;
bool carrier_slots;
bool carrier_turns;

static struct {
    MPI_Comm comm;
    int *sent; // by world rank
    int received;
    int contacts[CONTACTS_MAX];
    _Atomic int contact_count;
    int remote_count;
    int local_count;                // with this one
    _Atomic int scheduled_contacts; // contacts whose last word was "scheduled"
    struct freshness freshness;
    struct outgoing outbox[OUTBOX_SLOTS];
    unsigned next_out;
    bool idle;
    _Atomic uint64_t
        evidence_ns; // when a peer last said "scheduled" to this idle process; 0: never
    // Threads that find it taken skip what they wanted to do: somebody is at it, or it is tried
    // again at the next message.
    atomic_flag busy;
} own = {.busy = ATOMIC_FLAG_INIT};

static bool take(void)
{
    return !atomic_flag_test_and_set_explicit(&own.busy, memory_order_acquire);
}

static void give_back(void)
{
    atomic_flag_clear_explicit(&own.busy, memory_order_release);
}

int carrier_reserve(int size)
{
    carrier.peers = calloc((size_t)size, sizeof *carrier.peers);
    own.sent = calloc((size_t)size, sizeof *own.sent);
    if (carrier.peers != NULL && own.sent != NULL)
        return 0;
    carrier_release();
    return -1;
}

void carrier_release(void)
{
    free(carrier.peers);
    free(own.sent);
    carrier.peers = NULL;
    own.sent = NULL;
}

int carrier_start(MPI_Comm comm, int size, const bool *remote, bool headers)
{
    if (carrier.peers == NULL && carrier_reserve(size) != 0)
        return -1;
    uint64_t word = session_word();
    own.remote_count = 0;
    for (int i = 0; i < size; i++) {
        carrier.peers[i].remote = remote[i];
        own.remote_count += remote[i];
        carrier.peers[i].told_scheduled = true;
        carrier.peers[i].heard_scheduled = true;
        carrier.peers[i].told_epoch = status_word_epoch(word) - 1;
    }
    for (unsigned i = 0; i < OUTBOX_SLOTS; i++)
        own.outbox[i].request = MPI_REQUEST_NULL;
    own.local_count = size - own.remote_count;
    own.comm = comm;
    carrier.settled = 0;
    carrier.size = size;
    carrier.seen_epoch = status_word_epoch(word) - 1;
    carrier.headers = headers;
    carrier.on = true;
    return 0;
}

void carrier_agreed(uint64_t word)
{
    for (int i = 0; i < carrier.size; i++)
        carrier.peers[i].told_slots = word;
}

int *carrier_sent(void)
{
    return own.sent;
}

int carrier_received(void)
{
    return own.received;
}

bool carrier_isend(const void *bytes, int count, int peer, int tag, MPI_Request *request)
{
    if (mpi_next[1].Isend(bytes, count, MPI_BYTE, peer, tag, own.comm, request) != MPI_SUCCESS)
        return false;
    own.sent[peer]++;
    return true;
}

int carrier_receive(void *bytes, int room, int tag)
{
    const struct mpi_next *mpi = &mpi_next[1];
    int flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (mpi->Improbe(MPI_ANY_SOURCE, tag, own.comm, &flag, &message, &status) != MPI_SUCCESS ||
        !flag)
        return -1;
    int source = status.MPI_SOURCE;
    if (mpi->Mrecv(bytes, room, MPI_BYTE, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        source < 0 || source >= carrier.size)
        return -1;
    own.received++;
    return source;
}

// False: it will be told later.
static bool send_notice(int peer, bool scheduled, uint16_t turn, uint64_t slots)
{
    const struct mpi_next *mpi = &mpi_next[1];
    struct outgoing *out = &own.outbox[own.next_out];
    int done = 1;
    if (out->request != MPI_REQUEST_NULL)
        mpi->Test(&out->request, &done, MPI_STATUS_IGNORE);
    if (!done)
        return false; // a peer is far behind
    memset(&out->notice, 0, sizeof out->notice);
    out->notice.scheduled = scheduled;
    out->notice.turn = turn;
    out->notice.slots = slots;
    int bytes = (int)(carrier_slots ? sizeof out->notice : CARRIER_NOTICE_BYTES);
    if (!carrier_isend(&out->notice, bytes, peer, CARRIER_NOTICE_TAG, &out->request))
        return false;
    own.next_out = (own.next_out + 1) % OUTBOX_SLOTS;
    atomic_store_explicit(&carrier.peers[peer].told_scheduled, scheduled, memory_order_relaxed);
    carrier.peers[peer].told_turn = turn;
    carrier.peers[peer].told_slots = slots;
    stats_add(STATS_NOTICES, 1);
    return true;
}

// Whoever was told "idle" need not know for how long.
static bool knows(const struct carrier_peer *peer, bool scheduled, uint16_t turn, uint64_t slots)
{
    return scheduled == peer->told_scheduled && slots == peer->told_slots &&
           (!scheduled || turn == peer->told_turn);
}

// Its node's scheduler has ended, perhaps: then it looks at nothing that it is told.
static bool is_deaf(const struct carrier_peer *peer)
{
    return peer->heard_scheduled && peer->news >= NEWS_MAX;
}

// Brings a peer up to date; the caller holds the flag. An idle peer reads what it is told; one
// whose status never changes does not, and its MPI keeps every repeat for as long as the job runs.
static void tell(int peer, uint64_t word, bool repeat)
{
    struct carrier_peer *to = &carrier.peers[peer];
    bool scheduled = !session_word_idle(word);
    uint16_t turn = carrier_turn(word);
    uint64_t slots = carrier_slots ? session_slots() : to->told_slots;
    bool news = !knows(to, scheduled, turn, slots);
    bool deaf = is_deaf(to);
    if (news && !to->heard_scheduled)
        to->repeats = 0;
    if (to->remote && !deaf && (news || (repeat && to->repeats < REPEATS_MAX)) &&
        send_notice(peer, scheduled, turn, slots)) {
        to->repeats += !news;
        to->news += news;
    }
    if (!to->remote || deaf || knows(to, scheduled, turn, slots))
        atomic_store_explicit(&to->told_epoch, status_word_epoch(word), memory_order_relaxed);
}

static void tell_contacts(uint64_t word, bool repeat)
{
    int count = atomic_load_explicit(&own.contact_count, memory_order_relaxed);
    for (int i = 0; i < count; i++)
        tell(own.contacts[i], word, repeat);
}

static void add_contact(int peer)
{
    struct carrier_peer *with = &carrier.peers[peer];
    int count = atomic_load_explicit(&own.contact_count, memory_order_relaxed);
    if (atomic_exchange_explicit(&with->contact, true, memory_order_relaxed) || !with->remote ||
        count == CONTACTS_MAX)
        return;
    own.contacts[count] = peer;
    atomic_store_explicit(&own.contact_count, count + 1, memory_order_relaxed);
    if (with->heard_scheduled)
        atomic_fetch_add_explicit(&own.scheduled_contacts, 1, memory_order_relaxed);
}

// Nothing is left to do until the word changes; the caller holds the flag.
static void settle(uint64_t word)
{
    int count = atomic_load_explicit(&own.contact_count, memory_order_relaxed);
    if (!core_quick || session_word_contended(word) || count < own.remote_count ||
        status_word_epoch(word) != atomic_load_explicit(&carrier.seen_epoch, memory_order_relaxed))
        return;
    for (int i = 0; i < count; i++) {
        const struct carrier_peer *peer = &carrier.peers[own.contacts[i]];
        if (status_word_epoch(word) !=
            atomic_load_explicit(&peer->told_epoch, memory_order_relaxed))
            return;
    }
    atomic_store_explicit(&carrier.settled, word, memory_order_relaxed);
}

bool carrier_add_contact(int peer)
{
    if (!take())
        return false;
    uint64_t word = session_word();
    add_contact(peer);
    tell(peer, word, false);
    settle(word);
    give_back();
    return true;
}

// What was said in that slice is no reason to ask for the CPU in this one.
static bool is_stale(uint16_t turn)
{
    return carrier_turns && freshness_is_stale(&own.freshness, session_turn(), turn);
}

static bool says_scheduled(const struct carrier_peer *peer)
{
    return peer->remote && peer->heard_scheduled && !is_stale(peer->heard_turn);
}

// The caller holds the flag.
static bool some_contact_says_scheduled(void)
{
    int count = atomic_load_explicit(&own.contact_count, memory_order_relaxed);
    if (atomic_load_explicit(&own.scheduled_contacts, memory_order_relaxed) == 0)
        return false;
    for (int i = 0; i < count; i++) {
        if (says_scheduled(&carrier.peers[own.contacts[i]]))
            return true;
    }
    return false;
}

// What a process hears that runs, it hears in time. The caller holds the flag.
static void learn_turn(uint16_t turn)
{
    if (carrier_turns && !session_word_idle(session_word()))
        freshness_learn(&own.freshness, session_turn(), turn);
}

static void hear(int peer, bool scheduled, uint16_t turn)
{
    struct carrier_peer *from = &carrier.peers[peer];
    if (is_deaf(from)) { // it lacks what it was not told
        atomic_store_explicit(&from->told_epoch, status_word_epoch(session_word()) - 1,
                              memory_order_relaxed);
        atomic_store_explicit(&carrier.settled, 0, memory_order_relaxed);
    }
    from->repeats = 0;
    from->news = 0;
    learn_turn(turn);
    atomic_store_explicit(&from->heard_turn, turn, memory_order_relaxed);
    bool before = atomic_exchange_explicit(&from->heard_scheduled, scheduled, memory_order_relaxed);
    bool counted = false;
    int count = atomic_load_explicit(&own.contact_count, memory_order_relaxed);
    for (int i = 0; i < count && !counted; i++)
        counted = own.contacts[i] == peer;
    if (!counted)
        add_contact(peer); // counts it with what was just heard
    else if (scheduled != before)
        atomic_fetch_add_explicit(&own.scheduled_contacts, scheduled ? 1 : -1,
                                  memory_order_relaxed);
    if (scheduled && !is_stale(turn))
        atomic_store_explicit(&own.evidence_ns, clock_now_ns(), memory_order_relaxed);
    else if (!scheduled && atomic_load_explicit(&own.scheduled_contacts, memory_order_relaxed) == 0)
        atomic_store_explicit(&own.evidence_ns, 0, memory_order_relaxed);
}

// A job's set shrinks at once, on each node by what the others have lost: what was one agreement is
// the same again, whatever the order in which nodes hear of each other. A peer that does not know
// what is lost here was told before it took part in the agreement.
static void hear_slots(int peer, uint64_t word)
{
    struct slots_heard heard = slots_hear(session_slots(), word);
    if (heard.lost)
        session_narrow(slots_of_word(word), slots_term_of_word(word));
    if (heard.unaware) {
        carrier.peers[peer].told_slots = word;
        tell(peer, session_word(), false);
    }
}

static void drain(void)
{
    for (;;) {
        struct carrier_notice notice = {0};
        int source = carrier_receive(&notice, sizeof notice, CARRIER_NOTICE_TAG);
        if (source < 0)
            return;
        stats_add(STATS_HEARD, 1);
        hear(source, notice.scheduled != 0, notice.turn);
        if (carrier_slots)
            hear_slots(source, notice.slots);
    }
}

void carrier_drain(void)
{
    if (!carrier.on || !take())
        return;
    carrier_slots = false; // what a peer lacks would be told by notices that nobody has counted
    drain();
    leaders_drain();
    give_back();
}

void carrier_changed(uint64_t word)
{
    session_check_generation(word);
    if (!take())
        return;
    word = session_word(); // another thread may have acted on a newer one meanwhile
    bool idle = session_word_idle(word);
    drain();
    if (idle && !own.idle) // what was heard before is no reason to ask for the CPU back
        atomic_store_explicit(&own.evidence_ns, 0, memory_order_relaxed);
    own.idle = idle;
    tell_contacts(word, false);
    leaders_look();
    atomic_store_explicit(&carrier.seen_epoch, status_word_epoch(word), memory_order_relaxed);
    settle(word);
    give_back();
}

void carrier_tell(int peer, uint64_t word)
{
    if (status_word_epoch(word) != atomic_load_explicit(&carrier.seen_epoch, memory_order_relaxed))
        carrier_changed(word);
    if (!take())
        return;
    word = session_word();
    add_contact(peer);
    tell(peer, word, false);
    settle(word);
    give_back();
}

static void request(uint64_t now)
{
    if (session_request(now, own.local_count))
        stats_add(STATS_REQUESTS, 1);
}

void carrier_idle_arrival(int peer)
{
    if (!take())
        return;
    drain();
    bool scheduled =
        peer >= 0 ? says_scheduled(&carrier.peers[peer]) : some_contact_says_scheduled();
    give_back();
    if (scheduled)
        request(clock_now_ns());
}

static void learn_from_header(uint16_t turn)
{
    if (!carrier_turns || !freshness_is_news(&own.freshness, session_turn(), turn) || !take())
        return;
    learn_turn(turn);
    give_back();
}

void carrier_heard_scheduled(uint16_t turn)
{
    carrier_look();
    if (!session_word_idle(session_word())) {
        learn_from_header(turn);
        return;
    }
    if (is_stale(turn))
        return;
    uint64_t now = clock_now_ns();
    atomic_store_explicit(&own.evidence_ns, now, memory_order_relaxed);
    request(now);
}

// A job with few slots would come to few steps of an agreement about more, if it went on only
// where it is out.
void carrier_idle_look(void)
{
    if (!take())
        return;
    drain();
    if (carrier_slots)
        leaders_look();
    give_back();
    uint64_t evidence = atomic_load_explicit(&own.evidence_ns, memory_order_relaxed);
    if (evidence == 0)
        return;
    uint64_t now = clock_now_ns();
    if (now - evidence < EVIDENCE_NS)
        request(now);
}

void carrier_still_waiting(void)
{
    uint64_t word = session_word();
    if (session_word_idle(word) || !session_word_contended(word) || !take())
        return;
    drain();
    tell_contacts(word, true);
    give_back();
}

bool carrier_collective_contacts(MPI_Comm comm)
{
    return peers_neighbours_once(comm, carrier_add_contact);
}

int carrier_free_nested(int (*free_it)(MPI_Comm *), MPI_Comm *comm)
{
    bool known = core_active && comm != NULL && carrier_forget(*comm);
    int rc = free_it(comm);
    if (rc != MPI_SUCCESS && known)
        peers_learn(*comm);
    return rc;
}

void carrier_stop(void)
{
    const struct mpi_next *mpi = &mpi_next[1];
    for (unsigned i = 0; i < OUTBOX_SLOTS; i++) {
        if (own.outbox[i].request != MPI_REQUEST_NULL)
            mpi->Wait(&own.outbox[i].request, MPI_STATUS_IGNORE);
    }
    leaders_stop();
    carrier.on = false;
    carrier.settled = 0;
    carrier_release();
}

void quick_changed(int rc)
{
    if (rc != MPI_SUCCESS || core_nested())
        return;
    core_go_in();
    carrier_arrived();
    if (core_follows) // whom the word has told of: the next call has nothing to look at any more
        core_follow();
    core_come_out();
}
