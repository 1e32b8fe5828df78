// One-sided communication, with every way to synchronise; and messages beside it.
#include "conform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 15, LENGTH = 4096 };

struct window {
    MPI_Win win;
    int *memory; // LENGTH of them: i * 10 + rank
};

static struct window make(void)
{
    struct window window;
    OK(MPI_Win_allocate(LENGTH * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &window.memory,
                        &window.win));
    OK(MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN));
    for (int i = 0; i < LENGTH; i++)
        window.memory[i] = i * 10 + rank;
    meet();
    return window;
}

static const struct parameter counts[] = {{"1", 1}, {"300", 300}, {"4096", LENGTH}};

CASE_EACH(put_with_fence, counts)
{
    struct window window = make();
    int *out = buffer((size_t)value * sizeof *out), wrong = 0;
    for (int i = 0; i < value; i++)
        out[i] = i + 1000 * rank;
    OK(MPI_Win_fence(0, window.win));
    OK(MPI_Put(out, (int)value, MPI_INT, 1 - rank, 0, (int)value, MPI_INT, window.win));
    OK(MPI_Win_fence(0, window.win));
    for (int i = 0; i < LENGTH; i++)
        wrong += window.memory[i] != (i < value ? i + 1000 * (1 - rank) : i * 10 + rank);
    EQUAL(0, wrong);
    OK(MPI_Win_free(&window.win));
}

CASE_EACH(get_with_fence, counts)
{
    struct window window = make();
    int *in = buffer((size_t)value * sizeof *in), wrong = 0;
    OK(MPI_Win_fence(0, window.win));
    OK(MPI_Get(in, (int)value, MPI_INT, 1 - rank, 0, (int)value, MPI_INT, window.win));
    OK(MPI_Win_fence(0, window.win));
    for (int i = 0; i < value; i++)
        wrong += in[i] != i * 10 + 1 - rank;
    EQUAL(0, wrong);
    OK(MPI_Win_free(&window.win));
}

CASE_EACH(accumulate_with_fence, counts)
{
    struct window window = make();
    int *out = buffer((size_t)value * sizeof *out), wrong = 0;
    for (int i = 0; i < value; i++)
        out[i] = 5;
    OK(MPI_Win_fence(0, window.win));
    for (int target = 0; target < 2; target++)
        OK(MPI_Accumulate(out, (int)value, MPI_INT, target, 0, (int)value, MPI_INT, MPI_SUM,
                          window.win));
    OK(MPI_Win_fence(0, window.win));
    for (int i = 0; i < LENGTH; i++)
        wrong += window.memory[i] != i * 10 + rank + (i < value ? 10 : 0);
    EQUAL(0, wrong);
    OK(MPI_Win_free(&window.win));
}

CASE(post_start_complete_wait)
{
    struct window window = make();
    MPI_Group all, other;
    int peer = 1 - rank, out = 77 + rank;
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_incl(all, 1, &peer, &other));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Win_post(other, 0, window.win));
        OK(MPI_Win_start(other, 0, window.win));
        OK(MPI_Put(&out, 1, MPI_INT, peer, i, 1, MPI_INT, window.win));
        OK(MPI_Win_complete(window.win));
        if (i < 2) {
            OK(MPI_Win_wait(window.win));
        } else {
            int flag = 0;
            while (!flag && OK(MPI_Win_test(window.win, &flag)))
                ;
        }
        EQUAL(77 + peer, window.memory[i]);
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&window.win));
}

