// A UCX that counts, behind the functions that front/ucx.c stands before.
#include "tests/unit/mock_ucx.h"

int mock_ucx_progressed[3], mock_ucx_destroyed, mock_ucx_disconnected;
int mock_ucx_fails;
unsigned mock_ucx_moves;

MOCK_UCX_EXPORTED signed char ucp_worker_create(void *context, const void *params, void **worker);
MOCK_UCX_EXPORTED void ucp_worker_destroy(void *worker);
MOCK_UCX_EXPORTED unsigned ucp_worker_progress(void *worker);
MOCK_UCX_EXPORTED void *ucp_disconnect_nb(void *connection);

static int made;

signed char ucp_worker_create(void *context, const void *params, void **worker)
{
    (void)context, (void)params;
    if (mock_ucx_fails)
        return -3;
    *worker = &mock_ucx_progressed[made++ % 3];
    return 0;
}

void ucp_worker_destroy(void *worker)
{
    (void)worker;
    mock_ucx_destroyed++;
}

unsigned ucp_worker_progress(void *worker)
{
    ++*(int *)worker;
    return mock_ucx_moves;
}

void *ucp_disconnect_nb(void *connection)
{
    mock_ucx_disconnected++;
    return connection;
}
