/* release.c: what is cached goes back to where it came from: on request, when memory is short, when more
 * is reserved than the use justifies, and when a setting asks for it. */
#include <accel/allocator.h>

#include "base/error.h"
#include "core/device.h"
#include "core/lifecycle.h"
#include "memory/device_memory.h"
#include "memory/event_pool.h"
#include "memory/heap/heap_parts.h"
#include "memory/heap/neighbours.h"
#include "memory/pool.h"

/* ---- fixed segments, with the lock held ---- */

/* Nothing of it is handed out, and no stream works on it any more. */
static bool is_releasable(const accel__segment *segment)
{
    if (segment->is_growable || segment->busy_count != 0)
        return false;
    for (const accel__block *block = segment->first; block != NULL; block = block->after)
        if (!accel__block_is_passed(block))
            return false;
    return true;
}

/* Of those the smallest that has `wanted` bytes, else the largest. */
static accel__segment *choose(const accel__heap *heap, size_t wanted)
{
    accel__segment *best = NULL;
    for (accel__segment *s = heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL; s = s->next) {
        if (!is_releasable(s))
            continue;
        const bool fits = s->size >= wanted;
        const bool best_fits = best != NULL && best->size >= wanted;
        if (best == NULL || (fits && (!best_fits || s->size < best->size)) ||
            (!fits && !best_fits && s->size > best->size))
            best = s;
    }
    return best;
}

size_t accel__segments_release(accel__heap *heap, size_t wanted)
{
    accel__segment *list = NULL;
    size_t bytes = 0;
    accel__heap_lock(heap);
    accel__slabs_close(heap);
    while (bytes < wanted && accel__pool_may_release(heap->options.pool)) {
        accel__segment *segment = choose(heap, wanted - bytes);
        if (segment == NULL)
            break;
        accel__segment_unlink(segment);
        segment->next = list;
        list = segment;
        bytes += segment->size;
    }
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    return accel__segments_give_back(heap, list);
}

/* ---- garbage: what has not been used for long ---- */

static uint64_t age_of(const accel__heap *heap, const accel__segment *segment)
{
    return heap->searches - segment->idle_since;
}

/* The mean age of the segments that could go; false: there are none. */
static bool mean_age(const accel__heap *heap, uint64_t *out_age)
{
    uint64_t sum = 0;
    uint64_t count = 0;
    for (const accel__segment *s = heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL; s = s->next)
        if (is_releasable(s)) {
            sum += age_of(heap, s);
            count++;
        }
    *out_age = count != 0 ? sum / count : 0;
    return count != 0;
}

/* Takes out those of at least the mean age, until `excess` bytes are. */
static accel__segment *take_old(accel__heap *heap, size_t excess, size_t *bytes)
{
    accel__segment *list = NULL;
    uint64_t age = 0;
    if (!mean_age(heap, &age))
        return NULL;
    accel__segment *segment = heap->kinds[ACCEL__BLOCK_LARGE].segments;
    while (segment != NULL && *bytes < excess) {
        accel__segment *next = segment->next;
        if (is_releasable(segment) && age_of(heap, segment) >= age) {
            accel__segment_unlink(segment);
            *bytes += segment->size;
            segment->next = list;
            list = segment;
        }
        segment = next;
    }
    return list;
}

void accel__heap_collect_garbage(accel__heap *heap)
{
    const double threshold = accel__config_get()->garbage_collection_threshold;
    const size_t limit = threshold > 0.0 ? accel__limit_get(heap->device) : SIZE_MAX;
    if (limit == SIZE_MAX)
        return;
    const size_t allowed = (size_t)(threshold * (double)limit);
    const size_t excess = accel__limit_reserved_above(heap->device, allowed);
    size_t bytes = 0;
    if (excess == 0)
        return;
    accel__lanes_refresh(heap, NULL);
    for (;;) {
        accel__heap_lock(heap);
        accel__segment *list = bytes < excess ? take_old(heap, excess, &bytes) : NULL;
        accel__heap_tell_splits(heap);
        accel__heap_unlock(heap);
        if (list == NULL)
            break;
        accel__segments_give_back(heap, list);
    }
    if (bytes < excess)
        (void)accel__shrink(heap, excess - bytes);
}

/* ---- all ---- */

/* The stream of a lane after `after` that has free blocks, counted; NULL: no more. */
static accel_stream *next_stream(accel__heap *heap, accel__lane **after)
{
    accel_stream *stream = NULL;
    accel__heap_lock(heap);
    accel__lane *lane = *after == NULL ? atomic_load(&heap->lanes) : (*after)->next;
    while (lane != NULL && (lane->stream == NULL || !accel__lane_has_free(lane)))
        lane = lane->next;
    if (lane != NULL) {
        stream = lane->stream;
        accel_stream_retain(stream);
    }
    *after = lane;
    accel__heap_unlock(heap);
    return stream;
}

/* A stream that failed has passed, too. */
static void wait_for_streams(accel__heap *heap)
{
    accel__lane *lane = NULL;
    accel_stream *stream = NULL;
    while ((stream = next_stream(heap, &lane)) != NULL) {
        accel_native_stream *native = stream->native;
        if (native != NULL)
            (void)stream->backend->table.stream.synchronize(native);
        accel_stream_release(stream);
    }
}

size_t accel__heap_release(accel__heap *heap, bool wait)
{
    accel__error_mute();
    if (wait)
        wait_for_streams(heap);
    accel__lanes_sweep(heap);
    accel__lanes_refresh(heap, NULL);
    size_t bytes = accel__segments_release(heap, SIZE_MAX);
    bytes += accel__shrink(heap, SIZE_MAX);
    accel__segments_end(heap);
    accel__error_unmute();
    return bytes;
}

size_t accel__heap_empty_cache(accel__device *device)
{
    size_t bytes = 0;
    accel__error_mute();
    (void)accel__neighbours_wait(device);
    (void)accel__neighbours_flush(device);
    for (accel__heap *heap = accel__heap_first(device); heap != NULL; heap = accel__heap_next(heap))
        bytes += accel__heap_release(heap, true);
    accel__events_release(device);
    accel__error_unmute();
    return bytes;
}

static void empty_device(accel__device_memory *memory, void *user)
{
    (void)user;
    if (!accel__backend_is_forked(memory->device->backend))
        (void)accel__heap_empty_cache(memory->device);
}

accel_status accel_empty_cache(void)
{
    const accel_status status = accel__check_callback(__func__);
    if (status == ACCEL_OK) {
        accel__device_memory_visit(empty_device, NULL);
        accel__pool_settle(NULL);
    }
    return status;
}
