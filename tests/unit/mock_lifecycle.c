#include "tests/unit/mock_lifecycle.h"

#include "pmpi/variant/ballots.h"
#include "pmpi/variant/core.h"
#include "pmpi/variant/exchange.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct mock_life life = {.ranks = 1, .yields = true};

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (count == life.missing_count || size == life.missing_size) {
        life.missing_count = life.missing_size = 0;
        return NULL;
    }
    return __real_calloc(count, size);
}

static int init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    *provided = required;
    return MPI_SUCCESS;
}

// As some MPIs do it.
static int init(int *argc, char ***argv)
{
    int provided = 0;
    return lib.Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

static MPI_Comm_delete_attr_function *attached_first;
static bool attached;

static int create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                         int *keyval, void *state)
{
    (void)copy, (void)state;
    attached_first = delete;
    *keyval = 1;
    return MPI_SUCCESS;
}

static int free_keyval(int *keyval)
{
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static int set_attr(MPI_Comm comm, int keyval, void *value)
{
    (void)value;
    attached = comm == MPI_COMM_SELF && keyval == 1;
    return MPI_SUCCESS;
}

// What the program has attached to MPI_COMM_SELF is deleted before what the library has, and may
// send what other ranks wait for.
static int finalize(void)
{
    life.ends++;
    if (life.last_level)
        return MPI_SUCCESS;
    life.last_level = true;
    assert_true(attached);
    assert_int_equal(life.meetings, 0);
    assert_int_equal(core_active, life.yields);
    if (life.yields) {
        assert_int_equal(lib.Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        assert_int_equal(life.meetings, 1); // seen, as any call of the program
    }
    life.meetings = 0;
    assert_int_equal(mock_session_parts(), 0); // others may still speak to it
    mock_session_checks();
    attached_first(MPI_COMM_SELF, 1, NULL, NULL);
    assert_int_equal(mock_session_checks(), 1); // the classd of before may be gone
    life.parts = mock_session_parts();
    assert_false(core_active);
    return lib.Finalize();
}

static int comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = life.ranks;
    return MPI_SUCCESS;
}

static int comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request)
{
    (void)comm;
    life.starts++;
    *made = mock_comm();
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int set_errhandler(MPI_Comm comm, MPI_Errhandler to)
{
    if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
        life.silent[comm == MPI_COMM_SELF] = to == MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

static int get_errhandler(MPI_Comm comm, MPI_Errhandler *of)
{
    (void)comm;
    *of = MPI_ERRORS_ARE_FATAL;
    return MPI_SUCCESS;
}

static int errhandler_free(MPI_Errhandler *errhandler)
{
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

static int improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                   MPI_Status *status)
{
    (void)source, (void)tag, (void)message, (void)status;
    *flag = comm == MPI_COMM_WORLD && life.unreceived > 0;
    return MPI_SUCCESS;
}

static int imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
                  MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)message, (void)request;
    life.unreceived--;
    life.untold += life.silent[0] && life.silent[1];
    return MPI_ERR_TRUNCATE;
}

static int ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                  MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)root, (void)comm;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static void differ(struct ballot *ballot)
{
    ballot->time_slice_ns += life.longer_ns;
    ballot->gang ^= life.other_policy;
}

bool __wrap_exchange(const void *own, void *all, size_t bytes);

bool __wrap_exchange(const void *own, void *all, size_t bytes)
{
    assert_true(bytes <= sizeof life.ballots[0]);
    memcpy(life.ballots[1], life.ballots[0], sizeof life.ballots[0]);
    memcpy(life.ballots[0], own, bytes);
    life.exchanges++;
    for (int i = 0; i < life.ranks; i++) {
        char *ballot = (char *)all + (size_t)i * bytes;
        memcpy(ballot, own, bytes);
        *(uint64_t *)(void *)ballot += (uint64_t)i; // the number of the node
        if (i > 0 && bytes == sizeof(struct ballot))
            differ((struct ballot *)(void *)ballot);
    }
    return true;
}

static int iallgather(const void *in, int count, MPI_Datatype type, void *out, int room,
                      MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
    (void)room, (void)out_type;
    __wrap_exchange(in, out, (size_t)count);
    return ibcast(out, count, type, 0, comm, request);
}

static int ibarrier(MPI_Comm comm, MPI_Request *request)
{
    life.meetings++;
    return ibcast(NULL, 0, MPI_BYTE, 0, comm, request);
}

static int barrier(MPI_Comm comm)
{
    (void)comm;
    life.meetings++;
    if (life.meanwhile != NULL)
        life.meanwhile();
    return MPI_SUCCESS;
}

static int iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request *request)
{
    (void)op;
    if (in == MPI_IN_PLACE) {
        life.counted++;
    } else {
        life.meetings++;
        memcpy(out, in, (size_t)count * sizeof(int));
    }
    return ibcast(out, count, type, 0, comm, request);
}

static int comm_get_parent(MPI_Comm *parent)
{
    *parent = life.spawned ? MPI_COMM_SELF : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int comm_spawn(const char *command, char *argv[], int count, MPI_Info info, int root,
                      MPI_Comm comm, MPI_Comm *made, int codes[])
{
    (void)command, (void)argv, (void)count, (void)info, (void)root, (void)comm, (void)codes;
    *made = mock_comm();
    return MPI_SUCCESS;
}

// Its error handler does not return.
static int leave_by_jump(MPI_Comm comm, MPI_Comm *made)
{
    (void)comm, (void)made;
    longjmp(life.handler, 1);
}

int mock_lifecycle(void **state)
{
    (void)state;
    setenv("COSCHED_WAIT", "yield", 1);
    mock_start(MPI_THREAD_SINGLE);
    for (int i = 0; i < 2; i++) {
        struct mpi_next *next = &mpi_next[i];
        next->Init = init;
        next->Init_thread = init_thread;
        next->Finalize = finalize;
        next->Comm_create_keyval = create_keyval;
        next->Comm_free_keyval = free_keyval;
        next->Comm_set_attr = set_attr;
        next->Comm_size = comm_size;
        next->Comm_idup = comm_idup;
        next->Comm_dup = leave_by_jump;
        next->Comm_get_parent = comm_get_parent;
        next->Comm_spawn = comm_spawn;
        next->Comm_set_errhandler = set_errhandler;
        next->Comm_get_errhandler = get_errhandler;
        next->Errhandler_free = errhandler_free;
        next->Improbe = improbe;
        next->Imrecv = imrecv;
        next->Ibcast = ibcast;
        next->Iallgather = iallgather;
        next->Ibarrier = ibarrier;
        next->Barrier = barrier;
        next->Iallreduce = iallreduce;
    }
    return 0;
}
