// Blocking calls made of polls: of one request, of several, and of the message that a receive waits
// for. What a poll finds at fault is told as the blocking call would.
#include "pmpi/variant/wait.h"

#include <stdlib.h>

#ifdef OPEN_MPI

enum found { COMPLETE, UNDER_WAY, INACTIVE, BROKEN };

// MPI_Testall and MPI_Testany tell no fault of a persistent request, MPI_Testsome does. *rc is the
// request's own, or why it is none.
static enum found complete_one(const struct mpi_next *next, MPI_Request *request,
                               MPI_Status *status, int *rc)
{
    int count = 0, index;
    *rc = next->Testsome(1, request, &count, &index, status);
    if (count == MPI_UNDEFINED)
        return INACTIVE;
    if (count == 0)
        return *rc == MPI_SUCCESS ? UNDER_WAY : BROKEN;
    if (*rc == MPI_ERR_IN_STATUS)
        *rc = status->MPI_ERROR;
    return COMPLETE;
}

static bool may_be_persistent(void)
{
    return (wait_persistent || wait_whole) && !wait_generalized;
}

bool wait_for_any(const struct mpi_next *next, int count, MPI_Request *requests, int *index,
                  MPI_Status *status, int *rc)
{
    struct wait wait = wait_new_looking_first(PEERS_UNKNOWN);
    bool active = may_be_persistent() && requests != NULL && index != NULL;
    while (active) {
        active = false;
        for (int i = 0; i < count; i++) {
            MPI_Status own;
            enum found found = complete_one(next, &requests[i], &own, rc);
            if (found == BROKEN)
                return true;
            active |= found == UNDER_WAY;
            if (found != COMPLETE)
                continue;
            *index = i;
            if (status != MPI_STATUS_IGNORE) {
                own.MPI_ERROR = status->MPI_ERROR;
                *status = own;
            }
            return true;
        }
        wait_pause(&wait);
    }
    return false;
}

// One after the other; who looks at many has waited for all of them in the end.
static bool complete_all(const struct mpi_next *next, int count, MPI_Request *requests,
                         MPI_Status *statuses, int *rc)
{
    struct wait wait = wait_new_looking_first(PEERS_UNKNOWN);
    bool failed = false;
    for (int i = 0; i < count; i++) {
        enum found found;
        int flag;
        wait.looked = false;
        statuses[i].MPI_ERROR = MPI_SUCCESS;
        while ((found = complete_one(next, &requests[i], &statuses[i], rc)) == UNDER_WAY)
            wait_pause(&wait);
        if (found == BROKEN)
            return true;
        if (found == INACTIVE)
            *rc = next->Test(&requests[i], &flag, &statuses[i]);
        if (found == INACTIVE || *rc != MPI_SUCCESS) // else there may be a fault that was swallowed
            statuses[i].MPI_ERROR = *rc;
        failed |= *rc != MPI_SUCCESS;
    }
    *rc = failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
    return true;
}

// MPI_Testall tells no fault of a persistent request, nor does MPI_Waitall of one that is complete,
// where there are statuses. Others are looked at one by one, and MPI_Waitall says what it has to
// say when all are complete: no call tells of a fault before.
bool wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests,
                  MPI_Status *statuses, int *rc)
{
    struct wait wait = wait_new();
    if (count > 0 && requests != NULL && statuses != NULL && statuses != MPI_STATUSES_IGNORE &&
        may_be_persistent())
        return complete_all(next, count, requests, statuses, rc);
    for (int i = 0; !wait_generalized && requests != NULL && i < count; i++) {
        int flag = 0, seen;
        while ((seen = next->Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE)) ==
                   MPI_SUCCESS &&
               !flag)
            wait_pause(&wait);
        if (seen != MPI_SUCCESS)
            return false;
    }
    return false;
}

#else

enum { STATUSES_AT_HAND = 64 };

// Its fault is in the status, whatever a handler of the program's leaves of it.
static void wait_for_pending(const struct mpi_next *next, MPI_Request *request, MPI_Status *status)
{
    struct wait wait = wait_new();
    int flag = 0, rc;
    status->MPI_ERROR = MPI_SUCCESS;
    while ((flag = WAIT_UNTOLD, rc = next->Testall(1, request, &flag, status)) == MPI_SUCCESS &&
           !flag)
        wait_pause(&wait);
    if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)
        status->MPI_ERROR = rc;
}

// MPI_Testall tells of a fault before all are complete, MPI_Waitall afterwards. And from 4.2 on the
// first leaves what is complete then in its place, faults included, which would be told again.
static void wait_for_rest(const struct mpi_next *next, int count, MPI_Request *requests,
                          MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        int flag = 0;
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            wait_for_pending(next, &requests[i], &statuses[i]);
        else
            next->Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
}

// Whether it has told of a fault, which a handler of the program's may have made a success of.
static bool some_pending(int count, const MPI_Request *requests, const MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL && statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            return true;
    }
    return false;
}

// MPI_Testall is not quite the same: it does not set MPI_ERROR of who has succeeded; and where
// statuses are ignored, it completes all of more than 64 requests in the way of the last ones
// (MPICH 4.0 to 4.3), persistent ones as if they were none. With persistent collectives it fails,
// and requests looked at one by one are completed thereby (4.2) or never (those of MPI-IO, 4.0).
bool wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests,
                  MPI_Status *statuses, int *rc)
{
    MPI_Status at_hand[STATUSES_AT_HAND], *made = NULL;
    if (wait_whole || wait_generalized || (count > 0 && (requests == NULL || statuses == NULL)))
        return false;
    if (statuses == MPI_STATUSES_IGNORE && count > STATUSES_AT_HAND &&
        (made = malloc((size_t)count * sizeof *made)) == NULL)
        return false;
    if (statuses == MPI_STATUSES_IGNORE)
        statuses = made != NULL ? made : at_hand;
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    struct wait wait = wait_new();
    int flag = 0;
    while ((flag = WAIT_UNTOLD, *rc = next->Testall(count, requests, &flag, statuses)) ==
               MPI_SUCCESS &&
           !flag && !some_pending(count, requests, statuses))
        wait_pause(&wait);
    if (*rc == MPI_ERR_IN_STATUS ? flag <= 0 : *rc == MPI_SUCCESS && flag == 0)
        wait_for_rest(next, count, requests, statuses);
    free(made);
    return true;
}

