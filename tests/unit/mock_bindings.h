// Between test_bindings.c and the Fortran bindings that it opens.
#ifndef COSCHED_TESTS_UNIT_MOCK_BINDINGS_H
#define COSCHED_TESTS_UNIT_MOCK_BINDINGS_H

#include <stdint.h>

#define MOCK_BINDINGS_EXPORTED __attribute__((visibility("default")))

enum { MOCK_BINDINGS_INTEGERS = 5 };

// The test's: what the bindings were called with, but for buffer, status and error.
MOCK_BINDINGS_EXPORTED void mock_bindings_send(const int64_t integers[MOCK_BINDINGS_INTEGERS]);
MOCK_BINDINGS_EXPORTED void mock_bindings_recv(const int64_t integers[MOCK_BINDINGS_INTEGERS]);

#endif
