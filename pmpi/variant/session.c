#include "pmpi/variant/session.h"

#include "common/client.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FIRST_DESCRIPTOR = 400, // out of the way of programs that count on low numbers
    REGISTER_TIMEOUT_MS = 2000,
    RENEW_TIMEOUT_MS = 100,
};

#define REQUEST_INTERVAL_NS      NS_PER_MS         // for each rank of the job on this node
#define REQUEST_INTERVAL_MOST_NS (100 * NS_PER_MS) // while what it has heard still counts
#define RENEW_INTERVAL_NS        NS_PER_SEC

static const _Atomic uint64_t free_word = STATUS_WORD_FREE;
_Atomic(const _Atomic uint64_t *) session_word_at = &free_word;

void session_watch(const _Atomic uint64_t *word)
{
    session_word_at = word != NULL ? word : &free_word;
}

// What is atomic is looked at by every thread; the rest belongs to who is busy.
static struct {
    struct session_identity identity;
    _Atomic(const struct status_page *) page; // null: not registered
    dev_t page_device;
    ino_t page_inode;
    int fd; // -1: not connected
    dev_t fd_device;
    ino_t fd_inode;
    pid_t pid; // a forked child must not speak for its parent
    bool met;  // somebody, when this process registered last
    _Atomic uint16_t generation;
    unsigned connections;
    struct protocol_request asked; // of which the answer is still to come
    unsigned asked_on;             // the connection
    bool asking;                   // the answer has not been fetched
    struct protocol_request clock; // what was said of it, and
    struct protocol_request claim; // what was taken last; of command 0: nothing
    bool tells;                    // classd says on this connection when the job's turn comes
    uint32_t sequence;
    _Atomic uint64_t last_request_ns;
    uint64_t next_renewal_ns;
    atomic_flag busy; // one thread at a time; the others skip, they would only say the same
} session = {.fd = -1, .busy = ATOMIC_FLAG_INIT};

static bool is_single_threaded(void)
{
    struct stat tasks;
    return fstatat(AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 &&
           tasks.st_nlink == 3; // its own two, and one each
}

void session_prepare(void)
{
    int fd = is_single_threaded() ? open("/", O_PATH | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high >= 0)
        close(high);
    close(fd);
}

static void remember_descriptor(int fd, bool tells)
{
    struct stat status;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    session.connections++;
    session.asking = false;
    session.tells = tells;
    session.fd = fd;
    if (fstatat(fd, "", &status, AT_EMPTY_PATH) == 0) {
        session.fd_device = status.st_dev;
        session.fd_inode = status.st_ino;
    }
}

// Programs close descriptors that they do not know, and get the number back for something of their
// own: never write to that.
static bool descriptor_is_ours(void)
{
    struct stat status;
    return session.fd >= 0 && session.pid == getpid() &&
           fstatat(session.fd, "", &status, AT_EMPTY_PATH) == 0 &&
           status.st_dev == session.fd_device && status.st_ino == session.fd_inode;
}

static void drop_descriptor(void)
{
    if (descriptor_is_ours())
        close(session.fd);
    session.fd = -1;
}

// Takes the page that came with a registration; keeps the mapping when it is the same file, as
// after an adoption.
static int take_page(int fd, struct error *err)
{
    struct stat status;
    const struct status_page *page = NULL;
    if (fstatat(fd, "", &status, AT_EMPTY_PATH) < 0)
        return error_errno(err, errno, "status page");
    if (session.page == NULL || status.st_dev != session.page_device ||
        status.st_ino != session.page_inode) {
        if (status_page_map(fd, &page, err) < 0)
            return -1;
        // An old mapping stays: another thread may be reading it.
        session.page = page;
        session.page_device = status.st_dev;
        session.page_inode = status.st_ino;
        session_word_at = &page->word;
    }
    session.generation = status_word_generation(session_word());
    return 0;
}

// Who cannot learn whether he runs is not to be limited. classd takes this before the end of the
// connection; nobody waits for its answer.
static void withdraw(int fd)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_EXIT, ++session.sequence);
    client_send(fd, &request, NULL);
}

// What an older classd does not know. False: nothing is left that it might not.
static bool without_newest_field(struct protocol_register *wish)
{
    if (wish->world != 0 || wish->parent != 0)
        wish->world = wish->parent = 0;
    else if (wish->starts_ns != 0)
        wish->starts_ns = 0;
    else
        return false;
    return true;
}

// Not where there is none, or a process may have no such socket at all, as in a sandbox.
static bool is_refusal(int code)
{
    return code != ENOENT && code != ECONNREFUSED && code != ENAMETOOLONG && code != EAFNOSUPPORT &&
           code != EPERM;
}

