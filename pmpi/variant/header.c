#include "pmpi/variant/header.h"

#include "pmpi/variant/carrier.h"
#include "pmpi/variant/orphans.h"
#include "pmpi/variant/requests.h"
#include "pmpi/variant/wire.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BSEND_ALIGNMENT = 16 }; // what an MPI may add to the header of each buffered message

enum { PLACE_TAG = 2 }; // on the private communicator, from this process to itself

bool header_on;

static MPI_Comm private_comm;
static int private_rank;
static atomic_flag placing = ATOMIC_FLAG_INIT;

static struct requests requests = {.busy = ATOMIC_FLAG_INIT};
static struct requests messages = {.busy = ATOMIC_FLAG_INIT};
static int message_mark; // its address stands for "this message has a header"

static struct attachment {
    void *users;
    MPI_Count users_size;
    void *own; // null: none is attached, or the user's own is
} attached, attaching;

void header_start(MPI_Comm comm, int rank)
{
    private_comm = comm;
    private_rank = rank;
    int provided = MPI_THREAD_SINGLE;
    mpi_next[1].Query_thread(&provided);
    requests.threaded = messages.threaded = provided == MPI_THREAD_MULTIPLE;
    wire_start();
    header_on = true;
}

static void write_status(struct header *header)
{
    uint64_t word = session_word();
    header->scheduled = !session_word_idle(word);
    header->turn = carrier_turn(word);
}

static struct wire *outgoing(size_t room, size_t payload)
{
    struct wire *wire = wire_new(room);
    if (wire == NULL)
        return NULL;
    *wire->header = (struct header){.magic = HEADER_MAGIC, .length = payload};
    write_status(wire->header);
    return wire;
}

// What MPI finds wrong with the arguments it tells the user here, through the user's own error
// handler: a struct made of an uncommitted or freed datatype would hide it.
static int validate_out(const struct parcel *parcel, int dest, int tag, MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Request request = MPI_REQUEST_NULL;
    int rc =
        parcel->count <= INT_MAX || mpi->Send_init_c == NULL
            ? mpi->Send_init(parcel->buf, (int)parcel->count, parcel->type, dest, tag, comm,
                             &request)
            : mpi->Send_init_c(parcel->buf, parcel->count, parcel->type, dest, tag, comm, &request);
    if (rc == MPI_SUCCESS)
        mpi->Request_free(&request);
    return rc;
}

static int validate_in(const struct parcel *parcel, int source, int tag, MPI_Comm comm)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = parcel->count <= INT_MAX || mpi->Recv_init_c == NULL
                 ? mpi->Recv_init(parcel->buf, (int)parcel->count, parcel->type, source, tag, comm,
                                  &request)
                 : mpi->Recv_init_c(parcel->buf, parcel->count, parcel->type, source, tag, comm,
                                    &request);
    if (rc == MPI_SUCCESS)
        mpi->Request_free(&request);
    return rc;
}

// Plainly wrong arguments go to MPI as they are, which then says so.
static bool is_wrong(const struct parcel *parcel, size_t size)
{
    return parcel->count < 0 || parcel->type == MPI_DATATYPE_NULL ||
           (size != 0 && parcel->buf == NULL && parcel->count > 0);
}

static void be_bounced(struct parcel *parcel, struct wire *wire, size_t bytes)
{
    size_t length = sizeof(struct header) + bytes;
    wire->bounced = true;
    parcel->wire = wire;
    parcel->buf = wire->header;
    parcel->count = (MPI_Count)length;
    parcel->type = MPI_BYTE;
    if (length > INT_MAX && parcel->rc == MPI_SUCCESS) {
        parcel->rc = wire_make_row(length, &wire->made);
        parcel->count = 1;
        parcel->type = wire->made;
    }
}

static void be_struct(struct parcel *parcel, struct wire *wire)
{
    parcel->rc = wire == NULL ? MPI_ERR_OTHER : wire_make_struct(wire, parcel);
    if (parcel->rc == MPI_SUCCESS)
        parcel->wire = wire;
    else if (wire != NULL)
        wire_free(wire);
}

