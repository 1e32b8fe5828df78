// The `header` carrier, the paper's own (Yoo & Jette, section 2.2.1): the sender's status travels
// in front of every point-to-point payload on communicators that span nodes.
//
// A header on one side only corrupts programs, so every function that sends, receives, probes or
// completes goes through here. What really goes to MPI in place of the user's buffer, count and
// datatype is a parcel; while it is under way, a wire holds its memory. The technique is chosen by
// each side for itself, since bytes and structures match on the wire:
//  - bounce: header and payload side by side in memory of ours, as bytes. Cheapest while small.
//  - struct: a datatype of the header and the user's own buffer. Always right, dearer.
//
// A status that MPI filled in is corrected at once, so functions that read one need no wrapper.
#ifndef COSCHED_PMPI_VARIANT_HEADER_H
#define COSCHED_PMPI_VARIANT_HEADER_H

#include "pmpi/variant/core.h"
#include "pmpi/variant/peers.h"

#include <stdatomic.h>

struct wire;

struct parcel {
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
    struct wire *wire; // null: these are the user's own, no header travels
    int rc;            // not MPI_SUCCESS: a fault of the arguments, of which MPI has told the user
};

enum header_use {
    HEADER_ONCE,       // until the call returns
    HEADER_KEPT,       // until its request completes
    HEADER_PERSISTENT, // until its persistent request is freed
    HEADER_JOINED,     // like KEPT, of a request that stands for two messages
};

// Which requests a completing call completes: all, the one at *indices, or those at indices.
enum header_shape { HEADER_ALL, HEADER_ANY, HEADER_SOME };

enum { HEADER_BATCH_OWN = 8 };

// The wires of the requests of one completing call.
struct header_batch {
    enum header_shape shape;
    int count;
    MPI_Request *requests;
    MPI_Status *statuses;
    struct header_taken {
        int index;
        int status; // its place among the statuses; -1: none
        struct wire *wire;
    } * taken, own_taken[HEADER_BATCH_OWN];
    int taken_count;
    MPI_Status own_statuses[HEADER_BATCH_OWN];
    void *memory;
};

// The same on all ranks; set at MPI_Init.
extern bool header_on HIDDEN;

// `comm` is private to the library, `rank` this process's in it.
void header_start(MPI_Comm comm, int rank);

// Completes what is left of requests that the program freed. At MPI_Finalize.
void header_stop(void);

// Does a header travel on this communicator?
static inline bool header_covers(MPI_Comm comm)
{
    return header_on && peers_spans(comm);
}

// The blocking call that began this send is over, and nobody will wait for it: its copy is in use
// until it is complete.
void header_leave(struct parcel *out, MPI_Request *request);

// The slow paths of the functions below.
void header_pack(struct parcel *parcel, enum header_use use, int dest, int tag, MPI_Comm comm);
void header_pack_copy(struct parcel *parcel, int dest, int tag, MPI_Comm comm);

// A packed copy without a header, so that a call that sends from and receives into one buffer can
// be polled: as MPIs make one themselves. Where there can be none, the parcel stays the user's own.
void header_copy(struct parcel *parcel, int dest, int tag, MPI_Comm comm);
void header_expect(struct parcel *parcel, enum header_use use, int source, int tag, MPI_Comm comm);
void header_expect_matched(struct parcel *parcel, enum header_use use, MPI_Message message);
void header_release(struct wire *wire);
void header_arrived(struct wire *wire, int rc, MPI_Status *status);
void header_register(struct wire *out, struct wire *in, int rc, MPI_Request request);
void header_take_all(struct header_batch *batch);
void header_give_all(struct header_batch *batch, int rc, bool done, int outcount,
                     const int *indices);
void header_start_requests(int count, MPI_Request *requests);
void header_end_start(int rc, int count, MPI_Request *requests);
void header_correct(MPI_Status *status);
void header_note_message(MPI_Message message);
void header_forget_message(MPI_Message message);

// The parcel of an outgoing message.
static inline struct parcel header_out(enum header_use use, const void *buf, MPI_Count count,
                                       MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    struct parcel parcel = {(void *)buf, count, type, NULL, MPI_SUCCESS};
    if (dest >= 0 && header_covers(comm))
        header_pack(&parcel, use, dest, tag, comm);
    return parcel;
}

