// How programs end. Run once per mode; what is compared is the exit status and the lines that begin
// with "ends: ", in any order.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;

static void say(const char *text)
{
    printf("ends: rank %d %s\n", rank, text);
    fflush(stdout);
}

static void exchange(void)
{
    int got = -1, peer = 1 - rank;
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 1, &got, 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    say(got == peer ? "exchanged" : "was given something else");
}

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size = 0, number = 3, got = 0;
    (void)keyval;
    (void)value;
    (void)extra;
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&number, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    say(size == 1 && got == 3 ? "attribute deleted in MPI_Finalize" : "attribute deleted wrongly");
    return MPI_SUCCESS;
}

// What is left open at the end, all of it legal.
static void leave_things_open(void)
{
    static char space[4096 + MPI_BSEND_OVERHEAD];
    static int numbers[4];
    MPI_Comm other;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Recv_init(numbers, 1, MPI_INT, 1 - rank, 9, other, &request);
    MPI_Buffer_attach(space, sizeof space);
    MPI_Bsend(numbers, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
    MPI_Recv(&numbers[1], 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void watch_the_end(void)
{
    static int value;
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value);
}

static int stop_the_server(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int stop = 1;
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    MPI_Send(&stop, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    say("stopped the server");
    return MPI_SUCCESS;
}

// Rank 1 serves until rank 0 is in MPI_Finalize.
static void serve(void)
{
    int keyval, stop = 0;
    if (rank == 0) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_the_server, &keyval, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &rank);
    } else if (rank == 1) {
        while (!stop)
            MPI_Recv(&stop, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("was stopped");
    }
}

static void fork_a_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    say(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "saw its child end" : "lost its child");
}

static void finalize(void)
{
    int flag = 0;
    if (rank == 0)
        printf("end: only MPI_Finalize is left\n");
    fflush(stdout);
    MPI_Finalize();
    MPI_Finalized(&flag);
    say(flag ? "finalized" : "not finalized");
    MPI_Initialized(&flag);
    say(flag ? "was initialized" : "was never initialized");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int flag = 1, number = 0;
    MPI_Request request;
    MPI_Initialized(&flag);
    if (flag)
        say("initialized too early");
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange();
    if (strcmp(mode, "no_finalize") == 0)
        return 0;
    if (strcmp(mode, "abort") == 0 || strcmp(mode, "killed") == 0 ||
        strcmp(mode, "fatal_error") == 0)
        usleep(300000); // what has been printed is on its way
    if (strcmp(mode, "abort") == 0) {
        if (rank == 1)
            MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Recv(&number, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(mode, "killed") == 0) {
        if (rank == 1)
            raise(SIGKILL);
        MPI_Recv(&number, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(mode, "fatal_error") == 0)
        MPI_Send(&number, 1, MPI_INT, 77, 1, MPI_COMM_WORLD);
    if (strcmp(mode, "unreceived") == 0) {
        for (int i = 0; i < 5; i++) {
            MPI_Isend(&number, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
        }
    }
    if (strcmp(mode, "open") == 0) {
        watch_the_end();
        leave_things_open();
    }
    if (strcmp(mode, "served") == 0)
        serve();
    if (strcmp(mode, "forked") == 0) {
        fork_a_child();
        exchange();
    }
    finalize();
    if (strcmp(mode, "open") != 0)
        return 0;
    // Open MPI's launcher ends the others as soon as one has ended with such a status.
    usleep(300000);
    return 5;
}
