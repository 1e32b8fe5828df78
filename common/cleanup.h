// Release at the end of a scope, so that an early return leaks nothing.
#ifndef COSCHED_COMMON_CLEANUP_H
#define COSCHED_COMMON_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_fn(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close_fn(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose_fn(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
}

static inline void cleanup_closedir_fn(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

#define cleanup_free     __attribute__((cleanup(cleanup_free_fn)))
#define cleanup_close    __attribute__((cleanup(cleanup_close_fn)))
#define cleanup_fclose   __attribute__((cleanup(cleanup_fclose_fn)))
#define cleanup_closedir __attribute__((cleanup(cleanup_closedir_fn)))

#endif
