// MPI_THREAD_MULTIPLE: threads in the library's entry points at once, while the status word keeps
// changing. Says little by itself; under ThreadSanitizer any access that is not ordered is a
// failure.
#include "common/status_page.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/wait.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    WORKERS = 4,
    ROUNDS = 600,
    LONGEST = 9000,
};

static const int sizes[] = {8, 0, 1024, 1500, LONGEST};

struct worker {
    int number;
    int round;
    int wrong;
    MPI_Comm comm;
    int length;
    unsigned char out[LONGEST], in[LONGEST];
};

static _Atomic bool stopping;

static void expect(struct worker *worker, bool holds)
{
    worker->wrong += !holds;
}

static void check(struct worker *worker, const MPI_Status *status)
{
    expect(worker, mock_bytes(status) == (size_t)worker->length);
    expect(worker, status->MPI_SOURCE == MOCK_PEER && status->MPI_TAG == worker->number);
    expect(worker, memcmp(worker->out, worker->in, (size_t)worker->length) == 0);
}

#define OUT worker->out, worker->length, MPI_BYTE, MOCK_PEER, worker->number, worker->comm
#define IN  worker->in, LONGEST, MPI_BYTE, MOCK_PEER, worker->number, worker->comm
#define IT  MOCK_PEER, worker->number, worker->comm

static void send_and_receive(struct worker *worker, MPI_Status *status)
{
    lib.Send(OUT);
    lib.Recv(IN, status);
}

static void exchange(struct worker *worker, MPI_Status *status)
{
    lib.Sendrecv(worker->out, worker->length, MPI_BYTE, MOCK_PEER, worker->number, IN, status);
}

static void begin_send_first(struct worker *worker, MPI_Status *status)
{
    MPI_Request request;
    lib.Isend(OUT, &request);
    lib.Recv(IN, status);
    expect(worker, lib.Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void begin_receive_first(struct worker *worker, MPI_Status *status)
{
    MPI_Request request;
    lib.Irecv(IN, &request);
    lib.Send(OUT);
    expect(worker, lib.Wait(&request, status) == MPI_SUCCESS);
}

static void test_until_done(struct worker *worker, MPI_Status *status)
{
    MPI_Request send, receive;
    int sent = 0, received = 0;
    lib.Isend(OUT, &send);
    lib.Irecv(IN, &receive);
    while (!sent || !received) {
        if (!sent)
            lib.Test(&send, &sent, MPI_STATUS_IGNORE);
        if (!received)
            lib.Test(&receive, &received, status);
        sched_yield();
    }
}

static void wait_for_both(struct worker *worker, MPI_Status *status)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    lib.Irecv(IN, &requests[0]);
    lib.Isend(OUT, &requests[1]);
    expect(worker, lib.Waitall(2, requests, statuses) == MPI_SUCCESS);
    *status = statuses[0];
}

static void probe(struct worker *worker, MPI_Status *status)
{
    MPI_Message message;
    int flag = 0;
    lib.Send(OUT);
    lib.Probe(IT, status);
    expect(worker, mock_bytes(status) == (size_t)worker->length);
    lib.Iprobe(IT, &flag, status);
    expect(worker, flag && mock_bytes(status) == (size_t)worker->length);
    lib.Mprobe(IT, &message, status);
    lib.Mrecv(worker->in, LONGEST, MPI_BYTE, &message, status);
}

static void free_the_send(struct worker *worker, MPI_Status *status)
{
    MPI_Request request;
    lib.Isend(OUT, &request);
    lib.Request_free(&request);
    lib.Recv(IN, status);
}

// With a communicator of this thread's own, which is made and freed while others look theirs up.
static void elsewhere(struct worker *worker, MPI_Status *status)
{
    MPI_Comm comm = worker->comm;
    lib.Comm_dup(comm, &worker->comm);
    send_and_receive(worker, status);
    lib.Comm_free(&worker->comm);
    worker->comm = comm;
}

static void *work(void *argument)
{
    static void (*const ways[])(struct worker *, MPI_Status *) = {
        send_and_receive, exchange, begin_send_first, begin_receive_first, test_until_done,
        wait_for_both,    probe,    free_the_send,    elsewhere,
    };
    struct worker *worker = argument;
    for (worker->round = 0; worker->round < ROUNDS; worker->round++) {
        MPI_Status status;
        worker->length = sizes[worker->round % (int)(sizeof sizes / sizeof *sizes)];
        memset(worker->out, worker->round ^ worker->number << 4, sizeof worker->out);
        memset(worker->in, 0, sizeof worker->in);
        ways[(worker->round + worker->number) % (int)(sizeof ways / sizeof *ways)](worker, &status);
        check(worker, &status);
    }
    return NULL;
}

static void *echo(void *argument)
{
    while (!stopping) {
        mock_peer_echo();
        doorbell_ring(MOCK_SELF);
        sched_yield();
    }
    return argument;
}

static void *keep_changing(void *argument)
{
    static const uint16_t flags[] = {STATUS_SCHEDULED, STATUS_SCHEDULED | STATUS_CONTENDED,
                                     STATUS_CONTENDED, 0};
    for (unsigned i = 0; !stopping; i++) {
        mock_status(flags[i % 4]);
        for (unsigned k = 0; k < i % 50; k++)
            sched_yield();
    }
    return argument;
}

static void run_threads(void)
{
    struct worker *workers = calloc(WORKERS, sizeof *workers);
    pthread_t threads[WORKERS], echoing, changing;
    stopping = false;
    assert_int_equal(pthread_create(&echoing, NULL, echo, NULL), 0);
    assert_int_equal(pthread_create(&changing, NULL, keep_changing, NULL), 0);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].number = 10 + i;
        workers[i].comm = MPI_COMM_WORLD;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    stopping = true;
    pthread_join(echoing, NULL);
    pthread_join(changing, NULL);
    free(workers);
}

