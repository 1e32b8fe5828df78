// How a process sleeps until something may have come for it, without the MPI's help: on its own
// stream sockets, which it looks up itself. It reads nothing from them, keeps no descriptor and
// takes none. Other transports (shared memory, InfiniBand) give no sign: for them there is the
// time.
#ifndef COSCHED_PMPI_VARIANT_ARRIVALS_H
#define COSCHED_PMPI_VARIANT_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

enum arrivals {
    ARRIVALS_NONE,
    ARRIVALS_CAME,    // something has, so polling is worth while
    ARRIVALS_UNKNOWN, // another thread sleeps on the sockets, and this one has not looked
};

// Sleeps until something has come, or a socket that was full can take more; or `most_ns` have
// passed, or `ear` is readable, one more descriptor that is not read either; -1: none. `heard` says
// that it is, to one thread at a time, who may read it; the others sleep for some milliseconds at
// most. A socket whose data nobody takes wakes a few times; then it is left out until somebody has.
enum arrivals arrivals_sleep(uint64_t most_ns, int ear, bool *heard);

#endif
