// MPI_THREAD_MULTIPLE: threads that send and receive at the same time. Counts are small, since two
// threads that wait by spinning on one CPU take milliseconds per message.
#include "conform.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CONFORM_MAIN(MPI_THREAD_MULTIPLE)

enum { THREADS = 3, MESSAGES = 8 };

static bool lacking(void)
{
    if (threads_provided < MPI_THREAD_MULTIPLE)
        skip("this MPI has no MPI_THREAD_MULTIPLE");
    return threads_provided < MPI_THREAD_MULTIPLE;
}

// Threads count their errors and the case checks the sum: checks are not for threads.
struct work {
    pthread_t thread;
    int number;
    int wrong;
    MPI_Comm comm;
};

static void run(void *(*function)(void *), MPI_Comm comms[THREADS])
{
    struct work works[THREADS];
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct work){.number = i, .comm = comms != NULL ? comms[i] : comm};
        if (pthread_create(&works[i].thread, NULL, function, &works[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(works[i].thread, NULL);
        EQUAL(0, works[i].wrong);
    }
}

static size_t length_of(int i)
{
    static const size_t lengths[] = {8, 2000, 0, 9000, 40000};
    return lengths[i % 5];
}

static bool as_filled(const unsigned char *bytes, size_t length, int seed)
{
    unsigned char *expected = malloc(length + 1);
    fill(expected, length, seed);
    bool same = memcmp(bytes, expected, length) == 0;
    free(expected);
    return same;
}

static void *ping_pong(void *argument)
{
    struct work *work = argument;
    unsigned char *bytes = malloc(40000);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status = fresh_status();
        int count = -1;
        for (int turn = 0; turn < 2; turn++) {
            if (rank == turn) {
                fill(bytes, length_of(i), i + work->number);
                work->wrong += MPI_Send(bytes, (int)length_of(i), MPI_BYTE, 1 - rank, work->number,
                                        work->comm) != MPI_SUCCESS;
            } else {
                work->wrong += MPI_Recv(bytes, 40000, MPI_BYTE, MPI_ANY_SOURCE, work->number,
                                        work->comm, &status) != MPI_SUCCESS;
                MPI_Get_count(&status, MPI_BYTE, &count);
                work->wrong += count != (int)length_of(i) || status.MPI_TAG != work->number ||
                               !as_filled(bytes, length_of(i), i + work->number);
            }
        }
    }
    free(bytes);
    return NULL;
}

CASE(ping_pong_by_tag)
{
    if (!lacking())
        run(ping_pong, NULL);
}

CASE(ping_pong_by_communicator)
{
    MPI_Comm comms[THREADS];
    if (lacking())
        return;
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(comm, &comms[i]));
    run(ping_pong, comms);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&comms[i]));
}

// Layouts that start at MPI_BOTTOM: each thread's own addresses, of types that each makes for itself.
static void *from_bottom(void *argument)
{
    struct work *work = argument;
    int values[2][3];
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Datatype types[2];
        for (int way = 0; way < 2; way++) {
            MPI_Aint places[2];
            MPI_Get_address(&values[way][2], &places[0]);
            MPI_Get_address(&values[way][0], &places[1]);
            MPI_Type_create_hindexed(2, (int[]){1, 1}, places, MPI_INT, &types[way]);
            MPI_Type_commit(&types[way]);
        }
        values[0][2] = work->number * 1000 + i;
        values[0][0] = -values[0][2] - 1;
        values[1][0] = values[1][1] = values[1][2] = 0;
        MPI_Request request;
        MPI_Irecv(MPI_BOTTOM, 1, types[1], 1 - rank, work->number, work->comm, &request);
        work->wrong += MPI_Send(MPI_BOTTOM, 1, types[0], 1 - rank, work->number, work->comm) !=
                       MPI_SUCCESS;
        work->wrong += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        work->wrong += values[1][2] != values[0][2] || values[1][0] != values[0][0] ||
                       values[1][1] != 0;
        MPI_Type_free(&types[0]);
        MPI_Type_free(&types[1]);
    }
    return NULL;
}

CASE(layouts_from_bottom)
{
    if (!lacking())
        run(from_bottom, NULL);
}

static void *exchange(void *argument)
{
    struct work *work = argument;
    for (int i = 0; i < MESSAGES; i++) {
        int out[2] = {work->number, i}, in[2] = {-1, -1};
        MPI_Request requests[2];
        MPI_Irecv(in, 2, MPI_INT, 1 - rank, work->number, work->comm, &requests[0]);
        MPI_Isend(out, 2, MPI_INT, 1 - rank, work->number, work->comm, &requests[1]);
        work->wrong += MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
        work->wrong += in[0] != work->number || in[1] != i;
        in[0] = in[1] = -1;
        work->wrong +=
            MPI_Sendrecv(out, 2, MPI_INT, 1 - rank, work->number, in, 2, MPI_INT, 1 - rank,
                         work->number, work->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        work->wrong += in[0] != work->number || in[1] != i;
    }
    return NULL;
}

CASE(exchange_nonblocking)
{
    if (!lacking())
        run(exchange, NULL);
}

static int taken[2]; // messages, sum of their numbers

// Each takes whatever comes; matched probes keep threads from taking each other's messages.
static void *take_any(void *argument)
{
    struct work *work = argument;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (;;) {
        MPI_Message matched;
        MPI_Status status = fresh_status(), received = fresh_status();
        int count = -1, again = -1, numbers[3000];
        work->wrong += MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, work->comm, &matched, &status) != 0;
        MPI_Get_count(&status, MPI_INT, &count);
        work->wrong += MPI_Mrecv(numbers, 3000, MPI_INT, &matched, &received) != MPI_SUCCESS;
        MPI_Get_count(&received, MPI_INT, &again);
        if (count == 0)
            return NULL;
        work->wrong += again != count || numbers[0] != count || numbers[count - 1] != count;
        pthread_mutex_lock(&lock);
        taken[0]++;
        taken[1] += count;
        pthread_mutex_unlock(&lock);
    }
}

