// The memory of one message that carries a header, from the call that begins it to its completion.
#ifndef COSCHED_PMPI_VARIANT_WIRE_H
#define COSCHED_PMPI_VARIANT_WIRE_H

#include "pmpi/variant/header.h"

#include <stddef.h>

// In front of every payload. Eight bytes: with fewer MPICH fails even on doubles, whose alignment
// in its buffers a shorter header would break.
struct header {
    uint16_t magic;
    uint8_t scheduled;
    uint8_t reserved;
    uint32_t length; // of the payload in bytes, HEADER_LENGTH_MAX if it is that or more
};

#define HEADER_MAGIC      UINT16_C(0xc05c)
#define HEADER_LENGTH_MAX UINT32_MAX

enum {
    WIRE_SMALL = 1024,  // up to here any message is packed
    WIRE_BOUNCE = 8192, // up to here one of basic elements of at most WIRE_ELEMENT bytes is
    WIRE_ELEMENT = 8,
};

struct wire {
    bool incoming;
    bool bounced; // memory holds header and payload; else the header, and the payload is the user's
    bool persistent;
    bool active;   // of a persistent request: it is started
    bool unpacked; // the payload has been given to the user
    void *user;
    size_t bytes;          // of the user's buffer, of bounced messages
    struct header *header; // memory of `room` bytes
    size_t room;
    MPI_Datatype made;    // of header and payload, or MPI_DATATYPE_NULL; freed with the wire
    struct wire *partner; // the outgoing part of the same request
    struct wire *next;
    MPI_Request request; // of a request that the program freed
};

// A wire with room for a header and `bytes` more, or null.
struct wire *wire_new(size_t bytes);

void wire_free(struct wire *wire);

// The size of the basic datatype if its elements lie side by side without gaps, else 0.
size_t wire_basic_size(MPI_Datatype type);

// Learns the basic datatypes of this MPI.
void wire_start(void);

// Writes an outgoing wire's header, and the payload behind it if it is bounced.
void wire_fill(struct wire *wire, bool scheduled);

// Makes `parcel` a datatype of the wire's header and of what the parcel was before. Returns an MPI
// error code.
int wire_make_struct(struct wire *wire, struct parcel *parcel);

#endif