// Sends to ourselves, which moves data between any two layouts, also part of an element, and from
// MPI_BOTTOM: MPI_Unpack cannot do the first, MPICH's MPI_Pack not the second.
static int to_self(const void *from, MPI_Count from_count, MPI_Datatype from_type, void *to,
                   MPI_Count to_count, MPI_Datatype to_type)
{
    const struct mpi_next *mpi = &mpi_next[1];
    bool large = from_count > INT_MAX || to_count > INT_MAX;
    if (large && mpi->Sendrecv_c == NULL)
        return MPI_ERR_COUNT;
    while (atomic_flag_test_and_set_explicit(&placing, memory_order_acquire))
        sched_yield();
    int rc =
        large ? mpi->Sendrecv_c(from, from_count, from_type, private_rank, PLACE_TAG, to, to_count,
                                to_type, private_rank, PLACE_TAG, private_comm, MPI_STATUS_IGNORE)
              : mpi->Sendrecv(from, (int)from_count, from_type, private_rank, PLACE_TAG, to,
                              (int)to_count, to_type, private_rank, PLACE_TAG, private_comm,
                              MPI_STATUS_IGNORE);
    atomic_flag_clear_explicit(&placing, memory_order_release);
    return rc;
}

// Between a buffer of the user's and a row of bytes; `out` of the buffer, or into it.
static int move(bool out, void *buf, MPI_Count count, MPI_Datatype type, void *row, size_t bytes)
{
    MPI_Datatype whole = MPI_BYTE;
    if (bytes > INT_MAX) {
        int rc = wire_make_row(bytes, &whole);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    MPI_Count length = bytes > INT_MAX ? 1 : (MPI_Count)bytes;
    int rc = out ? to_self(buf, count, type, row, length, whole)
                 : to_self(row, length, whole, buf, count, type);
    if (whole != MPI_BYTE)
        mpi_next[1].Type_free(&whole);
    return rc;
}

static int pack_by_mpi(const struct parcel *parcel, struct wire *wire, size_t bytes)
{
    const struct mpi_next *mpi = &mpi_next[1];
    if (bytes == 0)
        return MPI_SUCCESS;
    bool large = bytes > INT_MAX || parcel->count > INT_MAX;
    if (parcel->buf == MPI_BOTTOM || (large && mpi->Pack_c == NULL))
        return move(true, parcel->buf, parcel->count, parcel->type, wire->header + 1, bytes);
    if (large) {
        MPI_Count position = 0;
        return mpi->Pack_c(parcel->buf, parcel->count, parcel->type, wire->header + 1,
                           (MPI_Count)bytes, &position, MPI_COMM_WORLD);
    }
    int position = 0;
    return mpi->Pack(parcel->buf, (int)parcel->count, parcel->type, wire->header + 1, (int)bytes,
                     &position, MPI_COMM_WORLD);
}

static int pack_into(const struct parcel *parcel, struct wire *wire, size_t bytes)
{
    if (wire_basic_size(parcel->type) == 0)
        return pack_by_mpi(parcel, wire, bytes);
    if (bytes > 0)
        memcpy(wire->header + 1, parcel->buf, bytes);
    return MPI_SUCCESS;
}

static size_t size_of(const struct parcel *parcel)
{
    MPI_Count size = 0;
    mpi_next[1].Type_size_x(parcel->type, &size);
    return size > 0 ? (size_t)size * (size_t)parcel->count : 0;
}

// `later`: MPI_Start does it, and the buffer need not be there before.
static void pack_bounced(struct parcel *parcel, size_t bytes, bool later)
{
    struct wire *wire = outgoing(bytes, bytes);
    parcel->rc = wire == NULL ? MPI_ERR_OTHER
                 : later      ? MPI_SUCCESS
                              : pack_into(parcel, wire, bytes);
    if (parcel->rc == MPI_SUCCESS) {
        wire->bytes = bytes;
        be_bounced(parcel, wire, bytes);
    } else if (wire != NULL) {
        wire_free(wire);
    }
}

static bool send_bounced(enum header_use use, bool basic, const void *buf, size_t bytes)
{
    if (bytes == 0)
        return true;
    // MPICH 4.0 gives up one reference too many to a datatype of its user's in MPI_Isendrecv.
    if (use == HEADER_JOINED)
        return true;
    // The program may free the datatype of a persistent request, so that is not packed again later;
    // and MPI_Pack does not take MPI_BOTTOM everywhere.
    if (!basic)
        return bytes <= WIRE_SMALL && use != HEADER_PERSISTENT && buf != MPI_BOTTOM;
    return bytes <= WIRE_BOUNCE;
}

void header_pack(struct parcel *parcel, enum header_use use, int dest, int tag, MPI_Comm comm)
{
    size_t size = wire_basic_size(parcel->type);
    void *user = parcel->buf;
    if (is_wrong(parcel, size))
        return;
    if (size == 0 &&
        (parcel->rc = validate_out(parcel, dest, tag, comm)) != MPI_SUCCESS)
        return;
    size_t bytes = size != 0 ? size * (size_t)parcel->count : size_of(parcel);
    if (send_bounced(use, size != 0, user, bytes))
        pack_bounced(parcel, bytes, use == HEADER_PERSISTENT);
    else
        be_struct(parcel, outgoing(0, bytes));
    if (parcel->wire != NULL)
        parcel->wire->comm = comm;
    if (parcel->wire != NULL && use == HEADER_PERSISTENT) {
        parcel->wire->persistent = true;
        parcel->wire->user = user;
    }
}

void header_pack_copy(struct parcel *parcel, int dest, int tag, MPI_Comm comm)
{
    size_t size = wire_basic_size(parcel->type);
    if (is_wrong(parcel, size))
        return;
    // To nobody, but from somebody who sends a header: a wire all the same.
    size_t bytes = 0;
    if (dest >= 0) {
        if (size == 0 &&
            (parcel->rc = validate_out(parcel, dest, tag, comm)) != MPI_SUCCESS)
            return;
        bytes = size_of(parcel);
    }
    pack_bounced(parcel, bytes, false);
    if (parcel->wire != NULL)
        parcel->wire->comm = comm;
}

// By the MPI, which may know that the buffer is a device's, and not this processor's to read.
void header_copy(struct parcel *parcel, int dest, int tag, MPI_Comm comm)
{
    size_t size = wire_basic_size(parcel->type);
    if (is_wrong(parcel, size) || parcel->buf == MPI_BOTTOM)
        return;
    if (dest >= 0 && size == 0 &&
        (parcel->rc = validate_out(parcel, dest, tag, comm)) != MPI_SUCCESS)
        return;
    size_t bytes = dest >= 0 ? size_of(parcel) : 0;
    struct wire *wire = bytes <= INT_MAX ? wire_new(bytes) : NULL;
    if (wire == NULL || pack_by_mpi(parcel, wire, bytes) != MPI_SUCCESS) {
        if (wire != NULL)
            wire_free(wire);
        return;
    }
    wire->comm = comm;
    *parcel = (struct parcel){wire->header + 1, (MPI_Count)bytes, MPI_PACKED, wire, MPI_SUCCESS};
}

static struct wire *incoming(size_t room)
{
    struct wire *wire = wire_new(room);
    if (wire != NULL) {
        wire->incoming = true;
        memset(wire->header, 0, sizeof *wire->header);
    }
    return wire;
}

// The datatype may be freed before the message is there. Not a duplicate, for which attributes that
// the program has set on its own would be copied, by functions of the program's.
static int keep_layout(MPI_Datatype type, MPI_Datatype *layout)
{
    const struct mpi_next *mpi = &mpi_next[1];
    int rc = mpi->Type_contiguous(1, type, layout);
    return rc == MPI_SUCCESS ? mpi->Type_commit(layout) : rc;
}

static void expect(struct parcel *parcel, enum header_use use, size_t size)
{
    struct parcel user = *parcel;
    size_t bytes = size * (size_t)parcel->count;
    if (size == 0)
        bytes = size_of(parcel);
    bool bounce = bytes == 0 || use == HEADER_JOINED || (size != 0 && bytes <= WIRE_BOUNCE);
    struct wire *wire = incoming(bounce ? bytes : 0);
    if (!bounce || wire == NULL) {
        be_struct(parcel, wire);
    } else {
        wire->user = user.buf;
        wire->bytes = bytes;
        if (size == 0 && bytes > 0) {
            wire->count = user.count;
            parcel->rc = keep_layout(user.type, &wire->layout);
        }
        be_bounced(parcel, wire, bytes);
    }
    if (parcel->wire != NULL && use == HEADER_PERSISTENT)
        parcel->wire->persistent = true;
}

void header_expect(struct parcel *parcel, enum header_use use, int source, int tag, MPI_Comm comm)
{
    size_t size = wire_basic_size(parcel->type);
    if (is_wrong(parcel, size))
        return;
    if (size == 0 &&
        (parcel->rc = validate_in(parcel, source, tag, comm)) != MPI_SUCCESS)
        return;
    expect(parcel, use, size);
    if (parcel->wire != NULL)
        parcel->wire->comm = comm;
}

// What is found wrong here leaves the message where it is, to be received by another call. (Not so
// what MPI finds wrong with the parcel: that is the message, which is gone then.)
void header_expect_matched(struct parcel *parcel, enum header_use use, MPI_Message message)
{
    size_t size = wire_basic_size(parcel->type);
    if (is_wrong(parcel, size) || requests_take(&messages, (uintptr_t)message) == NULL)
        return;
    expect(parcel, use, size);
    if (parcel->rc != MPI_SUCCESS)
        header_note_message(message);
}

void header_note_message(MPI_Message message)
{
    bool failed;
    requests_insert(&messages, (uintptr_t)message, &message_mark, &failed);
}

void header_forget_message(MPI_Message message)
{
    requests_take(&messages, (uintptr_t)message);
}

void header_correct(MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (mpi_next[1].Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
        bytes >= (MPI_Count)sizeof(struct header))
        mpi_next[1].Status_set_elements_x(status, MPI_BYTE,
                                          bytes - (MPI_Count)sizeof(struct header));
}

// Puts a bounced payload where it belongs.
static void place(struct wire *wire, void *payload, size_t length)
{
    if (length > wire->bytes)
        length = wire->bytes;
    if (length == 0)
        return;
    if (wire->count == 0) {
        memcpy(wire->user, payload, length);
        return;
    }
    move(false, wire->user, wire->count, wire->layout, payload, length);
}

// A message without a header, from where the library was bypassed. What can be saved is.
static void unpack_bare(struct wire *wire, const MPI_Status *status)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Count bytes = 0;
    int cancelled = 0;
    if (wire->bounced && mpi->Test_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled &&
        mpi->Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0)
        place(wire, wire->header, (size_t)bytes);
}

