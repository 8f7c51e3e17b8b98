/* block.h: one allocation, from accel_memory_alloc to the moment when its memory goes back. */
#ifndef ACCEL_MEMORY_BLOCK_H
#define ACCEL_MEMORY_BLOCK_H

#include "core/pointers.h"

/* A stream other than the home stream that uses the memory, and the mark behind that use. */
typedef struct accel__use {
    struct accel__use *next;
    accel_stream *stream;     /* counted */
    bool is_over;             /* the stream was idle at the free */
    accel_native_event *mark; /* recorded at the free; NULL before, or where that failed */
} accel__use;

typedef struct accel__block {
    accel__range range;                  /* first: the pointer map hands it back */
    accel__use home;                     /* the home stream, as the first use */
    accel__use *uses;                    /* all others */
    _Atomic(struct accel__block *) next; /* in the list of blocks that wait for their streams */
} accel__block;

#endif