// The same as a copy, for calls that send from and receive into one buffer.
static inline struct parcel header_out_copy(const void *buf, MPI_Count count, MPI_Datatype type,
                                            int dest, int tag, MPI_Comm comm)
{
    struct parcel parcel = {(void *)buf, count, type, NULL, MPI_SUCCESS};
    if (header_covers(comm))
        header_pack_copy(&parcel, dest, tag, comm);
    return parcel;
}

// The parcel that an incoming message is received into.
static inline struct parcel header_in(enum header_use use, void *buf, MPI_Count count,
                                      MPI_Datatype type, int source, int tag, MPI_Comm comm)
{
    struct parcel parcel = {buf, count, type, NULL, MPI_SUCCESS};
    if ((source >= 0 || source == MPI_ANY_SOURCE) && header_covers(comm))
        header_expect(&parcel, use, source, tag, comm);
    return parcel;
}

static inline struct parcel header_in_matched(enum header_use use, void *buf, MPI_Count count,
                                              MPI_Datatype type, MPI_Message message)
{
    struct parcel parcel = {buf, count, type, NULL, MPI_SUCCESS};
    if (header_on)
        header_expect_matched(&parcel, use, message);
    return parcel;
}

// A blocking call has returned.
static inline void header_sent(struct parcel *out)
{
    if (out->wire != NULL)
        header_release(out->wire);
}

static inline void header_received(struct parcel *in, int rc, MPI_Status *status)
{
    if (in->wire == NULL)
        return;
    header_arrived(in->wire, rc, status);
    header_release(in->wire);
}

// A nonblocking or persistent call has returned; either parcel may be missing.
static inline void header_keep(const struct parcel *out, const struct parcel *in, int rc,
                               MPI_Request *request)
{
    struct wire *sent = out != NULL ? out->wire : NULL, *expected = in != NULL ? in->wire : NULL;
    if (sent != NULL || expected != NULL)
        header_register(sent, expected, rc, rc == MPI_SUCCESS ? *request : MPI_REQUEST_NULL);
}

// Around a call that completes requests: `before` gives the statuses to call it with. `done` says
// whether it completed any, of which `outcount` are named by `indices` (null with HEADER_ALL).
static inline MPI_Status *header_before(struct header_batch *batch, enum header_shape shape,
                                        int count, MPI_Request *requests, MPI_Status *statuses)
{
    batch->taken_count = 0;
    if (!header_on || count <= 0 || requests == NULL)
        return statuses;
    batch->shape = shape;
    batch->count = count;
    batch->requests = requests;
    batch->statuses = statuses;
    header_take_all(batch);
    return batch->statuses;
}

static inline void header_after(struct header_batch *batch, int rc, bool done, int outcount,
                                const int *indices)
{
    if (batch->taken_count > 0)
        header_give_all(batch, rc, done, outcount, indices);
}

// Before MPI_Start and MPI_Startall, and behind them.
static inline void header_starting(int count, MPI_Request *requests)
{
    if (header_on && count > 0 && requests != NULL)
        header_start_requests(count, requests);
}

static inline void header_started(int rc, int count, MPI_Request *requests)
{
    if (header_on && count > 0 && requests != NULL)
        header_end_start(rc, count, requests);
}

// A probe has found a message.
static inline void header_probed(MPI_Comm comm, MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE && header_covers(comm) && status->MPI_SOURCE >= 0)
        header_correct(status);
}

static inline void header_matched(MPI_Comm comm, MPI_Message message, MPI_Status *status)
{
    if (message == MPI_MESSAGE_NO_PROC || !header_on)
        return;
    if (!header_covers(comm)) {
        header_forget_message(message); // one of this handle, which was received within a callback
        return;
    }
    header_note_message(message);
    if (status != MPI_STATUS_IGNORE)
        header_correct(status);
}

// MPI_Request_get_status and MPI_Request_free.
int header_get_status(const struct mpi_next *next, MPI_Request request, int *flag,
                      MPI_Status *status);
int header_request_free(const struct mpi_next *next, MPI_Request *request);

// A buffer for MPI_Bsend that is large enough for the user's messages does not hold their headers:
// a larger one takes its place. *size is the user's before and the new one's after header_attach(),
// and the other way round for header_detached().
void *header_attach(void *buffer, MPI_Count *size);
void header_attached(int rc);
void header_detached(void *buffer_address, MPI_Count *size);

#endif
