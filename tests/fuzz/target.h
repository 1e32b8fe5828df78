// What all fuzz targets share: the entry point that libFuzzer, AFL++ and replay.c call, how an
// input is taken apart, and how a target says that something is wrong.
#ifndef COSCHED_TESTS_FUZZ_TARGET_H
#define COSCHED_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Runs one input; always returns 0. What it finds ends the process.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What must hold whatever the input is.
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// An input that is read from its start. Behind its end everything is 0, so that each input means
// something and short ones mean much.
struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t input_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

// A little-endian number of `bytes` bytes, at most 8.
static inline uint64_t input_number(struct input *input, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)input_byte(input) << 8 * i;
    return number;
}

// At most *count bytes, in place; *count gets how many there are.
static inline const uint8_t *input_bytes(struct input *input, size_t *count)
{
    const uint8_t *bytes = input->at;
    if (*count > input->left)
        *count = input->left;
    input->at += *count;
    input->left -= *count;
    return bytes;
}

#endif