CASE(matched_probes_in_threads)
{
    if (lacking())
        return;
    taken[0] = taken[1] = 0;
    if (rank == 1) {
        run(take_any, NULL);
        EQUAL(20, taken[0]);
        EQUAL(20 + 120 * 190, taken[1]);
        return;
    }
    for (int i = 0; i < 20; i++) {
        int count = 1 + 120 * i;
        int *numbers = buffer((size_t)count * sizeof *numbers);
        for (int j = 0; j < count; j++)
            numbers[j] = count;
        OK(MPI_Send(numbers, count, MPI_INT, 1, i, comm));
    }
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Send(NULL, 0, MPI_INT, 1, 99, comm));
}

static void *receive_from_self(void *argument)
{
    struct work *work = argument;
    int got = -1;
    work->wrong += MPI_Recv(&got, 1, MPI_INT, rank, 50 + work->number, work->comm,
                            MPI_STATUS_IGNORE) != MPI_SUCCESS;
    work->wrong += got != work->number;
    return NULL;
}

CASE(blocked_in_one_thread_sent_by_another)
{
    struct work work = {.number = 1, .comm = comm};
    if (lacking())
        return;
    if (pthread_create(&work.thread, NULL, receive_from_self, &work) != 0)
        abort();
    usleep(10000);
    OK(MPI_Ssend(&work.number, 1, MPI_INT, rank, 51, comm));
    pthread_join(work.thread, NULL);
    EQUAL(0, work.wrong);
}

static void *wait_for(void *argument)
{
    struct work *work = argument;
    int got = -1;
    MPI_Request request;
    MPI_Status status = fresh_status();
    MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 70 + work->number, work->comm, &request);
    work->wrong += MPI_Wait(&request, &status) != MPI_SUCCESS;
    work->wrong += got != 7 * work->number || status.MPI_TAG != 70 + work->number;
    return NULL;
}

CASE(many_wait_one_sends)
{
    struct work works[THREADS];
    if (lacking())
        return;
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct work){.number = i, .comm = comm};
        if (pthread_create(&works[i].thread, NULL, wait_for, &works[i]) != 0)
            abort();
    }
    for (int i = THREADS - 1; i >= 0; i--) {
        int number = 7 * i;
        OK(MPI_Send(&number, 1, MPI_INT, 1 - rank, 70 + i, comm));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(works[i].thread, NULL);
        EQUAL(0, works[i].wrong);
    }
}

static void *reduce_on_own(void *argument)
{
    struct work *work = argument;
    for (int i = 0; i < 4; i++) {
        int mine = i + work->number, sum = 0;
        work->wrong += MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, work->comm) != MPI_SUCCESS;
        work->wrong += sum != ranks * mine;
    }
    return NULL;
}

CASE(collectives_by_communicator)
{
    MPI_Comm comms[THREADS];
    if (lacking())
        return;
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(comm, &comms[i]));
    run(reduce_on_own, comms);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&comms[i]));
}

static void *make_and_free(void *argument)
{
    struct work *work = argument;
    for (int i = 0; i < 5; i++) {
        MPI_Comm made;
        int got = -1;
        work->wrong += MPI_Comm_dup(work->comm, &made) != MPI_SUCCESS;
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 1, &got, 1, MPI_INT, 1 - rank, 1, made,
                     MPI_STATUS_IGNORE);
        work->wrong += got != i;
        work->wrong += MPI_Comm_free(&made) != MPI_SUCCESS;
    }
    return NULL;
}

CASE(communicators_made_in_threads)
{
    MPI_Comm comms[THREADS];
    if (lacking())
        return;
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(comm, &comms[i]));
    run(make_and_free, comms);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&comms[i]));
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int not_cancelled(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void *complete_later(void *request)
{
    usleep(20000);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static const struct parameter waits[] = {{"wait", 0},
                                         {"waitany", 1},
#ifndef MPICH // 4.0 fails an assertion
                                         {"waitall", 2},
#endif
                                         {"waitsome", 3}};

CASE_EACH(generalized_request_completed_by_a_thread, waits)
{
    pthread_t thread;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, of_thread;
    int index = 0, count, indices[2];
    if (lacking())
        return;
    OK(MPI_Grequest_start(query, nothing, not_cancelled, NULL, &requests[0]));
    of_thread = requests[0];
    if (pthread_create(&thread, NULL, complete_later, &of_thread) != 0)
        abort();
    if (value == 0)
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    else if (value == 1)
        OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    else if (value == 2)
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    else
        OK(MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE));
    EQUAL(0, index);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    pthread_join(thread, NULL);
}
