// The backend of unit tests: classes in memory, every effect recorded in order, failures on demand.
#ifndef COSCHED_CGROUP_BACKEND_TEST_BACKEND_H
#define COSCHED_CGROUP_BACKEND_TEST_BACKEND_H

#include "cgroup-backend/backend.h"

#include <stdbool.h>

// A backend without a kernel; ended with backend_close().
backend_t *test_backend_new(void);

// The effects so far, one line each, e.g. "open a", "place a 12", "share a 10000", "share a max",
// "begin a 10000" for a share whose periods begin now, "expel a 12", "freeze a", "thaw a", "stop
// a", "continue a", "kill a" and "kill a 12" for a pass, "kill-all a" for a kill that waits,
// "remove a"; of classes in place "in-place a", "check a 12" for placing and "displace a", of named
// groups "named a user.slice". Valid until the next effect.
const char *test_backend_log(const backend_t *backend);
void test_backend_clear_log(backend_t *backend);

// Lists classes from now on in the order of their making, or the other way round.
void test_backend_list_backwards(backend_t *backend, bool backwards);

// What class_usage() reports from now on.
void test_backend_set_usage(backend_t *backend, const char *name, uint64_t usage_ns);

// What class_period_ns() says from now on; 0 at first.
void test_backend_set_period(backend_t *backend, uint64_t period_ns);

// Whether processes live in a group of their job's own from now on; at first they do not.
void test_backend_offer_place(backend_t *backend, bool offer);

// Whether managers want all processes where they live from now on; at first they do not.
void test_backend_keep(backend_t *backend, bool keep);

// From now on the manager of the groups of all classes in place keeps them frozen; at first it does
// not.
void test_backend_stop_in_place(backend_t *backend, bool stop);

// From now on there is no freezer; at first there is.
void test_backend_take_freezer(backend_t *backend);

// The next `count` calls of the operation ("open", "place", "share", "usage", "remove", "find" for
// who had stopped before, ...) fail with `code`, an errno value.
void test_backend_fail(backend_t *backend, const char *operation, int code, unsigned count);

#endif
