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
    QUEUED_PARTS = 10,    // somebody else computes: the rank stood in line for one of these,
    WINDOWS_IN_A_ROW = 2, // in so many windows; a login, or a kernel's thread, is not meant
    OWN_PARTS = 4,        // if other threads of its own computed for less than one of these
    LOOKS = 20,           // at the clock in a window, about
    CALLS_MOST = 32,      // between two of these
    CALLS_PER_CHECK = 64, // of a polite rank, for the end of it
};

struct outsiders outsiders = {
    .window_ns = 100 * NS_PER_MS,
    .hold_ns = 5 * NS_PER_SEC,
    .hold_most_ns = 20 * NS_PER_SEC,
    .longest_ns = 60 * NS_PER_SEC,
    .queued_ns = outsiders_queued_ns,
    .others_ns = outsiders_others_ns,
};
bool outsiders_on;
_Thread_local uint32_t outsiders_left;

// Of a rank that can tell no other.
static struct outsiders_said alone;

static struct {
    struct outsiders_said *said;
    pthread_t thread;    // whose standing in line is looked at
    uint64_t word;       // that is followed
    uint32_t calls;      // from one look at the clock to the next
    uint32_t checks;     // left until the end of politeness is looked for
    uint64_t clock_ns;   // when the clock was last looked at
    uint64_t began_ns;   // of the window that is looked at now; 0: none
    uint64_t queued_ns;  // when it began
    uint64_t threads_ns; // CPU time of the other threads, then
    uint32_t in_a_row;   // windows in which it stood in line
    uint64_t hold_ns;    // how long it was to be polite the last time
    uint64_t polite_ns;  // since when it has been
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

uint64_t outsiders_others_ns(void)
{
    struct timespec all;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
    uint64_t all_ns = (uint64_t)all.tv_sec * NS_PER_SEC + (uint64_t)all.tv_nsec;
    uint64_t this_ns = clock_spent_ns();
    return all_ns > this_ns ? all_ns - this_ns : 0;
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
        atomic_compare_exchange_strong_explicit(&own.said->word, &word, word + 1,
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
    atomic_store_explicit(&alone.word, STATUS_WORD_FREE, memory_order_relaxed);
    atomic_store_explicit(&alone.until_ns, 0, memory_order_relaxed);
    own.said = doorbell.room != NULL ? &doorbell.room->outsiders : &alone;
    own.thread = pthread_self();
    own.word = STATUS_WORD_FREE;
    own.calls = outsiders_left = 1;
    own.checks = CALLS_PER_CHECK;
    own.clock_ns = own.began_ns = own.hold_ns = 0;
    own.in_a_row = 0;
    session_watch(&own.said->word);
    outsiders_on = core_follows = true;
    atomic_store_explicit(&carrier.settled, stats_on ? 0 : STATUS_WORD_FREE, memory_order_relaxed);
}

void outsiders_stop(void)
{
    if (!outsiders_on)
        return;
    outsiders_on = core_follows = false;
    session_watch(NULL);
    atomic_store_explicit(&carrier.settled, 0, memory_order_relaxed);
}

// Whoever calls anything: the rank that has noticed somebody may compute for long.
static void check_end(uint64_t word)
{
    if (--own.checks > 0)
        return;
    own.checks = CALLS_PER_CHECK;
    if (clock_now_ns() > atomic_load_explicit(&own.said->until_ns, memory_order_relaxed))
        say(word, false);
}

void outsiders_follow(void)
{
    uint64_t word = session_word();
    bool beside_others = is_beside_others(word);
    if (word == own.word) {
        if (beside_others)
            check_end(word);
        return;
    }
    own.word = word;
    own.began_ns = 0; // what was before says nothing about now
    own.in_a_row = 0;
    wait_yields = wait_blocks = beside_others;
    if (beside_others) {
        own.polite_ns = clock_now_ns();
        within_start();
    }
    atomic_store_explicit(&carrier.settled, beside_others || stats_on ? 0 : word,
                          memory_order_relaxed);
}

// So many calls that the clock is looked at often enough in a window, and seldom in a program that
// calls all the time.
static void pace(uint64_t now_ns)
{
    uint64_t took_ns = now_ns - own.clock_ns + 1;
    uint64_t calls = own.calls * (outsiders.window_ns / LOOKS) / took_ns;
    own.clock_ns = now_ns;
    own.calls = calls > CALLS_MOST ? CALLS_MOST : calls > 0 ? (uint32_t)calls : 1;
    outsiders_left = own.calls;
}

// Standing in line while polite says less, since who yields does: it counts for so long.
static void stay_polite(uint64_t now_ns)
{
    uint64_t last_ns = own.polite_ns + outsiders.longest_ns, until_ns = now_ns + outsiders.hold_ns;
    if (until_ns > last_ns)
        until_ns = last_ns;
    if (until_ns > atomic_load_explicit(&own.said->until_ns, memory_order_relaxed))
        atomic_store_explicit(&own.said->until_ns, until_ns, memory_order_relaxed);
}

// Each time for longer, if it has not been long since the last time.
static void become_polite(uint64_t now_ns, uint64_t word)
{
    uint64_t until_ns = atomic_load_explicit(&own.said->until_ns, memory_order_relaxed);
    own.hold_ns = own.hold_ns == 0 || now_ns - until_ns > outsiders.hold_most_ns ? outsiders.hold_ns
                                                                                 : 2 * own.hold_ns;
    if (own.hold_ns > outsiders.hold_most_ns)
        own.hold_ns = outsiders.hold_most_ns;
    atomic_store_explicit(&own.said->until_ns, now_ns + own.hold_ns, memory_order_relaxed);
    say(word, true);
}

// The end of a window.
static void judge(uint64_t now_ns)
{
    uint64_t queued_ns, threads_ns = outsiders.others_ns(), elapsed_ns = now_ns - own.began_ns;
    if (!outsiders.queued_ns(&queued_ns))
        return;
    // The clocks may say less than the last time, where no other thread has run.
    bool stood = own.began_ns != 0 && queued_ns - own.queued_ns > elapsed_ns / QUEUED_PARTS &&
                 threads_ns < own.threads_ns + elapsed_ns / OWN_PARTS;
    own.began_ns = now_ns;
    own.queued_ns = queued_ns;
    own.threads_ns = threads_ns;
    own.in_a_row = stood ? own.in_a_row + 1 : 0;
    if (own.in_a_row < WINDOWS_IN_A_ROW)
        return;
    if (is_beside_others(own.word))
        stay_polite(now_ns);
    else
        become_polite(now_ns, own.word);
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
