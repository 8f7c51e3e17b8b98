/* alloc.c: the public ways to get memory and to give it back, ordered in streams.
 *
 * The short ways stand first in each pair: a block from the thread's own drawer, or into it, with nothing
 * shared with other threads but the address map, which they only read. Whatever is not the plain case is
 * left to the long way. What a block's range.state says decides who has it: the thread that changes it from
 * LIVE has freed the block. */
#include <accel/memory.h>

#include "base/error.h"
#include "core/capture.h"
#include "core/current.h"
#include "core/options.h"
#include "memory/cache.h"
#include "memory/debug.h"
#include "memory/foreign.h"
#include "memory/history.h"
#include "memory/host.h"
#include "memory/pool.h"
#include "memory/uses.h"

static const char alloc_function[] = "accel_memory_alloc";

/* Whether the thread's cache may do without the long way: the settings are plain ones. */
static inline bool is_plain(const accel__cache *cache)
{
    return cache->config == atomic_load_explicit(&accel__config_current, memory_order_relaxed);
}

/* The block is about to be the program's. */
static inline void note_allocated(accel__block *block)
{
    if (accel__history_is_on())
        accel__history_allocated(block);
    else
        atomic_store_explicit(&block->history, 0, memory_order_relaxed);
}

static inline size_t list_of(size_t size)
{
    return (size - 1) / ACCEL__BLOCK_UNIT;
}

/* ---- allocating: the short way ---- */

/* A block of the drawer for `size` bytes, handed out; NULL: there is none. */
static inline accel__block *take(accel__cache *cache, accel__drawer *drawer, size_t size)
{
    accel__block **list = &drawer->sizes[list_of(size)];
    if (__builtin_expect(!accel__cache_enter(cache), false)) {
        accel__cache_wait();
        return NULL;
    }
    accel__block *block = *list;
    if (__builtin_expect(block != NULL, true)) {
        accel__share *share = drawer->share;
        *list = block->bin_after;
        atomic_store_explicit(&share->cached_bytes,
                              atomic_load_explicit(&share->cached_bytes, memory_order_relaxed) -
                                  block->size,
                              memory_order_relaxed);
        accel__range_set_size(&block->range, size);
        accel__range_set_state(&block->range, ACCEL__RANGE_LIVE);
        accel__shard_add(&share->shard, block->size, size);
    }
    accel__cache_leave(cache);
    return block;
}

/* A block for the plainest of requests; NULL: the long way must look. */
static inline accel__block *alloc_at_hand(accel_stream *stream, size_t size)
{
    accel__cache *cache = accel__cache_mine;
    const uint32_t here = accel__generation_known() + accel__callback_mark;
    if (cache == NULL || cache->generation != here || size - 1 >= ACCEL__SMALL_SIZE ||
        atomic_load_explicit(&stream->generation, memory_order_acquire) != here ||
        !is_plain(cache) || accel__pool_scope != NULL)
        return NULL;
    accel__drawer *drawer = cache->drawers[accel__cache_place(stream)];
    if (drawer == NULL || drawer->stream != stream || drawer->stream_id != stream->id)
        return NULL;
    accel__block *block = take(cache, drawer, size);
    if (__builtin_expect(block != NULL, true))
        note_allocated(block);
    return block;
}

/* ---- allocating: the long way ---- */

static accel_status check_alignment(accel_memory_options *options, size_t size)
{
    const size_t alignment = options->alignment;
    if ((alignment & (alignment - 1)) != 0 || alignment > (size_t)1 << 30)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, alloc_function,
                           "alignment %zu is no power of two up to 2^30", alignment);
    if (alignment < ACCEL_MEMORY_ALIGNMENT)
        options->alignment = ACCEL_MEMORY_ALIGNMENT;
    if (size > PTRDIFF_MAX - options->alignment)
        return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, NULL, alloc_function,
                           "%zu bytes are more than any device has", size);
    return ACCEL_OK;
}

