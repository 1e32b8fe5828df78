// What every program of this suite is written with: named cases, checks, guarded memory.
//
// A program is one or several files of CASE()s and one CONFORM_MAIN() (mostly main.c). All ranks
// run all cases in order, each on a communicator of its own. Rank 0 prints one line per case: "ok
// NAME", "skipped NAME: why" or "FAILED NAME ...", followed by what the case noted with note(). A
// line must be the same whenever the MPI behaves the same, since runs are compared byte for byte.
// Details of failures go to stderr.
#ifndef COSCHED_TESTS_CONFORMANCE_CONFORM_H
#define COSCHED_TESTS_CONFORMANCE_CONFORM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// One variant of a case: its name is FILE.CASE/label, and the case is given the value.
struct parameter {
    const char *label;
    long value;
};

typedef void conform_case_fn(long value);

// Filled in by the cases themselves, before main. `file` is the source file's name, of which the
// case's is made, so that several files can be one program.
void conform_register(const char *file, const char *name, conform_case_fn *run,
                      const struct parameter *parameters, size_t count);

#define CASE(name)            CONFORM_CASE(name, 0, 0)
#define CASE_EACH(name, list) CONFORM_CASE(name, list, sizeof(list) / sizeof *(list))
#define CONFORM_CASE(name, list, count)                                                            \
    static void case_##name(long value);                                                           \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        conform_register(__FILE__, #name, case_##name, list, count);                               \
    }                                                                                              \
    static void case_##name(__attribute__((unused)) long value)

// `threads` is what is asked of MPI_Init_thread; with MPI_THREAD_SINGLE, MPI_Init is called.
#define CONFORM_MAIN(threads)                                                                      \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return conform_main(argc, argv, threads);                                                  \
    }
int conform_main(int argc, char **argv, int threads);

// The ranks of MPI_COMM_WORLD, and this case's own duplicate of it, with MPI_ERRORS_RETURN.
extern int rank, ranks;
extern MPI_Comm comm;
extern int threads_provided;

// A message length on either side of every border between techniques that a library which adds
// something to messages is likely to have.
extern const struct parameter border_sizes[13];

// Checks. A failed one is counted and the case goes on, so that its peers are not left waiting.
#define OK(call)         conform_ok((call), #call, __FILE__, __LINE__)
#define CHECK(condition) conform_check((condition), __FILE__, __LINE__, "not so: %s", #condition)
#define EQUAL(expected, actual)                                                                    \
    conform_equal((long long)(expected), (long long)(actual), #actual, __FILE__, __LINE__)
#define RETURNS(error_class, call) conform_class((error_class), (call), #call, __FILE__, __LINE__)
// Source, tag and number of elements of a completed receive or a probe.
#define STATUS(status, source, tag, type, count)                                                   \
    conform_status((status), (source), (tag), (type), (count), __FILE__, __LINE__)
#define EMPTY_STATUS(status) conform_empty_status((status), __FILE__, __LINE__)

bool conform_ok(int rc, const char *call, const char *file, int line);
bool conform_check(bool good, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool conform_equal(long long expected, long long actual, const char *what, const char *file,
                   int line);
bool conform_class(int expected, int rc, const char *call, const char *file, int line);
void conform_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count,
                    const char *file, int line);
void conform_empty_status(const MPI_Status *status, const char *file, int line);

// Adds text of this rank to the case's line: what is compared, though not known beforehand.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

// This case cannot be run here; to be called alike by all ranks.
void skip(const char *why);

// Zeroless bytes that depend on seed and place. `filled` says whether they are (still) there.
void fill(void *bytes, size_t length, int seed);
#define FILLED(bytes, length, seed) conform_filled((bytes), (length), (seed), __FILE__, __LINE__)
bool conform_filled(const void *bytes, size_t length, int seed, const char *file, int line);

// All of them are UNTOUCHED_BYTE, which is what buffer() gives.
enum { UNTOUCHED_BYTE = 0xA5 };
#define UNTOUCHED(bytes, length) conform_untouched((bytes), (length), __FILE__, __LINE__)
bool conform_untouched(const void *bytes, size_t length, const char *file, int line);

// Memory until the end of the case, full of UNTOUCHED_BYTE. What lies before and behind it must
// remain as it is, which is checked then. `slack` bytes behind it are left out of the check: some
// MPIs overrun the buffer of a truncated receive.
void *buffer(size_t length);
void *loose_buffer(size_t length, size_t slack);
// The same, filled.
void *message(size_t length, int seed);

// The name of an error's class, without the prefix MPI_ERR_: the classes' numbers differ.
const char *class_name(int rc);

// Until the end of the case, MPI_COMM_WORLD and MPI_COMM_SELF return errors, too: some MPIs report
// there what is found out in a call that has no communicator, such as MPI_Wait.
void return_all_errors(void);

// A status that no MPI has touched yet: its source and tag are UNSET. (Not left to chance, since
// MPICH's probes leave the cancelled bit as it was.)
enum { UNSET = 77 };
MPI_Status fresh_status(void);

// Waits on all ranks for each other, without the case's own communicator.
void meet(void);

#ifdef __cplusplus
}
#endif

#endif
