#include "tests/unit/mock_mpi.h"

#include "pmpi/front/front.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    REQUESTS = 4096,
    TYPES = 4096,
    MATCHED = 256,
    BASIC_MAX = 32,
    PATIENCE_S = 60, // a blocking call that takes longer is a test that hangs
    REQUEST_BASE = 0x1000,
    TYPE_BASE = 0x10000,
    MESSAGE_BASE = 0x20000,
    COMM_BASE = 0x30000,
    GROUP = 0x40000,
    DONE_REQUEST = 0xfff, // of all sends that are complete at once
};

struct segment {
    MPI_Aint at;
    size_t length;
};

// A datatype: its bytes in order.
struct layout {
    int uses; // 0: free
    bool committed;
    size_t size;
    MPI_Aint lower, upper;
    int count;
    struct segment *segments;
};

struct request {
    bool used, send, persistent, active, complete, cancelled, freed;
    char *buf;
    int count;
    struct layout *type;
    int peer; // of a receive: also once it is complete
    int tag;
    MPI_Comm comm;
    size_t bytes;
    int error;
    struct request *next; // of the receives that wait, in order
};

struct message {
    MPI_Comm comm;
    int source, dest, tag;
    size_t length;
    char *bytes;            // null: still with the sender
    struct request *sender; // completes when the message is received
    struct message *next;
};

struct mpi_next lib;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int level;
static MPI_Comm held = MPI_COMM_NULL;
static int comms;
static struct request requests[REQUESTS];
static struct layout types[TYPES], basics[BASIC_MAX + 1];
static struct segment basic_segments[BASIC_MAX + 1];
static struct request *waiting;
static struct message *messages;
static struct message *matched[MATCHED];
static struct {
    char *bytes;
    size_t size, used;
} buffer;

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "mock MPI: %s: %s\n", what, why);
    abort();
}

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define ANNOTATE(what) Annotate##what(__FILE__, __LINE__)
#else
#define ANNOTATE(what) ((void)0)
#endif

static void enter(void)
{
    ANNOTATE(IgnoreSyncBegin);
    ANNOTATE(IgnoreReadsBegin);
    ANNOTATE(IgnoreWritesBegin);
    pthread_mutex_lock(&lock);
}

static int leave(int rc)
{
    pthread_mutex_unlock(&lock);
    ANNOTATE(IgnoreWritesEnd);
    ANNOTATE(IgnoreReadsEnd);
    ANNOTATE(IgnoreSyncEnd);
    return rc;
}

// Waits for some message or completion; the caller looks whether it is its own.
static void wait_for_change(const char *function)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_cond_timedwait(&changed, &lock, &until) != 0)
        fail(function, "nothing comes");
}

// --- datatypes -----------------------------------------------------------------------------------

// The layout of a datatype, or null. MPICH's handles of basic types tell their size.
static struct layout *layout_of(MPI_Datatype type)
{
    if (((unsigned)type & 0xffff0000u) == 0x4c000000u) {
        size_t size = (unsigned)type >> 8 & 0xff;
        if (size == 0 || size > BASIC_MAX)
            return NULL;
        basic_segments[size] = (struct segment){0, size};
        basics[size] = (struct layout){.uses = 1,
                                       .committed = true,
                                       .size = size,
                                       .upper = (MPI_Aint)size,
                                       .count = 1,
                                       .segments = &basic_segments[size]};
        return &basics[size];
    }
    if (type < TYPE_BASE || type >= TYPE_BASE + TYPES || types[type - TYPE_BASE].uses == 0)
        return NULL;
    return &types[type - TYPE_BASE];
}

static bool is_basic(const struct layout *layout)
{
    return layout >= basics && layout <= &basics[BASIC_MAX];
}

static struct layout *keep(struct layout *layout)
{
    if (!is_basic(layout))
        layout->uses++;
    return layout;
}

static void drop(struct layout *layout)
{
    if (layout == NULL || is_basic(layout) || --layout->uses > 0)
        return;
    free(layout->segments);
    *layout = (struct layout){0};
}

static MPI_Datatype new_type(void)
{
    for (int i = 0; i < TYPES; i++) {
        if (types[i].uses == 0) {
            types[i].uses = 1;
            return TYPE_BASE + i;
        }
    }
    fail("datatypes", "too many");
}

static void add_segment(struct layout *layout, MPI_Aint at, size_t length)
{
    struct segment *last = layout->count > 0 ? &layout->segments[layout->count - 1] : NULL;
    if (last != NULL && last->at + (MPI_Aint)last->length == at) {
        last->length += length;
    } else {
        layout->segments =
            realloc(layout->segments, (size_t)(layout->count + 1) * sizeof *layout->segments);
        layout->segments[layout->count++] = (struct segment){at, length};
    }
    layout->size += length;
}

