// A process's session with a classd of the test's own: what it sends, what it survives.
#include "common/protocol.h"
#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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
    _Atomic uint64_t said; // the slots of the last claim
    _Atomic int claims, clocks;
    _Atomic bool tells; // of turns
    _Atomic bool mute;  // takes connections and packets, answers nothing: a classd that hangs
};

static void send_reply(int socket_fd, const struct protocol_reply *reply, int fd)
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

static void answer_slots(struct fake_classd *fake, const struct protocol_request *request,
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
        reply->claimed.slots = UINT64_MAX;
    }
    fake->clocks += request->header.command == PROTOCOL_CLOCK;
}

static bool is_news(int old, const struct protocol_request *request)
{
    const struct protocol_register *wish = &request->register_;
    if (request->header.command == PROTOCOL_QUERY)
        return old > 0;
    return request->header.command == PROTOCOL_REGISTER &&
           ((old > 0 && (wish->world != 0 || wish->parent != 0)) ||
            (old > 1 && wish->starts_ns != 0));
}

static void serve(struct fake_classd *fake, int connection)
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

static void *accept_loop(void *argument)
{
    struct fake_classd *fake = argument;
    _Atomic int connection; // -1: none yet
    while ((connection = accept(fake->listener, NULL, NULL)) >= 0) {
        fake->connection = connection;
        serve(fake, connection);
    }
    return NULL;
}

static int start(void **state)
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

static int stop(void **state)
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

static void eventually_equal(_Atomic int *value, int expected)
{
    for (int i = 0; i < 5000 && *value != expected; i++)
        usleep(1000);
    assert_int_equal(*value, expected);
}

static int join(struct fake_classd *fake)
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

static void the_page_is_seen_at_once(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    assert_false(session_word_idle(session_word()));
    status_page_publish(fake->page, 1, STATUS_CONTENDED);
    assert_true(session_word_idle(session_word()));
    assert_true(session_word_contended(session_word()));
    session_exit();
    assert_int_equal(fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

// Peers wait for what a rank that parts has to say to them, not for its classd.
static void parting_waits_for_nobody(void **state)
{
    struct fake_classd *fake = *state;
    session_part(); // nobody to say it to
    assert_int_equal(join(fake), 0);
    session_part();
    eventually_equal(&fake->parted, 1);
    assert_int_equal(fake->exited, 0);
    session_exit();
    assert_int_equal(fake->exited, 1);
}

// An older one answers PART by a refusal, which is not the answer to EXIT, and does not know when
// jobs start.
static void an_older_classd_is_registered_with_and_left(void **state)
{
    struct fake_classd *fake = *state;
    fake->old = 2;
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->starts_ns, 0);
    session_part();
    session_exit();
    assert_int_equal(fake->exited, 1);
    assert_int_equal(fake->parted, 0);
}

static void an_older_classd_is_told_what_it_knows(void **state)
{
    struct fake_classd *fake = *state;
    fake->old = 1;
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->world, 0);
    assert_int_equal(fake->parent, 0);
    assert_int_equal(fake->starts_ns, 1);
}

// By their world, with a connection of their own.
static void a_job_is_found_before_it_is_joined(void **state)
{
    struct fake_classd *fake = *state;
    char job_id[PROTOCOL_JOB_ID_MAX] = "";
    fake->world = 10;
    assert_false(session_find_job(fake->directory, 11, job_id));
    assert_true(session_find_job(fake->directory, 10, job_id));
    assert_string_equal(job_id, "found");
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->world, 11);
    assert_int_equal(fake->parent, 10);
    session_exit();
    fake->hangs_up = 2; // it has no place for another connection
    assert_true(session_find_job(fake->directory, 11, job_id));
    fake->old = 1;
    assert_false(session_find_job(fake->directory, 11, job_id));
    assert_false(session_find_job("/nonexistent", 11, job_id));
}