static void run(bool headers, bool yields, bool counts)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    const bool remote[MOCK_SIZE] = {false, true};
    mock_start(MPI_THREAD_MULTIPLE);
    MPI_Comm comm = mock_comm();
    assert_int_equal(peers_start(nodes, MOCK_SIZE), 0);
    assert_int_equal(carrier_start(comm, MOCK_SIZE, remote, headers), 0);
    if (headers)
        header_start(comm, MOCK_SELF);
    wait_yields = wait_collectives_polled = yields;
    stats_on = counts;
    core_active = true;
    core_quick = !headers && !yields && !counts;
    mock_hold_sends(MPI_COMM_WORLD);
    run_threads();
    assert_true(mock_session_requests() > 0);
    core_active = core_quick = false;
    if (headers)
        header_stop();
    mock_peer_echo();
    carrier_drain();
    carrier_stop();
    peers_stop();
    assert_int_equal(mock_messages_left(), 0);
    assert_int_equal(mock_requests_left(), 0);
    assert_int_equal(mock_types_left(), 0);
}

static void threads_with_notices(void **state)
{
    (void)state;
    run(false, false, false);
}

static void threads_with_headers(void **state)
{
    (void)state;
    run(true, false, false);
}

static void threads_that_yield_and_count(void **state)
{
    (void)state;
    run(true, true, true);
}

static void threads_that_sleep(void **state)
{
    char name[DOORBELL_NAME_MAX];
    (void)state;
    assert_int_equal(doorbell_create("/tmp", MOCK_SIZE, name, NULL), 0);
    doorbell_remove("/tmp", name);
    wait_blocks = true;
    run(false, true, true);
    assert_true(stats_counters[STATS_SLEEPS] > 0);
    doorbell_leave();
    wait_blocks = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_notices),
        cmocka_unit_test(threads_with_headers),
        cmocka_unit_test(threads_that_yield_and_count),
        cmocka_unit_test(threads_that_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
