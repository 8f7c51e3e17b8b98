/* host_valid.c: whether a cache of pinned memory is in order. In the invariants preset it is looked at whenever
 * the lock is taken and let go. */
#include "memory/host/host_cache.h"

static bool block_is_valid(const accel__host_block *block, unsigned class_index)
{
    const accel__host_segment *segment = block->segment;
    return segment->class_index == class_index && block->size == segment->block_size &&
           accel__host_class_of(block->size) == class_index &&
           accel__range_state_of(&block->range) == ACCEL__RANGE_FREE &&
           (block->after == NULL || block->after->before == block);
}

/* Free blocks of one class; adds their number and bytes. */
static bool class_is_valid(const accel__host_cache *cache, unsigned class_index, size_t *count,
                           size_t *bytes)
{
    const accel__host_block *first = cache->classes[class_index];
    if (first != NULL && first->before != NULL)
        return false;
    for (const accel__host_block *block = first; block != NULL; block = block->after) {
        if (!block_is_valid(block, class_index))
            return false;
        ++*count;
        *bytes += block->size;
    }
    for (const accel__host_segment *s = cache->open[class_index]; s != NULL; s = s->next_open)
        if (s->class_index != class_index || s->made >= s->capacity)
            return false;
    return true;
}

static bool idle_is_valid(const accel__host_cache *cache)
{
    const accel__host_segment *last = NULL;
    size_t bytes = 0;
    for (const accel__host_segment *s = cache->idle_first; s != NULL; s = s->idle_after) {
        if (!s->is_idle || s->busy != 0 || s->idle_before != last)
            return false;
        bytes += s->size;
        last = s;
    }
    return last == cache->idle_last && bytes == cache->cached_bytes;
}

/* A block is being made, handed out or taken back by a thread without the lock, or it is counted as active. */
static bool figures_are_valid(const accel_host_memory_statistics *figures, size_t free_count,
                              size_t free_bytes)
{
    const int64_t not_free = figures->allocations.current - (int64_t)free_count;
    return not_free >= figures->active_requests.current &&
           figures->allocated_bytes.current - (int64_t)free_bytes >=
               figures->active_bytes.current &&
           figures->active_bytes.current >= figures->requested_bytes.current &&
           figures->reserved_bytes.current >= figures->allocated_bytes.current &&
           figures->segments.current >= 0 && figures->active_requests.current >= 0;
}

bool accel__host_cache_is_valid(const accel__host_cache *cache)
{
    size_t count = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < ACCEL__HOST_CLASSES; i++)
        if (!class_is_valid(cache, i, &count, &bytes))
            return false;
    return idle_is_valid(cache) && figures_are_valid(&cache->figures, count, bytes);
}
