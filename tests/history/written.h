/* written.h: a snapshot as it was written, read back by jansson, and what must be true of every one. */
#ifndef TESTS_HISTORY_WRITTEN_H
#define TESTS_HISTORY_WRITTEN_H

#include <accel/memory_history.h>

#include "support/check.h"

#include <jansson.h>

/* Takes a snapshot, writes it as JSON, reads that and checks it (written_check). Fails the test where that
 * is not possible. The caller's to json_decref. */
json_t *written_now(const accel_memory_snapshot_options *options);

/* The structure: keys, sums, order. */
void written_check(const json_t *snapshot);

/* A value of a map, which must be there. */
const json_t *written_get(const json_t *map, const char *key);
json_int_t written_integer(const json_t *map, const char *key);
const char *written_string(const json_t *map, const char *key);

/* The place of a device in the snapshot; −1: it is not in it. */
int written_device(const json_t *snapshot, const char *name);

/* The block that begins at the pointer; NULL: none. */
const json_t *written_block(const json_t *snapshot, int device, const void *pointer);

/* The device's events. */
const json_t *written_events(const json_t *snapshot, int device);

/* The actions of a device's events, one letter each: a(lloc) r(equested) c(ompleted) S(egment alloc)
 * F(ree of a segment) M(ap) U(nmap) o(om) s(napshot). */
void written_letters(const json_t *snapshot, int device, char *letters, size_t capacity);

/* Whether the name is the function's, or that of a copy which the compiler made ("function.part.0"). */
bool written_is_named(const char *name, const char *function);

/* Whether a frame of that name is in the list. */
bool written_has_frame(const json_t *frames, const char *function);

#endif