// As when classd was killed between this process's registration and the ranks' agreement.
static void a_classd_that_has_taken_over_is_left_too(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    shutdown(fake->connection, SHUT_RDWR);
    session_leave();
    assert_int_equal(fake->registered, 2);
    assert_int_equal(fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

// Though a process whose peers are all on its node has not seen it come.
static void an_exit_is_said_to_a_classd_that_has_taken_over(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    status_page_publish(fake->page, 2, STATUS_SCHEDULED);
    shutdown(fake->connection, SHUT_RDWR); // the old classd is gone
    session_exit();
    assert_int_equal(fake->registered, 2);
    assert_int_equal(fake->exited, 1);
}

// Nobody knows of it who would have to be told.
static void an_exit_is_said_to_nobody_else(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    shutdown(fake->connection, SHUT_RDWR);
    session_exit();
    assert_int_equal(fake->registered, 1);
    assert_int_equal(fake->exited, 0);
}

// As when the program has no descriptor left, or no memory to map it.
static void who_cannot_have_the_page_leaves(void **state)
{
    struct fake_classd *fake = *state;
    int page_fd = fake->page_fd;
    fake->page_fd = -1;
    assert_int_equal(join(fake), -1);
    eventually_equal(&fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
    fake->page_fd = page_fd;
}

static void requests_are_at_most_one_a_millisecond(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    uint64_t time = now();
    assert_true(session_request(time));
    assert_false(session_request(time + NS_PER_MS - 1));
    assert_true(session_request(time + NS_PER_MS));
    eventually_equal(&fake->scheduled, 2);
}

static void a_new_generation_is_registered_with(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 1);
    status_page_publish(fake->page, 2, STATUS_SCHEDULED);
    shutdown(fake->connection, SHUT_RDWR); // the old classd is gone
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 2);
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 2);
}

static void *ask_and_look(void *argument)
{
    _Atomic bool *over = argument;
    while (!*over) {
        session_check_generation(session_word());
        session_request(now());
    }
    return NULL;
}

// For the thread sanitizer: the page changes under threads that communicate.
static void threads_may_meet_a_new_page(void **state)
{
    struct fake_classd *fake = *state;
    struct status_page *old_page = fake->page;
    int old_fd = fake->page_fd, new_fd = -1;
    _Atomic bool over = false;
    pthread_t threads[2];
    assert_int_equal(join(fake), 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, ask_and_look, &over);
    int directory = open(fake->directory, O_RDONLY | O_DIRECTORY);
    unlinkat(directory, "page", 0);
    assert_int_equal(status_page_open(directory, "page", false, &fake->page, &new_fd, NULL), 0);
    close(directory);
    fake->page_fd = new_fd;
    status_page_publish(fake->page, 2, STATUS_CONTENDED);
    status_page_publish(old_page, 2, STATUS_SCHEDULED);
    eventually_equal(&fake->registered, 2);
    for (int i = 0; i < 5000 && !session_word_contended(session_word()); i++)
        usleep(1000);
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(session_word_contended(session_word()));
    status_page_close(old_page, old_fd);
}

// A program that closes what it does not know gets the number back for a file of its own.
static void a_reused_descriptor_is_never_written_to(void **state)
{
    struct fake_classd *fake = *state;
    struct stat status;
    char path[] = "/tmp/cosched-test-file-XXXXXX";
    assert_int_equal(join(fake), 0);
    int file = mkstemp(path);
    for (int fd = file + 1; fd < 1024; fd++) {
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && fd != fake->listener &&
            fd != fake->connection)
            dup2(file, fd);
    }
    // Over a new connection, which is tried at most once a second, and in vain while classd is kept
    // from its CPU.
    for (unsigned tries = 1; !session_request(now() + 2 * tries * NS_PER_SEC); tries++)
        assert_true(tries < 20);
    eventually_equal(&fake->registered, 2);
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, 0);
    unlink(path);
    close(file);
}

