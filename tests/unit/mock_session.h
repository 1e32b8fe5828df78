// A session for tests of the preloaded library: the status word is the test's, requests are
// counted.
#ifndef COSCHED_TESTS_UNIT_MOCK_SESSION_H
#define COSCHED_TESTS_UNIT_MOCK_SESSION_H

#include "common/status_page.h"
#include "pmpi/variant/session.h"

#include <stdbool.h>
#include <stdint.h>

// Publishes new flags (enum status_flag) under a new epoch.
void mock_status(uint16_t flags);

// The same flags, and the job's slots as slots_word(), under a new epoch.
void mock_slots(uint64_t slots);

// What session_more_slots() says from now on; 0, as at first: there are none.
void mock_more_slots(uint8_t sign);

// The same flags in another slice, as session_turn(), under a new epoch; 0, as at first: not known.
void mock_turn(uint16_t turn);

// What session_page() returns from now on; null, as at first: there is no scheduler. Stays the
// caller's.
void mock_page(const struct status_page *page);

// Whether there is a scheduler all the same, which takes nobody; at first there is none.
void mock_met(bool somebody);

// The job that session_find_job() finds on this node from now on, by this world; null, as at first:
// none. Stays the caller's.
void mock_job_here(const char *job_id, uint64_t world);

// With what session_register() was called last.
const struct session_identity *mock_session_identity(void);

// What session_narrow() was last called with since this was last asked, as slots_word(); 0:
// nothing.
uint64_t mock_session_narrowed(void);

// How often session_check_generation() was called since this was last asked.
int mock_session_checks(void);

// How often session_part() was called since this was last asked.
int mock_session_parts(void);

// What session_ear() returns from now on; -1, as at first: classd says nothing.
void mock_ear(int fd);

// How often session_listen() has been called since this was last asked.
int mock_session_listened(void);

// How many requests for the CPU have been made since this was last asked.
int mock_session_requests(void);

#endif