bool wait_for_any(const struct mpi_next *next, int count, MPI_Request *requests, int *index,
                  MPI_Status *status, int *rc)
{
    (void)next, (void)count, (void)requests, (void)index, (void)status, (void)rc;
    return false;
}

#endif

int wait_request(const struct mpi_next *next, MPI_Request *request, MPI_Status *status, int peer)
{
    struct wait wait = wait_new_for(peer);
    int flag = 0, rc;
    while ((flag = WAIT_UNTOLD, rc = next->Test(request, &flag, status)) == MPI_SUCCESS && !flag)
        wait_pause(&wait);
    return rc;
}

#ifdef OPEN_MPI

#define wait_for_send wait_request

#else

// Most sends are complete when they have begun. MPICH's MPI_Test asks the network once more for
// each of them all the same, which takes as long as the send; MPI_Request_get_status does not.
static int wait_for_send(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                         int peer)
{
    int flag = 0;
    if (next->Request_get_status(*request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag)
        return next->Wait(request, status);
    return wait_request(next, request, status, peer);
}

#endif

int wait_send(const struct mpi_next *next, MPI_Request *request, MPI_Comm comm, int dest)
{
    int peer = peers_world_rank(comm, dest);
    doorbell_ring(peer);
    return wait_for_send(next, request, MPI_STATUS_IGNORE, peer);
}

#ifdef OPEN_MPI

// MPI_Recv returns the fault of the message whatever a handler of the program's leaves of it,
// MPI_Test does not.
static int wait_received(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                         int peer)
{
    struct wait wait = wait_new_looking_first(peer);
    MPI_Status own;
    enum found found;
    int rc;
    while ((found = complete_one(next, request, &own, &rc)) == UNDER_WAY)
        wait_pause(&wait);
    if (found != COMPLETE)
        return rc;
    rc = own.MPI_ERROR;
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
    return rc;
}

#else

#define wait_received wait_request

#endif

int wait_receive(const struct mpi_next *next, MPI_Request *request, MPI_Status *status,
                 MPI_Comm comm, int source)
{
    int peer = peers_world_rank(comm, source);
    doorbell_ring(peer);
    return wait_received(next, request, status, peer);
}

#ifdef OPEN_MPI

bool wait_can_probe(const struct mpi_next *next, int source, int tag, MPI_Comm comm, int *rc)
{
    (void)next, (void)source, (void)tag, (void)comm;
    *rc = MPI_SUCCESS;
    return true;
}

#else

// A handler of the program's may call a fault a success, and then each look would be one.
bool wait_can_probe(const struct mpi_next *next, int source, int tag, MPI_Comm comm, int *rc)
{
    MPI_Request trial = MPI_REQUEST_NULL;
    *rc = next->Recv_init(NULL, 0, MPI_BYTE, source, tag, comm, &trial);
    if (*rc != MPI_SUCCESS || trial == MPI_REQUEST_NULL)
        return false;
    next->Request_free(&trial);
    return true;
}

enum { LARGE_BYTES = 4096 }; // a smaller message has come as a whole

// Bytes of a message that is large, and fits; else 0.
static uint64_t large_that_fits(const struct mpi_next *next, const MPI_Status *status,
                                MPI_Count count, MPI_Datatype type)
{
    MPI_Count bytes = 0, size = 0;
    bool fits = next->Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
                bytes > LARGE_BYTES && next->Type_size_x(type, &size) == MPI_SUCCESS && size > 0 &&
                bytes / size <= count && bytes <= count * size;
    return fits ? (uint64_t)bytes : 0;
}

int wait_for_message(const struct mpi_next *next, MPI_Request *trial, int source, int tag,
                     MPI_Comm comm, MPI_Count count, MPI_Datatype type, bool *apart)
{
    struct wait wait = wait_new_looking_first(peers_world_rank(comm, source));
    MPI_Status status;
    int flag = 0, rc;
    next->Request_free(trial);
    while ((rc = next->Iprobe(source, tag, comm, &flag, &status)) == MPI_SUCCESS && !flag) {
        wait_progress();
        wait_pause(&wait);
    }
    uint64_t bytes =
        wait_blocks && rc == MPI_SUCCESS ? large_that_fits(next, &status, count, type) : 0;
    block_expect(bytes);
    *apart = bytes > 0;
    return rc;
}

#endif

static bool is_truncated(const struct mpi_next *next, int rc)
{
    int class = MPI_SUCCESS;
    return next->Error_class(rc, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

// A message that was too long says nothing of the send, whose buffer is the program's again, or
// freed, when this returns. After another fault nobody may be there to take it, so it is left.
int wait_sent(const struct mpi_next *next, int rc, MPI_Request *trial, MPI_Request *send)
{
    if (*trial != MPI_REQUEST_NULL)
        next->Request_free(trial);
    if (*send == MPI_REQUEST_NULL)
        return rc;
    if (rc == MPI_SUCCESS)
        return wait_for_send(next, send, MPI_STATUS_IGNORE, PEERS_UNKNOWN);
    if (is_truncated(next, rc))
        wait_for_send(next, send, MPI_STATUS_IGNORE, PEERS_UNKNOWN);
    return rc;
}