static void add_element(struct layout *layout, const struct layout *element, MPI_Aint at,
                        bool first)
{
    for (int i = 0; i < element->count; i++)
        add_segment(layout, at + element->segments[i].at, element->segments[i].length);
    if (first || at + element->lower < layout->lower)
        layout->lower = at + element->lower;
    if (first || at + element->upper > layout->upper)
        layout->upper = at + element->upper;
}

// Elements without gaps are one segment, however many.
static void add_row(struct layout *layout, const struct layout *element, MPI_Aint at, int length,
                    bool first)
{
    struct segment segment = {0, element->size * (size_t)length};
    struct layout row = {.size = segment.length,
                         .upper = (MPI_Aint)segment.length,
                         .count = 1,
                         .segments = &segment};
    add_element(layout, &row, at, first);
}

static bool is_dense(const struct layout *element)
{
    return element->count == 1 && element->segments[0].at == 0 && element->lower == 0 &&
           element->upper == (MPI_Aint)element->size;
}

static int mock_Type_create_struct(int count, const int lengths[], const MPI_Aint places[],
                                   const MPI_Datatype of[], MPI_Datatype *made)
{
    struct layout layout = {.uses = 1};
    bool first = true;
    enter();
    for (int i = 0; i < count; i++) {
        const struct layout *element = layout_of(of[i]);
        if (element == NULL) {
            free(layout.segments);
            return leave(MPI_ERR_TYPE);
        }
        if (lengths[i] > 0 && is_dense(element)) {
            add_row(&layout, element, places[i], lengths[i], first);
            first = false;
            continue;
        }
        for (int k = 0; k < lengths[i]; k++, first = false)
            add_element(&layout, element, places[i] + k * (element->upper - element->lower), first);
    }
    *made = new_type();
    types[*made - TYPE_BASE] = layout;
    return leave(MPI_SUCCESS);
}

static int mock_Type_dup(MPI_Datatype type, MPI_Datatype *made)
{
    enter();
    const struct layout *from = layout_of(type);
    if (from == NULL)
        return leave(MPI_ERR_TYPE);
    *made = new_type();
    struct layout *to = &types[*made - TYPE_BASE];
    *to = *from;
    to->uses = 1;
    to->segments = malloc((size_t)from->count * sizeof *from->segments);
    memcpy(to->segments, from->segments, (size_t)from->count * sizeof *from->segments);
    return leave(MPI_SUCCESS);
}

static int mock_Type_commit(MPI_Datatype *type)
{
    enter();
    struct layout *layout = layout_of(*type);
    if (layout != NULL)
        layout->committed = true;
    return leave(layout != NULL ? MPI_SUCCESS : MPI_ERR_TYPE);
}

static int mock_Type_free(MPI_Datatype *type)
{
    enter();
    struct layout *layout = layout_of(*type);
    if (layout == NULL || is_basic(layout))
        return leave(MPI_ERR_TYPE);
    drop(layout);
    *type = MPI_DATATYPE_NULL;
    return leave(MPI_SUCCESS);
}

static int mock_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
    enter();
    const struct layout *layout = layout_of(type);
    if (layout != NULL)
        *size = (MPI_Count)layout->size;
    return leave(layout != NULL ? MPI_SUCCESS : MPI_ERR_TYPE);
}

static int mock_Type_size(MPI_Datatype type, int *size)
{
    MPI_Count wide = 0;
    int rc = mock_Type_size_x(type, &wide);
    *size = (int)wide;
    return rc;
}

static int mock_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    enter();
    const struct layout *layout = layout_of(type);
    if (layout == NULL)
        return leave(MPI_ERR_TYPE);
    *lower = layout->lower;
    *extent = layout->upper - layout->lower;
    return leave(MPI_SUCCESS);
}

// Copies up to `length` bytes between a buffer of elements and a row of bytes.
static void copy(const struct layout *type, char *buf, int count, char *bytes, size_t length,
                 bool out)
{
    for (int i = 0; i < count; i++) {
        MPI_Aint base = i * (type->upper - type->lower);
        for (int k = 0; k < type->count && length > 0; k++) {
            size_t part = type->segments[k].length < length ? type->segments[k].length : length;
            // MPI_BOTTOM is null, to which nothing may be added.
            char *place = (char *)((intptr_t)buf + base + type->segments[k].at);
            memcpy(out ? bytes : place, out ? place : bytes, part);
            bytes += part;
            length -= part;
        }
    }
}

