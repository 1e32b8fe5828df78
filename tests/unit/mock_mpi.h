// An MPI of one process, for tests of the preloaded library: the process is rank 0 of 2, and the
// test plays rank 1 by hand. As lazy as MPI allows: a message held back is read from the sender's
// buffer only when it is received, and handles come back at once for something else. A function
// that is not here ends the test with its name.
//
// Its lock is no help to the library: ThreadSanitizer does not see it, so what is ordered there
// only by MPI's own locks is reported.
#ifndef COSCHED_TESTS_UNIT_MOCK_MPI_H
#define COSCHED_TESTS_UNIT_MOCK_MPI_H

#include "mpi_next.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOCK_SELF = 0, MOCK_PEER = 1, MOCK_SIZE = 2 };

// What the program calls: the library's entry points under the names MPI_X, and MPI itself where it
// is not wrapped.
extern struct mpi_next lib;

// Starts MPI with a thread level, has the variant take its functions from it, and fills `lib`.
// Once.
void mock_start(int thread_level);

// MPI_COMM_WORLD's like, known to nobody.
MPI_Comm mock_comm(void);

// A message from rank 1.
void mock_peer_send(MPI_Comm comm, int tag, const void *bytes, size_t length);

// Rank 1 receives: the length of the first message with this tag, of which up to `room` bytes are
// in `bytes`; -1 when there is none.
long mock_peer_receive(MPI_Comm comm, int tag, void *bytes, size_t room);

// Rank 1 sends back all that it has been sent, on every communicator.
void mock_peer_echo(void);

// From now on nonblocking sends on this communicator (or null: on none) are complete only when they
// have been received, others at once.
void mock_hold_sends(MPI_Comm comm);

// The bytes that a status counts.
size_t mock_bytes(const MPI_Status *status);

// A function that this MPI has and the table does not, or null.
extern const char *mock_newer;

// A symbol that the process has besides, or null.
extern const char *mock_symbol;
extern void *mock_symbol_at; // null: it is never looked at

// The library may go out of the way, which is then all that it does of it.
extern bool mock_may_go;

// An error ends a persistent request, as under Open MPI: its handle is null then.
extern bool mock_errors_end;

// What the library wants called when MPI was polled and had nothing; null: nothing.
extern void (*mock_look)(void);

// How many requests, datatypes, and messages that nobody received there are.
int mock_requests_left(void);
int mock_types_left(void);
int mock_messages_left(void);

#endif
