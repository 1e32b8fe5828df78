#include "pmpi/variant/strangers.h"

#include "pmpi/variant/block.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/peers.h"

#include <stdatomic.h>

static _Atomic bool came;

void strangers_come(void)
{
    atomic_store_explicit(&came, true, memory_order_relaxed);
    core_quick = false;
    atomic_store_explicit(&carrier.settled, 0, memory_order_relaxed);
    block_without_sign();
}

void strangers_look_for(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && !strangers_came() && !peers_ours(comm))
        strangers_come();
}

bool strangers_came(void)
{
    return atomic_load_explicit(&came, memory_order_relaxed);
}