static accel_status check_options(accel_memory_options *options, size_t size)
{
    if (options->kind == ACCEL_MEMORY_KIND_UNKNOWN)
        options->kind = ACCEL_MEMORY_KIND_DEVICE;
    const bool is_pinned = options->kind == ACCEL_MEMORY_KIND_PINNED;
    if (options->kind != ACCEL_MEMORY_KIND_DEVICE && !is_pinned)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, alloc_function,
                           "kind %d is neither device nor pinned memory", (int)options->kind);
    if (is_pinned && (options->pool != NULL || options->dedicated))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, alloc_function,
                           "pinned memory comes from no pool and is never dedicated");
    return check_alignment(options, size);
}

/* Makes the stream ready, and chooses the pool; NULL: the device's default. A stream that captures queues
 * nothing here, so it need not be ready. */
static accel_status prepare(accel_stream *stream, accel_memory_options *options)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = accel__capture_of(stream);
    accel_status status = capture != NULL ? accel__check_callback(alloc_function)
                                          : accel__stream_use(stream, alloc_function, &native);
    if (options->kind != ACCEL_MEMORY_KIND_DEVICE)
        options->pool = NULL;
    else if (options->pool == NULL && capture != NULL && capture->pool != NULL)
        options->pool = capture->pool;
    else if (options->pool == NULL)
        options->pool = accel__pool_routed(stream->device);
    accel__capture_release(capture);
    if (status == ACCEL_OK && options->pool != NULL)
        status = accel__pool_check(options->pool, alloc_function);
    if (status == ACCEL_OK && options->pool != NULL && options->pool->device != stream->device)
        status = accel__fail(ACCEL_ERROR_MISMATCH, stream->backend->table.name, alloc_function,
                             "the pool is of device %d, the stream of device %d",
                             options->pool->device->id.index, stream->device->id.index);
    return status;
}

static accel_status find_lane(accel_stream *stream, accel_memory_pool *pool, accel__lane **out_lane)
{
    accel__heap *heap = NULL;
    const accel_status status = pool != NULL ? accel__pool_heap(pool, alloc_function, &heap)
                                             : accel__heap_of(stream->device, NULL, &heap);
    return status == ACCEL_OK ? accel__lane_of(heap, stream, out_lane) : status;
}

static void collect_after_synchronize(void)
{
    accel__uses_collect(NULL);
    accel__host_collect();
    accel__foreign_collect();
    accel__pool_settle(NULL);
}

/* The block, fresh from its heap, becomes the program's. */
static void hand_out(accel__block *block, size_t size, accel__share *share)
{
    const accel__block_kind kind = block->segment->kind;
    accel__device *device = accel__range_device(&block->range);
    block->uses = NULL;
    block->is_cacheable = kind == ACCEL__BLOCK_SMALL && block->size <= ACCEL__SMALL_SIZE &&
                          block->lane->heap->options.pool == NULL;
    accel__range_set_size(&block->range, size);
    note_allocated(block);
    accel__statistics_allocated(accel__statistics_peek(device), accel__share_shard(share), kind,
                                block->size, size);
    if (block->size >= accel__config_get()->max_split_size)
        accel__statistics_gauge(device, ACCEL__GAUGE_OVERSIZE_ALLOCATIONS, kind, 1);
    accel__range_set_state(&block->range, ACCEL__RANGE_LIVE);
}

