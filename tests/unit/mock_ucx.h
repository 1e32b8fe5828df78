#ifndef COSCHED_TESTS_UNIT_MOCK_UCX_H
#define COSCHED_TESTS_UNIT_MOCK_UCX_H

#define MOCK_UCX_EXPORTED __attribute__((visibility("default")))

// Workers are the addresses of these, in turn: how often each has made progress.
extern int mock_ucx_progressed[3] MOCK_UCX_EXPORTED;
extern int mock_ucx_destroyed MOCK_UCX_EXPORTED;
extern int mock_ucx_disconnected MOCK_UCX_EXPORTED;

// No worker can be made.
extern int mock_ucx_fails MOCK_UCX_EXPORTED;

// What progress says that it has moved.
extern unsigned mock_ucx_moves MOCK_UCX_EXPORTED;

#endif
