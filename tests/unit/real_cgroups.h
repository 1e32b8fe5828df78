// Classes on the real cgroups of this machine, v1 or v2, with real processes. Everything happens
// below a root of the test program's own, which is gone afterwards, also after a failure. Skipped
// where it cannot run. tests/vm runs it on v2.
#ifndef COSCHED_TESTS_UNIT_REAL_CGROUPS_H
#define COSCHED_TESTS_UNIT_REAL_CGROUPS_H

#include "cgroup-backend/backend.h"
#include "cgroup-backend/discovery.h"
#include "common/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

enum {
    CHILDREN_MAX = 64,
    SKIPPED = 77, // what ctest takes for it
};

// What the kernel calls it.
struct version {
    const char *kind;
    const char *threads; // file that lists a group's threads
    const char *weight;  // file of a group's weight
    long long weight_of_two_cpus;
    const char *thaw, *thaw_word; // what continues a frozen group
};

extern const struct version v1, v2;
extern const struct version *version; // this machine's
extern struct discovery found;
extern const char *mounts[3]; // of cpu first
extern unsigned mount_count;
extern char root[64];
extern backend_t *backend; // with classes below the root, anew for each test
extern struct error err;

// What a test has begun and clean_up() ends.
extern pid_t children[CHILDREN_MAX];
extern unsigned child_count;

// Finds the machine's cgroups and names the root. False: the tests cannot run here; why is said.
// `found` is the caller's to free after true.
bool find_cgroups(void);

// The setup and teardown of a test on them.
int set_up(void **state);
int clean_up(void **state);

#define real(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

uint64_t now_ns(void);
void sleep_ms(unsigned ms);

// A child that does some work: one of these, or the test's own.
pid_t start(void (*work)(void *), void *user);
void wait_forever(void *user);
void burn(void *user);

// Whether a process, or thread, is in the group `path` (relative) of a hierarchy.
bool is_in(const char *mount, const char *path, pid_t pid, const char *file);

// The same of a class, in all hierarchies.
bool in_class(const char *class_, pid_t pid, const char *file);

// A group of the test's own, beside the root, to come from.
void make_origin(char *from, size_t size, unsigned hierarchies);
void enter(const char *mount, const char *group, pid_t pid);

// A file of the class's group in the cpu hierarchy; class "" is the root group.
void read_text(const char *class_, const char *file, char *text, int size);
void write_text(const char *class_, const char *file, const char *text);
long long number_in(const char *class_, const char *file);

struct limit {
    long long quota_us; // -1: none
    long long period_us;
};

struct limit limit_of(const char *class_);

// As the kernel does with a period that its timer is too late for.
void double_limit_of(const char *class_);
long long quota_of(const char *class_);

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        err = (struct error){0};                                                                   \
        if ((call) != 0)                                                                           \
            fail_msg(#call ": %s", err.text);                                                      \
    } while (0)

class_t *open_class(const char *name);
uint64_t usage_of(class_t *class_);
size_t members_of(class_t *class_);
double share_of_one_cpu(class_t *class_, unsigned ms);

#endif
