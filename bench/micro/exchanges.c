// Exchanges between ranks, timed on command.
//
//     exchanges DIRECTORY
//
// DIRECTORY holds one FIFO per rank, "command.<rank>", and "answer". Whoever takes part gets the
// line
//
//     PATTERN BYTES REPEATS
//
// which is ranks 0 and 1, and for a collective all ranks. Between two lines ranks wait in read(),
// outside MPI, where they use no CPU: so several such jobs can share a machine, one of them active
// at a time. Rank 0 answers "ready NAME", NAME being the file that MPI_Send comes from, and then
// the seconds that each line took. The end of the FIFO, or "quit", ends the job.
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    TAG = 1,
    LOST_TAG = 2,
    BYTES_MAX = 4 << 20,
    BLOCK_DOUBLES = 8, // of a strided message: as many are left out between two blocks
    WINDOW = 64,
    HEADER_BYTES = 16,
};

struct job {
    int rank;
    int ranks;
    int peer;  // the other one of ranks 0 and 1
    char *out; // twice BYTES_MAX, for strided messages
    char *in;
};

// A message as the MPI calls take it.
struct message {
    int count;
    MPI_Datatype type;
};

struct pattern {
    const char *name;
    bool strided;
    void (*once)(const struct job *job, struct message message);
};

