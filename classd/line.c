#include "classd/server_state.h"

enum { LINE_ROUNDS = 64 }; // so that nobody waits for a line that never ends

#define LINE_PAUSE_S 0.02 // between looks at those who wait

void line_wait(struct connection *connection)
{
    struct server *server = connection->server;
    ev_io_stop(server->loop, &connection->readable);
    TAILQ_INSERT_TAIL(&server->line, connection, line);
    connection->in_line = true;
    if (!ev_is_active(&server->line_moves))
        ev_timer_again(server->loop, &server->line_moves);
}

void line_leave(struct connection *connection)
{
    if (connection->in_line)
        TAILQ_REMOVE(&connection->server->line, connection, line);
    connection->in_line = false;
}

// One packet of each who waits and may send: who has just come, or has little to say, does not wait
// for all that others have. False when none was taken. Who may not is not asked about for each
// connection of a crowd of his.
static bool hear_line(struct server *server)
{
    const struct user *spent = NULL;
    struct connection *last = TAILQ_LAST(&server->line, line);
    bool more = last != NULL, heard = false;
    for (struct connection *next, *c = TAILQ_FIRST(&server->line); more; c = next) {
        more = c != last; // who was heard goes behind it
        next = TAILQ_NEXT(c, line);
        if (c->user == spent)
            continue;
        if (!packet_allowed(c)) {
            spent = c->user;
            continue;
        }
        enum packet_outcome outcome = packet_take(c);
        if (outcome == PACKET_GONE)
            continue;
        heard = true;
        line_leave(c);
        if (outcome == PACKET_HANDLED)
            line_wait(c);
        else
            ev_io_start(server->loop, &c->readable);
    }
    return heard;
}

static void on_line_moves(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    for (int i = 0; i < LINE_ROUNDS && hear_line(server); i++)
        ;
    if (TAILQ_EMPTY(&server->line))
        ev_timer_stop(loop, watcher);
}

void line_watch(struct server *server)
{
    TAILQ_INIT(&server->line);
    ev_timer_init(&server->line_moves, on_line_moves, 0., LINE_PAUSE_S);
    server->line_moves.data = server;
}