static void nobody_home_is_an_answer(void **state)
{
    struct fake_classd *fake = *state;
    struct session_identity identity = {
        .runtime_dir = "/nonexistent", .job_id = "test", .ranks = 1, .width = 1};
    struct error err = {0};
    assert_int_equal(session_register(&identity, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_false(session_met());
    assert_null(session_page());
    assert_false(session_request(now()));
    assert_int_equal(fake->registered, 0);
}

static void a_classd_that_hangs_is_given_up(void **state)
{
    struct fake_classd *fake = *state;
    fake->mute = true;
    assert_int_equal(join(fake), -1);
    assert_true(session_met());
    assert_null(session_page());
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

static void a_forked_child_does_not_speak_for_its_parent(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(session_request(now()) ? 1 : 0);
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(fake->scheduled, 0);
}

// Of what classd says only what there can be is taken.
static void slots_are_asked_for_and_claimed(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    assert_int_equal(session_offer(&offer), -1);
    assert_int_equal(session_claim(&choice, 1, false), 0);
    assert_int_equal(join(fake), 0);
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(offer.slots[0], SLOTS_ALL);
    assert_int_equal(offer.slots[1], 0);
    assert_int_equal(slots_count(offer.most[SLOTS_LEVELS - 1]), 7);
    assert_int_equal(offer.cut, SLOTS_ALL); // nothing was said
    assert_int_equal(slots_count(offer.room), SLOTS_ROUND);
    fake->cut = 0x11;
    fake->dummies = 12;
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(offer.cut, 0x11);
    assert_int_equal(slots_count(offer.room), 48);
    fake->dummies = 255;
    assert_int_equal(session_offer(&offer), 0);
    assert_int_equal(slots_count(offer.room), 1);
    assert_int_equal(session_claim(&choice, 17, true), 0xf0);
    assert_int_equal(fake->said, 0xf0);
    session_narrow(0x30, 1);
    eventually_equal(&fake->narrowed, 1);
    assert_int_equal(fake->said, 0x30);
    assert_int_equal(session_slots(), 0);
    fake->page->slots = slots_word(0x30, 5);
    assert_int_equal(slots_of_word(session_slots()), 0x30);
    assert_int_equal(slots_term_of_word(session_slots()), 5);
}

static enum session_answer eventually_offered(struct slots_offer *offer)
{
    enum session_answer answer = SESSION_PENDING;
    for (int i = 0; i < 5000 && answer == SESSION_PENDING; i++) {
        usleep(1000);
        answer = session_offered(offer);
    }
    return answer;
}

// Questions whose answers are fetched later, between which others may be asked.
static void slots_are_asked_for_without_waiting(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    uint64_t given = 0;
    assert_false(session_ask_offer());
    assert_int_equal(join(fake), 0);
    assert_true(session_ask_offer());
    session_narrow(0x30, 1);
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    assert_int_equal(offer.slots[0], SLOTS_ALL);
    assert_int_equal(slots_count(offer.most[SLOTS_LEVELS - 1]), 7);
    assert_true(session_ask_claim(&choice, 2, true)); // has an answer that nobody fetches
    assert_true(session_ask_claim(&choice, 2, false));
    enum session_answer answer;
    while ((answer = session_claimed(&given)) == SESSION_PENDING)
        usleep(1000);
    assert_int_equal(answer, SESSION_ANSWERED);
    assert_int_equal(given, 0xf0);
    assert_int_equal(session_more_slots(), 0);
    fake->page->more_slots = 9;
    assert_int_equal(session_more_slots(), 9);
}

static long size_of_the_table(void)
{
    char line[128];
    long size = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && size < 0 && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "FDSize: %ld", &size);
    if (status != NULL)
        fclose(status);
    return size;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void *sleep_on(void *argument)
{
    pause();
    return argument;
}

// In a child, whose table is as small as its descriptors allow. What it exits with says what is
// wrong.
static int prepare_in_child(bool with_thread)
{
    pthread_t thread;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (with_thread)
            pthread_create(&thread, NULL, sleep_on, NULL);
        long size = size_of_the_table();
        int open = open_descriptors();
        session_prepare();
        if (open_descriptors() != open)
            _exit(2);
        _exit(with_thread ? size_of_the_table() != size : size_of_the_table() <= 400);
    }
    waitpid(child, &status, 0);
    return status;
}

// With threads there it would make MPI_Init wait in this place, for who may have no classd.
static void the_table_grows_before_there_are_threads(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ // has a thread of its own
    skip();
#endif
    assert_int_equal(prepare_in_child(false), 0);
    assert_int_equal(prepare_in_child(true), 0);
}

static bool hears(void)
{
    struct pollfd ear = {.fd = session_ear(), .events = POLLIN};
    return poll(&ear, 1, 0) > 0;
}

static void who_sleeps_is_told_of_his_turn(void **state)
{
    struct fake_classd *fake = *state;
    struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, 0);
    struct protocol_reply turn = protocol_reply_new(&unasked, 0);
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    struct slots_offer offer;
    assert_int_equal(session_ear(), -1);
    fake->tells = true;
    assert_int_equal(join(fake), 0);
    assert_true(session_ear() >= 0);
    assert_false(hears());
    send_reply(fake->connection, &turn, -1);
    assert_true(hears());
    session_listen();
    assert_false(hears());
    assert_true(session_ear() >= 0);
    // It would take the answer for a turn, and the turn is no answer.
    send_reply(fake->connection, &turn, -1);
    assert_true(session_ask_offer());
    assert_int_equal(session_ear(), -1);
    session_listen();
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    assert_true(session_ear() >= 0);
    assert_true(session_ask_claim(&choice, 2, true)); // has an answer that nobody fetches
    for (int i = 0; i < 5000 && !hears(); i++)
        usleep(1000);
    assert_true(hears());
    session_listen();
    assert_false(hears());
    shutdown(fake->connection, SHUT_RDWR); // who is gone tells nothing
    assert_true(hears());
    session_listen();
    assert_int_equal(session_ear(), -1);
}

static void an_earlier_classd_tells_of_no_turn(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    assert_int_equal(session_ear(), -1);
}

static void an_answer_may_never_come(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_offer offer;
    assert_int_equal(join(fake), 0);
    fake->mute = true;
    assert_true(session_ask_offer());
    for (int i = 0; i < 100; i++)
        assert_int_equal(session_offered(&offer), SESSION_PENDING);
    fake->mute = false;
    shutdown(fake->connection, SHUT_RDWR);
    while (fake->registered < 2) { // on another connection
        session_request(now());
        usleep(2000);
    }
    assert_int_equal(session_offered(&offer), SESSION_LOST);
    assert_true(session_ask_offer());
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    shutdown(fake->connection, SHUT_RDWR);
    session_ask_offer(); // nobody may be there any more
    assert_int_equal(eventually_offered(&offer), SESSION_LOST);
}

static void meet_another_classd(struct fake_classd *fake)
{
    int registered = fake->registered;
    shutdown(fake->connection, SHUT_RDWR);
    while (fake->registered == registered) {
        session_request(now());
        usleep(2000);
    }
    fake->scheduled = 0;
    while (fake->scheduled == 0) { // what was said before has been read
        session_request(now());
        usleep(2000);
    }
}

// It may have ended before it read the packet; by the page another one knows what it knew.
static void what_was_taken_is_said_to_who_has_not_heard_it(void **state)
{
    struct fake_classd *fake = *state;
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    assert_int_equal(join(fake), 0);
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 0); // nothing was taken
    fake->mute = true;
    assert_true(session_ask_claim(&choice, 2, false));
    choice.slots = 0x30;
    assert_true(session_ask_claim(&choice, 2, true));
    usleep(20000);
    assert_int_equal(fake->claims, 0);
    fake->mute = false;
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 1);
    assert_int_equal(fake->said, 0x30);
    fake->page->slots = slots_word(0x10, 2); // it has, and another job has some by now
    meet_another_classd(fake);
    assert_int_equal(fake->claims, 1);
}

