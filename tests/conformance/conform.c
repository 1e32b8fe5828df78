#include "conform.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CASES_MAX = 2048,
    BUFFERS_MAX = 512,
    GUARD = 256, // bytes watched on either side of a buffer
    CASE_LIMIT_S = 60,
    TEXT_MAX = 240,
    EXIT_FAILED = 1,
    EXIT_STUCK = 99,
};

int rank, ranks;
MPI_Comm comm = MPI_COMM_NULL;
int threads_provided;

const struct parameter border_sizes[13] = {
    {"0", 0},       {"1", 1},         {"8", 8},          {"1008", 1008}, {"1016", 1016},
    {"1024", 1024}, {"1025", 1025},   {"8176", 8176},    {"8184", 8184}, {"8192", 8192},
    {"8193", 8193}, {"64KiB", 65536}, {"1MiB", 1048576},
};

static struct {
    char name[64];
    conform_case_fn *run;
    long value;
} cases[CASES_MAX];
static size_t case_count;

// What each rank has to say about the case that it has just run.
struct verdict {
    int failures;
    int skipped;
    char first[TEXT_MAX]; // failure, or why the case was skipped
    char notes[TEXT_MAX];
};

static struct verdict verdict;
static MPI_Comm control = MPI_COMM_NULL;
static const char *current = "";
static bool all_errors_returned;

static struct {
    unsigned char *start;
    size_t length, slack;
} buffers[BUFFERS_MAX];
static size_t buffer_count;

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

void conform_register(const char *file, const char *name, conform_case_fn *run,
                      const struct parameter *parameters, size_t count)
{
    file = base_name(file);
    for (size_t i = 0; i < (parameters != NULL ? count : 1); i++) {
        if (case_count == CASES_MAX)
            abort();
        const char *label = parameters != NULL ? parameters[i].label : "";
        snprintf(cases[case_count].name, sizeof cases->name, "%.*s.%s%s%s", (int)strcspn(file, "."),
                 file, name, *label ? "/" : "", label);
        cases[case_count].run = run;
        cases[case_count++].value = parameters != NULL ? parameters[i].value : 0;
    }
}

bool conform_check(bool good, const char *file, int line, const char *format, ...)
{
    if (good)
        return true;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (verdict.failures++ == 0)
        snprintf(verdict.first, sizeof verdict.first, "%s:%d: %s", base_name(file), line, text);
    if (verdict.failures <= 5)
        fprintf(stderr, "conform: rank %d of %s, %s:%d: %s\n", rank, current, base_name(file), line,
                text);
    return false;
}

bool conform_ok(int rc, const char *call, const char *file, int line)
{
    if (rc == MPI_SUCCESS)
        return true;
    return conform_check(false, file, line, "MPI_ERR_%s from %.100s", class_name(rc), call);
}

bool conform_equal(long long expected, long long actual, const char *what, const char *file,
                   int line)
{
    return conform_check(expected == actual, file, line, "%s is %lld, expected %lld", what, actual,
                         expected);
}

bool conform_class(int expected, int rc, const char *call, const char *file, int line)
{
    int error_class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &error_class);
    char name[32];
    snprintf(name, sizeof name, "%s", class_name(expected));
    return conform_check(error_class == expected, file, line, "%s, expected %s, from %.100s",
                         class_name(error_class), name, call);
}

void conform_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count,
                    const char *file, int line)
{
    int got = -1, cancelled = -1;
    conform_equal(source, status->MPI_SOURCE, "status.MPI_SOURCE", file, line);
    conform_equal(tag, status->MPI_TAG, "status.MPI_TAG", file, line);
    conform_ok(MPI_Get_count(status, type, &got), "MPI_Get_count", file, line);
    conform_equal(count, got, "count of the status", file, line);
    conform_ok(MPI_Test_cancelled(status, &cancelled), "MPI_Test_cancelled", file, line);
    conform_equal(0, cancelled, "cancelled of the status", file, line);
}

void conform_empty_status(const MPI_Status *status, const char *file, int line)
{
    conform_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_BYTE, 0, file, line);
}

