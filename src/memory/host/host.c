/* host.c: pinned host memory from a cache; see host.h and host_cache.h. What is freed waits, with a mark
 * in each stream that used it, until all have passed: it is looked for when a request finds nothing else,
 * after a synchronize, and when the cache is emptied. */
#include "memory/host/host.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "memory/config.h"
#include "memory/host/host_cache.h"

enum { POISON_FREED = 0xdd };

/* ---- caches ---- */

/* Guards the making of entries. A leaf. */
static accel__mutex list_mutex;
static _Atomic(accel__host_cache *) every_cache;

accel__host_cache *accel__host_cache_peek(const accel__device *device)
{
    accel__host_cache *cache = every_cache;
    while (cache != NULL && cache->device != device)
        cache = cache->next;
    return cache;
}

static accel__host_cache *cache_of(accel__device *device)
{
    accel__host_cache *cache = accel__host_cache_peek(device);
    if (cache != NULL)
        return cache;
    accel__mutex_lock(&list_mutex);
    cache = accel__host_cache_peek(device);
    if (cache == NULL && (cache = accel__allocate(sizeof *cache)) != NULL) {
        cache->device = device;
        cache->generation = accel__generation();
        cache->next = every_cache;
        every_cache = cache;
    }
    accel__mutex_unlock(&list_mutex);
    return cache;
}

static void forget(accel__host_cache *cache)
{
    memset(cache->classes, 0, sizeof cache->classes);
    memset(cache->open, 0, sizeof cache->open);
    cache->idle_first = cache->idle_last = NULL;
    cache->pending = cache->spare = NULL;
    cache->cached_bytes = 0;
    cache->figures = (accel_host_memory_statistics){0};
    cache->generation = accel__generation();
}

#if ACCEL_INVARIANTS
static void check_cache(const accel__host_cache *cache)
{
    if (!accel__host_cache_is_valid(cache))
        __builtin_trap();
}
#else
static inline void check_cache(const accel__host_cache *cache)
{
    (void)cache;
}
#endif

void accel__host_lock(accel__host_cache *cache)
{
    accel__mutex_lock(&cache->mutex);
    if (!accel__generation_is(cache->generation))
        forget(cache);
    check_cache(cache);
}

void accel__host_unlock(accel__host_cache *cache)
{
    check_cache(cache);
    accel__mutex_unlock(&cache->mutex);
}

static size_t bytes_to_keep(void)
{
    const accel__config *config = accel__config_get();
    return config->caching ? config->pinned_cache_limit : 0;
}

/* ---- the way back ---- */

/* All streams have passed, and nobody owns the block: it can be handed out again. */
static void complete(accel__host_block *block)
{
    accel__host_cache *cache = block->segment->cache;
    accel__marks_end(&block->home);
    if (accel__config_get()->poison)
        memset((void *)accel__range_begin(&block->range), POISON_FREED, block->size);
    accel__host_lock(cache);
    accel__host_stat_take(&cache->figures.active_requests, 1);
    accel__host_stat_take(&cache->figures.active_bytes, block->size);
    accel__host_stat_take(&cache->figures.requested_bytes, accel__range_size(&block->range));
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    accel__host_put_locked(cache, block);
    const bool is_over_limit = cache->cached_bytes > bytes_to_keep();
    accel__host_unlock(cache);
    if (is_over_limit && accel__callback_depth == 0)
        accel__host_give_back(cache, bytes_to_keep());
}

static void push_pending_locked(accel__host_cache *cache, accel__host_block *block)
{
    block->after = cache->pending;
    cache->pending = block;
}

/* True: some blocks wait still. */
static bool collect(accel__host_cache *cache)
{
    bool some_wait = false;
    accel__host_lock(cache);
    accel__host_block *waiting = cache->pending;
    cache->pending = NULL;
    accel__host_unlock(cache);
    while (waiting != NULL) {
        accel__host_block *block = waiting;
        waiting = block->after;
        block->after = NULL;
        if (accel__marks_passed(&block->home)) {
            complete(block);
            continue;
        }
        some_wait = true;
        accel__host_lock(cache);
        push_pending_locked(cache, block);
        accel__host_unlock(cache);
    }
    return some_wait;
}

