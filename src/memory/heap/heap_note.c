/* heap_note.c: see heap_note.h. */
#include "memory/heap/heap_note.h"

#include "memory/history/history.h"
#include "memory/statistics/statistics.h"

/* The number of the stack; 0: none. */
static uint32_t note_history(accel__history_action action, const accel__segment *segment,
                             uintptr_t begin, size_t size, uint64_t stream)
{
    return accel__history_is_on() ? accel__history_segment(action, segment->heap->device, begin,
                                                           size, stream, segment->heap->options.id)
                                  : 0;
}

/* `sign`: 1 or -1. */
static void count_segment(const accel__segment *segment, int64_t sign)
{
    accel__device *device = segment->heap->device;
    accel__statistics_gauge(device, ACCEL__GAUGE_SEGMENT, segment->kind, sign);
    if (segment->is_oversize)
        accel__statistics_gauge(device, ACCEL__GAUGE_OVERSIZE_SEGMENTS, segment->kind, sign);
}

static void count_bytes(const accel__segment *segment, size_t size, int64_t sign)
{
    accel__device *device = segment->heap->device;
    accel__statistics_gauge(device, ACCEL__GAUGE_RESERVED_BYTES, segment->kind,
                            sign * (int64_t)size);
    accel__statistics_count(device,
                            sign > 0 ? ACCEL__COUNTER_DEVICE_ALLOC : ACCEL__COUNTER_DEVICE_FREE);
}

void accel__note_segment_made(accel__segment *segment)
{
    count_segment(segment, 1);
    count_bytes(segment, segment->size, 1);
    segment->history = note_history(ACCEL__HISTORY_SEGMENT_ALLOC, segment, segment->begin,
                                    segment->size, segment->stream);
}

void accel__note_segment_freed(const accel__segment *segment)
{
    count_segment(segment, -1);
    count_bytes(segment, segment->size, -1);
    note_history(ACCEL__HISTORY_SEGMENT_FREE, segment, segment->begin, segment->size,
                 segment->stream);
}

void accel__note_mapped(accel__segment *segment, uintptr_t begin, size_t size, uint64_t stream)
{
    count_bytes(segment, size, 1);
    segment->history = note_history(ACCEL__HISTORY_SEGMENT_MAP, segment, begin, size, stream);
}

void accel__note_unmapped(const accel__segment *segment, uintptr_t begin, size_t size)
{
    count_bytes(segment, size, -1);
    note_history(ACCEL__HISTORY_SEGMENT_UNMAP, segment, begin, size, segment->stream);
}

void accel__note_splits(const accel__heap *heap, accel__block_kind kind, int64_t count,
                        int64_t bytes)
{
    accel__statistics_splits(heap->statistics, kind, count, bytes);
}
