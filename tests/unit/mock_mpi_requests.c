// Requests of the MPI for tests: sends and receives, blocking ones too, and all ways to complete
// them.
#include "tests/unit/mock_mpi_inside.h"

#include <stdint.h>
#include <string.h>

enum {
    REQUESTS = 4096,
    REQUEST_BASE = 0x1000,
    DONE_REQUEST = 0xfff, // of all sends that are complete at once
};

static MPI_Comm held = MPI_COMM_NULL;
static struct request requests[REQUESTS];
static struct {
    char *bytes;
    size_t size, used;
} buffer;

static void release(struct request *request)
{
    drop(request->type);
    *request = (struct request){0};
}

void complete(struct request *request, size_t bytes, int error)
{
    request->complete = true;
    request->bytes = bytes;
    request->error = error;
    if (request->freed)
        release(request);
    tell_change();
}

static struct request *request_of(MPI_Request handle)
{
    int number = handle - REQUEST_BASE;
    if (number < 0 || number >= REQUESTS || !requests[number].used || requests[number].freed)
        fail("a request", "is none");
    return &requests[number];
}

MPI_Request handle_of(const struct request *request)
{
    return REQUEST_BASE + (int)(request - requests);
}

// A request for a call's arguments, or what is wrong with them.
int new_request(bool send, const void *buf, int count, MPI_Datatype type, int peer, int tag,
                MPI_Comm comm, struct request **made)
{
    struct layout *layout = layout_of(type);
    if (count < 0)
        return MPI_ERR_COUNT;
    if (layout == NULL || !layout->committed)
        return MPI_ERR_TYPE;
    for (int i = 0; i < REQUESTS; i++) {
        if (requests[i].used)
            continue;
        requests[i] = (struct request){.used = true,
                                       .send = send,
                                       .buf = (char *)(uintptr_t)buf,
                                       .count = count,
                                       .type = keep(layout),
                                       .peer = peer,
                                       .tag = tag,
                                       .comm = comm};
        *made = &requests[i];
        return MPI_SUCCESS;
    }
    fail("requests", "too many");
}

static void begin_send(struct request *request, bool lazy)
{
    if (request->peer == MPI_PROC_NULL) {
        complete(request, 0, MPI_SUCCESS);
        return;
    }
    struct message *message = new_message(MOCK_SELF, request->peer, request->tag, request->comm,
                                          request->type->size * (size_t)request->count);
    message->sender = request;
    if (!lazy)
        open_message(message);
    post(message);
}

static void begin_receive(struct request *request)
{
    if (request->peer == MPI_PROC_NULL) {
        complete(request, 0, MPI_SUCCESS);
        return;
    }
    struct message **at = find_message(MOCK_SELF, request->peer, request->tag, request->comm);
    struct message *message = *at;
    if (message != NULL) {
        *at = message->next;
        receive(request, message);
        return;
    }
    struct request **end = &waiting;
    while (*end != NULL)
        end = &(*end)->next;
    request->next = NULL;
    *end = request;
}

static void begin(struct request *request)
{
    request->active = true;
    request->complete = false;
    if (request->send)
        begin_send(request, request->comm == held);
    else
        begin_receive(request);
}

bool mock_errors_end;

static bool is_active(MPI_Request handle)
{
    return handle != MPI_REQUEST_NULL && (handle == DONE_REQUEST || request_of(handle)->active);
}

static bool is_complete(MPI_Request handle)
{
    return !is_active(handle) || handle == DONE_REQUEST || request_of(handle)->complete;
}

static void look_at(MPI_Request handle, MPI_Status *status)
{
    const struct request *request =
        is_active(handle) && handle != DONE_REQUEST ? request_of(handle) : NULL;
    if (request == NULL || (request->send && !request->cancelled))
        set_empty(status);
    else
        set_status(status, request->peer, request->tag, request->bytes, request->cancelled);
}

// Ends a request that is complete.
static int finish(MPI_Request *handle, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    look_at(*handle, status);
    if (is_active(*handle) && *handle != DONE_REQUEST) {
        struct request *request = request_of(*handle);
        error = request->error;
        request->active = false;
        if (request->persistent && !(mock_errors_end && error != MPI_SUCCESS))
            return error;
        release(request);
    } else if (*handle != DONE_REQUEST) {
        return error; // none, or one that is not started
    }
    *handle = MPI_REQUEST_NULL;
    return error;
}

static int start_one(bool send, const void *buf, int count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Request *handle)
{
    struct request *request = NULL;
    enter();
    int rc = new_request(send, buf, count, type, peer, tag, comm, &request);
    if (rc != MPI_SUCCESS)
        return leave(rc);
    begin(request);
    *handle = handle_of(request);
    if (send && request->complete) {
        release(request);
        *handle = DONE_REQUEST;
    }
    return leave(MPI_SUCCESS);
}

