// An MPI whose starts, ends and meetings of ranks are counted, for test_lifecycle: a job of one
// rank, or of two on two nodes, of which the other one does as this one.
#ifndef COSCHED_TESTS_UNIT_MOCK_LIFECYCLE_H
#define COSCHED_TESTS_UNIT_MOCK_LIFECYCLE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern struct mock_life {
    // What the test sets.
    int ranks;   // 1 at first
    bool yields; // this rank is to take part in its end, as at first
    // There is no memory for so many elements, or for elements of this size, once; 0: there is.
    size_t missing_count, missing_size;
    bool last_level;         // MPI_Finalize has called itself; false before it is called
    int unreceived;          // messages of the program's
    uint64_t longer_ns;      // by how much the other node's slices are longer
    bool other_policy;       // on the other node
    bool spawned;            // the job has parents
    jmp_buf handler;         // where MPI_Comm_dup goes instead of returning
    void (*meanwhile)(void); // what happens during a barrier; null: nothing

    // What is counted.
    int starts, meetings, ends, parts;
    int counted;          // meetings about what has been sent
    int exchanges;        // of ballots and the like
    int untold;           // errors that none of the program's handlers is told
    char ballots[2][256]; // of this rank at its last two starts, the later one first
    bool silent[2];       // handlers of MPI_COMM_WORLD and of MPI_COMM_SELF
} life;

// Of a group of tests: starts this MPI.
int mock_lifecycle(void **state);

#endif