void note(const char *format, ...)
{
    size_t used = strlen(verdict.notes);
    va_list arguments;
    if (used > 0 && used < sizeof verdict.notes - 1) {
        verdict.notes[used++] = ' ';
        verdict.notes[used] = '\0';
    }
    va_start(arguments, format);
    vsnprintf(verdict.notes + used, sizeof verdict.notes - used, format, arguments);
    va_end(arguments);
}

void skip(const char *why)
{
    verdict.skipped = 1;
    snprintf(verdict.first, sizeof verdict.first, "%s", why);
}

static unsigned char filling(size_t place, int seed)
{
    return (unsigned char)(1 + (place * 7 + (place >> 8) * 13 + (unsigned)seed * 89) % 163);
}

void fill(void *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = filling(i, seed);
}

bool conform_filled(const void *bytes, size_t length, int seed, const char *file, int line)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < length; i++) {
        if (at[i] != filling(i, seed))
            return conform_check(false, file, line, "byte %zu of %zu is %02x, expected %02x", i,
                                 length, at[i], filling(i, seed));
    }
    return true;
}

bool conform_untouched(const void *bytes, size_t length, const char *file, int line)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < length; i++) {
        if (at[i] != UNTOUCHED_BYTE)
            return conform_check(false, file, line, "byte %zu of %zu was overwritten with %02x", i,
                                 length, at[i]);
    }
    return true;
}

void *loose_buffer(size_t length, size_t slack)
{
    size_t total = GUARD + length + slack + GUARD;
    unsigned char *start = (unsigned char *)malloc(total);
    if (start == NULL || buffer_count == BUFFERS_MAX) {
        fprintf(stderr, "conform: no buffer of %zu bytes left for %s\n", length, current);
        abort();
    }
    memset(start, UNTOUCHED_BYTE, total);
    buffers[buffer_count].start = start;
    buffers[buffer_count].length = length;
    buffers[buffer_count++].slack = slack;
    return start + GUARD;
}

void *buffer(size_t length)
{
    return loose_buffer(length, 0);
}

void *message(size_t length, int seed)
{
    void *bytes = buffer(length);
    fill(bytes, length, seed);
    return bytes;
}

static void release_buffers(void)
{
    for (size_t i = 0; i < buffer_count; i++) {
        unsigned char *start = buffers[i].start;
        size_t behind = GUARD + buffers[i].length + buffers[i].slack;
        conform_check(conform_untouched(start, GUARD, "guard", 0), "conform.c", __LINE__,
                      "overrun before a buffer of %zu bytes", buffers[i].length);
        conform_check(conform_untouched(start + behind, GUARD, "guard", 0), "conform.c", __LINE__,
                      "overrun behind a buffer of %zu bytes", buffers[i].length);
        free(start);
    }
    buffer_count = 0;
}

const char *class_name(int rc)
{
    static const struct {
        int error_class;
        const char *name;
    } names[] = {
        {MPI_SUCCESS, "SUCCESS"},     {MPI_ERR_BUFFER, "BUFFER"},
        {MPI_ERR_COUNT, "COUNT"},     {MPI_ERR_TYPE, "TYPE"},
        {MPI_ERR_TAG, "TAG"},         {MPI_ERR_COMM, "COMM"},
        {MPI_ERR_RANK, "RANK"},       {MPI_ERR_REQUEST, "REQUEST"},
        {MPI_ERR_ROOT, "ROOT"},       {MPI_ERR_GROUP, "GROUP"},
        {MPI_ERR_OP, "OP"},           {MPI_ERR_TOPOLOGY, "TOPOLOGY"},
        {MPI_ERR_DIMS, "DIMS"},       {MPI_ERR_ARG, "ARG"},
        {MPI_ERR_UNKNOWN, "UNKNOWN"}, {MPI_ERR_TRUNCATE, "TRUNCATE"},
        {MPI_ERR_OTHER, "OTHER"},     {MPI_ERR_INTERN, "INTERN"},
        {MPI_ERR_PENDING, "PENDING"}, {MPI_ERR_IN_STATUS, "IN_STATUS"},
        {MPI_ERR_NO_MEM, "NO_MEM"},   {MPI_ERR_KEYVAL, "KEYVAL"},
        {MPI_ERR_INFO, "INFO"},       {MPI_ERR_WIN, "WIN"},
        {MPI_ERR_SPAWN, "SPAWN"},     {MPI_ERR_PORT, "PORT"},
    };
    int error_class = rc;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &error_class);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].error_class == error_class)
            return names[i].name;
    }
    return "?";
}