void accel__host_collect(void)
{
    if (accel__callback_depth != 0)
        return;
    for (accel__host_cache *cache = every_cache; cache != NULL; cache = cache->next)
        collect(cache);
}

/* One owner less, the program or a graph. After the last one the streams are asked. */
static void disown(accel__host_block *block)
{
    if (atomic_fetch_sub(&block->owners, 1) != 1)
        return;
    accel__marks_set(&block->home);
    if (accel__marks_passed(&block->home)) {
        complete(block);
        return;
    }
    accel__host_cache *cache = block->segment->cache;
    accel__host_lock(cache);
    push_pending_locked(cache, block);
    accel__host_unlock(cache);
}

static bool is_inherited(const accel__host_block *block)
{
    return !accel__generation_is(block->generation);
}

accel_status accel__host_free(accel__range *range)
{
    accel__host_block *block = (accel__host_block *)range;
    uint32_t live = ACCEL__RANGE_LIVE;
    if (is_inherited(block))
        return atomic_compare_exchange_strong(&range->state, &live, ACCEL__RANGE_PENDING)
                   ? ACCEL_OK
                   : ACCEL_ERROR_INVALID_ARGUMENT;
    accel__host_cache *cache = block->segment->cache;
    accel__host_lock(cache); /* accel__host_record adds to a live block only */
    const bool is_mine = atomic_compare_exchange_strong(&range->state, &live, ACCEL__RANGE_PENDING);
    accel__host_unlock(cache);
    if (!is_mine)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    disown(block);
    return ACCEL_OK;
}

accel_status accel__host_record(accel__range *range, accel_stream *stream, const char *function)
{
    accel__host_block *block = (accel__host_block *)range;
    if (is_inherited(block))
        return ACCEL_OK;
    accel__mark *mark = accel__mark_create(stream);
    if (mark == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name, function,
                           "no memory to note the use of a stream");
    accel__host_cache *cache = block->segment->cache;
    accel__host_lock(cache);
    const bool is_live = accel__range_state_of(range) == ACCEL__RANGE_LIVE;
    const bool is_added = is_live && accel__marks_add(&block->home, mark);
    accel__host_unlock(cache);
    if (!is_added)
        accel__mark_release(mark);
    return is_live ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT;
}

bool accel__host_has(const accel__range *range, uintptr_t address)
{
    const accel__host_block *block = (const accel__host_block *)range;
    const uintptr_t begin = accel__range_begin(range);
    accel__host_cache *cache = accel__host_cache_peek(accel__range_device(range));
    if (cache == NULL)
        return false;
    accel__host_lock(cache); /* the block ends with it held */
    const bool is_there = accel__pointers_at((const void *)begin) == range &&
                          address - begin < block->size;
    accel__host_unlock(cache);
    return is_there;
}

/* ---- graphs ---- */

static void graph_is_gone(accel__capture_part *part)
{
    disown((accel__host_block *)((char *)part - offsetof(accel__host_block, part)));
}

/* Memory that work of a graph may use must not be handed out again while the graph can be replayed. */
static accel_status share_with_graph(accel__host_block *block, accel_stream *stream)
{
    accel__capture *capture = accel__capture_of(stream);
    if (capture == NULL)
        return ACCEL_OK;
    block->part = (accel__capture_part){.key = block, .release = graph_is_gone};
    atomic_fetch_add(&block->owners, 1);
    const accel_status status = accel__capture_attach(capture, &block->part);
    if (status != ACCEL_OK)
        atomic_fetch_sub(&block->owners, 1);
    accel__capture_release(capture);
    return status;
}

/* ---- the way out ---- */

typedef struct request {
    accel__host_cache *cache;
    size_t asked;
    size_t size; /* rounded */
    size_t alignment;
    unsigned class_index;
    bool is_cached; /* blocks are shared and reused */
    const char *function;
} request;

static void count_locked(const request *wanted, const accel__host_block *block)
{
    accel_host_memory_statistics *figures = &wanted->cache->figures;
    accel__host_stat_add(&figures->active_requests, 1);
    accel__host_stat_add(&figures->active_bytes, block->size);
    accel__host_stat_add(&figures->requested_bytes, wanted->asked);
}

