// The status pages of the node's jobs: files `<uid>-<job id>` in the runtime directory. What every
// page says about the node is filled in here; what it says about the job's turn is the scheduler's.
#ifndef COSCHED_CLASSD_PAGES_H
#define COSCHED_CLASSD_PAGES_H

#include "common/config.h"
#include "common/error.h"
#include "common/status_page.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct pages pages_t;

// Opens, or makes with mode 0700, the pages' directory below `runtime_directory`, a descriptor that
// stays the caller's. Ended with pages_close(); the files stay. *config must outlive it.
int pages_open(int runtime_directory, const struct config *config, uint64_t node_id,
               uint16_t generation, pages_t **pages, struct error *err);
void pages_close(pages_t *pages);

uint64_t pages_node_id(const pages_t *pages);
uint16_t pages_generation(const pages_t *pages);

// A new page, or with `adopt` the one that a former classd left (ENOENT, EBADMSG when it is not
// this job's). The facts about the node are filled in; a new page says that the job is scheduled
// and not contended. Released by the caller with status_page_close().
int pages_open_job(pages_t *pages, uid_t uid, const char *job_id, bool adopt,
                   struct status_page **page, int *fd, struct error *err);

// When the job of a page that a former classd left registered, on the monotonic clock; 0 when it
// cannot be told.
uint64_t pages_registered_ns(const pages_t *pages, uid_t uid, const char *job_id);

// Fills in again what the page says about the node: the configuration has changed.
void pages_describe_node(const pages_t *pages, struct status_page *page);

// Removes the file; a missing one is no fault. Clients that still map it read its last word.
void pages_remove_job(pages_t *pages, uid_t uid, const char *job_id);

// Publishes that the job may do as it likes in every page file that `known` does not claim, and
// removes the file: left-overs of jobs whose class is gone. Their clients register again.
void pages_remove_orphans(pages_t *pages, bool (*known)(const char *name, void *user), void *user);

// The flags of the job's turn, in this daemon's generation.
void pages_publish(const pages_t *pages, struct status_page *page, bool scheduled, bool limited);

// The page's list of members, for the next classd: record behind the last, forget one by putting
// the last in its place. Correct for a reader at every moment, as this process may be killed at
// any.
void page_record_member(struct status_page *page, const struct status_member *member);
void page_forget_member(struct status_page *page, uint32_t slot);

// Forgets all but the first `count`.
void page_keep_members(struct status_page *page, uint32_t count);

// The name of the file of a job.
enum { PAGE_NAME_MAX = 64 };
void page_name(char name[PAGE_NAME_MAX], uid_t uid, const char *job_id);

#endif
