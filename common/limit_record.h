// What classd notes down of a group whose CPU bandwidth limit it sets in place, as text in
// `placed/<class>` of the runtime directory, before it first does so. Everybody may read it: a
// program that starts in such a group tells by it which limit is the group's own.
#ifndef COSCHED_COMMON_LIMIT_RECORD_H
#define COSCHED_COMMON_LIMIT_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LIMIT_RECORD_DIRECTORY "placed" // in the runtime directory

#define LIMIT_NONE UINT64_MAX

struct limit {
    uint64_t quota_us; // LIMIT_NONE: none
    uint64_t period_us;
};

struct limit_record {
    char group[PATH_MAX]; // below the mount points, "/slurm/uid_0/job_3/step_0"
    uint64_t inode;       // of its directory: a group made anew under this name is another one
    uid_t uid;            // of the job
    unsigned manager;     // enum placement_manager
    struct limit own;     // the group's, without us
    struct limit set[2];  // what we have set last, and what we set next
};

enum {
    LIMIT_RECORD_SET_LENGTH = 4 + 4 * 20 + 3 + 1, // of the line that changes, the first one
    LIMIT_RECORD_TEXT_MAX = PATH_MAX + 512,
};

bool limit_same(const struct limit *a, const struct limit *b);

// Whether the limit is one that the record names as set by us, or what the kernel has made of one:
// where its timer comes too late it doubles period and quota, as often as needed.
bool limit_record_has_set(const struct limit_record *record, const struct limit *limit);

// Writes record->set as the first line, which has always the same length: it is overwritten in one
// write. Returns that length, another one when it does not fit.
int limit_record_format_set(char text[LIMIT_RECORD_SET_LENGTH + 1],
                            const struct limit_record *record);

// Writes all of it. Returns the length.
int limit_record_format(char text[LIMIT_RECORD_TEXT_MAX], const struct limit_record *record);

// Reads it back. Returns 0, or -1 when it is not what was written.
int limit_record_parse(const char *text, struct limit_record *record);

#endif
