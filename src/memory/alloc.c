/* alloc.c: the long ways of getting memory and giving it back, ordered in streams; the short ones are in
 * at_hand.c. A block's range.state decides who has it: the thread that changes it from LIVE has freed it. */
#include <accel/memory.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/capture.h"
#include "core/current.h"
#include "memory/at_hand.h"
#include "memory/collect.h"
#include "memory/debug.h"
#include "memory/foreign.h"
#include "memory/heap/uses.h"
#include "memory/history/history.h"
#include "memory/host/host.h"
#include "memory/pool.h"

static const char alloc_function[] = "accel_memory_alloc";

/* The block is about to be the program's. */
static void note_allocated(accel__block *block)
{
    if (accel__history_is_on())
        accel__history_allocated(block);
    else
        atomic_store_explicit(&block->history, 0, memory_order_relaxed);
}

/* ---- allocating ---- */

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

/* *out_held is counted: another thread may end the capture, and with it the pool, during the call. */
static accel_memory_pool *pool_of(accel__capture *capture, const accel_stream *stream,
                                  accel_memory_pool **out_held)
{
    if (capture != NULL)
        *out_held = capture->ops->hold_pool(capture);
    return *out_held != NULL ? *out_held : accel__pool_routed(stream->device);
}

/* Makes the stream ready, and chooses the pool; NULL: the device's default. A stream that captures queues
 * nothing here, so it need not be ready. *out_held (may be NULL) is released behind the call. */
static accel_status prepare(accel_stream *stream, accel_memory_options *options,
                            accel_memory_pool **out_held)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = accel__stream_use(stream, alloc_function, &native, &capture);
    if (options->kind != ACCEL_MEMORY_KIND_DEVICE)
        options->pool = NULL;
    else if (options->pool == NULL)
        options->pool = pool_of(capture, stream, out_held);
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

/* Around what is told to the statistics. A thread that has no share of the device, for want of host memory,
 * holds the others still. */
static void begin_counting(accel__share *share)
{
    if (share != NULL)
        accel__cache_enter(accel__cache_mine);
    else
        accel__cache_hold_all();
}

static void end_counting(accel__share *share)
{
    if (share != NULL)
        accel__cache_leave(accel__cache_mine);
    else
        accel__cache_let_all_go();
}

static inline accel__statistics *statistics_for(const accel__device *device,
                                                const accel__share *share)
{
    return share != NULL ? share->shard.statistics : accel__statistics_peek(device);
}

/* The block becomes the program's. */
static void hand_out(accel__block *block, size_t size, accel__share *share)
{
    const accel__block_kind kind = block->segment->kind;
    accel__device *device = accel__range_device(&block->range);
    const bool is_at_hand = kind == ACCEL__BLOCK_SMALL && block->size <= ACCEL__SMALL_SIZE &&
                            block->lane->heap->options.pool == NULL;
    block->uses = NULL;
    accel__range_set_size(&block->range, size);
    note_allocated(block);
    begin_counting(share);
    accel__statistics_allocated(statistics_for(device, share), accel__share_shard(share), kind,
                                block->size, size);
    end_counting(share);
    block->is_oversize = block->size >= accel__config_get()->max_split_size;
    if (block->is_oversize)
        accel__statistics_gauge(device, ACCEL__GAUGE_OVERSIZE_ALLOCATIONS, kind, 1);
    atomic_store_explicit(&block->range.state,
                          ACCEL__RANGE_LIVE | (is_at_hand ? ACCEL__RANGE_AT_HAND : 0),
                          memory_order_release);
}

/* From the thread's drawer, which is opened where there is none; NULL: it has none that fits. */
static accel__block *take_at_hand(accel__cache *cache, accel__lane *lane, accel_stream *stream,
                                  size_t size)
{
    accel__drawer *drawer = accel__cache_open_drawer(cache, lane, stream);
    if (drawer == NULL)
        return NULL;
    accel__cache_enter(cache);
    size_t block_size;
    accel__block *block = accel__at_hand_take(drawer, drawer->share, size, &block_size);
    accel__cache_leave(cache);
    return block;
}

