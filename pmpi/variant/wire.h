// The memory of one message that carries a header, from the call that begins it to its completion.
#ifndef COSCHED_PMPI_VARIANT_WIRE_H
#define COSCHED_PMPI_VARIANT_WIRE_H

#include "pmpi/variant/header.h"

#include <stddef.h>

// In front of every payload. As long as the largest basic element: where MPICH cuts a message into
// fragments, it fails on an element that lies across a cut, and the payload must not be shifted
// against the cuts by anything else than whole elements.
struct header {
    uint32_t magic;
    uint8_t scheduled;
    uint8_t reserved;
    uint16_t turn;   // in which that was so, as carrier_turn()
    uint64_t length; // of the payload, in bytes
};

#define HEADER_MAGIC UINT32_C(0xc05c4ed1)

_Static_assert(sizeof(struct header) == 16, "the same on all nodes");

enum {
    WIRE_SMALL = 1024,  // up to here any message is packed
    WIRE_BOUNCE = 8192, // up to here one of basic elements is
};

struct wire {
    bool incoming;
    bool bounced; // memory holds header and payload; else the header, and the payload is the user's
    bool persistent;
    bool active;   // of a persistent request: it is started
    bool begun;    // by the call that is under way, which may be refused
    bool unpacked; // the payload has been given to the user
    void *user;
    size_t bytes; // of the user's buffer, of bounced messages
    // Of a bounced incoming message that is no row of basic elements; else count is 0.
    MPI_Count count;
    MPI_Datatype layout;
    struct header *header; // memory of `room` bytes
    size_t room;
    MPI_Datatype made;    // of header and payload, or MPI_DATATYPE_NULL; freed with the wire
    struct wire *partner; // the outgoing part of the same request
    struct wire *next;
    MPI_Comm comm;       // MPI_COMM_NULL: not known, of a message that was matched before
    MPI_Request request; // of a request that the program freed
};

// A wire with room for a header and `bytes` more, or null.
struct wire *wire_new(size_t bytes);

void wire_free(struct wire *wire);

// The size of the basic datatype if its elements lie side by side without gaps, else 0.
size_t wire_basic_size(MPI_Datatype type);

// Learns the basic datatypes of this MPI.
void wire_start(void);

// Brings an outgoing wire's payload up to date, if it is bounced.
void wire_fill(struct wire *wire);

// Makes a datatype of so many bytes in a row, for more than a count holds. Returns an MPI error
// code.
int wire_make_row(size_t bytes, MPI_Datatype *made);

// Makes `parcel` a datatype of the wire's header and of what the parcel was before. Returns an MPI
// error code.
int wire_make_struct(struct wire *wire, struct parcel *parcel);

#endif
