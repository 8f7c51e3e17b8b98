/* at_hand.c: the short ways of accel_memory_alloc and accel_memory_free: a block from the thread's own drawer,
 * or into it, with nothing shared with other threads but the address map, which they only read. `pass` of the
 * thread's cache is the process's generation while nothing but that is to be done, so that one comparison tells
 * of forks, settings, history and pools, too; what is not the plain case goes the long way (alloc.c).
 *
 * The code is written for few instructions (tests/budget): conditions stand one by one, calls are the last
 * thing that happens, and the file is compiled without frame pointers, which the long ways have. */
#include <accel/memory.h>

#include "core/pointers_table.h"
#include "core/stream.h"
#include "memory/at_hand.h"

#define LIKELY(condition) __builtin_expect((condition), true)

/* A figure of the thread's crossed a bound: the rest of what either way does. */
__attribute__((noinline, cold)) static accel_status end_crossed(accel__cache *cache,
                                                                accel__shard *shard)
{
    accel__shard_crossed(shard);
    accel__cache_leave(cache);
    return ACCEL_OK;
}

accel_status accel_memory_alloc(accel_stream *stream, size_t size,
                                const accel_memory_options *options, void **out_pointer)
{
    accel__cache *cache = accel__cache_mine;
    if (!accel__handle_is_live(stream, ACCEL__HANDLE_STREAM) || options != NULL)
        goto long_way;
    if (out_pointer == NULL)
        goto long_way;
    const uint32_t here = accel__generation_known() + accel__callback_mark;
    if (atomic_load_explicit(&cache->pass, memory_order_relaxed) != here)
        goto long_way;
    if (atomic_load_explicit(&stream->generation, memory_order_acquire) != here)
        goto long_way;
    accel__drawer *drawer = cache->drawers[stream->place];
    if (drawer->stream != stream)
        goto long_way;
    if (size - 1 >= ACCEL__SMALL_SIZE)
        goto missed;
    if (!accel__cache_enter_at_once(cache))
        goto long_way;
    accel__share *share = drawer->share;
    size_t block_size;
    accel__block *block = accel__at_hand_take(drawer, share, size, &block_size);
    if (block == NULL) {
        accel__cache_leave(cache);
        goto missed;
    }
    atomic_store_explicit(&block->range.state, ACCEL__RANGE_LIVE | ACCEL__RANGE_AT_HAND,
                          memory_order_release);
    *out_pointer = (void *)accel__range_begin(&block->range);
    if (!LIKELY(accel__shard_add(&share->shard, block_size, size)))
        return end_crossed(cache, &share->shard);
    accel__cache_leave(cache);
    return ACCEL_OK;
missed:
    return accel__alloc_missed(drawer, stream, size, out_pointer);
long_way:
    return accel__alloc_long(stream, size, options, out_pointer);
}

/* The last steps of a free: the block is this thread's, which is inside. */
static inline accel_status keep(accel__cache *cache, accel__drawer *drawer, accel__share *share,
                                accel__block *block)
{
    const size_t size = block->size;
    share->room -= (ptrdiff_t)size;
    accel__at_hand_put(drawer, block, size);
    if (!LIKELY(accel__shard_remove(&share->shard, size, accel__range_size(&block->range))))
        return end_crossed(cache, &share->shard);
    accel__cache_leave(cache);
    return ACCEL_OK;
}

/* The same where other threads might free it at the same time: by a locked instruction. */
__attribute__((noinline)) static accel_status claim_and_keep(accel__cache *cache,
                                                             accel__drawer *drawer,
                                                             accel__block *block)
{
    if (LIKELY(accel__at_hand_claim(block)))
        return keep(cache, drawer, drawer->share, block);
    accel__cache_leave(cache);
    return accel__free_long((void *)accel__range_begin(&block->range));
}

accel_status accel_memory_free(void *pointer)
{
    accel__cache *cache = accel__cache_mine;
    accel__range *range = accel__pointers_at_once(pointer);
    if (range == NULL)
        goto long_way;
    if (atomic_load_explicit(&cache->pass, memory_order_relaxed) != accel__generation_known())
        goto long_way;
    if (atomic_load_explicit(&range->state, memory_order_acquire) !=
        (ACCEL__RANGE_LIVE | ACCEL__RANGE_AT_HAND))
        goto found;
    accel__block *block = (accel__block *)range; /* pinned and wrapped memory is never at hand */
    const accel__lane *lane = block->lane;
    accel__drawer *drawer = cache->drawers[lane->place];
    if (drawer->key != lane->key)
        goto found;
    if (!accel__cache_enter_at_once(cache))
        goto found;
    accel__share *share = drawer->share;
    if (share->room < (ptrdiff_t)block->size) {
        accel__cache_leave(cache);
        goto found;
    }
    if (cache->is_shared)
        return claim_and_keep(cache, drawer, block);
    atomic_store_explicit(&block->range.state, ACCEL__RANGE_CACHED, memory_order_release);
    return keep(cache, drawer, share, block);
found:
    return accel__free_found(range, pointer);
long_way:
    return accel__free_long(pointer);
}