static accel_status alloc_device(accel_stream *stream, size_t size,
                                 const accel_memory_options *options, void **out_pointer)
{
    const accel__config *config = accel__config_get();
    const size_t rounded = accel__config_round(config, size);
    accel__lane *lane = NULL;
    accel__block *block = NULL;
    accel_status status = find_lane(stream, options->pool, &lane);
    if (status != ACCEL_OK)
        return status;
    accel__cache *cache = accel__cache_own();
    accel__share *share = cache != NULL ? accel__cache_share(cache, stream->device) : NULL;
    if (share != NULL && options->pool == NULL && rounded <= ACCEL__SMALL_SIZE)
        accel__cache_open_drawer(cache, lane, stream);
    status = accel__heap_take_or_grow(lane, size, rounded, options->alignment, options->dedicated,
                                      &block);
    if (status != ACCEL_OK)
        return status;
    hand_out(block, size, share);
    *out_pointer = (void *)accel__range_begin(&block->range);
    return ACCEL_OK;
}

static accel_status alloc_plain(accel_stream *stream, size_t size,
                                const accel_memory_options *options, void **out_pointer)
{
    return options->kind == ACCEL_MEMORY_KIND_PINNED
               ? accel__host_alloc(stream, size, options->alignment, alloc_function, out_pointer)
               : alloc_device(stream, size, options, out_pointer);
}

static accel_status alloc_checked(accel_stream *stream, size_t size, accel_memory_options *options,
                                  void **out_pointer)
{
    accel_status status = accel__resolve_stream(stream, alloc_function, &stream);
    if (status == ACCEL_OK)
        status = prepare(stream, options);
    if (status != ACCEL_OK || size == 0)
        return status;
    atomic_store(&accel__after_synchronize, collect_after_synchronize);
    const accel__config *config = accel__config_get();
    return config->guard || config->poison
               ? accel__debug_alloc(stream, size, options, alloc_plain, out_pointer)
               : alloc_plain(stream, size, options, out_pointer);
}

__attribute__((noinline)) static accel_status alloc_long(accel_stream *stream, size_t size,
                                                         const accel_memory_options *options,
                                                         void **out_pointer)
{
    if (out_pointer == NULL)
        return accel__fail_null(alloc_function, "out_pointer");
    *out_pointer = NULL;
    accel_memory_options known = {0};
    accel_status status = accel__options_read(options, &known, sizeof known, alloc_function);
    if (status == ACCEL_OK)
        status = accel__config_check(alloc_function);
    if (status == ACCEL_OK)
        status = check_options(&known, size);
    return status == ACCEL_OK ? alloc_checked(stream, size, &known, out_pointer) : status;
}

accel_status accel_memory_alloc(accel_stream *stream, size_t size,
                                const accel_memory_options *options, void **out_pointer)
{
    if (__builtin_expect(options == NULL && out_pointer != NULL &&
                             accel__handle_is_live(stream, ACCEL__HANDLE_STREAM),
                         true)) {
        accel__block *block = alloc_at_hand(stream, size);
        if (__builtin_expect(block != NULL, true)) {
            *out_pointer = (void *)accel__range_begin(&block->range);
            return ACCEL_OK;
        }
    }
    return alloc_long(stream, size, options, out_pointer);
}

/* ---- freeing: the short way ---- */

/* Makes the calling thread the one that frees the block. Where others might at the same time, by a locked
 * instruction. */
static inline bool claim(accel__block *block, accel__range_state next, bool is_shared)
{
    if (__builtin_expect(is_shared, false))
        return atomic_exchange_explicit(&block->range.state, (uint32_t)next,
                                        memory_order_acq_rel) == ACCEL__RANGE_LIVE;
    accel__range_set_state(&block->range, next);
    return true;
}

/* Into the drawer. False: it is held, it has no room, or another thread frees the block. */
static inline bool put(accel__cache *cache, accel__drawer *drawer, accel__block *block)
{
    accel__share *share = drawer->share;
    const size_t size = block->size;
    const size_t list = list_of(size);
    if (__builtin_expect(!accel__cache_enter(cache), false))
        return false;
    const size_t cached = atomic_load_explicit(&share->cached_bytes, memory_order_relaxed) + size;
    const bool fits = cached <= cache->limit && claim(block, ACCEL__RANGE_CACHED, cache->is_shared);
    if (__builtin_expect(fits, true)) {
        if (accel__history_is_on()) /* once it is claimed, and before anybody else can have it */
            accel__history_freed(block, true);
        atomic_store_explicit(&share->cached_bytes, cached, memory_order_relaxed);
        block->bin_after = drawer->sizes[list];
        drawer->sizes[list] = block;
        drawer->filled[list / 64] |= UINT64_C(1) << list % 64;
        accel__shard_remove(&share->shard, size, accel__range_size(&block->range));
    }
    accel__cache_leave(cache);
    return fits;
}

