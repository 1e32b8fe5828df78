// The driver of a fuzz target where there is no libFuzzer: runs the files that it is given, those
// of the directories that it is given, or, without arguments, standard input. A finding ends it by
// a signal, as AFL++ wants it.
#include "common/cleanup.h"
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT_MAX = 1 << 20 };

// Every input gets a block of its own size, so that a sanitizer sees a read behind its end.
static void run(FILE *stream)
{
    static uint8_t buffer[INPUT_MAX];
    size_t size = fread(buffer, 1, sizeof buffer, stream);
    cleanup_free uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL)
        abort();
    memcpy(data, buffer, size);
    LLVMFuzzerTestOneInput(data, size);
}

// Returns how many inputs it ran, or -1 with errno.
static long run_file(const char *path)
{
    cleanup_fclose FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return -1;
    run(stream);
    return 1;
}

static long run_directory(const char *path)
{
    long count = 0;
    cleanup_closedir DIR *directory = opendir(path);
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (run_file(file) < 0)
            return -1;
        count++;
    }
    return count;
}

static long run_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return -1;
    return S_ISDIR(status.st_mode) ? run_directory(path) : run_file(path);
}

int main(int argc, char **argv)
{
    long total = 0;
    if (argc < 2) {
        run(stdin);
        total = 1;
    }
    for (int i = 1; i < argc; i++) {
        long count = run_path(argv[i]);
        if (count <= 0) {
            fprintf(stderr, "%s: %s\n", argv[i], count < 0 ? strerror(errno) : "no input");
            return EXIT_FAILURE;
        }
        total += count;
    }
    printf("%ld inputs\n", total);
    return EXIT_SUCCESS;
}
