#include "pmpi/variant/wire.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL_MAX = 4096, // wires that a thread keeps for later
    BASIC_SLOTS = 256,
    PIECE = 1 << 30, // bytes, of a row of more
};

static _Thread_local struct wire *pool __attribute__((tls_model("initial-exec")));
static _Thread_local int pooled __attribute__((tls_model("initial-exec")));
static _Thread_local bool pool_ends __attribute__((tls_model("initial-exec"))); // with its thread

static pthread_key_t end_of_thread;
static bool end_is_seen;

static struct {
    MPI_Datatype type;
    size_t size;
} basics[BASIC_SLOTS];

static void free_pool(void *ignored)
{
    (void)ignored;
    while (pool != NULL) {
        struct wire *wire = pool;
        pool = wire->next;
        free(wire->header);
        free(wire);
    }
    pooled = 0;
    pool_ends = false;
}

struct wire *wire_new(size_t bytes)
{
    struct wire *wire = pool;
    if (wire != NULL) {
        pool = wire->next;
        pooled--;
    } else {
        wire = calloc(1, sizeof *wire);
        if (wire == NULL)
            return NULL;
    }
    size_t room = sizeof(struct header) + bytes;
    if (wire->room < room) {
        free(wire->header);
        wire->room = room < WIRE_SMALL ? WIRE_SMALL : room;
        wire->header = malloc(wire->room);
        if (wire->header == NULL) {
            free(wire);
            return NULL;
        }
    }
    *wire = (struct wire){.header = wire->header,
                          .room = wire->room,
                          .comm = MPI_COMM_NULL,
                          .made = MPI_DATATYPE_NULL,
                          .layout = MPI_DATATYPE_NULL};
    return wire;
}

void wire_free(struct wire *wire)
{
    if (wire->made != MPI_DATATYPE_NULL)
        mpi_next[1].Type_free(&wire->made);
    if (wire->layout != MPI_DATATYPE_NULL)
        mpi_next[1].Type_free(&wire->layout);
    if (pooled >= POOL_MAX || wire->room > sizeof(struct header) + WIRE_BOUNCE) {
        free(wire->header);
        free(wire);
        return;
    }
    if (!pool_ends && end_is_seen)
        pool_ends = pthread_setspecific(end_of_thread, &pool) == 0;
    wire->next = pool;
    pool = wire;
    pooled++;
}

static size_t basic_slot(MPI_Datatype type)
{
    return (size_t)(((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15)) >> 48) % BASIC_SLOTS;
}

static void add_basic(MPI_Datatype type)
{
    int size = 0;
    MPI_Aint lower = 0, extent = 0;
    if (type == MPI_DATATYPE_NULL || wire_basic_size(type) != 0 ||
        mpi_next[1].Type_size(type, &size) != MPI_SUCCESS ||
        mpi_next[1].Type_get_extent(type, &lower, &extent) != MPI_SUCCESS || size <= 0 ||
        extent != size || lower != 0)
        return;
    size_t slot = basic_slot(type);
    while (basics[slot].size != 0)
        slot = (slot + 1) % BASIC_SLOTS;
    basics[slot].type = type;
    basics[slot].size = (size_t)size;
}

void wire_start(void)
{
    const MPI_Datatype types[] = {
        MPI_CHAR,
        MPI_SIGNED_CHAR,
        MPI_UNSIGNED_CHAR,
        MPI_BYTE,
        MPI_PACKED,
        MPI_WCHAR,
        MPI_SHORT,
        MPI_UNSIGNED_SHORT,
        MPI_INT,
        MPI_UNSIGNED,
        MPI_LONG,
        MPI_UNSIGNED_LONG,
        MPI_LONG_LONG_INT,
        MPI_UNSIGNED_LONG_LONG,
        MPI_FLOAT,
        MPI_DOUBLE,
        MPI_LONG_DOUBLE,
        MPI_INT8_T,
        MPI_INT16_T,
        MPI_INT32_T,
        MPI_INT64_T,
        MPI_UINT8_T,
        MPI_UINT16_T,
        MPI_UINT32_T,
        MPI_UINT64_T,
        MPI_C_BOOL,
        MPI_C_FLOAT_COMPLEX,
        MPI_C_DOUBLE_COMPLEX,
        MPI_C_LONG_DOUBLE_COMPLEX,
        MPI_AINT,
        MPI_OFFSET,
        MPI_COUNT,
        MPI_CHARACTER,
        MPI_INTEGER,
        MPI_REAL,
        MPI_DOUBLE_PRECISION,
        MPI_LOGICAL,
        MPI_COMPLEX,
        MPI_DOUBLE_COMPLEX,
        MPI_INTEGER1,
        MPI_INTEGER2,
        MPI_INTEGER4,
        MPI_INTEGER8,
        MPI_REAL4,
        MPI_REAL8,
    };
    end_is_seen = end_is_seen || pthread_key_create(&end_of_thread, free_pool) == 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        add_basic(types[i]);
}

size_t wire_basic_size(MPI_Datatype type)
{
    for (size_t slot = basic_slot(type); basics[slot].size != 0; slot = (slot + 1) % BASIC_SLOTS) {
        if (basics[slot].type == type)
            return basics[slot].size;
    }
    return 0;
}

void wire_fill(struct wire *wire)
{
    if (wire->bounced && wire->user != NULL)
        memcpy(wire->header + 1, wire->user, wire->bytes);
}

int wire_make_row(size_t bytes, MPI_Datatype *made)
{
    const struct mpi_next *mpi = &mpi_next[1];
    const int one = PIECE;
    const MPI_Aint start = 0;
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    int lengths[2] = {(int)(bytes / PIECE), (int)(bytes % PIECE)};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes - bytes % PIECE)};
    int rc = mpi->Type_create_struct(1, &one, &start, &types[1], &types[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi->Type_create_struct(2, lengths, places, types, made);
    mpi->Type_free(&types[0]);
    if (rc != MPI_SUCCESS)
        *made = MPI_DATATYPE_NULL;
    return rc == MPI_SUCCESS ? mpi->Type_commit(made) : rc;
}

int wire_make_struct(struct wire *wire, struct parcel *parcel)
{
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Datatype types[2] = {MPI_BYTE, parcel->type}, made = MPI_DATATYPE_NULL;
    int rc;
    if (parcel->count <= INT_MAX) {
        int lengths[2] = {sizeof(struct header), (int)parcel->count};
        MPI_Aint places[2] = {(MPI_Aint)wire->header, (MPI_Aint)parcel->buf};
        rc = mpi->Type_create_struct(2, lengths, places, types, &made);
    } else if (mpi->Type_create_struct_c != NULL) {
        MPI_Count lengths[2] = {sizeof(struct header), parcel->count};
        MPI_Count places[2] = {(MPI_Count)(MPI_Aint)wire->header, (MPI_Count)(MPI_Aint)parcel->buf};
        rc = mpi->Type_create_struct_c(2, lengths, places, types, &made);
    } else {
        rc = MPI_ERR_COUNT;
    }
    if (rc == MPI_SUCCESS)
        rc = mpi->Type_commit(&made);
    if (rc != MPI_SUCCESS)
        return rc;
    parcel->buf = MPI_BOTTOM;
    parcel->count = 1;
    parcel->type = wire->made = made;
    return MPI_SUCCESS;
}
