// What every entry point needs: where calls go on to, and whether this call is the program's own.
#ifndef COSCHED_PMPI_VARIANT_CORE_H
#define COSCHED_PMPI_VARIANT_CORE_H

#include "common/clock.h"
#include "mpi_next.h"
#include "pmpi/variant/predefined.h"
#include "pmpi/variant/stats.h"

#include <stdbool.h>
#include <stdint.h>

// Without it the compiler goes to every global by way of a table.
#define HIDDEN __attribute__((visibility("hidden")))

// [0] goes on as MPI_X (a tool that was preloaded later, or the MPI), [1] as PMPI_X. The library's
// own calls use [1].
extern struct mpi_next mpi_next[2] HIDDEN;

// Set between MPI_Init and MPI_Finalize while the library has anything to do.
extern bool core_active HIDDEN;

// Set when only changes of the status word need any work: no headers, no yielding, no counting.
extern bool core_quick HIDDEN;

// Generated: the entry points in the front's order.
extern void *const core_entries[MPI_NEXT_WRAPPED * 2];

// Calls that an MPI function makes to others, and the library's own, are not the program's: there
// is one already, whose frame on the stack is `core_frame`.
extern _Thread_local int core_depth __attribute__((tls_model("initial-exec")));
extern _Thread_local uintptr_t core_frame __attribute__((tls_model("initial-exec")));

// Makes every entry point but MPI_Finalize's one jump to the real function, for good.
void core_bypass(void);

// Does the MPI have this function, of which the table need not know?
bool core_mpi_has(const char *name);

// The address of a symbol of the MPI's, or of what that is linked to; null: there is none.
void *core_find(const char *symbol);

// Has the front answer ranks whose connections are not closed yet: see pmpi/front/ucx.h.
void core_linger(uint32_t connections, uint64_t linger_ns);

// Has the front call this whenever the MPI's transport was polled and had nothing; the same place.
void core_when_nothing_moved(void (*look)(void));

// This call is left to the MPI as a whole, by a rank that may give way: see within.h. It ends with
// the next call of the program, where an error handler has left it.
extern _Thread_local bool core_within __attribute__((tls_model("initial-exec")));

#define CORE_INLINE static inline __attribute__((always_inline)) // into the frame that is meant

CORE_INLINE uintptr_t core_own_frame(void)
{
    return (uintptr_t)__builtin_dwarf_cfa();
}

// What a caller has put on the stack for us, at most, is below his frame: arguments that no
// register is left for. The MPI's own frames between two calls of ours are more.
enum { CORE_ARGUMENTS_MOST = 8 * sizeof(void *) };

// An error handler may leave a call by an exception or a jump, and then it is never at its end. A
// call that is not below it on the stack was not made by it. Deeper ones cannot be told apart.
CORE_INLINE bool core_nested(void)
{
    if (!core_active)
        return true;
    if (core_depth > 0 && core_own_frame() + CORE_ARGUMENTS_MOST >= core_frame)
        core_depth = 0;
    return core_depth > 0;
}

CORE_INLINE void core_go_in(void)
{
    core_depth = 1;
    core_frame = core_own_frame();
    core_within = false;
}

// Before a call that is not settled: somebody may have said how to wait from now on. Never in the
// midst of a call. See wait_choice.h.
extern bool core_follows HIDDEN;
void core_follow(void);

static inline void core_come_out(void)
{
    core_depth = 0;
}

// One call of the program; the times are kept only under COSCHED_STATS=1.
struct core_call {
    bool blocking;
    uint64_t entered_ns;
    uint64_t real_ns;
    uint64_t returned_ns;
};

CORE_INLINE struct core_call core_enter(bool blocking)
{
    core_go_in();
    if (core_follows)
        core_follow();
    struct core_call call = {.blocking = blocking};
    if (stats_on)
        call.entered_ns = clock_now_ns();
    return call;
}

static inline void core_before_real(struct core_call *call)
{
    if (stats_on)
        call->real_ns = clock_now_ns();
}

static inline void core_after_real(struct core_call *call)
{
    if (stats_on)
        call->returned_ns = clock_now_ns();
}

static inline void core_leave(const struct core_call *call)
{
    if (core_follows) // the word may have changed during the call, and have been acted on
        core_follow();
    core_come_out();
    if (!stats_on)
        return;
    uint64_t own = clock_now_ns() - call->returned_ns + (call->real_ns - call->entered_ns);
    stats_add(STATS_OWN_NS, own);
    if (call->blocking)
        stats_add(STATS_WAITED_NS, call->returned_ns - call->real_ns);
}

#endif
