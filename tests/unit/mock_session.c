#include "tests/unit/mock_session.h"

#include "pmpi/variant/session.h"

#include <errno.h>
#include <stdio.h>

static _Atomic uint64_t word = STATUS_WORD_FREE;
static _Atomic uint64_t own_slots, narrowed;
static uint8_t more_slots;
static _Atomic uint16_t own_turn;
static _Atomic int requests, listened, checks, parts;
static _Atomic int own_ear = -1;
static const struct status_page *own_page;
static bool met;
static const char *job_here; // null: none
static uint64_t world_here;
static struct session_identity registered;

_Atomic(const _Atomic uint64_t *) session_word_at = &word;

void session_watch(const _Atomic uint64_t *watched)
{
    session_word_at = watched != NULL ? watched : &word;
}

void mock_status(uint16_t flags)
{
    uint32_t epoch = status_word_epoch(atomic_load_explicit(&word, memory_order_relaxed)) + 1;
    atomic_store_explicit(&word, status_word(1, flags, epoch), memory_order_release);
}

void mock_slots(uint64_t slots)
{
    atomic_store_explicit(&own_slots, slots, memory_order_relaxed);
    mock_status(status_word_flags(atomic_load_explicit(&word, memory_order_relaxed)));
}

void mock_turn(uint16_t turn)
{
    atomic_store_explicit(&own_turn, turn, memory_order_relaxed);
    mock_status(status_word_flags(atomic_load_explicit(&word, memory_order_relaxed)));
}

uint64_t mock_session_narrowed(void)
{
    return atomic_exchange_explicit(&narrowed, 0, memory_order_relaxed);
}

int mock_session_requests(void)
{
    return atomic_exchange_explicit(&requests, 0, memory_order_relaxed);
}

bool session_request(uint64_t now_ns, int mates)
{
    (void)now_ns, (void)mates;
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    return true;
}

void session_check_generation(uint64_t now)
{
    (void)now;
    atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
}

int mock_session_checks(void)
{
    return atomic_exchange_explicit(&checks, 0, memory_order_relaxed);
}

int session_register(const struct session_identity *identity, struct error *err)
{
    registered = *identity;
    return own_page != NULL ? 0 : error_set(err, ENOENT, "a test has no scheduler");
}

bool session_find_job(const char *runtime_dir, uint64_t world, char job_id[PROTOCOL_JOB_ID_MAX])
{
    (void)runtime_dir;
    if (job_here == NULL || world != world_here)
        return false;
    snprintf(job_id, PROTOCOL_JOB_ID_MAX, "%s", job_here);
    return true;
}

bool session_met(void)
{
    return own_page != NULL || met;
}

void mock_job_here(const char *job_id, uint64_t world)
{
    job_here = job_id;
    world_here = world;
}

const struct session_identity *mock_session_identity(void)
{
    return &registered;
}

void mock_met(bool somebody)
{
    met = somebody;
}

void mock_page(const struct status_page *page)
{
    own_page = page;
}

const struct status_page *session_page(void)
{
    return own_page;
}

int session_offer(struct slots_offer *offer)
{
    (void)offer;
    return -1;
}

uint64_t session_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    (void)choice;
    (void)term;
    (void) final;
    return 0;
}

void session_report_clock(int64_t ahead_ns, size_t nodes, size_t agreeing)
{
    (void)ahead_ns;
    (void)nodes;
    (void)agreeing;
}

bool session_ask_offer(void)
{
    return false;
}

bool session_ask_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    (void)choice;
    (void)term;
    (void) final;
    return false;
}

enum session_answer session_offered(struct slots_offer *offer)
{
    (void)offer;
    return SESSION_LOST;
}

enum session_answer session_claimed(uint64_t *given)
{
    (void)given;
    return SESSION_LOST;
}

void session_narrow(uint64_t slots, uint32_t term)
{
    atomic_store_explicit(&narrowed, slots_word(slots, term), memory_order_relaxed);
}

uint64_t session_slots(void)
{
    return atomic_load_explicit(&own_slots, memory_order_relaxed);
}

uint16_t session_turn(void)
{
    return atomic_load_explicit(&own_turn, memory_order_relaxed);
}

uint8_t session_more_slots(void)
{
    return more_slots;
}

void mock_more_slots(uint8_t sign)
{
    more_slots = sign;
}

void session_prepare(void)
{
}

int session_ear(void)
{
    return atomic_load_explicit(&own_ear, memory_order_relaxed);
}

void session_listen(void)
{
    atomic_fetch_add_explicit(&listened, 1, memory_order_relaxed);
}

void mock_ear(int fd)
{
    atomic_store_explicit(&own_ear, fd, memory_order_relaxed);
}

int mock_session_listened(void)
{
    return atomic_exchange_explicit(&listened, 0, memory_order_relaxed);
}

void session_part(void)
{
    atomic_fetch_add_explicit(&parts, 1, memory_order_relaxed);
}

int mock_session_parts(void)
{
    return atomic_exchange_explicit(&parts, 0, memory_order_relaxed);
}

void session_exit(void)
{
}

void session_leave(void)
{
    session_exit();
}