static accel__host_block *take_cached(const request *wanted)
{
    if (!wanted->is_cached)
        return NULL;
    accel__host_lock(wanted->cache);
    accel__host_block *taken = accel__host_take_locked(wanted->cache, wanted->size,
                                                       wanted->class_index, wanted->alignment);
    if (taken != NULL)
        count_locked(wanted, taken);
    accel__host_unlock(wanted->cache);
    return taken;
}

static accel_status take_new(const request *wanted, accel__host_block **out_block)
{
    const accel_status status = accel__host_take_new(
        wanted->cache, wanted->size, wanted->class_index, wanted->alignment, wanted->is_cached,
        wanted->function, out_block);
    if (status != ACCEL_OK)
        return status;
    accel__host_lock(wanted->cache);
    count_locked(wanted, *out_block);
    accel__host_unlock(wanted->cache);
    return ACCEL_OK;
}

/* When memory is short: what lies idle goes back; then what is freed and in use is waited for; only then does
 * the request fail. Failures that are made good leave no record. */
static accel_status take_or_wait(const request *wanted, bool some_wait,
                                 accel__host_block **out_block)
{
    accel__error_mute();
    accel_status status = take_new(wanted, out_block);
    if (status != ACCEL_OK && accel__host_give_back(wanted->cache, 0) != 0)
        status = take_new(wanted, out_block);
    if (status != ACCEL_OK && some_wait) {
        (void)accel__device_wait(wanted->cache->device, wanted->function);
        collect(wanted->cache);
        *out_block = take_cached(wanted);
        status = *out_block != NULL ? ACCEL_OK : status;
        if (status != ACCEL_OK)
            accel__host_give_back(wanted->cache, 0);
    }
    accel__error_unmute();
    return status == ACCEL_OK ? status : take_new(wanted, out_block);
}

static accel_status take(const request *wanted, accel__host_block **out_block)
{
    *out_block = take_cached(wanted);
    if (*out_block != NULL)
        return ACCEL_OK;
    const bool some_wait = collect(wanted->cache);
    *out_block = take_cached(wanted);
    return *out_block != NULL ? ACCEL_OK : take_or_wait(wanted, some_wait, out_block);
}

accel_status accel__host_alloc(accel_stream *stream, size_t size, size_t alignment,
                               const char *function, void **out_pointer)
{
    *out_pointer = NULL;
    const char *backend = stream->backend->table.name;
    if (size > (size_t)1 << ACCEL__HOST_CLASS_MOST_LOG2)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend, function,
                           "%zu bytes of pinned memory are more than any machine has", size);
    request wanted = {.cache = cache_of(stream->device),
                      .asked = size,
                      .size = accel__host_class_round(size),
                      .alignment = alignment,
                      .is_cached = accel__config_get()->caching,
                      .function = function};
    wanted.class_index = accel__host_class_of(wanted.size);
    if (wanted.cache == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend, function,
                           "no memory for the cache of pinned memory");
    accel__host_block *block = NULL;
    accel_status status = take(&wanted, &block);
    if (status != ACCEL_OK)
        return status;
    accel__marks_begin(&block->home, stream);
    block->owners = 1;
    accel__range_set_size(&block->range, size);
    accel__range_set(&block->range, stream->device, ACCEL_MEMORY_KIND_PINNED, stream);
    status = share_with_graph(block, stream);
    if (status != ACCEL_OK) {
        disown(block);
        return status;
    }
    accel__range_set_state(&block->range, ACCEL__RANGE_LIVE);
    *out_pointer = (void *)accel__range_begin(&block->range);
    return ACCEL_OK;
}

/* ---- public ---- */

accel_status accel_empty_host_cache(void)
{
    const accel_status status = accel__check_callback(__func__);
    if (status != ACCEL_OK)
        return status;
    for (accel__host_cache *cache = every_cache; cache != NULL; cache = cache->next) {
        if (accel__backend_is_forked(cache->device->backend))
            continue;
        collect(cache);
        accel__host_give_back(cache, 0);
    }
    return ACCEL_OK;
}
