#include "tests/unit/mock_mpi_inside.h"

#include "pmpi/front/front.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_S = 60, // a blocking call that takes longer is a test that hangs
    COMM_BASE = 0x30000,
    GROUP = 0x40000,
};

struct mpi_next lib;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int level;
static int comms;

_Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "mock MPI: %s: %s\n", what, why);
    abort();
}

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define ANNOTATE(what) Annotate##what(__FILE__, __LINE__)
#else
#define ANNOTATE(what) ((void)0)
#endif

void enter(void)
{
    ANNOTATE(IgnoreSyncBegin);
    ANNOTATE(IgnoreReadsBegin);
    ANNOTATE(IgnoreWritesBegin);
    pthread_mutex_lock(&lock);
}

int leave(int rc)
{
    pthread_mutex_unlock(&lock);
    ANNOTATE(IgnoreWritesEnd);
    ANNOTATE(IgnoreReadsEnd);
    ANNOTATE(IgnoreSyncEnd);
    return rc;
}

void tell_change(void)
{
    pthread_cond_broadcast(&changed);
}

// Waits for some message or completion; the caller looks whether it is its own.
void wait_for_change(const char *function)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_cond_timedwait(&changed, &lock, &until) != 0)
        fail(function, "nothing comes");
}

// --- communicators -------------------------------------------------------------------------------

MPI_Comm mock_comm(void)
{
    enter();
    MPI_Comm comm = COMM_BASE + comms++;
    leave(MPI_SUCCESS);
    return comm;
}

static int mock_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    (void)comm;
    *made = mock_comm();
    return MPI_SUCCESS;
}

static int mock_Comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int mock_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    *group = GROUP;
    return MPI_SUCCESS;
}

static int mock_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

static int mock_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = MOCK_SELF;
    return MPI_SUCCESS;
}

static int mock_Group_size(MPI_Group group, int *size)
{
    (void)group;
    *size = MOCK_SIZE;
    return MPI_SUCCESS;
}

static int mock_Group_translate_ranks(MPI_Group one, int count, const int ranks[], MPI_Group other,
                                      int translated[])
{
    (void)one, (void)other;
    memcpy(translated, ranks, (size_t)count * sizeof *ranks);
    return MPI_SUCCESS;
}

static int mock_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

static int mock_Query_thread(int *provided)
{
    *provided = level;
    return MPI_SUCCESS;
}

// --- all together --------------------------------------------------------------------------------

static struct mpi_next functions = {
    .Comm_dup = mock_Comm_dup,
    .Comm_free = mock_Comm_free,
    .Comm_group = mock_Comm_group,
    .Comm_rank = mock_Comm_rank,
    .Comm_test_inter = mock_Comm_test_inter,
    .Group_free = mock_Group_free,
    .Group_size = mock_Group_size,
    .Group_translate_ranks = mock_Group_translate_ranks,
    .Query_thread = mock_Query_thread,
};

static const char *const names[MPI_NEXT_FUNCTIONS] = {MPI_NEXT_NAMES};

// One function for each place of the table that is not filled, told apart by three octal digits.
#define MISSING(digits)                                                                            \
    static int missing_##digits(void)                                                              \
    {                                                                                              \
        fail(0##digits < MPI_NEXT_FUNCTIONS ? names[0##digits] : "?", "not part of the mock");     \
    }
#define NAME(digits) (void *)missing_##digits,
#define EIGHT(each, digits)                                                                        \
    each(digits##0) each(digits##1) each(digits##2) each(digits##3) each(digits##4)                \
        each(digits##5) each(digits##6) each(digits##7)
#define SIXTY_FOUR(each, digit)                                                                    \
    EIGHT(each, digit##0)                                                                          \
    EIGHT(each, digit##1)                                                                          \
    EIGHT(each, digit##2)                                                                          \
    EIGHT(each, digit##3)                                                                          \
    EIGHT(each, digit##4) EIGHT(each, digit##5) EIGHT(each, digit##6) EIGHT(each, digit##7)
#define ALL(each)                                                                                  \
    SIXTY_FOUR(each, 0)                                                                            \
    SIXTY_FOUR(each, 1)                                                                            \
    SIXTY_FOUR(each, 2)                                                                            \
    SIXTY_FOUR(each, 3)                                                                            \
    SIXTY_FOUR(each, 4) SIXTY_FOUR(each, 5) SIXTY_FOUR(each, 6) SIXTY_FOUR(each, 7)

ALL(MISSING)
static void *const missing[] = {ALL(NAME)};
_Static_assert(sizeof missing / sizeof *missing >= MPI_NEXT_FUNCTIONS, "another digit is needed");

const char *mock_newer;
const char *mock_symbol;
void *mock_symbol_at;

static void *real(enum front_entry entry, const char *name)
{
    (void)entry;
    if (mock_newer != NULL && strcmp(name, mock_newer) == 0)
        return missing[0];
    for (size_t i = 0; i < MPI_NEXT_FUNCTIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            void *function = ((void *const *)&functions)[i];
            return function != NULL ? function : missing[i];
        }
    }
    return NULL;
}

static void *find(const char *symbol)
{
    if (mock_symbol == NULL || strcmp(symbol, mock_symbol) != 0)
        return NULL;
    return mock_symbol_at != NULL ? mock_symbol_at : missing[0];
}

bool mock_may_go;

static void bypass(const char *except)
{
    if (mock_may_go)
        return;
    fail(except, "the library goes out of the way, which no test wants");
}

void (*mock_look)(void);

static void when_nothing_moved(void (*look)(void))
{
    mock_look = look;
}

static void linger(uint32_t connections, uint64_t linger_ns)
{
    (void)connections, (void)linger_ns;
}

void mock_start(int thread_level)
{
    static const struct front_api api = {
        FRONT_API_VERSION, MPI_NEXT_TABLE, real, find, bypass, linger, when_nothing_moved};
    front_variant_fn cosched_pmpi_variant;
    void *entries[MPI_NEXT_WRAPPED * 2];
    level = thread_level;
    mock_add_types(&functions);
    mock_add_messages(&functions);
    mock_add_requests(&functions);
    alarm(PATIENCE_S); // for calls that the library polls
    if (cosched_pmpi_variant(&api, entries, MPI_NEXT_WRAPPED * 2) != 0)
        fail("the variant", "does not take its functions");
    for (size_t i = 0; i < MPI_NEXT_FUNCTIONS; i++)
        ((void **)&lib)[i] =
            i < MPI_NEXT_WRAPPED ? entries[i * 2] : real(FRONT_ENTRY_MPI, names[i]);
}