static int mock_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    return start_one(true, buf, count, type, dest, tag, comm, request);
}

static int mock_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    return start_one(false, buf, count, type, source, tag, comm, request);
}

static int init_one(bool send, const void *buf, int count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, MPI_Request *handle)
{
    struct request *request = NULL;
    enter();
    int rc = new_request(send, buf, count, type, peer, tag, comm, &request);
    if (rc != MPI_SUCCESS)
        return leave(rc);
    request->persistent = true;
    *handle = handle_of(request);
    return leave(MPI_SUCCESS);
}

static int mock_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                          MPI_Comm comm, MPI_Request *request)
{
    return init_one(true, buf, count, type, dest, tag, comm, request);
}

static int mock_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, MPI_Request *request)
{
    return init_one(false, buf, count, type, source, tag, comm, request);
}

static int mock_Startall(int count, MPI_Request handles[])
{
    enter();
    for (int i = 0; i < count; i++) {
        if (handles[i] == MPI_REQUEST_NULL)
            return leave(MPI_ERR_REQUEST);
        struct request *request = request_of(handles[i]);
        if (!request->persistent || request->active)
            return leave(MPI_ERR_REQUEST);
        begin(request);
    }
    return leave(MPI_SUCCESS);
}

static int mock_Start(MPI_Request *request)
{
    return mock_Startall(1, request);
}

static int mock_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm)
{
    struct request *request = NULL;
    enter();
    int rc = new_request(true, buf, count, type, dest, tag, comm, &request);
    if (rc == MPI_SUCCESS) {
        begin_send(request, false);
        release(request);
    }
    return leave(rc);
}

int mock_Wait(MPI_Request *handle, MPI_Status *status)
{
    enter();
    while (!is_complete(*handle))
        wait_for_change("Wait");
    return leave(finish(handle, status));
}

static int mock_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = mock_Irecv(buf, count, type, source, tag, comm, &request);
    return rc == MPI_SUCCESS ? mock_Wait(&request, status) : rc;
}

static int mock_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int dest,
                         int out_tag, void *in, int in_count, MPI_Datatype in_type, int source,
                         int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = mock_Irecv(in, in_count, in_type, source, in_tag, comm, &request);
    if (rc == MPI_SUCCESS)
        rc = mock_Send(out, out_count, out_type, dest, out_tag, comm);
    return rc == MPI_SUCCESS ? mock_Wait(&request, status) : rc;
}

static int mock_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    enter();
    *flag = is_complete(*handle);
    return leave(*flag ? finish(handle, status) : MPI_SUCCESS);
}

static int mock_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    enter();
    *flag = is_complete(handle);
    if (*flag)
        look_at(handle, status);
    return leave(MPI_SUCCESS);
}

static int mock_Request_free(MPI_Request *handle)
{
    enter();
    if (*handle == MPI_REQUEST_NULL)
        return leave(MPI_ERR_REQUEST);
    if (*handle != DONE_REQUEST) {
        struct request *request = request_of(*handle);
        request->freed = true;
        if (!request->active || request->complete)
            release(request);
    }
    *handle = MPI_REQUEST_NULL;
    return leave(MPI_SUCCESS);
}

static int mock_Cancel(MPI_Request *handle)
{
    enter();
    struct request *request = request_of(*handle);
    for (struct request **at = &waiting; *at != NULL; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            request->cancelled = true;
            complete(request, 0, MPI_SUCCESS);
            break;
        }
    }
    return leave(MPI_SUCCESS);
}

static MPI_Status *nth(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

// Ends one of several; the call as a whole fails if one does.
static int finish_one_of(MPI_Request *handle, MPI_Status *status, int rc)
{
    int error = finish(handle, status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    return error == MPI_SUCCESS ? rc : MPI_ERR_IN_STATUS;
}

static bool all_complete(int count, const MPI_Request handles[])
{
    bool all = true;
    for (int i = 0; i < count; i++)
        all = all && is_complete(handles[i]);
    return all;
}

static int finish_all(int count, MPI_Request handles[], MPI_Status statuses[])
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < count; i++)
        rc = finish_one_of(&handles[i], nth(statuses, i), rc);
    return rc;
}

static int mock_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
    enter();
    *flag = all_complete(count, handles);
    return leave(*flag ? finish_all(count, handles, statuses) : MPI_SUCCESS);
}

static int mock_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    enter();
    while (!all_complete(count, handles))
        wait_for_change("Waitall");
    return leave(finish_all(count, handles, statuses));
}

