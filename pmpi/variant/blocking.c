#include "pmpi/variant/blocking.h"

#include "pmpi/variant/carrier.h"
#include "pmpi/variant/wait.h"

int blocking_Sendrecv(const struct mpi_next *next, const void *sendbuf, int sendcount,
                      MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                      MPI_Status *status)
{
    MPI_Status own_status;
    if (status == MPI_STATUS_IGNORE)
        status = &own_status;
    carrier_contact(comm, source);
    carrier_sending(comm, dest);
    int rc;
    if (wait_polls()) {
        MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
        rc = next->Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
        if (rc != MPI_SUCCESS)
            return rc;
        rc = next->Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
        if (rc != MPI_SUCCESS) {
            next->Cancel(&receive);
            next->Request_free(&receive);
            return rc;
        }
        int sent = wait_request(next, &send, MPI_STATUS_IGNORE);
        rc = wait_request(next, &receive, status);
        rc = rc == MPI_SUCCESS ? sent : rc;
    } else {
        rc = next->Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                            recvtype, source, recvtag, comm, status);
    }
    if (rc == MPI_SUCCESS)
        carrier_arrived_from(comm, status->MPI_SOURCE);
    return rc;
}

// Not polled: its one buffer cannot be sent from and received into at once, and a copy would cost
// more than the hint is worth.
int blocking_Sendrecv_replace(const struct mpi_next *next, void *buf, int count,
                              MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                              MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own_status;
    if (status == MPI_STATUS_IGNORE)
        status = &own_status;
    carrier_contact(comm, source);
    carrier_sending(comm, dest);
    int rc =
        next->Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
    if (rc == MPI_SUCCESS)
        carrier_arrived_from(comm, status->MPI_SOURCE);
    return rc;
}