static int connect_and_register(unsigned timeout_ms, struct error *err)
{
    const struct session_identity *identity = &session.identity;
    struct error fault = {0};
    int fd = client_connect_within(identity->runtime_dir, timeout_ms, &fault);
    session.met = fd >= 0 || is_refusal(fault.code);
    if (fd < 0)
        return error_set(err, fault.code, "%s", fault.text);
    struct protocol_request request = protocol_request_new(PROTOCOL_REGISTER, ++session.sequence);
    struct protocol_reply reply;
    int page_fd = -1;
    for (size_t i = 0; i < sizeof identity->job_id; i++)
        request.register_.job_id[i] = identity->job_id[i];
    for (size_t i = 0; i < sizeof identity->list; i++)
        request.register_.list[i] = identity->list[i];
    request.register_.width = identity->width;
    request.register_.rank = identity->rank;
    request.register_.ranks = identity->ranks;
    request.register_.starts_ns = identity->starts_ns;
    request.register_.world = identity->world;
    request.register_.parent = identity->parent;
    int rc = client_transact(fd, &request, &reply, &page_fd, timeout_ms, &fault);
    while (rc < 0 && fault.code == EOPNOTSUPP && without_newest_field(&request.register_)) {
        request.header.sequence = ++session.sequence;
        rc = client_transact(fd, &request, &reply, &page_fd, timeout_ms, &fault);
    }
    if (rc < 0)
        error_set(err, fault.code, "%s", fault.text);
    if (rc == 0) {
        rc = page_fd >= 0 ? take_page(page_fd, err) : error_set(err, EPROTO, "no status page came");
        if (rc < 0 && session.page == NULL)
            withdraw(fd);
    }
    if (page_fd >= 0)
        close(page_fd);
    if (rc < 0)
        close(fd);
    else
        remember_descriptor(fd, reply.registered.tells != 0);
    return rc;
}

int session_register(const struct session_identity *identity, struct error *err)
{
    session.identity = *identity;
    session.pid = getpid();
    session.clock.header.command = session.claim.header.command = 0;
    return connect_and_register(REGISTER_TIMEOUT_MS, err);
}

// 0 or the errno of what kept it from an answer.
static int ask_for_job(const char *runtime_dir, uint64_t world, struct protocol_reply *reply)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    struct error err = {0};
    int fd = client_connect_within(runtime_dir, REGISTER_TIMEOUT_MS, &err);
    if (fd < 0)
        return err.code;
    request.query.kind = PROTOCOL_QUERY_WORLD;
    request.query.world = world;
    int rc = client_transact(fd, &request, reply, NULL, REGISTER_TIMEOUT_MS, &err);
    close(fd);
    return rc == 0 ? 0 : err.code;
}

bool session_find_job(const char *runtime_dir, uint64_t world, char job_id[PROTOCOL_JOB_ID_MAX])
{
    uint64_t deadline_ns = clock_now_ns() + REGISTER_TIMEOUT_MS * NS_PER_MS;
    struct protocol_reply reply;
    int fault;
    // Others' connections may leave no place for this one, for a moment.
    while ((fault = ask_for_job(runtime_dir, world, &reply)) == ECONNRESET &&
           clock_now_ns() < deadline_ns)
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_SEC / 50}, NULL);
    for (size_t i = 0; fault == 0 && i < PROTOCOL_JOB_ID_MAX; i++)
        job_id[i] = reply.job.job_id[i];
    return fault == 0;
}

bool session_met(void)
{
    return session.met;
}

const struct status_page *session_page(void)
{
    return session.page;
}

static void say(struct protocol_request *request)
{
    request->header.sequence = ++session.sequence;
    client_send(session.fd, request, NULL);
}

// A classd that was not there, or ended before it had read this, left the page as it was. The
// job's other nodes go by what was agreed: so this one is told once more.
static void say_again(void)
{
    uint32_t term = slots_term_of_word(session_slots());
    if (session.clock.header.command != 0 && session_page()->clock.ahead_ns == 0)
        say(&session.clock);
    if (session.claim.header.command != 0 && session.claim.claim.term != term)
        say(&session.claim);
}

static void remember(const struct protocol_request *request)
{
    if (request->header.command == PROTOCOL_CLOCK)
        session.clock = *request;
    else if (request->header.command == PROTOCOL_CLAIM && request->claim.final != 0)
        session.claim = *request;
}

static void renew(uint64_t now_ns)
{
    if (now_ns < session.next_renewal_ns || session.pid != getpid())
        return;
    session.next_renewal_ns = now_ns + RENEW_INTERVAL_NS;
    drop_descriptor();
    struct error err = {0};
    if (connect_and_register(RENEW_TIMEOUT_MS, &err) == 0)
        say_again();
    else if (err.code == ETIMEDOUT)
        session.next_renewal_ns = now_ns + 10 * RENEW_INTERVAL_NS; // it hangs: ask it rarely
}