static void pingpong(const struct job *job, struct message message)
{
    if (job->rank == 0) {
        MPI_Send(job->out, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(job->in, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(job->in, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Send(job->out, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD);
    }
}

// What the carrier does with a large message, by hand and without a library: a structure of 16
// bytes and the message.
static MPI_Datatype headed(void *header, char *payload, struct message message)
{
    int lengths[2] = {HEADER_BYTES, message.count};
    MPI_Aint places[2];
    MPI_Datatype types[2] = {MPI_BYTE, message.type}, made;
    MPI_Get_address(header, &places[0]);
    MPI_Get_address(payload, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &made);
    MPI_Type_commit(&made);
    return made;
}

static void pingpong_headed(const struct job *job, struct message message)
{
    char header[HEADER_BYTES] = {0};
    for (int sender = 0; sender < 2; sender++) {
        bool sends = sender == job->rank;
        MPI_Datatype type = headed(header, sends ? job->out : job->in, message);
        if (sends)
            MPI_Send(MPI_BOTTOM, 1, type, job->peer, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(MPI_BOTTOM, 1, type, job->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
}

static void exchange(const struct job *job, struct message message)
{
    MPI_Request requests[2];
    MPI_Irecv(job->in, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(job->out, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void answer_window(const struct job *job)
{
    if (job->rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, job->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, job->peer, TAG, MPI_COMM_WORLD);
}

// A window of messages one way, and an empty one back.
static void window(const struct job *job, struct message message)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (job->rank == 0)
            MPI_Isend(job->out, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD,
                      &requests[i]);
        else
            MPI_Irecv(job->in, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD,
                      &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    answer_window(job);
}

// The same by blocking calls: a pingpong hides in its waits what a send does after it has begun.
static void stream(const struct job *job, struct message message)
{
    for (int i = 0; i < WINDOW; i++) {
        if (job->rank == 0)
            MPI_Send(job->out, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(job->in, message.count, message.type, job->peer, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    answer_window(job);
}

// A call that no message comes of: nearly all of it is the way into the MPI and back.
static void nobody(const struct job *job, struct message message)
{
    MPI_Send(job->out, message.count, message.type, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
}

static void allreduce(const struct job *job, struct message message)
{
    MPI_Allreduce(job->out, job->in, message.count / (int)sizeof(double), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void barrier(const struct job *job, struct message message)
{
    (void)job;
    (void)message;
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct pattern patterns[] = {
    {.name = "pingpong", .once = pingpong},
    {.name = "pingpong-strided", .strided = true, .once = pingpong},
    {.name = "pingpong-headed", .once = pingpong_headed},
    {.name = "exchange", .once = exchange},
    {.name = "exchange-strided", .strided = true, .once = exchange},
    {.name = "window", .once = window},
    {.name = "stream", .once = stream},
    {.name = "nobody", .once = nobody},
    {.name = "allreduce", .once = allreduce},
    {.name = "barrier", .once = barrier},
};

static const struct pattern *find_pattern(const char *name)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    }
    return NULL;
}

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct result {
    double seconds;
    double lost_s; // of these, without a CPU: a rank that waits for a message spins
};

// Times `repeats` times, after some that are not counted: caches are cold, and connections may not
// be there yet, when another job had the machine until now.
static struct result measure(const struct job *job, const struct pattern *pattern, int bytes,
                             int repeats)
{
    struct message message = {.count = bytes, .type = MPI_BYTE};
    int block = BLOCK_DOUBLES * (int)sizeof(double);
    if (pattern->strided) {
        message.count = 1;
        MPI_Type_vector(bytes / block, BLOCK_DOUBLES, 2 * BLOCK_DOUBLES, MPI_DOUBLE, &message.type);
        MPI_Type_commit(&message.type);
    }
    for (int i = 0; i < repeats / 8 + 2; i++)
        pattern->once(job, message);
    double cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID), start_s = clock_s(CLOCK_MONOTONIC);
    for (int i = 0; i < repeats; i++)
        pattern->once(job, message);
    struct result result = {.seconds = clock_s(CLOCK_MONOTONIC) - start_s};
    result.lost_s = result.seconds - (clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s);
    if (pattern->strided)
        MPI_Type_free(&message.type);
    return result;
}

// Rank 0 learns what the others have lost.
static void collect_lost(const struct job *job, int ranks, double *lost_s)
{
    if (job->rank != 0) {
        MPI_Send(lost_s, 1, MPI_DOUBLE, 0, LOST_TAG, MPI_COMM_WORLD);
        return;
    }
    for (int rank = 1; rank < ranks; rank++) {
        double other_s;
        MPI_Recv(&other_s, 1, MPI_DOUBLE, rank, LOST_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (other_s > *lost_s)
            *lost_s = other_s;
    }
}

// Nearly all of its CPU, whatever else the machine does; the turns are short. "nice" counts only
// among the tasks of a session where the kernel groups those, so the session's is set too. (A job
// that is registered lives in a cgroup: see standing.py.) Who may not do this measures what there
// is.
static void come_first(void)
{
    setpriority(PRIO_PROCESS, 0, -20);
    FILE *file = fopen("/proc/self/autogroup", "w");
    if (file != NULL) {
        fputs("-20", file);
        fclose(file);
    }
}

static void bind_to_cpu(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Before MPI_Init: a third rank, which only makes the job larger, is on a node with CPUs of its
// own. Where a virtual node has to share CPUs with the first one, the library would take the job
// for one whose ranks crowd each other, and have them wait in another way. Bound to other CPUs than
// they are, a rank does not count as sharing theirs.
static void stand_apart(void)
{
    const char *rank = getenv("PMI_RANK"); // MPICH's launcher
    cpu_set_t allowed;
    if (rank == NULL)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL || strcmp(rank, "2") != 0 ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) {
            bind_to_cpu(cpu);
            return;
        }
    }
}

// Keeps the ranks of a node on CPUs of their own, one each while there are enough.
static void stay_on_one_cpu(void)
{
    MPI_Comm node;
    int index;
    cpu_set_t allowed;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &index);
    MPI_Comm_free(&node);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return;
    index %= CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
            bind_to_cpu(cpu);
            return;
        }
    }
}

static FILE *open_fifo(const char *directory, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return file;
}

// Rank 0 says where MPI_Send comes from; "several" when not all ranks have the same.
static void tell_ready(const struct job *job, FILE *answer)
{
    char name[256] = "?", first[256];
    Dl_info info;
    if (dladdr((void *)MPI_Send, &info) != 0 && info.dli_fname != NULL) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(name, sizeof name, "%s", slash != NULL ? slash + 1 : info.dli_fname);
    }
    memcpy(first, name, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    int same = strcmp(name, first) == 0, all_same = 0;
    MPI_Allreduce(&same, &all_same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (job->rank == 0)
        fprintf(answer, "ready %s\n", all_same ? first : "several");
}

static void serve(const struct job *job, FILE *commands, FILE *answer)
{
    char line[256], name[32];
    int bytes, repeats, ranks;
    while (fgets(line, sizeof line, commands) != NULL && strcmp(line, "quit\n") != 0) {
        const struct pattern *pattern = NULL;
        if (sscanf(line, "%31s %d %d %d", name, &bytes, &repeats, &ranks) == 4 && bytes >= 0 &&
            bytes <= BYTES_MAX && repeats >= 1 && ranks >= 2 && ranks <= job->ranks)
            pattern = find_pattern(name);
        if (pattern == NULL) {
            fprintf(stderr, "exchanges: not a command: %s", line);
            MPI_Abort(MPI_COMM_WORLD, 2);
            return;
        }
        struct result result = measure(job, pattern, bytes, repeats);
        collect_lost(job, ranks, &result.lost_s);
        if (job->rank == 0)
            fprintf(answer, "%.9f %.9f\n", result.seconds, result.lost_s);
    }
}

int main(int argc, char **argv)
{
    stand_apart();
    MPI_Init(&argc, &argv);
    struct job job = {.out = malloc(2 * BYTES_MAX), .in = malloc(2 * BYTES_MAX)};
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    job.peer = 1 - job.rank;
    if (argc != 2 || job.ranks < 2 || job.out == NULL || job.in == NULL) {
        fprintf(stderr, "usage: exchanges DIRECTORY, on two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    // Memory that was never written is one page of zeros, which is read faster than a message.
    memset(job.out, 1, 2 * BYTES_MAX);
    memset(job.in, 2, 2 * BYTES_MAX);
    come_first();
    stay_on_one_cpu();
    char name[32];
    snprintf(name, sizeof name, "command.%d", job.rank);
    FILE *commands = open_fifo(argv[1], name, "r");
    FILE *answer = NULL;
    if (job.rank == 0) {
        answer = open_fifo(argv[1], "answer", "w");
        setvbuf(answer, NULL, _IOLBF, 0);
    }
    tell_ready(&job, answer);
    serve(&job, commands, answer);
    fclose(commands);
    if (answer != NULL)
        fclose(answer);
    free(job.out);
    free(job.in);
    MPI_Finalize();
    return 0;
}
