// Stand-ins for the large-count functions (MPI_X_c) that the program's MPI lacks. This library
// exports their names for MPIs that have them, and a program that asks for one by a weak reference
// or dlsym() finds it there with any MPI; so it must do what it says. It hands its arguments on to
// the exported MPI_X, if the counts fit.
//
// No MPI's types are known here. They need not be: all arguments of MPI functions are integers and
// pointers, each in a register or in eight bytes of the stack of its own, and who reads an int
// reads the lower half. MPI_Count and MPI_Aint have 64 bits.
#ifndef COSCHED_PMPI_FRONT_NARROW_H
#define COSCHED_PMPI_FRONT_NARROW_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t narrow_word; // any argument

// What stands in for each of the exported names, in the order of front_slots; null: nothing does.
extern void *const narrow_entries[];

// What follows is for the generated functions.

// How many elements an array of a collective has.
enum narrow_length {
    NARROW_GROUP,        // one for each process of the own group
    NARROW_PEERS,        // ... of the own, or of the remote one if there is one
    NARROW_SOURCES,      // ... for each neighbour that is received from
    NARROW_DESTINATIONS, // ... that is sent to
};

// For how long MPI may read an array.
enum narrow_use {
    NARROW_CALL,
    NARROW_REQUEST,    // until a request is complete, of which this library does not hear
    NARROW_PERSISTENT, // until it is freed
};

struct narrowing {
    const char *name; // of the function that is stood in for
    narrow_word comm;
    int rc; // once it is not MPI_SUCCESS nothing more is done
    unsigned made;
    int *arrays[4];
};

// Is the data elsewhere (MPI_IN_PLACE), and with it the count?
bool narrow_in_place(narrow_word buffer);

// Is this the process that has an argument for each of the others?
bool narrow_at_root(struct narrowing *narrowing, narrow_word root);

void narrow_count(struct narrowing *narrowing, narrow_word count);

// Puts an array of int in the place of one of MPI_Count or MPI_Aint.
void narrow_array(struct narrowing *narrowing, narrow_word *array, enum narrow_length length);

// Returns what the function is to return.
int narrow_end(struct narrowing *narrowing, enum narrow_use use);

#endif
