/* marks.h: which streams use a piece of memory, and whether they have passed that use: of pinned memory, of
 * wrapped memory, and of blocks of heaps (uses.h).
 *
 * A list is its owner's: changes are made under the owner's lock or by whoever alone has the memory. */
#ifndef ACCEL_MEMORY_MARKS_H
#define ACCEL_MEMORY_MARKS_H

#include "core/stream.h"

typedef struct accel__mark {
    struct accel__mark *next;
    accel_stream *stream;      /* counted; NULL: none */
    bool is_over;              /* the stream was idle when the mark was set */
    bool is_captured;          /* it captured */
    accel_native_event *event; /* behind the use; NULL before it was set, or where that failed */
} accel__mark;

/* The first mark is embedded in the memory's structure: it takes no memory, so it cannot fail. */
void accel__marks_begin(accel__mark *first, accel_stream *home);

/* For another stream, not yet in any list; NULL: no memory. */
accel__mark *accel__mark_create(accel_stream *stream);

/* Into the list, unless the stream is in it already; false: then `mark` is the caller's as before. */
bool accel__marks_add(accel__mark *first, accel__mark *mark);

/* Gives up what accel__mark_create made. NULL is allowed. */
void accel__mark_release(accel__mark *mark);

/* Sets all marks behind what is queued now. Inside a callback, and where a driver has no event, the whole
 * stream must become idle instead. Never fails, records nothing. */
void accel__marks_set(accel__mark *first);

/* The first whose stream has not passed; NULL: all have. */
const accel__mark *accel__marks_first_busy(const accel__mark *first);

/* Whether all streams have passed. A stream that failed has. */
bool accel__marks_passed(const accel__mark *first);

/* The streams are not held any more; the list is empty. */
void accel__marks_end(accel__mark *first);

#endif