static bool take(void)
{
    return !atomic_flag_test_and_set_explicit(&session.busy, memory_order_acquire);
}

static void give_back(void)
{
    atomic_flag_clear_explicit(&session.busy, memory_order_release);
}

bool session_request(uint64_t now_ns, int mates)
{
    uint64_t interval_ns = (uint64_t)(mates > 0 ? mates : 1) * REQUEST_INTERVAL_NS;
    if (interval_ns > REQUEST_INTERVAL_MOST_NS)
        interval_ns = REQUEST_INTERVAL_MOST_NS;
    if (session.page == NULL || now_ns - session.last_request_ns < interval_ns || !take())
        return false;
    bool sent = false;
    session.last_request_ns = now_ns;
    if (!descriptor_is_ours())
        renew(now_ns);
    if (descriptor_is_ours()) {
        struct protocol_request request =
            protocol_request_new(PROTOCOL_SCHEDULE, ++session.sequence);
        struct error err = {0};
        sent = client_send(session.fd, &request, &err) == 0;
        if (!sent && err.code != EAGAIN)
            drop_descriptor();
    }
    give_back();
    return sent;
}

static int transact(struct protocol_request *request, struct protocol_reply *reply)
{
    int rc = -1;
    if (session.page == NULL || !take())
        return -1;
    if (!descriptor_is_ours())
        renew(clock_now_ns());
    remember(request);
    request->header.sequence = ++session.sequence;
    if (descriptor_is_ours()) {
        rc = client_transact(session.fd, request, reply, NULL, REGISTER_TIMEOUT_MS, NULL);
        if (rc < 0 && reply->header.status == 0)
            drop_descriptor();
    }
    give_back();
    return rc;
}

static void read_offer(const struct protocol_reply *reply, struct slots_offer *offer)
{
    for (size_t i = 0; i < SLOTS_LEVELS; i++) {
        offer->slots[i] = reply->offer.slots[i] & SLOTS_ALL;
        offer->most[i] = slots_most(reply->offer.most[i]);
    }
    offer->cut = reply->offer.cut != 0 ? reply->offer.cut : SLOTS_ALL;
    offer->room =
        slots_most(reply->offer.dummies < SLOTS_ROUND ? SLOTS_ROUND - reply->offer.dummies : 1);
}

int session_offer(struct slots_offer *offer)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_OFFER, 0);
    struct protocol_reply reply;
    if (transact(&request, &reply) < 0)
        return -1;
    read_offer(&reply, offer);
    return 0;
}

static struct protocol_request claim_of(enum protocol_command command, uint64_t slots,
                                        uint32_t term)
{
    struct protocol_request request = protocol_request_new(command, 0);
    request.claim.slots = slots & SLOTS_ALL;
    request.claim.term = term % SLOTS_TERMS;
    return request;
}

static struct protocol_request claim_of_choice(const struct slots_choice *choice, uint32_t term,
                                               bool final)
{
    struct protocol_request request = claim_of(PROTOCOL_CLAIM, choice->slots, term);
    request.claim.due = choice->due;
    request.claim.final = final;
    return request;
}

uint64_t session_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    struct protocol_request request = claim_of_choice(choice, term, final);
    struct protocol_reply reply;
    bool answered = transact(&request, &reply) == 0;
    // The next classd is told again, and a node whose clock is off leaves it to the others.
    if (final && (!answered || session.page->clock.ahead_ns != 0))
        return choice->slots;
    return answered ? reply.claimed.slots & choice->slots : 0;
}

void session_report_clock(int64_t ahead_ns, size_t nodes, size_t agreeing)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_CLOCK, 0);
    struct protocol_reply reply;
    if (nodes > PROTOCOL_CLOCK_NODES_MAX)
        return;
    request.clock.ahead_ns = ahead_ns;
    request.clock.nodes = (uint32_t)nodes;
    request.clock.agreeing = (uint32_t)agreeing;
    transact(&request, &reply);
}

static bool ask(struct protocol_request *request, bool to_be_answered)
{
    if (session.page == NULL || !take())
        return false;
    if (!descriptor_is_ours())
        renew(clock_now_ns());
    remember(request);
    request->header.sequence = ++session.sequence;
    session.asked = *request;
    session.asked_on = session.connections;
    bool sent = descriptor_is_ours() && client_send(session.fd, request, NULL) == 0;
    session.asking = sent && to_be_answered;
    give_back();
    return sent;
}

bool session_ask_offer(void)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_OFFER, 0);
    return ask(&request, true);
}

