// The socket: connections, packets, and the loop that also waits for deaths, deadlines and signals.
// A client can neither block the daemon nor take more than its part of the connections; one that
// sends rubbish or does not read its replies is closed.
#ifndef COSCHED_CLASSD_SERVER_H
#define COSCHED_CLASSD_SERVER_H

#include "classd/command.h"
#include "common/config.h"
#include "common/error.h"

typedef struct server server_t;

// SIGTERM, SIGINT and SIGHUP wait from here on until server_open() has somebody to take them. By
// themselves they would just kill a classd that begins, with the limits that it has found or set.
void server_hold_signals(void);

// Listens on the socket in config->runtime_dir, replacing one that a dead classd left: the caller
// holds the directory's lock. *config and *commands must outlive the server.
int server_open(const struct config *config, struct commands *commands, server_t **server,
                struct error *err);

// Removes the socket, if it is its own still, and closes every connection. Null is allowed.
void server_close(server_t *server);

// Serves until SIGTERM, SIGINT or SHUTDOWN, and returns 0; or -1 when somebody has removed the
// socket.
int server_run(server_t *server);

#endif
