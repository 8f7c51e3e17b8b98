/* cache.h: compiled kernels on disk, so that the next process need not compile them again. A best
 * effort: without a usable directory, or where anything fails, callers compile as if there were no
 * cache, and the log gets one warning per process. Called by the module code; any thread, any number
 * of processes at once; keeps no descriptor and no lock, so a fork changes nothing.
 *
 * The directory is $ACCEL_CACHE_DIR, else $XDG_CACHE_HOME/accel, else $HOME/.cache/accel. It holds
 * at most about ACCEL_CACHE_MAX_MB (default 512) MiB; what was not used for longest goes first.
 * ACCEL_CACHE=0 turns the cache off. */
#ifndef ACCEL_KERNEL_CACHE_H
#define ACCEL_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/cache/hash.h"

/* What an entry is stored under. Two keys are equal exactly when the same parts were added in the
 * same order (up to collisions of SHA-256). A finished key may be used any number of times. */
typedef struct accel__cache_key {
    accel__sha256 hash;
    unsigned char digest[ACCEL__SHA256_SIZE]; /* filled by accel__cache_key_finish */
} accel__cache_key;

void accel__cache_key_begin(accel__cache_key *key);
/* One part: its length counts too, so "ab" + "c" and "a" + "bc" differ. */
void accel__cache_key_add(accel__cache_key *key, const void *bytes, size_t size);
void accel__cache_key_add_string(accel__cache_key *key,
                                 const char *string); /* NULL differs from "" */
void accel__cache_key_finish(accel__cache_key *key);

/* True: *out_data is a checked copy of what was stored under the key, to be released with
 * accel__deallocate. A damaged entry is removed and counts as missing. */
bool accel__cache_get(const accel__cache_key *key, void **out_data, size_t *out_size);

/* Stores it, whole or not at all. */
void accel__cache_put(const accel__cache_key *key, const void *data, size_t size);

/* Tests only: asked before each call into the system, by its name ("open", "write" …); anything but
 * 0 makes it fail with that errno value. NULL (the default) asks nobody. */
extern int (*accel__cache_fault)(const char *call);

#endif
