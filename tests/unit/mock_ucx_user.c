// Calls the UCX that it is linked to, as an extension module does. By no jumps, or it would not be
// the caller.
#include "tests/unit/mock_ucx.h"

signed char ucp_worker_create(void *context, const void *params, void **worker);
void ucp_worker_destroy(void *worker);
unsigned ucp_worker_progress(void *worker);
void *ucp_disconnect_nb(void *connection);

MOCK_UCX_EXPORTED signed char user_create(void **worker);
MOCK_UCX_EXPORTED void user_destroy(void *worker);
MOCK_UCX_EXPORTED unsigned user_progress(void *worker);
MOCK_UCX_EXPORTED void *user_disconnect(void *connection);

signed char user_create(void **worker)
{
    return ucp_worker_create(0, 0, worker);
}

void user_destroy(void *worker)
{
    ucp_worker_destroy(worker);
}

unsigned user_progress(void *worker)
{
    return ucp_worker_progress(worker);
}

void *user_disconnect(void *connection)
{
    return ucp_disconnect_nb(connection);
}