static inline bool free_at_hand(accel__range *range)
{
    accel__cache *cache = accel__cache_mine;
    accel__block *block = (accel__block *)range;
    if (cache == NULL || cache->generation != accel__generation_known() ||
        atomic_load_explicit(&range->owner, memory_order_relaxed) != ACCEL__RANGE_OF_BLOCK ||
        accel__range_state_of(range) != ACCEL__RANGE_LIVE || !block->is_cacheable ||
        block->uses != NULL || !is_plain(cache))
        return false;
    accel_stream *home = accel__range_home(range);
    accel__drawer *drawer = cache->drawers[accel__cache_place(home)];
    return drawer != NULL && drawer->lane == block->lane && drawer->stream == home &&
           put(cache, drawer, block);
}

/* ---- freeing: the long way ---- */

/* The thread's share of the device; NULL where there is no host memory for one. */
static accel__share *share_of(accel__device *device)
{
    accel__cache *cache = accel__cache_own();
    return cache != NULL ? accel__cache_share(cache, device) : NULL;
}

/* A block that nobody but its home stream uses goes back to its heap. */
static void put_back(accel__block *block)
{
    accel__device *device = accel__range_device(&block->range);
    const bool is_of_pool = block->lane->heap->options.pool != NULL;
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    accel__heap_put(block);
    if (is_of_pool && accel__callback_depth == 0)
        accel__pool_settle(device);
}

/* The drawer for the block, emptied of what leaves it no room; NULL: it has none. */
static accel__drawer *make_room(accel__block *block)
{
    accel__cache *cache = accel__cache_mine;
    accel_stream *home = accel__range_home(&block->range);
    if (cache == NULL || !block->is_cacheable || cache->config != accel__config_get() ||
        block->size > cache->limit)
        return NULL;
    accel__cache_open_drawer(cache, block->lane, home);
    accel__drawer *drawer = cache->drawers[accel__cache_place(home)];
    if (drawer == NULL || drawer->lane != block->lane)
        return NULL;
    const size_t cached = atomic_load_explicit(&drawer->share->cached_bytes, memory_order_relaxed);
    if (cached + block->size > cache->limit)
        accel__cache_flush_mine(home->device);
    return drawer;
}

/* The caller has claimed the block: it is PENDING. */
static void free_claimed(accel__block *block)
{
    accel__device *device = accel__range_device(&block->range);
    accel__share *share = share_of(device);
    const bool waits = block->uses != NULL;
    if (accel__history_is_on())
        accel__history_freed(block, !waits);
    if (block->size >= accel__config_get()->max_split_size)
        accel__statistics_gauge(device, ACCEL__GAUGE_OVERSIZE_ALLOCATIONS, block->segment->kind,
                                -1);
    accel__statistics_freed(accel__statistics_peek(device), accel__share_shard(share),
                            block->segment->kind, block->size, accel__range_size(&block->range),
                            waits);
    if (waits) {
        accel__uses_wait(block);
        return;
    }
    if (accel__config_get()->poison)
        accel__debug_poison(&block->range);
    put_back(block);
}