// Who waits for the end of an epoch answers meanwhile whoever sends to it before. In shared memory
// where that can be: Open MPI's MPI_Win_test makes no progress there.
CASE(a_wait_for_an_epoch_makes_progress)
{
    int *memory, in = 0, out = 5, together = 0, peer = 1 - rank;
    MPI_Comm near;
    MPI_Win window;
    MPI_Group all, other;
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    OK(MPI_Comm_size(near, &together));
    OK(MPI_Comm_free(&near));
    OK((together == 2 ? MPI_Win_allocate_shared : MPI_Win_allocate)(
        sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &window));
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_incl(all, 1, &peer, &other));
    if (rank == 0) {
        MPI_Request request;
        OK(MPI_Irecv(&in, 1, MPI_INT, 1, 0, comm, &request));
        OK(MPI_Win_post(other, 0, window));
        OK(MPI_Win_wait(window));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(5, in);
    } else {
        struct timespec until_it_waits = {.tv_nsec = 50000000};
        OK(MPI_Win_start(other, 0, window));
        nanosleep(&until_it_waits, NULL);
        OK(MPI_Ssend(&out, 1, MPI_INT, 0, 0, comm));
        OK(MPI_Win_complete(window));
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&window));
}

static const struct parameter locks[] = {{"shared", MPI_LOCK_SHARED},
                                         {"exclusive", MPI_LOCK_EXCLUSIVE}};

CASE_EACH(lock_unlock, locks)
{
    struct window window = make();
    int out = 500 + rank, in = -1;
    OK(MPI_Win_lock((int)value, 1 - rank, 0, window.win));
    OK(MPI_Put(&out, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, window.win));
    OK(MPI_Win_unlock(1 - rank, window.win));
    OK(MPI_Win_lock((int)value, 1 - rank, 0, window.win));
    OK(MPI_Get(&in, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, window.win));
    OK(MPI_Win_unlock(1 - rank, window.win));
    EQUAL(out, in);
    meet();
    OK(MPI_Win_free(&window.win));
}

CASE(exclusive_counter)
{
    // Both add to rank 0's counter; nothing is lost.
    struct window window = make();
    window.memory[0] = 0;
    meet();
    for (int i = 0; i < 10; i++) {
        int one = 1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
        OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window.win));
        OK(MPI_Win_unlock(0, window.win));
    }
    meet();
    int total = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
    OK(MPI_Get(&total, 1, MPI_INT, 0, 0, 1, MPI_INT, window.win));
    OK(MPI_Win_unlock(0, window.win));
    EQUAL(20, total);
    meet();
    OK(MPI_Win_free(&window.win));
}

CASE(lock_all_and_flush)
{
    struct window window = make();
    int out[2] = {rank + 1, rank + 2}, in[2] = {-1, -1};
    OK(MPI_Win_lock_all(0, window.win));
    OK(MPI_Put(out, 2, MPI_INT, 1 - rank, 10, 2, MPI_INT, window.win));
    OK(MPI_Win_flush(1 - rank, window.win));
    OK(MPI_Get(in, 2, MPI_INT, 1 - rank, 10, 2, MPI_INT, window.win));
    OK(MPI_Win_flush_local(1 - rank, window.win));
    OK(MPI_Win_flush_all(window.win));
    OK(MPI_Win_flush_local_all(window.win));
    CHECK(in[0] == rank + 1 && in[1] == rank + 2);
    OK(MPI_Win_unlock_all(window.win));
    meet();
    OK(MPI_Win_free(&window.win));
}

CASE(fetch_and_op)
{
    struct window window = make();
    int one = 1, before = -1, sum = 0;
    window.memory[0] = 0;
    meet();
    OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < 5; i++) {
        OK(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window.win));
        OK(MPI_Win_flush(0, window.win));
        CHECK(before >= 0 && before < 10);
        sum += before;
    }
    OK(MPI_Win_unlock_all(window.win));
    int total = 0;
    OK(MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(45, total); // 0 to 9, each once
    OK(MPI_Win_free(&window.win));
}

