#include "pmpi/variant/strangers.h"

#include "pmpi/variant/block.h"

#include <stdatomic.h>

static _Atomic bool came;

void strangers_come(void)
{
    atomic_store_explicit(&came, true, memory_order_relaxed);
    block_without_sign();
}

bool strangers_came(void)
{
    return atomic_load_explicit(&came, memory_order_relaxed);
}
