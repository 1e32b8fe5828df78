#include "pmpi/variant/outsiders.h"

#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/session.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/within.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum {
    QUEUED_PARTS = 10,  // somebody else computes: the rank stood in line for one of these
    CALLS_MOST = 256,   // between two looks at the clock
    RARE_PER_LOOK = 10, // looks at the clock in a window, at least
};

struct outsiders outsiders = {
    .window_ns = 100 * NS_PER_MS, .hold_ns = 5 * NS_PER_SEC, .queued_ns = outsiders_queued_ns};
bool outsiders_on;
_Thread_local uint32_t outsiders_left;

static struct {
    pthread_t thread;  // whose standing in line is looked at
    uint64_t word;     // that is followed
    uint32_t calls;    // from one look at the clock to the next
    uint64_t clock_ns; // when it was last looked at
    uint64_t began_ns; // of what is looked at now
    uint64_t queued_ns;
} own;

// The second of three numbers: time on a CPU, time in line for one, times on one.
bool outsiders_queued_ns(uint64_t *queued_ns)
{
    char text[96];
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return sscanf(text, "%*u %" SCNu64, queued_ns) == 1;
}

// Ranks know the word by its epoch: odd, somebody else computes.
static bool is_beside_others(uint64_t word)
{
    return (status_word_epoch(word) & 1) != 0;
}

static void say(uint64_t word, bool beside_others)
{
    // Another rank may have said it.
    if (is_beside_others(word) != beside_others)
        atomic_compare_exchange_strong_explicit(&doorbell.room->word, &word, word + 1,
                                                memory_order_release, memory_order_relaxed);
}

bool outsiders_possible(void)
{
    uint64_t queued_ns;
    int level = MPI_THREAD_MULTIPLE;
    mpi_next[1].Query_thread(&level);
    return level != MPI_THREAD_MULTIPLE && outsiders.queued_ns(&queued_ns);
}

void outsiders_start(void)
{
    own.thread = pthread_self();
    own.word = STATUS_WORD_FREE;
    own.calls = outsiders_left = 1;
    own.clock_ns = own.began_ns = 0;
    session_watch(&doorbell.room->word);
    outsiders_on = true;
    atomic_store_explicit(&carrier.settled, stats_on ? 0 : STATUS_WORD_FREE, memory_order_relaxed);
}

void outsiders_stop(void)
{
    if (!outsiders_on)
        return;
    outsiders_on = false;
    session_watch(NULL);
    atomic_store_explicit(&carrier.settled, 0, memory_order_relaxed);
}

void outsiders_follow(void)
{
    uint64_t word = session_word();
    if (word == own.word)
        return;
    own.word = word;
    bool beside_others = is_beside_others(word);
    wait_yields = wait_blocks = beside_others;
    if (beside_others)
        within_start();
    atomic_store_explicit(&carrier.settled, beside_others || stats_on ? 0 : word,
                          memory_order_relaxed);
}

// So many calls that the clock is looked at often enough in a window, and seldom in a program that
// calls all the time.
static void pace(uint64_t now_ns)
{
    uint64_t took_ns = now_ns - own.clock_ns;
    own.clock_ns = now_ns;
    if (took_ns < outsiders.window_ns / (4 * RARE_PER_LOOK) && own.calls < CALLS_MOST)
        own.calls *= 2;
    else if (took_ns > outsiders.window_ns / RARE_PER_LOOK && own.calls > 1)
        own.calls /= 2;
    outsiders_left = own.calls;
}

static void judge(uint64_t now_ns)
{
    uint64_t queued_ns, elapsed_ns = now_ns - own.began_ns;
    if (!outsiders.queued_ns(&queued_ns))
        return;
    bool stood = own.began_ns != 0 && queued_ns - own.queued_ns > elapsed_ns / QUEUED_PARTS;
    own.began_ns = now_ns;
    own.queued_ns = queued_ns;
    uint64_t word = session_word();
    if (stood) {
        atomic_store_explicit(&doorbell.room->outsiders_until_ns, now_ns + outsiders.hold_ns,
                              memory_order_relaxed);
        say(word, true);
    } else if (now_ns > atomic_load_explicit(&doorbell.room->outsiders_until_ns,
                                             memory_order_relaxed)) {
        say(word, false);
    }
}

void outsiders_look(void)
{
    if (!outsiders_on || !pthread_equal(own.thread, pthread_self()))
        return;
    uint64_t now_ns = clock_now_ns();
    pace(now_ns);
    if (now_ns - own.began_ns >= outsiders.window_ns)
        judge(now_ns);
}
