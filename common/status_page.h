// The status page: how the processes of a job learn whether they are scheduled (Yoo & Jette,
// section 2.2.1: "a small shared-memory region through which the process learns its scheduling
// status").
//
// One file per job in the runtime directory, written by classd alone, mapped read-only by the job's
// processes through the descriptor that comes with the reply to REGISTER. It outlives the daemon: a
// restarted classd adopts it, raises the generation, and clients register again when they see that.
//
// The hot part is one 64-bit word that is always written whole, so a reader needs one relaxed load
// and one compare. `epoch` changes with every change of the flags, and when there is something else
// in the page to look at.
#ifndef COSCHED_COMMON_STATUS_PAGE_H
#define COSCHED_COMMON_STATUS_PAGE_H

#include "common/error.h"
#include "common/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STATUS_PAGE_MAGIC       0x65676170u // "page"
#define STATUS_PAGE_VERSION     1u
#define STATUS_PAGE_BYTES       4096u  // what clients map
#define STATUS_PAGE_FILE_BYTES  20480u // with the daemon's own state for adoption behind it
#define STATUS_PAGE_DIRECTORY   "jobs" // in the runtime directory, not listable by others
#define STATUS_PAGE_MEMBERS_MAX 1020u

enum status_flag {
    STATUS_SCHEDULED = 1u << 0, // this job holds the node's CPUs (its share of them) now
    STATUS_CONTENDED = 1u << 1, // shares are enforced: somebody else wants the CPUs too
};

// The configuration's words for the library, [client] piggyback and wait.
enum status_piggyback {
    STATUS_PIGGYBACK_OFF = 0,
    STATUS_PIGGYBACK_NOTICE = 1,
    STATUS_PIGGYBACK_HEADER = 2,
};
enum status_wait {
    STATUS_WAIT_SPIN = 0,
    STATUS_WAIT_YIELD = 1,
    STATUS_WAIT_AUTO = 2,
    STATUS_WAIT_BLOCK = 3,
};

// word = generation (16 bits) | flags (16 bits) | epoch (32 bits)
static inline uint64_t status_word(uint16_t generation, uint16_t flags, uint32_t epoch)
{
    return (uint64_t)generation << 48 | (uint64_t)flags << 32 | epoch;
}

static inline uint16_t status_word_generation(uint64_t word)
{
    return (uint16_t)(word >> 48);
}

static inline uint16_t status_word_flags(uint64_t word)
{
    return (uint16_t)(word >> 32);
}

static inline uint32_t status_word_epoch(uint64_t word)
{
    return (uint32_t)word;
}

// The number of a slice, the same on all nodes, as it travels with a status; 0: not known.
static inline uint16_t status_turn(uint64_t turn)
{
    return turn != 0 ? (uint16_t)(turn % UINT16_MAX + 1) : 0;
}

// What a process with no scheduler behaves by: it runs, and nobody limits it.
#define STATUS_WORD_FREE ((uint64_t)STATUS_SCHEDULED << 32)

// A process of the job as classd registered it; only classd reads this, at adoption.
struct status_member {
    int32_t pid;
    uint32_t width;
    uint64_t start_time; // field 22 of /proc/PID/stat: tells a reused pid
};

// What classd knew of the job's turns, for the next one. Times are of the monotonic clock. All
// zeros in the page of a classd that did not keep this yet.
struct status_turns {
    uint64_t registered_ns;
    uint64_t scheduled_since_ns; // while scheduled
    uint64_t scheduled_total_ns;
    uint64_t switches;
    uint32_t slices_waited; // while idle
    uint32_t most_jobs;     // while idle
    uint32_t scheduled;     // not as in the word, which also says that a job is free
    uint32_t named_ranks;   // by which the job has its place among others; 0: not kept
};

