/* heap_note.h: what the heap tells the statistics and the history of its segments. All with the heap's
 * lock held, so that what is told of one address comes in order. */
#ifndef ACCEL_MEMORY_HEAP_HEAP_NOTE_H
#define ACCEL_MEMORY_HEAP_HEAP_NOTE_H

#include "memory/heap/segment.h"

/* A fixed segment came, before anybody could have a block of it, or goes, before it is given back. */
void accel__note_segment_made(accel__segment *segment);
void accel__note_segment_freed(const accel__segment *segment);

/* A part of a growable one got memory, before anybody could have it, or loses it. */
void accel__note_mapped(accel__segment *segment, uintptr_t begin, size_t size, uint64_t stream);
void accel__note_unmapped(const accel__segment *segment, uintptr_t begin, size_t size);

/* Changes of the number and bytes of free blocks that are only parts of fixed segments. */
void accel__note_splits(const accel__heap *heap, accel__block_kind kind, int64_t count,
                        int64_t bytes);

#endif
