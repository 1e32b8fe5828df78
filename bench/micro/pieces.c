// To time another piece: write a run_...() and add a line to the table at the end.
#include "bench/micro/pieces.h"

#include "common/protocol.h"
#include "pmpi/variant/session.h"

// Makes the compiler believe that memory was used and changed, so that nothing is left out or kept
// from one turn to the next.
static inline void keep(const void *value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

// What a send costs while nothing changes: load the status word, compare its epoch with the one
// that the peer was told.
static void run_status_look(size_t times)
{
    static _Atomic uint32_t seen_epoch;
    unsigned changes = 0;
    for (size_t i = 0; i < times; i++) {
        uint64_t word = session_word();
        if (status_word_epoch(word) != atomic_load_explicit(&seen_epoch, memory_order_relaxed))
            changes++;
        keep(&changes);
    }
}

static void run_request_packet(size_t times)
{
    struct protocol_request checked;
    struct error err;
    for (size_t i = 0; i < times; i++) {
        struct protocol_request request = protocol_request_new(PROTOCOL_SCHEDULE, (uint32_t)i);
        keep(&request);
        protocol_check_request(&request, sizeof request, &checked, &err);
        keep(&checked);
    }
}

static void run_reply_packet(size_t times)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_EXIT, 1);
    struct protocol_reply checked;
    struct error err;
    for (size_t i = 0; i < times; i++) {
        struct protocol_reply reply = protocol_reply_new(&request, 0);
        keep(&reply);
        protocol_check_reply(&reply, sizeof reply, &request, &checked, &err);
        keep(&checked);
    }
}

const struct piece pieces[] = {
    {"status word: load and compare", run_status_look},
    {"SCHEDULE packet: make and check", run_request_packet},
    {"reply packet: make and check", run_reply_packet},
    {0},
};