static int mock_Pack(const void *buf, int count, MPI_Datatype type, void *out, int size,
                     int *position, MPI_Comm comm)
{
    (void)comm;
    enter();
    const struct layout *layout = layout_of(type);
    size_t length = layout == NULL ? 0 : layout->size * (size_t)count;
    if (layout == NULL || !layout->committed || length > (size_t)(size - *position))
        return leave(layout == NULL ? MPI_ERR_TYPE : MPI_ERR_ARG);
    copy(layout, (char *)(uintptr_t)buf, count, (char *)out + *position, length, true);
    *position += (int)length;
    return leave(MPI_SUCCESS);
}

// --- statuses ------------------------------------------------------------------------------------

size_t mock_bytes(const MPI_Status *status)
{
    return (size_t)(unsigned)status->count_lo;
}

static void set_status(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->count_lo = (int)bytes;
    status->count_hi_and_cancelled = cancelled;
}

static void set_empty(MPI_Status *status)
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

static struct message **find_message(int dest, int source, int tag, MPI_Comm comm)
{
    struct message **at = &messages;
    while (*at != NULL && ((*at)->dest != dest || !matches(source, tag, comm, *at)))
        at = &(*at)->next;
    return at;
}

static void release(struct request *request)
{
    drop(request->type);
    *request = (struct request){0};
}

static void complete(struct request *request, size_t bytes, int error)
{
    request->complete = true;
    request->bytes = bytes;
    request->error = error;
    if (request->freed)
        release(request);
    pthread_cond_broadcast(&changed);
}

// The message's bytes; its sender may go on.
static char *open_message(struct message *message)
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

static void receive(struct request *request, struct message *message)
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
static void post(struct message *message)
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
    pthread_cond_broadcast(&changed);
}

static struct message *new_message(int source, int dest, int tag, MPI_Comm comm, size_t length)
{
    struct message *message = calloc(1, sizeof *message);
    *message = (struct message){
        .comm = comm, .source = source, .dest = dest, .tag = tag, .length = length};
    return message;
}

// --- requests ------------------------------------------------------------------------------------

static struct request *request_of(MPI_Request handle)
{
    int number = handle - REQUEST_BASE;
    if (number < 0 || number >= REQUESTS || !requests[number].used || requests[number].freed)
        fail("a request", "is none");
    return &requests[number];
}

static MPI_Request handle_of(const struct request *request)
{
    return REQUEST_BASE + (int)(request - requests);
}

// A request for a call's arguments, or what is wrong with them.
static int new_request(bool send, const void *buf, int count, MPI_Datatype type, int peer, int tag,
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

static int mock_Wait(MPI_Request *handle, MPI_Status *status)
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

// --- communicators -------------------------------------------------------------------------------

MPI_Comm mock_comm(void)
{
    enter();
    MPI_Comm comm = COMM_BASE + comms++;
    leave(MPI_SUCCESS);
    return comm;
}

static int mock_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    (void)comm;
    *made = mock_comm();
    return MPI_SUCCESS;
}

static int mock_Comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int mock_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    *group = GROUP;
    return MPI_SUCCESS;
}

static int mock_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

static int mock_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = MOCK_SELF;
    return MPI_SUCCESS;
}

static int mock_Group_size(MPI_Group group, int *size)
{
    (void)group;
    *size = MOCK_SIZE;
    return MPI_SUCCESS;
}

static int mock_Group_translate_ranks(MPI_Group one, int count, const int ranks[], MPI_Group other,
                                      int translated[])
{
    (void)one, (void)other;
    memcpy(translated, ranks, (size_t)count * sizeof *ranks);
    return MPI_SUCCESS;
}

static int mock_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

static int mock_Query_thread(int *provided)
{
    *provided = level;
    return MPI_SUCCESS;
}

// --- all together --------------------------------------------------------------------------------

