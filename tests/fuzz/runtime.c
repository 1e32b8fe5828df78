// The small files of the runtime directory: rubbish in them, or something else in their place, must
// end in an error or in numbers that can be used, and must not be followed elsewhere.
#include "classd/runtime.h"
#include "common/cleanup.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const char elsewhere[] = "elsewhere";

static void plant(int directory, const char *name, struct input *input)
{
    size_t length = 0;
    const uint8_t *bytes;
    switch (input_byte(input) % 4) {
    case 0:
        break;
    case 1:
        length = input_byte(input) % 64;
        bytes = input_bytes(input, &length);
        scratch_write(directory, name, bytes, length);
        break;
    case 2:
        REQUIRE(symlinkat(elsewhere, directory, name) == 0);
        break;
    case 3:
        REQUIRE(mkdirat(directory, name, 0700) == 0);
        break;
    }
}

static void check_elsewhere(int directory)
{
    char text[sizeof elsewhere] = "";
    cleanup_close int fd = openat(directory, elsewhere, O_RDONLY | O_CLOEXEC);
    REQUIRE(read(fd, text, sizeof text) == sizeof elsewhere && strcmp(text, elsewhere) == 0);
}

static void check_restart(void)
{
    struct error err = {0};
    runtime_t *first = NULL, *second = NULL;
    if (runtime_open(scratch_path(), &first, &err) < 0) {
        REQUIRE(err.code != 0 && err.text[0] != '\0');
        return;
    }
    uint64_t node_id = runtime_node_id(first);
    uint16_t generation = runtime_generation(first);
    REQUIRE(node_id != 0 && generation != 0);
    REQUIRE(runtime_open(scratch_path(), &second, &err) < 0 && err.code == EWOULDBLOCK);
    runtime_close(first);
    REQUIRE(runtime_open(scratch_path(), &second, NULL) == 0);
    REQUIRE(runtime_node_id(second) == node_id);
    REQUIRE(runtime_generation(second) == (generation == UINT16_MAX ? 1 : generation + 1));
    runtime_close(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"node_id", "generation", "classd.lock", "node_id.new",
                                        "generation.new"};
    struct input input = {data, size};
    unsigned descriptors = scratch_descriptors();
    cleanup_close int directory = scratch_open();
    scratch_write(directory, elsewhere, elsewhere, sizeof elsewhere);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        plant(directory, names[i], &input);
    check_restart();
    check_elsewhere(directory);
    scratch_wipe(directory);
    REQUIRE(scratch_descriptors() == descriptors + 1); // directory
    return 0;
}
