// The client's end of the scheduler's socket, for timerd, coschedctl and the MPI library's session.
//
// It lives inside users' programs, so it never logs, never exits, raises no SIGPIPE, leaks no
// descriptor over exec and never waits longer than it was told to. It keeps no state but the
// descriptor, which may be used by one thread at a time.
#ifndef COSCHED_COMMON_CLIENT_H
#define COSCHED_COMMON_CLIENT_H

#include "common/error.h"
#include "common/protocol.h"

// Connects to the classd of `runtime_dir` without waiting. Returns a non-blocking, close-on-exec
// descriptor that the caller closes, or -1 with err->code: ENOENT or ECONNREFUSED when no classd is
// there, EAGAIN when it takes no further connections now, or the errno of the failing call.
int client_connect(const char *runtime_dir, struct error *err);

// The same, but waits in line, at most timeout_ms in all, while classd takes no further
// connections: others may be asking for so many that there is never a free place for who comes by
// only once. ETIMEDOUT takes the place of EAGAIN.
int client_connect_within(const char *runtime_dir, unsigned timeout_ms, struct error *err);

// Sends a request and waits for its reply, at most timeout_ms in all; signals do not shorten or
// prolong the wait. Late replies to earlier requests are dropped on the way.
//
// *passed_fd gets the descriptor that came with the reply (close-on-exec, the caller closes it), or
// -1; null when none is wanted, one that comes nevertheless is closed.
//
// Returns 0, or -1 with err->code. When classd itself refused, reply->header.status holds the same
// positive errno value and the connection stays good. Otherwise reply->header.status is 0 and the
// connection is not worth keeping: ETIMEDOUT (classd hangs), ECONNRESET (it closed the connection),
// EPROTO, EPROTONOSUPPORT, or the errno of the failing call.
int client_transact(int fd, const struct protocol_request *request, struct protocol_reply *reply,
                    int *passed_fd, unsigned timeout_ms, struct error *err);

// The second half of client_transact(), for a request that client_send() has sent: waits for its
// reply, not at all when timeout_ms is 0.
int client_receive(int fd, const struct protocol_request *request, struct protocol_reply *reply,
                   int *passed_fd, unsigned timeout_ms, struct error *err);

// Takes off the connection what classd has said, while no answer is waited for: TURN, and answers
// that came too late. Does not wait. Returns 0, or -1 when the connection is not worth keeping.
int client_discard(int fd);

// Sends a request without waiting for anything: one system call. Returns 0, or -1 with
// err->code EAGAIN when classd is behind (the request is lost, the connection is good), else the
// errno of the failing call (the connection is not).
int client_send(int fd, const struct protocol_request *request, struct error *err);

#endif
