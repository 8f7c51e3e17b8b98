/* pool.c: pools, from their making until the last of their memory went back.
 *
 * The list of all structures only grows, by single stores, so that it is read without a lock and a forked
 * child finds it whole. A pool that is released while blocks of it live drains: each free of one, and
 * each collection, tries to settle it. */
#include "memory/pool.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "memory/cache.h"

/* A structure waits until that many others are gone, too. */
enum { KEPT_GONE = 256 };

/* Guards the making of entries in the list, and the queue of those that are gone, which a child abandons. A
 * leaf. */
static accel__mutex list_mutex;
static uint32_t queue_generation;
static _Atomic(accel_memory_pool *) every_pool;
static accel_memory_pool *first_gone;
static accel_memory_pool *last_gone;
static size_t gone_count;

static _Atomic(uint64_t) last_user_id;
static _Atomic(uint64_t) last_graph_id;

_Atomic(uint32_t) accel__pools_draining;

/* ---- structures ---- */

static void lock_list(void)
{
    accel__mutex_lock(&list_mutex);
    if (accel__generation_is(queue_generation))
        return;
    first_gone = last_gone = NULL;
    gone_count = 0;
    queue_generation = accel__generation();
}

/* The oldest of those that are gone, if there are enough; with list_mutex held. */
static accel_memory_pool *take_gone_locked(void)
{
    accel_memory_pool *found = gone_count > KEPT_GONE ? first_gone : NULL;
    if (found == NULL)
        return NULL;
    first_gone = found->next_gone;
    found->next_gone = NULL;
    gone_count--;
    return found;
}

static void put_gone(accel_memory_pool *pool)
{
    lock_list();
    pool->next_gone = NULL;
    if (first_gone == NULL)
        first_gone = pool;
    else
        last_gone->next_gone = pool;
    last_gone = pool;
    gone_count++;
    accel__mutex_unlock(&list_mutex);
}

/* Published with uses at 0, so that nobody but its maker takes it for a pool. */
static accel_memory_pool *draw(void)
{
    lock_list();
    accel_memory_pool *found = take_gone_locked();
    if (found == NULL && (found = accel__allocate(sizeof *found)) != NULL) {
        found->is_gone = true;
        found->next = atomic_load(&every_pool);
        every_pool = found;
    }
    accel__mutex_unlock(&list_mutex);
    return found;
}

/* ---- checks ---- */

#if ACCEL_CHECK_HANDLES
static bool is_a_pool(const accel_memory_pool *pool)
{
    const accel_memory_pool *found = every_pool;
    while (found != NULL && found != pool)
        found = found->next;
    return found != NULL;
}
#else
static bool is_a_pool(const accel_memory_pool *pool)
{
    return pool != NULL;
}
#endif

static accel_status fail_pool(const accel_memory_pool *pool, const char *function)
{
    if (pool == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the pool is NULL");
    if (!is_a_pool(pool))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%p is not a memory pool",
                           (const void *)pool);
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       "the memory pool (%llu, %llu) was released: create another one, or keep a "
                       "reference for as long as it is used",
                       (unsigned long long)pool->id.first, (unsigned long long)pool->id.second);
}

accel_status accel__pool_check(const accel_memory_pool *pool, const char *function)
{
    return is_a_pool(pool) && !accel__pool_is_released(pool) ? ACCEL_OK : fail_pool(pool, function);
}

/* ---- making ---- */

static accel_status create(accel__device *device, const accel_memory_pool_options *options,
                           accel_memory_pool_id id, const char *function,
                           accel_memory_pool **out_pool)
{
    accel_memory_pool *made = draw();
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name, function,
                           "no memory for a memory pool");
    made->device = device;
    made->options = *options;
    made->id = id;
    made->heap = NULL;
    made->settle_calls = 0;
    made->keepers = 0;
    made->origin = accel__generation();
    made->uses = 1; /* first: what is neither released nor gone is nobody's to settle */
    made->is_gone = false;
    *out_pool = made;
    return ACCEL_OK;
}