void header_arrived(struct wire *wire, int rc, MPI_Status *status)
{
    struct header *header = wire->header;
    if (header->magic != HEADER_MAGIC) { // cancelled, failed, or bare
        if (rc == MPI_SUCCESS && status != MPI_STATUS_IGNORE && !wire->unpacked)
            unpack_bare(wire, status);
        return;
    }
    bool first = !wire->unpacked; // a look at the request may have come before its completion
    wire->unpacked = true;
    if (wire->bounced && first)
        place(wire, header + 1, header->length);
    if (status != MPI_STATUS_IGNORE)
        header_correct(status);
    if (header->scheduled && first)
        carrier_heard_scheduled(header->turn);
}

void header_release(struct wire *wire)
{
    if (wire->partner != NULL)
        wire_free(wire->partner);
    wire_free(wire);
}

void header_register(struct wire *out, struct wire *in, int rc, MPI_Request request)
{
    struct wire *wire = in != NULL ? in : out;
    if (in != NULL)
        in->partner = out;
    if (rc != MPI_SUCCESS) {
        header_release(wire);
        return;
    }
    if (in == NULL && !wire->persistent) {
        // Small sends are complete at once, and then many share one handle.
        int flag = 0;
        if (mpi_next[1].Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
            flag) {
            header_release(wire);
            return;
        }
    }
    bool failed = false;
    struct wire *before = requests_insert(&requests, (uintptr_t)request, wire, &failed);
    if (before != NULL) // its request went where the library did not see it
        header_release(before);
}