/* INVALID_ARGUMENT without a record: another thread was first. */
static accel_status free_block(accel__block *block)
{
    uint32_t live = ACCEL__RANGE_LIVE;
    const bool is_inherited = !accel__generation_is(block->lane->heap->generation);
    if (!is_inherited && block->uses == NULL) {
        accel__drawer *drawer = make_room(block);
        if (drawer != NULL && accel__range_state_of(&block->range) == ACCEL__RANGE_LIVE &&
            put(accel__cache_mine, drawer, block))
            return ACCEL_OK;
    }
    if (!atomic_compare_exchange_strong(&block->range.state, &live,
                                        is_inherited ? ACCEL__RANGE_FREE : ACCEL__RANGE_PENDING))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (!is_inherited) /* else it stays the parent's: nothing of its heap is in order here */
        free_claimed(block);
    return ACCEL_OK;
}

static accel_status free_long(void *pointer);

static accel_status free_range(accel__range *range)
{
    switch (atomic_load_explicit(&range->owner, memory_order_relaxed)) {
    case ACCEL__RANGE_OF_BLOCK:
        return free_block((accel__block *)range);
    case ACCEL__RANGE_OF_HOST:
        return accel__host_free(range);
    case ACCEL__RANGE_OF_FOREIGN:
        return accel__foreign_free(range);
    default:
        return accel__debug_free(range, free_long);
    }
}

__attribute__((noinline)) static accel_status free_long(void *pointer)
{
    if (pointer == NULL)
        return ACCEL_OK;
    accel__range *range = accel__pointers_at(pointer);
    const bool is_live = range != NULL && accel__range_state_of(range) == ACCEL__RANGE_LIVE;
    const accel_status status = is_live ? free_range(range) : ACCEL_ERROR_INVALID_ARGUMENT;
    return status != ACCEL_ERROR_INVALID_ARGUMENT
               ? status
               : accel__fail(status, NULL, "accel_memory_free",
                             "%p is not the start of a live allocation: freed twice, inside a "
                             "block, or not of accel_memory_alloc",
                             pointer);
}

accel_status accel_memory_free(void *pointer)
{
    accel__range *range = accel__pointers_at(pointer);
    return __builtin_expect(range != NULL && free_at_hand(range), true) ? ACCEL_OK
                                                                        : free_long(pointer);
}

/* ---- use on other streams ---- */

static accel_status record_plain(accel__range *range, accel_stream *stream, const char *function)
{
    switch (atomic_load_explicit(&range->owner, memory_order_relaxed)) {
    case ACCEL__RANGE_OF_BLOCK:
        return accel__uses_record((accel__block *)range, stream, function);
    case ACCEL__RANGE_OF_HOST:
        return accel__host_record(range, stream, function);
    case ACCEL__RANGE_OF_FOREIGN:
        return accel__foreign_record(range, stream, function);
    default:
        return ACCEL_ERROR_INVALID_ARGUMENT;
    }
}

/* A guarded allocation and the one it lies in are both told. */
static accel_status record(accel__range *range, accel_stream *stream, const char *function)
{
    void *inner = NULL;
    accel_status status = ACCEL_OK;
    if (atomic_load_explicit(&range->owner, memory_order_relaxed) == ACCEL__RANGE_OF_GUARD) {
        status = accel__debug_record(range, stream, function, &inner);
        range = status == ACCEL_OK ? accel__pointers_at(inner) : NULL;
    }
    if (status != ACCEL_OK)
        return status;
    return range != NULL ? record_plain(range, stream, function) : ACCEL_ERROR_INVALID_ARGUMENT;
}

accel_status accel_record_stream(const void *pointer, accel_stream *stream)
{
    if (pointer == NULL)
        return ACCEL_OK;
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status != ACCEL_OK)
        return status;
    accel__range *range = accel__pointers_around(pointer);
    status = range != NULL ? record(range, stream, __func__) : ACCEL_ERROR_INVALID_ARGUMENT;
    return status != ACCEL_ERROR_INVALID_ARGUMENT
               ? status
               : accel__fail(status, NULL, __func__,
                             "%p lies in no allocation of accel_memory_alloc", pointer);
}