static accel_status read_options(const accel_memory_pool_options *given,
                                 accel_memory_pool_options *known, const char *function)
{
    const accel_status status = accel__options_read(given, known, sizeof *known, function);
    if (status != ACCEL_OK || (known->source.alloc == NULL) == (known->source.free == NULL))
        return status;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the source has %s and no %s",
                       known->source.alloc ? "alloc" : "free",
                       known->source.alloc ? "free" : "alloc");
}

accel_status accel_memory_pool_create(accel_device device, const accel_memory_pool_options *options,
                                      accel_memory_pool **out_pool)
{
    accel_memory_pool_options known = {0};
    accel__device *found = NULL;
    if (out_pool == NULL)
        return accel__fail_null(__func__, "out_pool");
    *out_pool = NULL;
    accel_status status = read_options(options, &known, __func__);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    const accel_memory_pool_id id = {.second = atomic_fetch_add(&last_user_id, 1) + 1};
    return create(found, &known, id, __func__, out_pool);
}

accel_status accel__pool_create_for_graph(accel__device *device, const char *function,
                                          accel_memory_pool **out_pool)
{
    const accel_memory_pool_options none = {0};
    const accel_memory_pool_id id = {.first = atomic_fetch_add(&last_graph_id, 1) + 1};
    *out_pool = NULL;
    return create(device, &none, id, function, out_pool);
}

/* ---- the heap ---- */

/* Called by the heap without locks. */
static void source_free(void *user, void *pointer, size_t size)
{
    const accel_memory_pool *pool = user;
    const accel_memory_source *source = &pool->options.source;
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    source->free(source->user, pool->device->id, pointer, size);
    accel__error_put_back(&aside);
}

/* The same. */
static accel_status source_alloc(void *user, size_t size, size_t alignment, void **out_pointer)
{
    static const char function[] = "accel_memory_alloc";
    const accel_memory_pool *pool = user;
    const accel_memory_source *source = &pool->options.source;
    void *pointer = NULL;
    *out_pointer = NULL;
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    const accel_status status = source->alloc(source->user, pool->device->id, size, alignment,
                                              &pointer);
    accel__error_put_back(&aside);
    if (status != ACCEL_OK || pointer == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, pool->device->backend->table.name, function,
                           "the source of the memory pool (%llu, %llu) gave no %zu bytes",
                           (unsigned long long)pool->id.first, (unsigned long long)pool->id.second,
                           size);
    if ((uintptr_t)pointer % alignment == 0) {
        *out_pointer = pointer;
        return ACCEL_OK;
    }
    source_free(user, pointer, size);
    return accel__fail(
        ACCEL_ERROR_INVALID_STATE, pool->device->backend->table.name, function,
        "the source of the memory pool (%llu, %llu) gave %p, which is not aligned to "
        "%zu bytes",
        (unsigned long long)pool->id.first, (unsigned long long)pool->id.second, pointer,
        alignment);
}

/* NULL: none in this process. */
static accel__heap *heap_now(const accel_memory_pool *pool)
{
    accel__heap *heap = atomic_load_explicit(&pool->heap, memory_order_acquire);
    return heap != NULL && accel__generation_is(pool->generation) ? heap : NULL;
}

static accel_status make_heap(accel_memory_pool *pool, accel__heap **out_heap)
{
    const bool has_source = pool->options.source.alloc != NULL;
    const accel__heap_options options = {
        .pool = pool,
        .no_split = pool->options.no_split,
        .use_on_oom = pool->options.use_on_oom,
        .source_alloc = has_source ? source_alloc : NULL,
        .source_free = has_source ? source_free : NULL,
        .source_user = pool,
        .id = {pool->id.first, pool->id.second},
    };
    accel_status status = ACCEL_OK;
    accel__mutex_lock(&pool->mutex);
    *out_heap = heap_now(pool);
    if (*out_heap == NULL)
        status = accel__heap_create(pool->device, &options, out_heap);
    if (status == ACCEL_OK) {
        pool->generation = accel__generation();
        atomic_store_explicit(&pool->heap, *out_heap, memory_order_release);
    }
    accel__mutex_unlock(&pool->mutex);
    return status;
}

