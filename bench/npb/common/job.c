#include "bench/npb/common/job.h"

#include "bench/npb/common/report.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_VERIFIED = 0, EXIT_WRONG = 1, EXIT_REFUSED = 2 };

enum { CACHE_LINE = 64 }; // bytes

static bool parse_whole(const char *text, int *number)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > INT_MAX)
        return false;
    *number = (int)value;
    return true;
}

// Returns null, or what is wrong with the arguments.
static const char *parse_arguments(int argc, char **argv, struct npb_job *job)
{
    job->size_class = '\0';
    job->repeat = 0;
    job->seconds = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--repeat") == 0) {
            if (++i == argc || !parse_whole(argv[i], &job->repeat))
                return "--repeat wants a whole number from 1";
        } else if (strcmp(argv[i], "--seconds") == 0) {
            if (++i == argc || !parse_whole(argv[i], &job->seconds))
                return "--seconds wants a whole number from 1";
        } else if (argv[i][0] == '-') {
            return "unknown option";
        } else if (job->size_class != '\0' || strlen(argv[i]) != 1) {
            return "exactly one class letter is wanted";
        } else {
            job->size_class = argv[i][0];
        }
    }
    if (job->repeat != 0 && job->seconds != 0)
        return "--repeat and --seconds are two ways to say how long";
    return job->size_class == '\0' ? "a class letter is wanted" : NULL;
}

// True on all ranks while another repetition is wanted after `done` of them, the first of which
// began at `begin_s`. Where time counts, it is rank 0's.
static bool wants_another(const struct npb_job *job, int done, double begin_s)
{
    if (job->seconds == 0)
        return done < (job->repeat != 0 ? job->repeat : 1);
    int more = done == 0 || (done < INT_MAX && MPI_Wtime() - begin_s < job->seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

// Every repetition is timed from a barrier and verified by rank 0, whose verdict all ranks return.
static bool run_repetitions(const struct npb_job *job, const struct npb_kernel *kernel, void *state)
{
    struct npb_timer timer = {0};
    double begin_s = MPI_Wtime();
    int correct = 0;
    int done = 0;
    for (; wants_another(job, done, begin_s); done++) {
        double before_s = timer.total_s;
        MPI_Barrier(MPI_COMM_WORLD);
        npb_timer_start(&timer);
        kernel->run(state);
        npb_timer_stop(&timer);
        if (kernel->conclude != NULL)
            kernel->conclude(state);
        if (job->rank == 0) {
            printf("Run %d: %.3f s\n", done + 1, timer.total_s - before_s);
            correct += kernel->verify(state);
            fflush(stdout);
        }
    }
    MPI_Bcast(&correct, 1, MPI_INT, 0, MPI_COMM_WORLD);
    struct npb_result result = {
        .kernel = kernel->name,
        .size_class = job->size_class,
        .ranks = job->ranks,
        .repeat = done,
        .seconds = npb_timer_slowest_s(&timer),
        .operations = done * kernel->operations(state),
        .verified = correct == done,
    };
    if (job->rank == 0)
        npb_report_result(&result);
    return result.verified;
}

int npb_job_main(int argc, char **argv, const struct npb_kernel *kernel)
{
    MPI_Init(&argc, &argv);
    struct npb_job job = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);

    void *state = NULL;
    int status = EXIT_REFUSED;
    const char *refusal = parse_arguments(argc, argv, &job);
    if (refusal == NULL)
        refusal = kernel->prepare(&job, &state);
    if (refusal == NULL) {
        status = run_repetitions(&job, kernel, state) ? EXIT_VERIFIED : EXIT_WRONG;
        kernel->release(state);
    } else if (job.rank == 0) {
        fprintf(stderr, "%s: %s; usage: %s CLASS [--repeat N | --seconds S]\n", kernel->name,
                refusal, kernel->name);
    }
    MPI_Finalize();
    return status;
}

static void *require(void *memory, size_t count, size_t element_bytes)
{
    if (memory == NULL) {
        fprintf(stderr, "npb: no memory for %zu elements of %zu bytes\n", count, element_bytes);
        MPI_Abort(MPI_COMM_WORLD, EXIT_REFUSED);
        abort();
    }
    return memory;
}

void *npb_job_allocate(size_t count, size_t element_bytes)
{
    void *memory = calloc(count > 0 ? count : 1, element_bytes);
    return require(memory, count, element_bytes);
}

void *npb_job_allocate_lines(size_t count, size_t element_bytes)
{
    bool fits = count > 0 && element_bytes <= SIZE_MAX / count;
    void *memory = fits ? aligned_alloc(CACHE_LINE, count * element_bytes) : NULL;
    return memset(require(memory, count, element_bytes), 0, count * element_bytes);
}
