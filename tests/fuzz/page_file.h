// A status page's file as an input describes it: a good one that is changed here and there, or
// nothing of the kind.
#ifndef COSCHED_TESTS_FUZZ_PAGE_FILE_H
#define COSCHED_TESTS_FUZZ_PAGE_FILE_H

#include "common/status_page.h"
#include "tests/fuzz/target.h"

#include <sys/types.h>

// Writes the file `name`. Members get pids from first_pid on.
void page_file_write(int directory, const char *name, uid_t uid, const char *job_id,
                     pid_t first_pid, struct input *input);

#endif