accel_status accel__pool_heap(accel_memory_pool *pool, const char *function, accel__heap **out_heap)
{
    *out_heap = NULL;
    const accel_status status = accel__pool_check(pool, function);
    if (status != ACCEL_OK)
        return status;
    *out_heap = heap_now(pool);
    return *out_heap != NULL ? ACCEL_OK : make_heap(pool, out_heap);
}

/* ---- the end ---- */

/* Gives back what is free. True: that was everything, and the heap is no more. (Who comes so late that the
 * structure is another pool by now finds that in use.) */
static bool end_heap(accel_memory_pool *pool)
{
    accel__heap *heap = heap_now(pool);
    accel__heap_summary summary;
    if (!accel__pool_is_released(pool))
        return false;
    if (heap == NULL)
        return true;
    accel__heap_release(heap, false);
    accel__heap_summarize(heap, &summary);
    if (summary.busy_count != 0 || summary.reserved != 0 || summary.leaving != 0)
        return false;
    atomic_store(&pool->heap, NULL);
    accel__heap_destroy(heap);
    return true;
}

static void finish(accel_memory_pool *pool)
{
    const accel_memory_source source = pool->options.source;
    const bool is_own = accel__generation_is(pool->origin);
    atomic_fetch_sub(&accel__pools_draining, 1);
    pool->is_gone = true;
    put_gone(pool);
    if (source.release == NULL || !is_own)
        return;
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    source.release(source.user);
    accel__error_put_back(&aside);
}

/* The pool is released. One thread works at a time; what happens meanwhile is seen by its next round. */
static void settle(accel_memory_pool *pool)
{
    if (atomic_fetch_add(&pool->settle_calls, 1) != 0)
        return;
    uint32_t seen = 1;
    bool is_over = end_heap(pool);
    while (!is_over && !atomic_compare_exchange_strong(&pool->settle_calls, &seen, 0))
        is_over = end_heap(pool);
    if (is_over)
        finish(pool); /* settle_calls stays: nobody else comes */
}

void accel__pool_settle_slow(const accel__device *device)
{
    accel__error_mute();
    for (accel_memory_pool *pool = every_pool; pool != NULL; pool = pool->next)
        if (!pool->is_gone && accel__pool_is_released(pool) &&
            (device == NULL || device == pool->device))
            settle(pool);
    accel__error_unmute();
}

accel_status accel_memory_pool_retain(accel_memory_pool *pool)
{
    accel_status status = accel__pool_check(pool, __func__);
    uint32_t seen = status == ACCEL_OK ? atomic_load(&pool->uses) : 0;
    while (status == ACCEL_OK && !atomic_compare_exchange_weak(&pool->uses, &seen, seen + 1))
        if (seen == 0)
            status = fail_pool(pool, __func__);
    return status;
}

/* One reference less; false: there was none. *out_last: it was the last one. */
static bool drop_use(accel_memory_pool *pool, bool *out_last)
{
    uint32_t seen = pool->uses;
    while (seen != 0 && !atomic_compare_exchange_weak(&pool->uses, &seen, seen - 1))
        continue;
    *out_last = seen == 1;
    return seen != 0;
}