// --- completion ----------------------------------------------------------------------------------

void header_stop(void)
{
    orphans_wait();
    header_on = false;
}

void header_leave(struct parcel *out, MPI_Request *request)
{
    if (out->wire == NULL)
        mpi_next[1].Request_free(request);
    else
        orphans_add(out->wire, request);
    out->wire = NULL;
}

int header_request_free(const struct mpi_next *next, MPI_Request *request)
{
    bool known = header_on && request != NULL;
    struct wire *wire = known ? requests_take(&requests, (uintptr_t)*request) : NULL;
    if (wire == NULL)
        return next->Request_free(request);
    if (wire->persistent && !wire->active) {
        header_release(wire);
        return next->Request_free(request);
    }
    orphans_add(wire, request);
    return MPI_SUCCESS;
}

int header_get_status(const struct mpi_next *next, MPI_Request request, int *flag,
                      MPI_Status *status)
{
    struct wire *wire = header_on ? requests_find(&requests, (uintptr_t)request) : NULL;
    if (wire == NULL || !wire->incoming || (wire->persistent && !wire->active))
        return next->Request_get_status(request, flag, status);
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int rc = next->Request_get_status(request, flag, status);
    if (rc == MPI_SUCCESS && *flag)
        header_arrived(wire, rc, status);
    orphans_look();
    return rc;
}