void return_all_errors(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    all_errors_returned = true;
}

MPI_Status fresh_status(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = UNSET;
    status.MPI_TAG = UNSET;
    return status;
}

void meet(void)
{
    MPI_Barrier(control);
}

// A rank that is stuck ends, and with it the job: the launchers see to that.
static void stuck(int number)
{
    static const char text[] = "conform: a case takes too long: ";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, current, strlen(current)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(EXIT_STUCK);
    _exit(EXIT_STUCK);
}

static void print_line(const char *name, const struct verdict *all)
{
    int failed = -1, skipped = -1;
    for (int i = ranks - 1; i >= 0; i--) {
        failed = all[i].failures != 0 ? i : failed;
        skipped = all[i].skipped != 0 ? i : skipped;
    }
    if (failed >= 0)
        printf("FAILED %s rank %d %s", name, failed, all[failed].first);
    else if (skipped >= 0)
        printf("skipped %s: %s", name, all[skipped].first);
    else
        printf("ok %s", name);
    for (int i = 0; i < ranks; i++) {
        if (all[i].notes[0] != '\0')
            printf(" [%d: %s]", i, all[i].notes);
    }
    printf("\n");
    fflush(stdout);
}

// Returns whether any rank failed.
static bool run_case(size_t index, struct verdict *all)
{
    static int next_tag;
    memset(&verdict, 0, sizeof verdict);
    current = cases[index].name;
    alarm(CASE_LIMIT_S);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    cases[index].run(cases[index].value);
    release_buffers();
    if (all_errors_returned) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
        all_errors_returned = false;
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    // Not a collective operation: those may be what is being tested.
    int tag = next_tag++ % 1000;
    if (rank != 0) {
        MPI_Send(&verdict, sizeof verdict, MPI_BYTE, 0, tag, control);
    } else {
        all[0] = verdict;
        for (int i = 1; i < ranks; i++)
            MPI_Recv(&all[i], sizeof *all, MPI_BYTE, i, tag, control, MPI_STATUS_IGNORE);
        print_line(current, all);
    }
    alarm(0);
    bool failed = false;
    for (int i = 0; rank == 0 && i < ranks; i++)
        failed |= all[i].failures != 0;
    return failed;
}

// Whether the case is called so, or is one of a file or of a list that is.
static bool is_or_is_of(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 && strchr("./", name[length]) != NULL;
}

// --list: names only, without MPI. --only NAME: that case, and those whose names begin with NAME/
// or NAME. (a file's). --after NAME: those behind it.
int conform_main(int argc, char **argv, int threads)
{
    const char *only = NULL, *after = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            for (size_t j = 0; j < case_count; j++)
                printf("%s\n", cases[j].name);
            return 0;
        }
        if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--after") == 0 && i + 1 < argc)
            after = argv[++i];
    }
    signal(SIGALRM, stuck);
    threads_provided = MPI_THREAD_SINGLE;
    if (threads == MPI_THREAD_SINGLE)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, threads, &threads_provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    struct verdict *all = (struct verdict *)calloc((size_t)ranks, sizeof *all);
    size_t run = 0, failed = 0;
    for (size_t i = 0; all != NULL && i < case_count; i++) {
        if (after != NULL) {
            if (strcmp(cases[i].name, after) == 0)
                after = NULL;
            continue;
        }
        if (only != NULL && !is_or_is_of(cases[i].name, only))
            continue;
        run++;
        failed += run_case(i, all);
    }
    current = "MPI_Finalize";
    if (rank == 0) {
        printf("end: %zu cases, %zu failed\n", run, failed);
        fflush(stdout);
    }
    free(all);
    MPI_Comm_free(&control);
    MPI_Finalize();
    return rank == 0 && failed != 0 ? EXIT_FAILED : 0;
}
