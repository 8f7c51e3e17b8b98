/* internal.h: what the files of the cache share. */
#ifndef ACCEL_KERNEL_CACHE_INTERNAL_H
#define ACCEL_KERNEL_CACHE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACCEL__CACHE_NAME_SIZE = 2 * 32 + 4 }; /* 64 hexadecimal digits and ".bin" */

/* cache/directory.c: the directory and its files; everything is relative to an open descriptor. */

/* Says once per process that something about the cache does not work. */
void accel__cache_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The checked directory, to be closed; -1: there is none, for whatever reason (said in the log). */
int accel__cache_directory_open(bool create);

typedef enum accel__cache_found {
    ACCEL__CACHE_NOT_FOUND = 0, /* not there, or this once not to be read */
    ACCEL__CACHE_FOUND,
    ACCEL__CACHE_UNFIT /* something that is no entry of ours: to be removed */
} accel__cache_found;

/* Reads a regular file of ours, whole; to be released with accel__deallocate where FOUND. */
accel__cache_found accel__cache_file_read(int directory, const char *name, void **out_data,
                                          size_t *out_size);

/* Puts head and body under the name, whole or not at all. 0 or an errno value. */
int accel__cache_file_write(int directory, const char *name, const void *head, size_t head_size,
                            const void *body, size_t body_size);

/* The prefix of files being written. */
#define ACCEL__CACHE_TEMPORARY "new-"

/* cache/evict.c */

uint64_t accel__cache_limit(void); /* bytes that all entries may have together */

/* Tells that `size` bytes came; now and then looks through the directory and makes room. */
void accel__cache_evict(int directory, uint64_t size);

#endif