// Room for `taken` and, if need be, statuses of our own. On lack of memory the inline room is all.
static int batch_room(struct header_batch *batch)
{
    bool ignored = batch->statuses == MPI_STATUSES_IGNORE || batch->statuses == MPI_STATUS_IGNORE;
    int room = batch->count;
    batch->taken = batch->own_taken;
    batch->memory = NULL;
    MPI_Status *own = batch->own_statuses;
    if (room > HEADER_BATCH_OWN) {
        size_t taken = (size_t)room * sizeof *batch->taken;
        batch->memory = malloc(taken + (ignored ? (size_t)room * sizeof *own : 0));
        if (batch->memory == NULL)
            return 0;
        batch->taken = batch->memory;
        own = (MPI_Status *)((char *)batch->memory + taken);
    }
    if (ignored)
        batch->statuses = own;
    return room;
}

void header_take_all(struct header_batch *batch)
{
    MPI_Status *users = batch->statuses;
    int first = 0;
    if (requests_none(&requests))
        return;
    while (first < batch->count &&
           requests_find(&requests, (uintptr_t)batch->requests[first]) == NULL)
        first++;
    if (first == batch->count)
        return; // nothing of ours, which is the rule for collectives and small sends
    int room = batch_room(batch);
    for (int i = first; i < batch->count && batch->taken_count < room; i++) {
        if (batch->requests[i] == MPI_REQUEST_NULL)
            continue;
        struct wire *wire = requests_take(&requests, (uintptr_t)batch->requests[i]);
        if (wire != NULL)
            batch->taken[batch->taken_count++] =
                (struct header_taken){.index = i, .status = -1, .wire = wire};
    }
    if (batch->taken_count == 0) {
        free(batch->memory);
        batch->statuses = users;
    }
}

// Which status belongs to which taken request, and with it which of them are complete.
static void assign_statuses(struct header_batch *batch, int outcount, const int *indices)
{
    for (int i = 0; i < batch->taken_count && batch->shape == HEADER_ALL; i++)
        batch->taken[i].status = batch->taken[i].index;
    for (int k = 0; k < outcount && indices != NULL; k++) {
        int low = 0, high = batch->taken_count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (batch->taken[middle].index < indices[k])
                low = middle + 1;
            else
                high = middle;
        }
        if (low < batch->taken_count && batch->taken[low].index == indices[k])
            batch->taken[low].status = k;
    }
}