static void what_the_clock_is_is_said_to_who_has_not_heard_it(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    session_report_clock(5, 2, 0);
    assert_int_equal(fake->clocks, 1);
    meet_another_classd(fake);
    assert_int_equal(fake->clocks, 2);
    fake->page->clock.ahead_ns = 5;
    meet_another_classd(fake);
    assert_int_equal(fake->clocks, 2);
}

// A job has another identity, and has said nothing.
static void what_one_job_has_said_is_not_said_for_the_next(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    meet_another_classd(fake);
    assert_int_equal(fake->claims + fake->clocks, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_grows_before_there_are_threads),
        TEST(the_page_is_seen_at_once),
        TEST(a_classd_that_has_taken_over_is_left_too),
        TEST(an_exit_is_said_to_a_classd_that_has_taken_over),
        TEST(an_exit_is_said_to_nobody_else),
        TEST(parting_waits_for_nobody),
        TEST(an_older_classd_is_registered_with_and_left),
        TEST(an_older_classd_is_told_what_it_knows),
        TEST(who_cannot_have_the_page_leaves),
        TEST(a_job_is_found_before_it_is_joined),
        TEST(requests_are_at_most_one_a_millisecond),
        TEST(slots_are_asked_for_and_claimed),
        TEST(slots_are_asked_for_without_waiting),
        TEST(who_sleeps_is_told_of_his_turn),
        TEST(an_earlier_classd_tells_of_no_turn),
        TEST(a_new_generation_is_registered_with),
        TEST(threads_may_meet_a_new_page),
        TEST(a_reused_descriptor_is_never_written_to),
        TEST(nobody_home_is_an_answer),
        TEST(a_classd_that_hangs_is_given_up),
        TEST(a_forked_child_does_not_speak_for_its_parent),
        TEST(an_answer_may_never_come), // one of the last, as connections are renewed once a second
        TEST(what_was_taken_is_said_to_who_has_not_heard_it),
        TEST(what_the_clock_is_is_said_to_who_has_not_heard_it),
        TEST(what_one_job_has_said_is_not_said_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