static accel_status alloc_device(accel_stream *stream, size_t size,
                                 const accel_memory_options *options, void **out_pointer)
{
    accel__lane *lane = NULL;
    accel__block *block = NULL;
    accel_status status = find_lane(stream, options->pool, &lane);
    if (status != ACCEL_OK)
        return status;
    accel__cache *cache = accel__cache_own();
    accel__share *share = cache != NULL ? accel__cache_share(cache, stream->device) : NULL;
    const size_t rounded = accel__config_round(accel__config_get(), size);
    if (share != NULL && cache->is_plain && options->pool == NULL && !options->dedicated &&
        options->alignment <= ACCEL__BLOCK_UNIT && rounded <= ACCEL__SMALL_SIZE)
        block = take_at_hand(cache, lane, stream, size);
    if (block == NULL)
        status = accel__heap_take_or_grow(lane, size, rounded, options->alignment,
                                          options->dedicated, &block);
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

static accel_status alloc_prepared(accel_stream *stream, size_t size,
                                   const accel_memory_options *options, void **out_pointer)
{
    accel__collect_after_synchronize();
    const accel__config *config = accel__config_get();
    return config->guard || config->poison
               ? accel__error_met_by(
                     accel__debug_alloc(stream, size, options, alloc_plain, out_pointer),
                     alloc_function)
               : alloc_plain(stream, size, options, out_pointer);
}

static accel_status alloc_checked(accel_stream *stream, size_t size, accel_memory_options *options,
                                  void **out_pointer)
{
    accel_memory_pool *held = NULL;
    accel_status status = accel__resolve_stream(stream, alloc_function, &stream);
    if (status == ACCEL_OK)
        status = prepare(stream, options, &held);
    if (status == ACCEL_OK && size != 0)
        status = alloc_prepared(stream, size, options, out_pointer);
    if (held != NULL)
        accel_memory_pool_release(held);
    return status;
}

accel_status accel__alloc_missed(accel__drawer *drawer, accel_stream *stream, size_t size,
                                 void **out_pointer)
{
    const size_t unit = ACCEL__BLOCK_UNIT;
    accel__block *block = NULL;
    if (drawer->stream_id != stream->id || size - 1 >= PTRDIFF_MAX - unit)
        return accel__alloc_long(stream, size, NULL, out_pointer);
    *out_pointer = NULL;
    const accel_status status = accel__heap_take_or_grow(
        drawer->lane, size, (size + unit - 1) & ~(unit - 1), unit, false, &block);
    if (status != ACCEL_OK)
        return status;
    hand_out(block, size, drawer->share);
    *out_pointer = (void *)accel__range_begin(&block->range);
    return ACCEL_OK;
}

accel_status accel__alloc_long(accel_stream *stream, size_t size,
                               const accel_memory_options *options, void **out_pointer)
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

/* ---- freeing ---- */

/* The thread's share of the device; NULL where there is no host memory for one. */
static accel__share *share_of(accel__device *device)
{
    accel__cache *cache = accel__cache_mine;
    if (atomic_load_explicit(&cache->pass, memory_order_relaxed) == accel__generation_known() &&
        cache->shares != NULL && cache->shares->device == device)
        return cache->shares;
    cache = accel__cache_own();
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

/* The drawer for the block; NULL: it has none, or there is no room. */
static accel__drawer *make_room(accel__cache *cache, accel__block *block)
{
    accel_stream *home = accel__range_home(&block->range);
    accel__drawer *drawer = cache->drawers[block->lane->place];
    if (!cache->is_plain || block->size > cache->limit)
        return NULL;
    if (drawer->key != block->lane->key)
        drawer = accel__cache_share(cache, home->device) != NULL
                     ? accel__cache_open_drawer(cache, block->lane, home)
                     : NULL;
    return drawer != NULL && accel__cache_make_room(cache, drawer, block->size) ? drawer : NULL;
}

/* Into the thread's drawer. False: it is to go another way, or another thread frees it. */
static bool put_at_hand(accel__block *block)
{
    accel__cache *cache = accel__cache_own();
    accel__drawer *drawer = cache != NULL ? make_room(cache, block) : NULL;
    if (drawer == NULL)
        return false;
    const size_t size = block->size;
    accel__cache_enter(cache);
    const bool is_mine = accel__at_hand_claim(block);
    if (is_mine) {
        if (accel__history_is_on()) /* before anybody else can have it */
            accel__history_freed(block, true);
        accel__share *share = drawer->share;
        share->room -= (ptrdiff_t)size;
        accel__at_hand_put(drawer, block, size);
        accel__statistics_freed(share->shard.statistics, &share->shard, ACCEL__BLOCK_SMALL, size,
                                accel__range_size(&block->range), false);
    }
    accel__cache_leave(cache);
    return is_mine;
}

/* The caller has claimed the block: it is PENDING. */
static void free_claimed(accel__block *block, accel__share *share)
{
    accel__device *device = accel__range_device(&block->range);
    const bool waits = block->uses != NULL;
    if (accel__history_is_on())
        accel__history_freed(block, !waits);
    if (block->is_oversize)
        accel__statistics_gauge(device, ACCEL__GAUGE_OVERSIZE_ALLOCATIONS, block->segment->kind,
                                -1);
    begin_counting(share);
    accel__statistics_freed(statistics_for(device, share), accel__share_shard(share),
                            block->segment->kind, block->size, accel__range_size(&block->range),
                            waits);
    end_counting(share);
    if (waits) {
        accel__uses_wait(block);
        return;
    }
    if (accel__config_get()->poison)
        accel__debug_poison(&block->range);
    put_back(block);
}

/* From LIVE to `state`, where no other thread is first. */
static bool claim_shared(accel__block *block, accel__range_state state)
{
    uint32_t seen = atomic_load_explicit(&block->range.state, memory_order_acquire);
    return (seen & ACCEL__RANGE_STATES) == ACCEL__RANGE_LIVE &&
           atomic_compare_exchange_strong_explicit(&block->range.state, &seen, (uint32_t)state,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* To PENDING: by a locked instruction only where another thread has a cache, which it makes before it frees. */
static bool claim(accel__block *block, const accel__share *share)
{
    accel__cache *cache = accel__cache_mine;
    if (share == NULL)
        return claim_shared(block, ACCEL__RANGE_PENDING);
    accel__cache_enter(cache);
    const bool is_shared = cache->is_shared;
    const bool is_mine = !is_shared && accel__range_state_of(&block->range) == ACCEL__RANGE_LIVE;
    if (is_mine)
        accel__range_set_state(&block->range, ACCEL__RANGE_PENDING);
    accel__cache_leave(cache);
    return is_shared ? claim_shared(block, ACCEL__RANGE_PENDING) : is_mine;
}

/* INVALID_ARGUMENT without a record: another thread was first. */
static accel_status free_block(accel__block *block)
{
    if (!accel__generation_is(
            block->lane->heap->generation)) /* nothing of its heap is in order here */
        return claim_shared(block, ACCEL__RANGE_FREE) ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT;
    const uint32_t seen = atomic_load_explicit(&block->range.state, memory_order_acquire);
    if (seen == (ACCEL__RANGE_LIVE | ACCEL__RANGE_AT_HAND) && put_at_hand(block))
        return ACCEL_OK;
    accel__share *share = share_of(accel__range_device(&block->range));
    if (!claim(block, share))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    free_claimed(block, share);
    return ACCEL_OK;
}

static accel_status free_range(accel__range *range)
{
    switch (accel__range_owner_of(range)) {
    case ACCEL__RANGE_OF_BLOCK:
        return free_block((accel__block *)range);
    case ACCEL__RANGE_OF_HOST:
        return accel__host_free(range);
    case ACCEL__RANGE_OF_FOREIGN:
        return accel__foreign_free(range);
    default:
        return accel__debug_free(range, accel__free_long);
    }
}

accel_status accel__free_found(accel__range *range, void *pointer)
{
    const bool is_live = range != NULL && accel__range_state_of(range) == ACCEL__RANGE_LIVE;
    const accel_status status = is_live ? free_range(range) : ACCEL_ERROR_INVALID_ARGUMENT;
    return status != ACCEL_ERROR_INVALID_ARGUMENT
               ? status
               : accel__fail(status, NULL, "accel_memory_free",
                             "%p is not the start of a live allocation: freed twice, inside a "
                             "block, or not of accel_memory_alloc",
                             pointer);
}

accel_status accel__free_long(void *pointer)
{
    return pointer != NULL ? accel__free_found(accel__pointers_at(pointer), pointer) : ACCEL_OK;
}

/* ---- use on other streams ---- */

static accel_status record_plain(accel__range *range, accel_stream *stream, const char *function)
{
    switch (accel__range_owner_of(range)) {
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
    if (accel__range_owner_of(range) == ACCEL__RANGE_OF_GUARD) {
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