static void give_back(struct wire *wire, MPI_Request request)
{
    bool failed;
    requests_insert(&requests, (uintptr_t)request, wire, &failed);
}

void header_give_all(struct header_batch *batch, int rc, bool done, int outcount,
                     const int *indices)
{
    bool many = batch->shape != HEADER_ANY && batch->count > 0;
    bool each_has_error = rc == MPI_ERR_IN_STATUS;
    if (batch->shape == HEADER_SOME && outcount == MPI_UNDEFINED)
        outcount = 0;
    if (rc == MPI_SUCCESS ? done : each_has_error || (batch->shape != HEADER_SOME && done))
        assign_statuses(batch, outcount, indices);
    for (int i = 0; i < batch->taken_count; i++) {
        struct wire *wire = batch->taken[i].wire;
        MPI_Request request = batch->requests[batch->taken[i].index];
        MPI_Status *status =
            batch->taken[i].status >= 0 ? &batch->statuses[batch->taken[i].status] : NULL;
        int error = many && each_has_error && status != NULL ? status->MPI_ERROR : rc;
        bool complete = wire->persistent
                            ? wire->active && status != NULL && error != MPI_ERR_PENDING
                            : request == MPI_REQUEST_NULL;
        if (complete && wire->incoming)
            header_arrived(wire, error, status != NULL ? status : MPI_STATUS_IGNORE);
        if (request == MPI_REQUEST_NULL) { // Open MPI ends a persistent one, too, by an error
            header_release(wire);
            continue;
        }
        if (complete)
            wire->active = false;
        give_back(wire, request);
    }
    free(batch->memory);
    orphans_look();
}

// --- persistent requests -------------------------------------------------------------------------

static void begin(struct wire *wire)
{
    if (wire->incoming) {
        memset(wire->header, 0, sizeof *wire->header);
        wire->unpacked = false;
    } else {
        write_status(wire->header);
        wire_fill(wire);
    }
    wire->active = wire->begun = true;
}

void header_start_requests(int count, MPI_Request *started)
{
    for (int i = 0; i < count; i++) {
        struct wire *wire = requests_find(&requests, (uintptr_t)started[i]);
        // Else it will be refused; but an error handler may have left the call that began it.
        if (wire != NULL && wire->persistent && (!wire->active || wire->begun))
            begin(wire);
    }
}

void header_end_start(int rc, int count, MPI_Request *started)
{
    for (int i = 0; i < count; i++) {
        struct wire *wire = requests_find(&requests, (uintptr_t)started[i]);
        if (wire == NULL || !wire->begun)
            continue;
        wire->active = rc == MPI_SUCCESS;
        wire->begun = false;
    }
}

// --- MPI_Bsend -----------------------------------------------------------------------------------

void *header_attach(void *buffer, MPI_Count *size)
{
    attaching = (struct attachment){0};
    if (!header_on || *size < MPI_BSEND_OVERHEAD || buffer == NULL)
        return buffer;
    MPI_Count each = (MPI_Count)sizeof(struct header) + BSEND_ALIGNMENT;
    MPI_Count larger = *size + (*size / MPI_BSEND_OVERHEAD + 1) * each;
    if (*size <= INT_MAX && larger > INT_MAX)
        larger = INT_MAX;
    void *own = malloc((size_t)larger);
    if (own == NULL)
        return buffer;
    attaching = (struct attachment){.own = own, .users = buffer, .users_size = *size};
    *size = larger;
    return own;
}

void header_attached(int rc)
{
    if (rc == MPI_SUCCESS)
        attached = attaching;
    else
        free(attaching.own);
    attaching = (struct attachment){0};
}

void header_detached(void *buffer_address, MPI_Count *size)
{
    void *own;
    memcpy(&own, buffer_address, sizeof own);
    if (attached.own == NULL || own != attached.own)
        return;
    memcpy(buffer_address, &attached.users, sizeof attached.users);
    *size = attached.users_size;
    free(attached.own);
    attached.own = NULL;
}
