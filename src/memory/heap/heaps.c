/* heaps.c: the heaps of a device: making, finding and ending them. The structures are never freed: whoever
 * walks the list without a lock may come by one that just ended, or that became another pool's, and finds
 * a heap in good order all the same. */
#include "base/allocate.h"
#include "base/error.h"
#include "core/device.h"
#include "memory/device_memory.h"
#include "memory/heap/heap_parts.h"
#include "memory/statistics/statistics.h"

static bool is_here(const accel__heap *heap)
{
    return heap != NULL &&
           accel__generation_is(atomic_load_explicit(&heap->generation, memory_order_acquire)) &&
           !atomic_load_explicit(&heap->is_gone, memory_order_acquire);
}

static accel_status no_host_memory(const accel__device *device)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name,
                       "accel_memory_alloc", "no host memory to keep account of a pool of memory");
}

/* ---- making, with the mutex of the device's memory held ---- */

/* A structure that a pool of this process left behind. */
static accel__heap *find_gone(const accel__device_memory *memory)
{
    accel__heap *heap = memory->heaps;
    while (heap != NULL && !(heap->is_gone && accel__generation_is(heap->generation)))
        heap = heap->next;
    return heap;
}

/* With the lock, by which those see them who come by without having to do with the pool. */
static void set_options(accel__heap *heap, const accel__heap_options *options)
{
    accel__heap_lock(heap);
    heap->options = *options;
    heap->is_closed = false;
    accel__heap_unlock(heap);
}

static accel__heap *make(accel__device_memory *memory, const accel__heap_options *options)
{
    accel__statistics *statistics = accel__statistics_of(memory->device);
    if (statistics == NULL) /* what is not counted at its beginning must not be at its end */
        return NULL;
    accel__heap *heap = options->pool != NULL ? find_gone(memory) : NULL;
    const bool is_new = heap == NULL;
    if (is_new)
        heap = accel__allocate(sizeof *heap);
    if (heap == NULL)
        return NULL;
    if (memory->generation != accel__generation()) {
        memory->generation = accel__generation();
        memory->reserved = 0; /* what a parent reserved is not ours to give back */
        memory->asked = 0;
    }
    if (is_new) {
        heap->device = memory->device;
        heap->statistics = statistics;
    }
    set_options(heap, options);
    atomic_store_explicit(&heap->generation, accel__generation(), memory_order_release);
    if (is_new) {
        heap->next = memory->heaps;
        atomic_store_explicit(&memory->heaps, heap, memory_order_release);
    }
    atomic_store_explicit(&heap->is_gone, false, memory_order_release);
    atomic_store(&accel__stream_unused, accel__lanes_close);
    return heap;
}

static accel__heap *make_default(accel__device_memory *memory)
{
    const accel__heap_options options = {.pool = NULL};
    accel__mutex_lock(&memory->mutex);
    accel__heap *heap = memory->default_heap;
    if (!is_here(heap)) {
        heap = make(memory, &options);
        if (heap != NULL)
            atomic_store_explicit(&memory->default_heap, heap, memory_order_release);
    }
    accel__mutex_unlock(&memory->mutex);
    return heap;
}

/* ---- for others ---- */

static bool is_of(accel__heap *heap, const struct accel_memory_pool *pool)
{
    accel__heap_lock(heap);
    const bool is_its = heap->options.pool == pool;
    accel__heap_unlock(heap);
    return is_its;
}

accel_status accel__heap_of(accel__device *device, struct accel_memory_pool *pool,
                            accel__heap **out_heap)
{
    accel__device_memory *memory = accel__device_memory_of(device);
    *out_heap = NULL;
    if (memory == NULL)
        return no_host_memory(device);
    if (pool != NULL) {
        accel__heap *heap = accel__heap_first(device);
        while (heap != NULL && !is_of(heap, pool))
            heap = accel__heap_next(heap);
        *out_heap = heap;
        return heap != NULL
                   ? ACCEL_OK
                   : accel__fail(ACCEL_ERROR_NOT_FOUND, device->backend->table.name,
                                 "accel_memory_alloc", "the pool has no memory of this device");
    }
    accel__heap *heap = atomic_load_explicit(&memory->default_heap, memory_order_acquire);
    *out_heap = is_here(heap) ? heap : make_default(memory);
    return *out_heap != NULL ? ACCEL_OK : no_host_memory(device);
}

accel_status accel__heap_create(accel__device *device, const accel__heap_options *options,
                                accel__heap **out_heap)
{
    accel__device_memory *memory = accel__device_memory_of(device);
    *out_heap = NULL;
    if (memory == NULL)
        return no_host_memory(device);
    accel__mutex_lock(&memory->mutex);
    *out_heap = make(memory, options);
    accel__mutex_unlock(&memory->mutex);
    return *out_heap != NULL ? ACCEL_OK : no_host_memory(device);
}

void accel__heap_destroy(accel__heap *heap)
{
    accel__device_memory *memory = accel__device_memory_of(heap->device);
    accel__heap_lock(heap); /* who borrows may come by, and would hold a stream here for ever */
    heap->is_closed = true;
    accel__heap_unlock(heap);
    (void)accel__heap_release(heap, true);
    accel__lanes_end(heap);
    accel__segments_end(heap);
    accel__heap_lock(heap);
    accel__block_store_close(&heap->blocks);
    heap->peak_live = 0;
    heap->options = (accel__heap_options){0};
    accel__heap_unlock(heap);
    accel__mutex_lock(&memory->mutex);
    atomic_store_explicit(&heap->is_gone, true, memory_order_release);
    accel__mutex_unlock(&memory->mutex);
}

/* The first of the list from `heap` on that is of this process and not the default one. */
static accel__heap *skip(const accel__device_memory *memory, accel__heap *heap)
{
    while (heap != NULL && (!is_here(heap) || heap == memory->default_heap))
        heap = heap->next;
    return heap;
}

accel__heap *accel__heap_first(const accel__device *device)
{
    const accel__device_memory *memory = accel__device_memory_peek(device);
    if (memory == NULL)
        return NULL;
    accel__heap *heap = atomic_load_explicit(&memory->default_heap, memory_order_acquire);
    return is_here(heap) ? heap : skip(memory, memory->heaps);
}

accel__heap *accel__heap_next(const accel__heap *heap)
{
    const accel__device_memory *memory = accel__device_memory_peek(heap->device);
    return skip(memory, heap == memory->default_heap ? memory->heaps : heap->next);
}
