// Families of processes in a class on the real cgroups of this machine, which are suspended,
// resumed and killed. Everything happens below a root of the test program's own, which is gone
// afterwards. Skipped where it cannot run.
#ifndef COSCHED_TESTS_UNIT_REAL_TRACKING_H
#define COSCHED_TESTS_UNIT_REAL_TRACKING_H

#include "cgroup-backend/backend.h"
#include "cgroup-backend/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

enum { SLOTS = 256, DEADLINE_MS = 30000 };

// What the processes tell the test.
struct board {
    atomic_uint slots;   // taken by those who start
    atomic_uint started; // and have said their pid
    atomic_int pids[SLOTS];
    atomic_ulong beats[SLOTS];    // of who computes
    atomic_uint stopped_children; // seen by their parents, who wait for them
    atomic_uint told_of_children; // by SIGCHLD
    atomic_uint left;             // that could be moved out of the class
    atomic_uint go;               // for who waits to be told
};

extern struct board *board;
extern struct discovery found;
extern backend_t *backend;
extern class_t *class_;
extern char root[64], records[32];
extern struct error err;
extern pid_t head; // of the family in the class

// Finds the machine's cgroups. False: the tests cannot run here; why is said. True: what they
// return is given to tests_end(), which returns what main() does.
bool tests_begin(void);
int tests_end(int failed);

// The setup and teardown of a test: an empty class "a".
int set_up(void **state);
int clean_up(void **state);

#define real(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

void nap_ms(unsigned ms);
void check(int rc);

// ---- the family

// Forks `head`, which goes into the class and then does this work.
void begin(void (*work)(void));

// Reports itself; returns its slot.
unsigned sign_in(void);

// Computes without end, and looks whether a child stands still.
void compute(unsigned slot) __attribute__((noreturn));

// A binary tree of processes.
void tree_of_seven(void);

// Slot 0 is the root, slot 1 a child with a child of its own (2) and an orphan (3), slot 4 a child.
void family_with_orphan(void);

// Waits for a child that it has forked as vfork() does, in the kernel and without a look at
// signals.
void wait_in_the_kernel(void);

// ---- what is done to it, by passes until one is enough

void suspend(const struct class_suspension *how);
void resume(void);
void kill_part(pid_t pid, uint64_t start_time); // 0: all

// ---- what is seen of it

void wait_for(unsigned count); // that have signed in
size_t members(void);
bool is_member(pid_t pid);
uint64_t start_time_of(pid_t pid);

// Whether the process has counted on within a time in which it would have had the CPU.
bool beats(unsigned slot);
bool all_beat(unsigned count);
bool none_beats(unsigned count);

// The freezer of the backend is not used from here on; false where there is none but v2.
bool take_freezer(void);

#endif