// A MPI_COMM_WORLD of the job's on this node, as its processes told it (REGISTER), for the next
// classd; key 0: none. Those that find no room here are told again when processes register again.
enum { STATUS_WORLDS_MAX = 16 };
struct status_world {
    uint64_t key;
    uint64_t parent;
    uint32_t ranks;
    uint32_t reserved;
};

struct status_page {
    uint32_t magic;
    uint16_t version;
    uint16_t bytes; // STATUS_PAGE_BYTES
    _Atomic uint64_t word;
    uint64_t node_id;
    uint64_t time_slice_ns;
    uint64_t gmet_ns;
    uint32_t cpus;
    uint32_t degree; // jobs time-sharing the node
    uint32_t uid;
    uint32_t ranks; // of the whole job, as its processes say
    char job_id[PROTOCOL_JOB_ID_MAX];
    uint8_t piggyback; // enum status_piggyback: the node's default
    uint8_t wait;      // enum status_wait: the node's default
    uint8_t gang;      // 1: policy gang, which has OFFER and CLAIM answered
    // Policy gang: another number than before when the job should look for more slots, since this
    // node could give it some; 0: it could not.
    _Atomic uint8_t more_slots;
    uint8_t list; // policy gang: the number of the list in which the job began
    uint8_t unused;
    _Atomic uint16_t turn;       // the slice, as status_turn(): what is said in one holds in that
    uint64_t spin_limit_ns;      // the node's default; 0, as in the page of an earlier classd: none
    _Atomic uint64_t slots;      // policy gang: the job's, as slots_word(); 0: none
    struct protocol_clock clock; // as the job's CLOCK said it, for the next classd; all 0: never
    _Atomic uint32_t width;      // CPUs that the job's processes here can use; 0: not told
    uint32_t unused_too;
    struct status_world worlds[STATUS_WORLDS_MAX];
    uint8_t reserved[STATUS_PAGE_BYTES - 144 - 24 * STATUS_WORLDS_MAX];
    // Behind the first page: state for adoption, not mapped by clients.
    uint64_t service_ns; // the engine's count of the CPU time that the job has received
    uint32_t member_count;
    uint32_t padding;
    struct status_member members[STATUS_PAGE_MEMBERS_MAX];
    struct status_turns turns; // behind the members, where a page of an earlier classd has zeros
};

_Static_assert(sizeof(struct status_page) <= STATUS_PAGE_FILE_BYTES, "the page outgrew its file");

// Creates the page of a job below directory `dir_fd` (mode 0600, owned by the caller) or, when
// `adopt`, opens an existing one and checks it. On success *page is mapped read-write and *fd is a
// read-only descriptor to hand to clients; the caller releases both with status_page_close().
// Errors: the errno of the failing call, or EBADMSG for a page that is not one; a page that could
// not be created leaves no file behind.
int status_page_open(int dir_fd, const char *name, bool adopt, struct status_page **page, int *fd,
                     struct error *err);

// Unmaps and closes; the file stays. Null and -1 are allowed.
void status_page_close(struct status_page *page, int fd);

// Publishes new flags: one release store of the whole word. The epoch is raised only when the flags
// differ from the published ones or the generation changes.
void status_page_publish(struct status_page *page, uint16_t generation, uint16_t flags);

// Raises the epoch alone, so that the job's processes look at what else the page says.
void status_page_nudge(struct status_page *page);

// Publishes in every page below `runtime_dir` that its job is scheduled and not contended: what
// whoever lifts the limits in a dead classd's place has to say. Pages that cannot be read are left
// out. Returns 0, or -1 when the directory cannot be listed; none at all is no fault.
int status_page_free_all(const char *runtime_dir, struct error *err);

// Client side: maps the descriptor read-only and checks magic, version and size (the file's size
// too: a shorter file would raise SIGBUS in the user's program). Unmap with status_page_unmap().
int status_page_map(int fd, const struct status_page **page, struct error *err);
void status_page_unmap(const struct status_page *page);

#endif
