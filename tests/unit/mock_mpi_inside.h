// What the files of the MPI for tests share: its lock, and its datatypes, messages and requests.
// Nothing of it is for tests. They are looked at and changed between enter() and leave();
// mock_Wait() is called outside.
#ifndef COSCHED_TESTS_UNIT_MOCK_MPI_INSIDE_H
#define COSCHED_TESTS_UNIT_MOCK_MPI_INSIDE_H

#include "tests/unit/mock_mpi.h"

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

// Each adds the functions of its file to the table.
void mock_add_types(struct mpi_next *mpi);
void mock_add_messages(struct mpi_next *mpi);
void mock_add_requests(struct mpi_next *mpi);

// --- mock_mpi.c

// Ends the test: `what` of this MPI was used as it must not be.
_Noreturn void fail(const char *what, const char *why);

void enter(void);

// Returns rc.
int leave(int rc);

// Wakes whoever waits for a change.
void tell_change(void);

// Waits for some message or completion; the caller looks whether it is its own.
void wait_for_change(const char *function);

// --- mock_mpi_types.c

// The layout of a datatype, or null. MPICH's handles of basic types tell their size.
struct layout *layout_of(MPI_Datatype type);

// A layout lives until it was dropped as often as kept.
struct layout *keep(struct layout *layout);
void drop(struct layout *layout);

// Copies up to `length` bytes between a buffer of elements and a row of bytes.
void copy(const struct layout *type, char *buf, int count, char *bytes, size_t length, bool out);

// --- mock_mpi_messages.c

// The receives that wait, in order.
extern struct request *waiting;

void set_status(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled);
void set_empty(MPI_Status *status);

struct message *new_message(int source, int dest, int tag, MPI_Comm comm, size_t length);

// A message is on its way: to a receive that waits for it, or to where it is looked for.
void post(struct message *message);

// Where the first message that matches is in its list; there null is, when there is none.
struct message **find_message(int dest, int source, int tag, MPI_Comm comm);

// The message's bytes; its sender may go on.
char *open_message(struct message *message);

// Completes a request with a message that is in no list any more.
void receive(struct request *request, struct message *message);

// --- mock_mpi_requests.c

// A request for a call's arguments, or what is wrong with them.
int new_request(bool send, const void *buf, int count, MPI_Datatype type, int peer, int tag,
                MPI_Comm comm, struct request **made);

MPI_Request handle_of(const struct request *request);
void complete(struct request *request, size_t bytes, int error);
int mock_Wait(MPI_Request *handle, MPI_Status *status);

#endif