bool session_ask_claim(const struct slots_choice *choice, uint32_t term, bool final)
{
    struct protocol_request request = claim_of_choice(choice, term, final);
    return ask(&request, !final);
}

static enum session_answer answer(struct protocol_reply *reply)
{
    struct error err = {0};
    enum session_answer answer = SESSION_LOST;
    if (!take())
        return SESSION_PENDING;
    if (session.asked_on == session.connections && descriptor_is_ours()) {
        if (client_receive(session.fd, &session.asked, reply, NULL, 0, &err) == 0)
            answer = SESSION_ANSWERED;
        else if (err.code == ETIMEDOUT)
            answer = SESSION_PENDING;
        else if (reply->header.status == 0)
            drop_descriptor();
    }
    session.asking = answer == SESSION_PENDING;
    give_back();
    return answer;
}

enum session_answer session_offered(struct slots_offer *offer)
{
    struct protocol_reply reply;
    enum session_answer came = answer(&reply);
    if (came == SESSION_ANSWERED)
        read_offer(&reply, offer);
    return came;
}

enum session_answer session_claimed(uint64_t *given)
{
    struct protocol_reply reply;
    enum session_answer came = answer(&reply);
    if (came == SESSION_ANSWERED)
        *given = reply.claimed.slots & session.asked.claim.slots;
    return came;
}

void session_narrow(uint64_t slots, uint32_t term)
{
    struct protocol_request request = claim_of(PROTOCOL_NARROW, slots, term);
    if (session.page == NULL || !take())
        return;
    request.header.sequence = ++session.sequence;
    if (descriptor_is_ours()) // what gets lost is said again
        client_send(session.fd, &request, NULL);
    give_back();
}

// An answer that nobody has fetched would end every sleep.
int session_ear(void)
{
    if (session.page == NULL || !take())
        return -1;
    int ear = session.tells && !session.asking && descriptor_is_ours() ? session.fd : -1;
    give_back();
    return ear;
}

void session_listen(void)
{
    if (session.page == NULL || !take())
        return;
    if (session.tells && !session.asking && descriptor_is_ours() && client_discard(session.fd) < 0)
        drop_descriptor();
    give_back();
}

uint64_t session_slots(void)
{
    const struct status_page *page = session.page;
    return page != NULL ? atomic_load_explicit(&page->slots, memory_order_relaxed) : 0;
}

uint16_t session_turn(void)
{
    const struct status_page *page = session.page;
    return page != NULL ? atomic_load_explicit(&page->turn, memory_order_relaxed) : 0;
}

uint8_t session_more_slots(void)
{
    const struct status_page *page = session.page;
    return page != NULL ? atomic_load_explicit(&page->more_slots, memory_order_relaxed) : 0;
}

static bool is_taken_over(uint64_t word)
{
    return status_word_generation(word) != session.generation;
}

void session_check_generation(uint64_t word)
{
    if (session.page == NULL || !is_taken_over(word) || !take())
        return;
    renew(clock_now_ns());
    give_back();
}

// False when nobody was there to hear it.
static bool say_exit(void)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_EXIT, ++session.sequence);
    struct protocol_reply reply;
    return descriptor_is_ours() &&
           client_transact(session.fd, &request, &reply, NULL, REGISTER_TIMEOUT_MS, NULL) == 0;
}

static void forget(void)
{
    drop_descriptor();
    // The page stays mapped for threads that still look at it, but nobody listens to it any more.
    session_word_at = &free_word;
    session.page = NULL;
}

void session_part(void)
{
    if (session.page == NULL || !take())
        return;
    struct protocol_request request = protocol_request_new(PROTOCOL_PART, ++session.sequence);
    if (descriptor_is_ours()) // what gets lost is said by EXIT
        client_send(session.fd, &request, NULL);
    give_back();
}

// A classd that has taken over knows this process by its page, and would limit it as a member of a
// job for as long as it lives; so would one whose connection the program has closed. Who has
// exchanged nothing with other nodes has seen neither.
void session_exit(void)
{
    if (session.page == NULL)
        return;
    if ((is_taken_over(session_word()) || !descriptor_is_ours()) && session.pid == getpid()) {
        drop_descriptor();
        connect_and_register(REGISTER_TIMEOUT_MS, NULL);
    }
    say_exit();
    forget();
}

void session_leave(void)
{
    uint64_t deadline_ns = clock_now_ns() + REGISTER_TIMEOUT_MS * NS_PER_MS;
    if (session.page == NULL)
        return;
    while (!say_exit() && clock_now_ns() < deadline_ns) {
        drop_descriptor();
        if (connect_and_register(REGISTER_TIMEOUT_MS, NULL) < 0)
            nanosleep(&(struct timespec){.tv_nsec = NS_PER_SEC / 20}, NULL);
    }
    forget();
}