CASE(compare_and_swap)
{
    struct window window = make();
    int mine = rank + 1, nobody = 0, before = -1, won = 0;
    window.memory[0] = 0;
    meet();
    OK(MPI_Win_lock_all(0, window.win));
    OK(MPI_Compare_and_swap(&mine, &nobody, &before, MPI_INT, 0, 0, window.win));
    OK(MPI_Win_flush(0, window.win));
    OK(MPI_Win_unlock_all(window.win));
    won = before == 0;
    OK(MPI_Allreduce(MPI_IN_PLACE, &won, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(1, won);
    OK(MPI_Win_free(&window.win));
}

CASE(get_accumulate)
{
    struct window window = make();
    int out[4] = {1, 1, 1, 1}, in[4] = {-1, -1, -1, -1};
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, window.win));
    OK(MPI_Get_accumulate(out, 4, MPI_INT, in, 4, MPI_INT, 1 - rank, 20, 4, MPI_INT, MPI_SUM,
                          window.win));
    OK(MPI_Win_unlock(1 - rank, window.win));
    for (int i = 0; i < 4; i++)
        EQUAL((20 + i) * 10 + 1 - rank, in[i]);
    meet();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.win));
    for (int i = 0; i < 4; i++)
        EQUAL((20 + i) * 10 + rank + 1, window.memory[20 + i]);
    OK(MPI_Win_unlock(rank, window.win));
    meet();
    OK(MPI_Win_free(&window.win));
}

CASE(requests_of_operations)
{
    struct window window = make();
    int out = 9, in = -1, got = -1;
    MPI_Request requests[4];
    OK(MPI_Win_lock_all(0, window.win));
    OK(MPI_Rput(&out, 1, MPI_INT, 1 - rank, 1, 1, MPI_INT, window.win, &requests[0]));
    OK(MPI_Rget(&in, 1, MPI_INT, 1 - rank, 2, 1, MPI_INT, window.win, &requests[1]));
    OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &requests[2]));
    OK(MPI_Isend(&rank, 1, MPI_INT, 1 - rank, TAG, comm, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    EQUAL(20 + 1 - rank, in);
    EQUAL(1 - rank, got);
    OK(MPI_Win_unlock_all(window.win));
    meet();
    OK(MPI_Win_free(&window.win));
}

CASE(derived_types)
{
    struct window window = make();
    MPI_Datatype every_third;
    int out[100], wrong = 0;
    for (int i = 0; i < 100; i++)
        out[i] = -i;
    OK(MPI_Type_vector(100, 1, 3, MPI_INT, &every_third));
    OK(MPI_Type_commit(&every_third));
    OK(MPI_Win_fence(0, window.win));
    OK(MPI_Put(out, 100, MPI_INT, 1 - rank, 0, 1, every_third, window.win));
    OK(MPI_Win_fence(0, window.win));
    for (int i = 0; i < 300; i++)
        wrong += window.memory[i] != (i % 3 == 0 ? -i / 3 : i * 10 + rank);
    EQUAL(0, wrong);
    OK(MPI_Type_free(&every_third));
    OK(MPI_Win_free(&window.win));
}

CASE(window_of_own_memory)
{
    int *memory = buffer(64 * sizeof *memory), out = 31 + rank;
    MPI_Win win;
    OK(MPI_Win_create(memory, 64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&out, 1, MPI_INT, 1 - rank, 63, 1, MPI_INT, win));
    OK(MPI_Put(&out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    EQUAL(31 + 1 - rank, memory[63]);
    UNTOUCHED(memory, 63 * sizeof *memory);
    OK(MPI_Win_free(&win));
}

CASE(messages_beside_windows)
{
    struct window window = make();
    unsigned char *bytes = message(20000, rank), *got = buffer(20000);
    int out = 4;
    for (int i = 0; i < 3; i++) {
        OK(MPI_Win_fence(0, window.win));
        OK(MPI_Put(&out, 1, MPI_INT, 1 - rank, i, 1, MPI_INT, window.win));
        OK(MPI_Sendrecv(bytes, 20000, MPI_BYTE, 1 - rank, TAG, got, 20000, MPI_BYTE, 1 - rank, TAG,
                        comm, MPI_STATUS_IGNORE));
        FILLED(got, 20000, 1 - rank);
        OK(MPI_Win_fence(0, window.win));
        EQUAL(4, window.memory[i]);
    }
    OK(MPI_Win_free(&window.win));
}
