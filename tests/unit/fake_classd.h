// A classd of the test's own, with one job, for tests of a process's session.
#ifndef COSCHED_TESTS_UNIT_FAKE_CLASSD_H
#define COSCHED_TESTS_UNIT_FAKE_CLASSD_H

#include "common/protocol.h"
#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

// The other end: answers REGISTER with the page, counts what comes.
struct fake_classd {
    char directory[64];
    int listener;
    _Atomic int connection; // -1: none yet
    struct status_page *page;
    _Atomic int page_fd;
    pthread_t thread;
    _Atomic int registered;
    _Atomic int scheduled;
    _Atomic int exited;
    _Atomic int narrowed;
    _Atomic int parted;
    _Atomic int old;      // 1: knows no worlds; 2: nor PART, nor when jobs start
    _Atomic int hangs_up; // on so many questions
    // Of its only job: 0, none; of who has registered last.
    _Atomic uint64_t world, parent, starts_ns;
    _Atomic uint64_t cut; // of offers
    _Atomic uint8_t dummies;
    _Atomic uint64_t said;  // the slots of the last claim
    _Atomic uint64_t keeps; // those that it gives nobody
    _Atomic int claims, clocks;
    _Atomic bool tells; // of turns
    _Atomic bool mute;  // takes connections and packets, answers nothing: a classd that hangs
};

static inline void send_reply(int socket_fd, const struct protocol_reply *reply, int fd)
{
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof *reply};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(part), &fd, sizeof fd);
    }
    sendmsg(socket_fd, &message, MSG_NOSIGNAL);
}

static inline void answer_slots(struct fake_classd *fake, const struct protocol_request *request,
                                struct protocol_reply *reply)
{
    if (request->header.command == PROTOCOL_OFFER) {
        reply->offer.slots[0] = UINT64_MAX; // more than there are
        reply->offer.most[SLOTS_LEVELS - 1] = 7;
        reply->offer.cut = fake->cut;
        reply->offer.dummies = fake->dummies;
    } else if (request->header.command == PROTOCOL_CLAIM) {
        fake->said = request->claim.slots;
        fake->claims++;
        reply->claimed.slots = ~fake->keeps;
    }
    fake->clocks += request->header.command == PROTOCOL_CLOCK;
}

static inline bool is_news(int old, const struct protocol_request *request)
{
    const struct protocol_register *wish = &request->register_;
    if (request->header.command == PROTOCOL_QUERY)
        return old > 0;
    return request->header.command == PROTOCOL_REGISTER &&
           ((old > 0 && (wish->world != 0 || wish->parent != 0)) ||
            (old > 1 && wish->starts_ns != 0));
}

static inline void serve(struct fake_classd *fake, int connection)
{
    struct protocol_request request;
    uint8_t bytes[512];
    ssize_t length;
    while ((length = recv(connection, bytes, sizeof bytes, 0)) > 0) {
        if (fake->mute || protocol_check_request(bytes, (size_t)length, &request, NULL) < 0)
            continue;
        struct protocol_reply reply = protocol_reply_new(&request, 0);
        if (request.header.command == PROTOCOL_SCHEDULE) {
            fake->scheduled++;
            continue;
        }
        if (request.header.command == PROTOCOL_NARROW) {
            fake->said = request.claim.slots;
            fake->narrowed++;
            continue;
        }
        if (request.header.command == PROTOCOL_PART && fake->old > 1) {
            reply.header.status = EOPNOTSUPP;
            send_reply(connection, &reply, -1);
            continue;
        }
        if (request.header.command == PROTOCOL_PART) {
            fake->parted++;
            continue;
        }
        if (is_news(fake->old, &request)) {
            reply.header.status = EOPNOTSUPP;
            send_reply(connection, &reply, -1);
            continue;
        }
        if (request.header.command == PROTOCOL_QUERY && fake->hangs_up > 0) {
            fake->hangs_up--;
            break;
        }
        if (request.header.command == PROTOCOL_QUERY) {
            reply.header.status = request.query.world == fake->world ? 0 : ENOENT;
            strcpy(reply.job.job_id, reply.header.status == 0 ? "found" : "");
        }
        if (request.header.command == PROTOCOL_REGISTER) {
            fake->world = request.register_.world;
            fake->parent = request.register_.parent;
            fake->starts_ns = request.register_.starts_ns;
        }
        answer_slots(fake, &request, &reply);
        if (request.header.command == PROTOCOL_REGISTER)
            reply.registered.tells = fake->tells;
        fake->registered += request.header.command == PROTOCOL_REGISTER;
        fake->exited += request.header.command == PROTOCOL_EXIT;
        send_reply(connection, &reply,
                   request.header.command == PROTOCOL_REGISTER ? fake->page_fd : -1);
    }
    close(connection);
}

static inline void *accept_loop(void *argument)
{
    struct fake_classd *fake = argument;
    _Atomic int connection; // -1: none yet
    while ((connection = accept(fake->listener, NULL, NULL)) >= 0) {
        fake->connection = connection;
        serve(fake, connection);
    }
    return NULL;
}

static inline int start(void **state)
{
    struct fake_classd *fake = calloc(1, sizeof *fake);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    fake->connection = -1;
    strcpy(fake->directory, "/tmp/cosched-test-XXXXXX");
    assert_non_null(mkdtemp(fake->directory));
    int directory = open(fake->directory, O_RDONLY | O_DIRECTORY);
    int page_fd = -1;
    assert_int_equal(status_page_open(directory, "page", false, &fake->page, &page_fd, NULL), 0);
    close(directory);
    fake->page_fd = page_fd;
    status_page_publish(fake->page, 1, STATUS_SCHEDULED);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" PROTOCOL_SOCKET_NAME,
             fake->directory);
    fake->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listener, 8), 0);
    pthread_create(&fake->thread, NULL, accept_loop, fake);
    *state = fake;
    return 0;
}

static inline int stop(void **state)
{
    struct fake_classd *fake = *state;
    char path[128];
    session_exit();
    shutdown(fake->listener, SHUT_RDWR);
    shutdown(fake->connection, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
    status_page_close(fake->page, fake->page_fd);
    snprintf(path, sizeof path, "%s/" PROTOCOL_SOCKET_NAME, fake->directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/page", fake->directory);
    unlink(path);
    rmdir(fake->directory);
    free(fake);
    return 0;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_SEC + (uint64_t)time.tv_nsec;
}

static inline void eventually_equal(_Atomic int *value, int expected)
{
    for (int i = 0; i < 5000 && *value != expected; i++)
        usleep(1000);
    assert_int_equal(*value, expected);
}

static inline int join(struct fake_classd *fake)
{
    struct session_identity identity = {.runtime_dir = fake->directory,
                                        .job_id = "test",
                                        .ranks = 2,
                                        .width = 1,
                                        .starts_ns = 1,
                                        .world = 11,
                                        .parent = 10};
    struct error err = {0};
    return session_register(&identity, &err);
}

static inline enum session_answer eventually_offered(struct slots_offer *offer)
{
    enum session_answer answer = SESSION_PENDING;
    for (int i = 0; i < 5000 && answer == SESSION_PENDING; i++) {
        usleep(1000);
        answer = session_offered(offer);
    }
    return answer;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