accel_status accel_memory_pool_release(accel_memory_pool *pool)
{
    bool is_last = false;
    if (pool == NULL)
        return ACCEL_OK;
    if (!is_a_pool(pool))
        return fail_pool(pool, __func__);
    /* Counted before it can be seen as released, so that nobody who frees a block of it then looks away. */
    atomic_fetch_add(&accel__pools_draining, 1);
    const bool is_dropped = drop_use(pool, &is_last);
    if (!is_last)
        atomic_fetch_sub(&accel__pools_draining, 1);
    if (!is_dropped)
        return fail_pool(pool, __func__);
    accel__error_mute();
    if (is_last && accel__callback_depth == 0) /* else the next occasion does */
        settle(pool);
    accel__error_unmute();
    return ACCEL_OK;
}

/* ---- questions ---- */

accel_status accel_memory_pool_get_device(const accel_memory_pool *pool, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = accel__pool_check(pool, __func__);
    if (status == ACCEL_OK)
        *out_device = pool->device->id;
    return status;
}

accel_status accel_memory_pool_get_id(const accel_memory_pool *pool, accel_memory_pool_id *out_id)
{
    if (out_id == NULL)
        return accel__fail_null(__func__, "out_id");
    *out_id = (accel_memory_pool_id){0};
    const accel_status status = accel__pool_check(pool, __func__);
    if (status == ACCEL_OK)
        *out_id = pool->id;
    return status;
}

accel_status accel_memory_pool_get_use_count(const accel_memory_pool *pool, uint32_t *out_use_count)
{
    if (out_use_count == NULL)
        return accel__fail_null(__func__, "out_use_count");
    *out_use_count = 0;
    if (!is_a_pool(pool))
        return fail_pool(pool, __func__);
    *out_use_count = pool->uses;
    return ACCEL_OK;
}

accel_status accel_memory_pool_trim(accel_memory_pool *pool, size_t *out_size)
{
    if (out_size != NULL)
        *out_size = 0;
    accel_status status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__pool_check(pool, __func__);
    if (status != ACCEL_OK)
        return status;
    if (accel__backend_is_forked(pool->device->backend))
        return accel__fail_forked(pool->device->backend, __func__);
    accel__heap *heap = heap_now(pool);
    if (heap == NULL || !accel__pool_may_release(pool))
        return ACCEL_OK;
    const size_t size = accel__heap_release(heap, false);
    if (out_size != NULL)
        *out_size = size;
    return ACCEL_OK;
}

/* ---- scopes ---- */

_Thread_local accel_memory_pool_scope *accel__pool_scope;

accel_memory_pool *accel__pool_routed_slow(const accel__device *device)
{
    const accel_memory_pool_scope *scope = accel__pool_scope;
    while (scope != NULL && scope->pool->device != device)
        scope = scope->outer;
    return scope != NULL ? scope->pool : NULL;
}

accel_status accel_memory_pool_scope_begin(accel_memory_pool *pool,
                                           accel_memory_pool_scope *out_scope)
{
    if (out_scope == NULL)
        return accel__fail_null(__func__, "out_scope");
    *out_scope = (accel_memory_pool_scope){0};
    const accel_status status = accel_memory_pool_retain(pool);
    if (status != ACCEL_OK)
        return accel__error_met_by(status, __func__);
    out_scope->pool = pool;
    out_scope->outer = accel__pool_scope;
    accel__pool_scope = out_scope;
    accel__cache_review_mine();
    return ACCEL_OK;
}

static bool is_open_here(const accel_memory_pool_scope *scope)
{
    const accel_memory_pool_scope *open = accel__pool_scope;
    while (open != NULL && open != scope)
        open = open->outer;
    return open != NULL;
}

void accel_memory_pool_scope_end(accel_memory_pool_scope *scope)
{
    if (scope == NULL || scope->pool == NULL || !is_open_here(scope))
        return;
    bool is_last = false;
    while (!is_last) {
        accel_memory_pool_scope *inner = accel__pool_scope;
        accel_memory_pool *pool = inner->pool;
        is_last = inner == scope;
        accel__pool_scope = inner->outer;
        *inner = (accel_memory_pool_scope){0};
        (void)accel_memory_pool_release(pool);
    }
    accel__cache_review_mine();
}