static int test_any(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    bool active = false;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        active = active || is_active(handles[i]);
        if (is_active(handles[i]) && is_complete(handles[i])) {
            *index = i;
            *flag = 1;
            return finish(&handles[i], status);
        }
    }
    *flag = !active;
    if (*flag)
        set_empty(status);
    return MPI_SUCCESS;
}

static int mock_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    enter();
    return leave(test_any(count, handles, index, flag, status));
}

static int mock_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
    int flag = 0, rc;
    enter();
    while ((rc = test_any(count, handles, index, &flag, status)) == MPI_SUCCESS && !flag)
        wait_for_change("Waitany");
    return leave(rc);
}

static int test_some(int count, MPI_Request handles[], int *outcount, int indices[],
                     MPI_Status statuses[])
{
    int done = 0, rc = MPI_SUCCESS;
    bool active = false;
    for (int i = 0; i < count; i++) {
        active = active || is_active(handles[i]);
        if (is_active(handles[i]) && is_complete(handles[i])) {
            indices[done] = i;
            rc = finish_one_of(&handles[i], nth(statuses, done), rc);
            done++;
        }
    }
    *outcount = active ? done : MPI_UNDEFINED;
    return rc;
}

static int mock_Testsome(int count, MPI_Request handles[], int *outcount, int indices[],
                         MPI_Status statuses[])
{
    enter();
    return leave(test_some(count, handles, outcount, indices, statuses));
}

static int mock_Waitsome(int count, MPI_Request handles[], int *outcount, int indices[],
                         MPI_Status statuses[])
{
    int rc;
    enter();
    while ((rc = test_some(count, handles, outcount, indices, statuses)) == MPI_SUCCESS &&
           *outcount == 0)
        wait_for_change("Waitsome");
    return leave(rc);
}

// --- buffered sends ------------------------------------------------------------------------------

static int mock_Buffer_attach(void *bytes, int size)
{
    enter();
    if (buffer.bytes != NULL)
        return leave(MPI_ERR_BUFFER);
    buffer.bytes = bytes;
    buffer.size = (size_t)size;
    buffer.used = 0;
    return leave(MPI_SUCCESS);
}

static int mock_Buffer_detach(void *address, int *size)
{
    enter();
    memcpy(address, &buffer.bytes, sizeof buffer.bytes);
    *size = (int)buffer.size;
    buffer.bytes = NULL;
    buffer.size = 0;
    return leave(MPI_SUCCESS);
}

// Nothing leaves the buffer before it is detached.
static int mock_Bsend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm)
{
    enter();
    const struct layout *layout = layout_of(type);
    size_t length = layout == NULL ? 0 : layout->size * (size_t)count;
    bool fits = length + MPI_BSEND_OVERHEAD <= buffer.size - buffer.used;
    if (layout != NULL && fits) {
        memset(buffer.bytes + buffer.used, 0xbb, MPI_BSEND_OVERHEAD);
        copy(layout, (char *)(uintptr_t)buf, count, buffer.bytes + buffer.used + MPI_BSEND_OVERHEAD,
             length, true);
        buffer.used += length + MPI_BSEND_OVERHEAD;
    }
    leave(MPI_SUCCESS);
    return fits ? mock_Send(buf, count, type, dest, tag, comm) : MPI_ERR_BUFFER;
}

void mock_hold_sends(MPI_Comm comm)
{
    enter();
    held = comm;
    leave(MPI_SUCCESS);
}

int mock_requests_left(void)
{
    int left = 0;
    enter();
    for (int i = 0; i < REQUESTS; i++)
        left += requests[i].used;
    return leave(left);
}

void mock_add_requests(struct mpi_next *mpi)
{
    mpi->Bsend = mock_Bsend;
    mpi->Buffer_attach = mock_Buffer_attach;
    mpi->Buffer_detach = mock_Buffer_detach;
    mpi->Cancel = mock_Cancel;
    mpi->Irecv = mock_Irecv;
    mpi->Isend = mock_Isend;
    mpi->Recv = mock_Recv;
    mpi->Recv_init = mock_Recv_init;
    mpi->Request_free = mock_Request_free;
    mpi->Request_get_status = mock_Request_get_status;
    mpi->Send = mock_Send;
    mpi->Send_init = mock_Send_init;
    mpi->Sendrecv = mock_Sendrecv;
    mpi->Start = mock_Start;
    mpi->Startall = mock_Startall;
    mpi->Test = mock_Test;
    mpi->Testall = mock_Testall;
    mpi->Testany = mock_Testany;
    mpi->Testsome = mock_Testsome;
    mpi->Wait = mock_Wait;
    mpi->Waitall = mock_Waitall;
    mpi->Waitany = mock_Waitany;
    mpi->Waitsome = mock_Waitsome;
}
