// Callbacks of MPI's that call MPI themselves, as where a library puts away what it keeps with its
// communicator.
#include "conform.h"

#include <string.h>

enum { TAG = 23 };

struct kept {
    MPI_Request request;
    unsigned char bytes[100];
    int cancelled;
};

static int put_away(MPI_Comm from, int keyval, void *value, void *extra)
{
    struct kept *kept = value;
    MPI_Status status;
    (void)from;
    (void)keyval;
    (void)extra;
    OK(MPI_Cancel(&kept->request));
    OK(MPI_Wait(&kept->request, &status));
    OK(MPI_Test_cancelled(&status, &kept->cancelled));
    return MPI_SUCCESS;
}

CASE(what_a_callback_completes_is_over)
{
    // The next request may have its handle.
    struct kept kept = {.cancelled = 0};
    int keyval;
    MPI_Comm library;
    MPI_Status status = fresh_status();
    memset(kept.bytes, UNTOUCHED_BYTE, sizeof kept.bytes);
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, put_away, &keyval, NULL));
    OK(MPI_Comm_dup(comm, &library));
    OK(MPI_Irecv(kept.bytes, 100, MPI_BYTE, MPI_ANY_SOURCE, 0, library, &kept.request));
    OK(MPI_Comm_set_attr(library, keyval, &kept));
    OK(MPI_Comm_free(&library));
    EQUAL(1, kept.cancelled);
    for (int i = 0; i < 4; i++) {
        MPI_Request request;
        unsigned char *got = buffer(64);
        OK(MPI_Irecv(got, 64, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &request));
        OK(MPI_Send(message(64, i), 64, MPI_BYTE, 0, TAG, MPI_COMM_SELF));
        OK(MPI_Wait(&request, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, 64);
        FILLED(got, 64, i);
    }
    UNTOUCHED(kept.bytes, sizeof kept.bytes);
    OK(MPI_Comm_free_keyval(&keyval));
}
