// The insides of the server, shared by its files only: listener.c (who comes), connections.c (who
// is there), packets.c (what they say), line.c (who has said too much), server.c (the loop, and the
// rest of the world).
#ifndef COSCHED_CLASSD_SERVER_STATE_H
#define COSCHED_CLASSD_SERVER_STATE_H

#include "classd/inbox.h"
#include "classd/log.h"
#include "classd/server.h"
#include "classd/users.h"

#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>

// libev's initialisers cast watchers to their base, which the compiler takes for a mistake.
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>

struct connection {
    ev_io readable;
    struct server *server;
    struct caller caller;
    struct user *user;
    struct protocol_request switch_; // the last SWITCH that came by it; command 0: none
    int turn_bytes;                  // of its socket, that a TURN may be in since its last reply
    bool reset;  // the client is gone, and has left something unread
    bool parked; // to be closed as soon as the client has taken its replies, or is gone
    bool in_line;
    TAILQ_ENTRY(connection) line;
    struct connection *previous, *next;
};

TAILQ_HEAD(line, connection);

struct server {
    const struct config *config;
    struct commands *commands;
    struct ev_loop *loop;
    int listener_fd;
    bool sealed; // against descriptors, see inbox.h
    struct inbox_left left;
    ev_timer left_pause;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t path_device; // what listen_at() has put there
    ino_t path_inode;
    bool lost; // somebody has taken it away
    ev_stat presence;
    ev_io listener;
    ev_io deaths;
    ev_timer accept_pause;
    ev_timer parked;
    ev_timer line_moves;
    struct line line; // who may have something to say, and whose user may send nothing now
    ev_timer watchdog;
    ev_io deadline;
    int deadline_fd;
    uint64_t deadline_ns; // that it is set to
    ev_timer watch;
    ev_signal signals[3];
    int ended_by; // the signal; 0: none
    ev_check check;
    uint64_t looked_ns; // by on_check(), which slept or saw it sleep
    uint64_t spent_ns;  // CPU time until then
    struct connection *connections;
    size_t connection_count;
    struct users users;
    struct log_valve valve;
};

// ---- listener.c

// Listens on the socket in the runtime directory, replacing one that is there.
int listener_open(struct server *server, struct error *err);

// Lets clients in, and ends the loop when somebody has removed the socket.
void listener_watch(struct server *server);

// Removes the socket, if it is its own still. The last of what is closed.
void listener_close(struct server *server);

// ---- connections.c

// Takes the descriptor. False when the client was refused. That costs little, as it can be had
// often.
bool connection_open(struct server *server, int socket_fd);

// The connection ends. While the client hoards replies it goes on counting as one of its user's,
// but is not listened to.
void connection_close(struct connection *connection);

// The same of a client that does what it must not, which is logged.
void connection_drop(struct connection *connection, const char *why);

// Whether replies wait for the client. They may hold descriptors, of which the kernel allows root
// only so many on their way: who hoards them would keep everybody from registering.
bool connection_has_unread(const struct connection *connection);

// The same but for a TURN, which nobody has asked for.
bool connection_has_unread_replies(const struct connection *connection);

// Sends a TURN to who has read everything. Who sleeps has.
void connection_say_turn(struct connection *connection, const struct protocol_reply *turn);

// Before the first one, and after the last.
void connections_watch(struct server *server);
void connections_close(struct server *server);

// ---- packets.c

enum packet_outcome { PACKET_HANDLED, PACKET_SILENT, PACKET_GONE };

// Takes one packet, if there is one. PACKET_GONE: the connection is no more.
enum packet_outcome packet_take(struct connection *connection);

// Whether the connection's user may send one now.
bool packet_allowed(const struct connection *connection);

// Who sends SWITCH goes by the slice in force: told at once, as the next tick may be an hour away.
void packets_tell_timers(struct server *server);

// The processes of jobs that were idle and are no more are told: some may sleep.
void packets_call(struct server *server);

// Whoever waits for the end of that work is told; `user` is the server.
void packets_tell_tracked(const struct tracking_result *result, void *user);

// ---- line.c

// What it sends waits in its socket, then it waits itself. Nothing is polled meanwhile: however
// many connections a user floods, they cost no more than the packets that he may send.
void line_wait(struct connection *connection);
void line_leave(struct connection *connection);
void line_watch(struct server *server);

// ---- server.c

// After each event: the scheduler may have another deadline, and jobs to be called.
void server_event_over(struct server *server);

#endif
