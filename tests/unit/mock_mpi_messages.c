// Messages of the MPI for tests, on their way and where they are looked for: probes, statuses, and
// what rank 1 sends and receives.
#include "tests/unit/mock_mpi_inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    MATCHED = 256,
    MESSAGE_BASE = 0x20000,
};

struct request *waiting;
static struct message *messages;
static struct message *matched[MATCHED];

// --- statuses ------------------------------------------------------------------------------------

size_t mock_bytes(const MPI_Status *status)
{
    return (size_t)(unsigned)status->count_lo;
}

void set_status(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->count_lo = (int)bytes;
    status->count_hi_and_cancelled = cancelled;
}

void set_empty(MPI_Status *status)
{
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

static int mock_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    if (type != MPI_BYTE)
        fail("Get_elements_x", "only of bytes");
    *count = (MPI_Count)mock_bytes(status);
    return MPI_SUCCESS;
}

static int mock_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count)
{
    if (type != MPI_BYTE)
        fail("Status_set_elements_x", "only of bytes");
    status->count_lo = (int)count;
    return MPI_SUCCESS;
}

static int mock_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->count_hi_and_cancelled & 1;
    return MPI_SUCCESS;
}

// --- messages ------------------------------------------------------------------------------------

static bool matches(int source, int tag, MPI_Comm comm, const struct message *message)
{
    return message->comm == comm && (source == message->source || source == MPI_ANY_SOURCE) &&
           (tag == message->tag || tag == MPI_ANY_TAG);
}

struct message **find_message(int dest, int source, int tag, MPI_Comm comm)
{
    struct message **at = &messages;
    while (*at != NULL && ((*at)->dest != dest || !matches(source, tag, comm, *at)))
        at = &(*at)->next;
    return at;
}

// The message's bytes; its sender may go on.
char *open_message(struct message *message)
{
    struct request *sender = message->sender;
    if (sender != NULL) {
        message->bytes = malloc(message->length + 1);
        copy(sender->type, sender->buf, sender->count, message->bytes, message->length, true);
        message->sender = NULL;
        complete(sender, 0, MPI_SUCCESS);
    }
    return message->bytes;
}

static void free_message(struct message *message)
{
    free(message->bytes);
    free(message);
}

void receive(struct request *request, struct message *message)
{
    size_t room = request->type->size * (size_t)request->count;
    size_t length = message->length < room ? message->length : room;
    copy(request->type, request->buf, request->count, open_message(message), length, false);
    request->peer = message->source;
    request->tag = message->tag;
    complete(request, length, message->length > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    free_message(message);
}

// A message is on its way: to a receive that waits for it, or to where it is looked for.
void post(struct message *message)
{
    struct request **at = &waiting;
    while (*at != NULL && !matches((*at)->peer, (*at)->tag, (*at)->comm, message))
        at = &(*at)->next;
    if (message->dest == MOCK_SELF && *at != NULL) {
        struct request *request = *at;
        *at = request->next;
        receive(request, message);
        return;
    }
    struct message **end = &messages;
    while (*end != NULL)
        end = &(*end)->next;
    *end = message;
    tell_change();
}

struct message *new_message(int source, int dest, int tag, MPI_Comm comm, size_t length)
{
    struct message *message = calloc(1, sizeof *message);
    *message = (struct message){
        .comm = comm, .source = source, .dest = dest, .tag = tag, .length = length};
    return message;
}

// --- probes --------------------------------------------------------------------------------------

static int probe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *handle,
                 MPI_Status *status)
{
    struct message **at = find_message(MOCK_SELF, source, tag, comm);
    struct message *message = *at;
    *flag = message != NULL;
    if (message == NULL)
        return MPI_SUCCESS;
    set_status(status, message->source, message->tag, message->length, false);
    if (handle == NULL)
        return MPI_SUCCESS;
    for (int i = 0; i < MATCHED; i++) {
        if (matched[i] == NULL) {
            *at = message->next;
            matched[i] = message;
            *handle = MESSAGE_BASE + i;
            return MPI_SUCCESS;
        }
    }
    fail("matched probes", "too many");
}

static int mock_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    enter();
    return leave(probe(source, tag, comm, flag, NULL, status));
}

static int mock_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status)
{
    enter();
    return leave(probe(source, tag, comm, flag, message, status));
}

static int mock_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int flag = 0;
    enter();
    while (probe(source, tag, comm, &flag, message, status) == MPI_SUCCESS && !flag)
        wait_for_change("Mprobe");
    return leave(MPI_SUCCESS);
}

static int mock_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int flag = 0;
    enter();
    while (probe(source, tag, comm, &flag, NULL, status) == MPI_SUCCESS && !flag)
        wait_for_change("Probe");
    return leave(MPI_SUCCESS);
}

static int mock_Imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *handle,
                       MPI_Request *request)
{
    struct request *made = NULL;
    enter();
    int number = *handle - MESSAGE_BASE;
    if (number < 0 || number >= MATCHED || matched[number] == NULL)
        fail("Imrecv", "no such message");
    struct message *message = matched[number];
    int rc =
        new_request(false, buf, count, type, message->source, message->tag, message->comm, &made);
    if (rc != MPI_SUCCESS)
        return leave(rc);
    matched[number] = NULL;
    *handle = MPI_MESSAGE_NULL;
    made->active = true;
    receive(made, message);
    *request = handle_of(made);
    return leave(MPI_SUCCESS);
}

static int mock_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                      MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = mock_Imrecv(buf, count, type, message, &request);
    return rc == MPI_SUCCESS ? mock_Wait(&request, status) : rc;
}

// --- rank 1 --------------------------------------------------------------------------------------

void mock_peer_send(MPI_Comm comm, int tag, const void *bytes, size_t length)
{
    enter();
    struct message *message = new_message(MOCK_PEER, MOCK_SELF, tag, comm, length);
    message->bytes = malloc(length + 1);
    memcpy(message->bytes, bytes, length);
    post(message);
    leave(MPI_SUCCESS);
}

long mock_peer_receive(MPI_Comm comm, int tag, void *bytes, size_t room)
{
    long length = -1;
    enter();
    struct message **at = find_message(MOCK_PEER, MOCK_SELF, tag, comm);
    struct message *message = *at;
    if (message != NULL) {
        *at = message->next;
        length = (long)message->length;
        memcpy(bytes, open_message(message), message->length < room ? message->length : room);
        free_message(message);
    }
    leave(MPI_SUCCESS);
    return length;
}

void mock_peer_echo(void)
{
    enter();
    for (struct message **at = &messages; *at != NULL;) {
        struct message *message = *at;
        if (message->dest != MOCK_PEER) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        open_message(message);
        message->next = NULL;
        message->source = MOCK_PEER;
        message->dest = MOCK_SELF;
        post(message);
    }
    leave(MPI_SUCCESS);
}

int mock_messages_left(void)
{
    int left = 0;
    enter();
    for (const struct message *message = messages; message != NULL; message = message->next)
        left++;
    for (int i = 0; i < MATCHED; i++)
        left += matched[i] != NULL;
    return leave(left);
}

void mock_add_messages(struct mpi_next *mpi)
{
    mpi->Get_elements_x = mock_Get_elements_x;
    mpi->Improbe = mock_Improbe;
    mpi->Imrecv = mock_Imrecv;
    mpi->Iprobe = mock_Iprobe;
    mpi->Mprobe = mock_Mprobe;
    mpi->Mrecv = mock_Mrecv;
    mpi->Probe = mock_Probe;
    mpi->Status_set_elements_x = mock_Status_set_elements_x;
    mpi->Test_cancelled = mock_Test_cancelled;
}
