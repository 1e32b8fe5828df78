#include "pmpi/variant/block.h"

#include "common/clock.h"
#include "pmpi/variant/arrivals.h"
#include "pmpi/variant/stats.h"

#include <stdbool.h>

enum {
    RINGS_MAX = 8, // as many steps as a collective operation of some hundred ranks has
    HASTE_PER_BYTE_NS = 16,
    LONG_POLLS = 4,        // that moved something: as long as so many of those that moved nothing
    RESTS = 4,             // a wait is in haste for one part in so many of its time at most
    ENDS_WITHOUT_SIGN = 4, // of waits, in a row, by which it is known that none is given
};

#define HASTE_MOST_NS (100 * NS_PER_MS)

struct block block = {
    // Two context switches and the wake-ups that go with them; bench/run_switches.sh measures them.
    .spin_limit_ns = 20 * NS_PER_US,
    // A poll that finds nothing takes a tenth of this, or two of those that look first a fifth; one
    // that copies some kilobytes takes longer.
    .long_poll_ns = 2 * NS_PER_US,
    .least_ns = 50 * NS_PER_US,
    .most_ns = 4 * NS_PER_MS,
    .by_time_ns = 250 * NS_PER_US,
};

static int sign(void)
{
    return atomic_load_explicit(&block.sign, memory_order_relaxed);
}

void block_without_sign(void)
{
    atomic_store_explicit(&block.sign, BLOCK_BY_TIME, memory_order_relaxed);
}

// The transport may not be sockets at all, or of more than can be watched: then waits end after
// sleeps that nothing has ended, one after the other, until something comes by one again.
static _Thread_local bool overslept;
static _Atomic int ends_without_sign;

static void note_end_of_last_wait(void)
{
    if (overslept &&
        atomic_load_explicit(&ends_without_sign, memory_order_relaxed) < ENDS_WITHOUT_SIGN)
        atomic_fetch_add_explicit(&ends_without_sign, 1, memory_order_relaxed);
    overslept = false;
}

static bool sleep_by_arrivals(uint64_t most_ns)
{
    bool heard;
    enum arrivals came = arrivals_sleep(most_ns, -1, &heard);
    overslept = came == ARRIVALS_NONE;
    if (came == ARRIVALS_CAME)
        atomic_store_explicit(&ends_without_sign, 0, memory_order_relaxed);
    return came != ARRIVALS_NONE;
}

static bool gives_sign(void)
{
    return sign() == BLOCK_BY_DOORBELL ||
           (sign() == BLOCK_BY_SOCKETS &&
            atomic_load_explicit(&ends_without_sign, memory_order_relaxed) < ENDS_WITHOUT_SIGN);
}

static bool in_haste(uint64_t now)
{
    return now < atomic_load_explicit(&block.haste_until_ns, memory_order_relaxed);
}

void block_expect(uint64_t bytes)
{
    if (bytes < BLOCK_LARGE_BYTES)
        return;
    uint64_t now = clock_now_ns(), most = HASTE_MOST_NS / HASTE_PER_BYTE_NS;
    uint64_t until = atomic_load_explicit(&block.haste_until_ns, memory_order_relaxed);
    until = (until > now ? until : now) + (bytes < most ? bytes : most) * HASTE_PER_BYTE_NS;
    atomic_store_explicit(&block.haste_until_ns,
                          until < now + HASTE_MOST_NS ? until : now + HASTE_MOST_NS,
                          memory_order_relaxed);
}

// What was in haste for a peer who was not there, and is rung now, may be moving only now. But it
// may be anybody who rings, others in haste as well: the longer the wait, the longer the rest.
static void renew_haste(struct block_wait *wait, uint64_t now)
{
    if (wait->hurried_ns == 0 || now < wait->rests_until_ns || in_haste(now))
        return;
    uint64_t again = wait->hurried_ns < HASTE_MOST_NS ? wait->hurried_ns : HASTE_MOST_NS;
    atomic_store_explicit(&block.haste_until_ns, now + again, memory_order_relaxed);
    wait->rests_until_ns = now + RESTS * again + (now - wait->began_ns);
    wait->hurried_ns = 0;
}

// A sleep is at most half as long as the wait has been: one that nothing ends makes no wait half as
// long again.
static uint64_t bound_ns(const struct block_wait *wait, uint64_t now)
{
    uint64_t bound = (now - wait->began_ns) / 2;
    uint64_t most = !gives_sign() || in_haste(now) ? block.by_time_ns : block.most_ns;
    return bound < block.least_ns ? block.least_ns : bound > most ? most : bound;
}

// What has come before "asleep" was said rings nowhere.
static bool is_to_be_looked_at(struct block_wait *wait)
{
    bool now = wait->looks_late && !wait->looked;
    wait->looked = true;
    return now;
}

// The end of polling: true when there is a last poll to be made before the sleep.
static bool prepare(struct block_wait *wait, int seat, uint64_t now)
{
    if (sign() != BLOCK_BY_DOORBELL)
        return false;
    if (doorbell_announced)
        return is_to_be_looked_at(wait);
    if (wait->rings < RINGS_MAX || in_haste(now)) {
        // Woken for something else than what is waited for, it may have answered somebody else.
        doorbell_ring(wait->rings == 0 ? seat : DOORBELL_ALL);
        wait->rings++;
    }
    doorbell_announce();
    wait->looked = false;
    return true;
}

static void sleep_until_sign(struct block_wait *wait, uint64_t now)
{
    uint64_t most = bound_ns(wait, now);
    bool came = doorbell_announced ? doorbell_sleep(most) : sleep_by_arrivals(most);
    stats_add(STATS_SLEEPS, 1);
    if (!came)
        stats_add(STATS_OVERSLEPT, 1);
    wait->polled_ns = wait->spin_until_ns = 0;
    if (!came)
        return;
    uint64_t woken = clock_now_ns();
    wait->spin_until_ns = woken + block.spin_limit_ns;
    renew_haste(wait, woken);
}

// Where many requests are waited for, or on a slow machine, polls that move nothing are no shorter:
// rung for each of these, nobody would sleep, this rank included.
static bool has_moved_something(struct block_wait *wait, uint64_t now)
{
    if (wait->polled_ns == 0)
        return false;
    uint64_t took_ns = now - wait->polled_ns, shortest_ns = wait->shortest_ns;
    wait->shortest_ns = shortest_ns == 0 || took_ns < shortest_ns ? took_ns : shortest_ns;
    return took_ns > block.long_poll_ns && (took_ns > LONG_POLLS * shortest_ns || in_haste(now));
}

void block_pause(struct block_wait *wait, int seat)
{
    uint64_t now = clock_now_ns();
    if (wait->began_ns == 0) {
        note_end_of_last_wait();
        wait->began_ns = wait->polled_ns = wait->paused_ns = now;
        wait->spin_until_ns = now + block.spin_limit_ns;
        return;
    }
    if (has_moved_something(wait, now))
        doorbell_ring(DOORBELL_ALL);
    wait->polled_ns = now;
    if (in_haste(now))
        wait->hurried_ns += now - wait->paused_ns;
    wait->paused_ns = now;
    if (now < wait->spin_until_ns)
        return;
    if (prepare(wait, seat, now))
        wait->polled_ns = clock_now_ns(); // the poll alone
    else
        sleep_until_sign(wait, now);
}
