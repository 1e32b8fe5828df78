// The small text files of cgroupfs. Errors name the file.
#ifndef COSCHED_CGROUP_BACKEND_FILES_H
#define COSCHED_CGROUP_BACKEND_FILES_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// "<directory>/<name>" in memory that the caller frees; null when there is none.
char *path_join(const char *directory, const char *name);

bool directory_exists(const char *path);

// Makes one directory; one that exists is no error.
int directory_make(const char *path, struct error *err);

// Reads the file <directory>/<name> into buffer, terminated; what does not fit is cut off.
int file_read(const char *directory, const char *name, char *buffer, size_t size,
              struct error *err);

// Writes `text` and a newline to the existing file <directory>/<name> in one write.
int file_write(const char *directory, const char *name, const char *text, struct error *err);

// Opens <directory>/<name>; returns the descriptor (close-on-exec) or -1.
int file_open(const char *directory, const char *name, int flags, struct error *err);

enum file_readers { FILE_FOR_OWNER, FILE_FOR_ALL };

// Makes the file <directory>/<name>, and the directory if need be, for these readers, whatever the
// umask is; nobody else writes. `fill` writes `what`; it leaves the descriptor open and returns 0,
// or -1 with errno. Renamed into place, so that a crash leaves the old file or the new one. Returns
// a descriptor to read and write by, or -1, and then the file is as before.
int file_put(const char *directory, const char *name, enum file_readers readers,
             int (*fill)(int fd, const void *what), const void *what, struct error *err);

// True when `text` has `word` among its words.
bool text_has_word(const char *text, const char *word);

// The number behind `key` in a text of lines "key number". Returns 0, or -1 when it is not there.
int text_keyed_number(const char *text, const char *key, uint64_t *value);

// Milliseconds of a clock that only goes forward, and a nap.
uint64_t clock_ms(void);
void nap_us(unsigned us);

#endif