static const struct mpi_next functions = {
    .Bsend = mock_Bsend,
    .Buffer_attach = mock_Buffer_attach,
    .Buffer_detach = mock_Buffer_detach,
    .Cancel = mock_Cancel,
    .Comm_dup = mock_Comm_dup,
    .Comm_free = mock_Comm_free,
    .Comm_group = mock_Comm_group,
    .Comm_rank = mock_Comm_rank,
    .Comm_test_inter = mock_Comm_test_inter,
    .Get_elements_x = mock_Get_elements_x,
    .Group_free = mock_Group_free,
    .Group_size = mock_Group_size,
    .Group_translate_ranks = mock_Group_translate_ranks,
    .Improbe = mock_Improbe,
    .Imrecv = mock_Imrecv,
    .Iprobe = mock_Iprobe,
    .Irecv = mock_Irecv,
    .Isend = mock_Isend,
    .Mprobe = mock_Mprobe,
    .Mrecv = mock_Mrecv,
    .Pack = mock_Pack,
    .Probe = mock_Probe,
    .Query_thread = mock_Query_thread,
    .Recv = mock_Recv,
    .Recv_init = mock_Recv_init,
    .Request_free = mock_Request_free,
    .Request_get_status = mock_Request_get_status,
    .Send = mock_Send,
    .Send_init = mock_Send_init,
    .Sendrecv = mock_Sendrecv,
    .Start = mock_Start,
    .Startall = mock_Startall,
    .Status_set_elements_x = mock_Status_set_elements_x,
    .Test = mock_Test,
    .Test_cancelled = mock_Test_cancelled,
    .Testall = mock_Testall,
    .Testany = mock_Testany,
    .Testsome = mock_Testsome,
    .Type_commit = mock_Type_commit,
    .Type_create_struct = mock_Type_create_struct,
    .Type_dup = mock_Type_dup,
    .Type_free = mock_Type_free,
    .Type_get_extent = mock_Type_get_extent,
    .Type_size = mock_Type_size,
    .Type_size_x = mock_Type_size_x,
    .Wait = mock_Wait,
    .Waitall = mock_Waitall,
    .Waitany = mock_Waitany,
    .Waitsome = mock_Waitsome,
};

static const char *const names[MPI_NEXT_FUNCTIONS] = {MPI_NEXT_NAMES};

// One function for each place of the table that is not filled, told apart by three octal digits.
#define MISSING(digits)                                                                            \
    static int missing_##digits(void)                                                              \
    {                                                                                              \
        fail(0##digits < MPI_NEXT_FUNCTIONS ? names[0##digits] : "?", "not part of the mock");     \
    }
#define NAME(digits) (void *)missing_##digits,
#define EIGHT(each, digits)                                                                        \
    each(digits##0) each(digits##1) each(digits##2) each(digits##3) each(digits##4)                \
        each(digits##5) each(digits##6) each(digits##7)
#define SIXTY_FOUR(each, digit)                                                                    \
    EIGHT(each, digit##0)                                                                          \
    EIGHT(each, digit##1)                                                                          \
    EIGHT(each, digit##2)                                                                          \
    EIGHT(each, digit##3)                                                                          \
    EIGHT(each, digit##4) EIGHT(each, digit##5) EIGHT(each, digit##6) EIGHT(each, digit##7)
#define ALL(each)                                                                                  \
    SIXTY_FOUR(each, 0)                                                                            \
    SIXTY_FOUR(each, 1)                                                                            \
    SIXTY_FOUR(each, 2)                                                                            \
    SIXTY_FOUR(each, 3)                                                                            \
    SIXTY_FOUR(each, 4) SIXTY_FOUR(each, 5) SIXTY_FOUR(each, 6) SIXTY_FOUR(each, 7)

ALL(MISSING)
static void *const missing[] = {ALL(NAME)};
_Static_assert(sizeof missing / sizeof *missing >= MPI_NEXT_FUNCTIONS, "another digit is needed");

const char *mock_newer;

static void *real(enum front_entry entry, const char *name)
{
    (void)entry;
    if (mock_newer != NULL && strcmp(name, mock_newer) == 0)
        return missing[0];
    for (size_t i = 0; i < MPI_NEXT_FUNCTIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            void *function = ((void *const *)&functions)[i];
            return function != NULL ? function : missing[i];
        }
    }
    return NULL;
}

static void *find(const char *symbol)
{
    (void)symbol;
    return NULL;
}

static void bypass(const char *except)
{
    fail(except, "the library goes out of the way, which no test wants");
}

void (*mock_look)(void);

static void when_nothing_moved(void (*look)(void))
{
    mock_look = look;
}

static void linger(uint32_t connections, uint64_t linger_ns)
{
    (void)connections, (void)linger_ns;
}

void mock_start(int thread_level)
{
    static const struct front_api api = {
        FRONT_API_VERSION, MPI_NEXT_TABLE, real, find, bypass, linger, when_nothing_moved};
    front_variant_fn cosched_pmpi_variant;
    void *entries[MPI_NEXT_WRAPPED * 2];
    level = thread_level;
    alarm(PATIENCE_S); // for calls that the library polls
    if (cosched_pmpi_variant(&api, entries, MPI_NEXT_WRAPPED * 2) != 0)
        fail("the variant", "does not take its functions");
    for (size_t i = 0; i < MPI_NEXT_FUNCTIONS; i++)
        ((void **)&lib)[i] =
            i < MPI_NEXT_WRAPPED ? entries[i * 2] : real(FRONT_ENTRY_MPI, names[i]);
}

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

int mock_types_left(void)
{
    int left = 0;
    enter();
    for (int i = 0; i < TYPES; i++)
        left += types[i].uses > 0;
    return leave(left);
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
