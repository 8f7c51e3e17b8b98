/* host_segment.c: where blocks of pinned memory come from: the lists of the classes, segments, the driver. */
#include "base/allocate.h"
#include "base/error.h"
#include "memory/host/host_cache.h"
#include "platform/clock.h"

/* How many free blocks are looked at for one that is aligned to more than its class promises. */
enum { LOOKS = 32 };

/* ---- lists; with the lock ---- */

static void list_idle(accel__host_cache *cache, accel__host_segment *segment)
{
    segment->is_idle = true;
    segment->idle_after = NULL;
    segment->idle_before = cache->idle_last;
    if (cache->idle_last != NULL)
        cache->idle_last->idle_after = segment;
    else
        cache->idle_first = segment;
    cache->idle_last = segment;
    cache->cached_bytes += segment->size;
}

static void unlist_idle(accel__host_cache *cache, accel__host_segment *segment)
{
    segment->is_idle = false;
    if (segment->idle_before != NULL)
        segment->idle_before->idle_after = segment->idle_after;
    else
        cache->idle_first = segment->idle_after;
    if (segment->idle_after != NULL)
        segment->idle_after->idle_before = segment->idle_before;
    else
        cache->idle_last = segment->idle_before;
    cache->cached_bytes -= segment->size;
}

static void list_block(accel__host_cache *cache, accel__host_block *block)
{
    accel__host_block **first = &cache->classes[block->segment->class_index];
    block->before = NULL;
    block->after = *first;
    if (*first != NULL)
        (*first)->before = block;
    *first = block;
}

static void unlist_block(accel__host_cache *cache, accel__host_block *block)
{
    if (block->before != NULL)
        block->before->after = block->after;
    else
        cache->classes[block->segment->class_index] = block->after;
    if (block->after != NULL)
        block->after->before = block->before;
    block->before = block->after = NULL;
}

static void list_open(accel__host_cache *cache, accel__host_segment *segment)
{
    segment->next_open = cache->open[segment->class_index];
    cache->open[segment->class_index] = segment;
}

static void unlist_open(accel__host_cache *cache, const accel__host_segment *segment)
{
    accel__host_segment **link = &cache->open[segment->class_index];
    while (*link != NULL && *link != segment)
        link = &(*link)->next_open;
    if (*link == segment)
        *link = segment->next_open;
}

/* ---- structures of blocks; with the lock ---- */

static accel__host_block *draw(accel__host_cache *cache)
{
    accel__host_block *block = cache->spare;
    if (block == NULL)
        return accel__allocate(sizeof *block);
    cache->spare = block->after;
    block->after = NULL;
    return block;
}

static void put_aside(accel__host_cache *cache, accel__host_block *block)
{
    block->before = NULL;
    block->after = cache->spare;
    cache->spare = block;
}

/* The next block of the segment gets a structure; NULL: no memory. */
static accel__host_block *make_block(accel__host_cache *cache, accel__host_segment *segment)
{
    accel__host_block *block = draw(cache);
    if (block == NULL)
        return NULL;
    const uintptr_t begin = (uintptr_t)segment->pointer + segment->made * segment->block_size;
    block->segment = segment;
    block->size = segment->block_size;
    block->generation = cache->generation;
    accel__range_set_begin(&block->range, begin);
    accel__range_set_size(&block->range, segment->block_size);
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    accel__range_set(&block->range, cache->device, ACCEL_MEMORY_KIND_PINNED, NULL);
    accel__range_set_owner(&block->range, ACCEL__RANGE_OF_HOST);
    if (accel__pointers_enter(&block->range) != ACCEL_OK) {
        put_aside(cache, block);
        return NULL;
    }
    block->sibling = segment->blocks;
    segment->blocks = block;
    segment->made++;
    accel__host_stat_add(&cache->figures.allocations, 1);
    accel__host_stat_add(&cache->figures.allocated_bytes, block->size);
    return block;
}

static void end_block(accel__host_cache *cache, accel__host_block *block)
{
    unlist_block(cache, block);
    accel__pointers_leave(&block->range);
    accel__host_stat_take(&cache->figures.allocations, 1);
    accel__host_stat_take(&cache->figures.allocated_bytes, block->size);
    put_aside(cache, block);
}

/* ---- taking and putting; with the lock ---- */

static void make_busy(accel__host_cache *cache, accel__host_block *block)
{
    if (block->segment->is_idle)
        unlist_idle(cache, block->segment);
    block->segment->busy++;
}

/* The smallest of the class that is large enough and not too large. */
static accel__host_block *find_in_class(const accel__host_cache *cache, unsigned class_index,
                                        size_t size, size_t alignment)
{
    accel__host_block *best = NULL;
    int looks = 0;
    for (accel__host_block *block = cache->classes[class_index]; block != NULL && looks < LOOKS;
         block = block->after, looks++) {
        if (block->size < size || block->size > accel__host_class_most(size) ||
            accel__range_begin(&block->range) % alignment != 0)
            continue;
        if (best == NULL || block->size < best->size)
            best = block;
        if (best->size == size)
            break;
    }
    return best;
}

static accel__host_block *take_cached(accel__host_cache *cache, size_t size, unsigned class_index,
                                      size_t alignment)
{
    const unsigned span = size > ACCEL__HOST_CLASS_EXACT ? ACCEL__HOST_CLASS_SPAN : 0;
    accel__host_block *found = NULL;
    for (unsigned i = class_index; found == NULL && i <= class_index + span; i++)
        if (i < ACCEL__HOST_CLASSES)
            found = find_in_class(cache, i, size, alignment);
    if (found != NULL)
        unlist_block(cache, found);
    return found;
}

static accel__host_block *take_made(accel__host_cache *cache, unsigned class_index)
{
    accel__host_segment *segment = cache->open[class_index];
    accel__host_block *made = segment != NULL ? make_block(cache, segment) : NULL;
    if (made != NULL && segment->made == segment->capacity)
        unlist_open(cache, segment);
    return made;
}

accel__host_block *accel__host_take_locked(accel__host_cache *cache, size_t size,
                                           unsigned class_index, size_t alignment)
{
    accel__host_block *taken = take_cached(cache, size, class_index, alignment);
    if (taken == NULL && alignment <= ACCEL_MEMORY_ALIGNMENT)
        taken = take_made(cache, class_index);
    if (taken != NULL)
        make_busy(cache, taken);
    return taken;
}

void accel__host_put_locked(accel__host_cache *cache, accel__host_block *block)
{
    accel__host_segment *segment = block->segment;
    list_block(cache, block);
    segment->busy--;
    if (segment->busy == 0)
        list_idle(cache, segment);
}

/* ---- the driver; without the lock ---- */

static const accel_backend_pinned *pinned_of(const accel__host_cache *cache)
{
    return &cache->device->backend->table.pinned;
}

static accel_status driver_alloc(accel__host_cache *cache, size_t size, size_t alignment,
                                 void **out_pointer, uint64_t *out_ns)
{
    const uint64_t begin = accel__clock_ns();
    const accel_status status = pinned_of(cache)->alloc(cache->device->native, size, alignment,
                                                        out_pointer);
    *out_ns = accel__clock_ns() - begin;
    return status;
}

static void driver_free(accel__host_cache *cache, void *pointer)
{
    const uint64_t begin = accel__clock_ns();
    pinned_of(cache)->free(cache->device->native, pointer);
    const uint64_t ns = accel__clock_ns() - begin;
    accel__host_lock(cache);
    cache->figures.num_host_free++;
    accel__host_time_add(&cache->figures.host_free_time, ns);
    accel__host_unlock(cache);
}

static void end_segment(accel__host_cache *cache, accel__host_segment *segment)
{
    driver_free(cache, segment->pointer);
    accel__deallocate(segment);
}

static accel__host_segment *describe(size_t size, unsigned class_index, size_t alignment,
                                     bool is_shared)
{
    accel__host_segment *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    made->block_size = size;
    made->class_index = class_index;
    made->capacity = 1;
    if (is_shared && size <= ACCEL__HOST_SHARED_SIZE && alignment <= ACCEL_MEMORY_ALIGNMENT) {
        made->capacity = (unsigned)(ACCEL__HOST_SHARED_SEGMENT / size);
        if (made->capacity < ACCEL__HOST_SHARED_COUNT)
            made->capacity = ACCEL__HOST_SHARED_COUNT;
    }
    made->size = made->block_size * made->capacity;
    return made;
}

/* The segment becomes part of the cache, and its first block busy; NULL: no memory, nothing changed. */
static accel__host_block *adopt(accel__host_cache *cache, accel__host_segment *segment, uint64_t ns)
{
    accel__host_lock(cache);
    segment->cache = cache;
    accel__host_block *first = make_block(cache, segment);
    if (first != NULL) {
        segment->busy = 1;
        if (segment->capacity > 1)
            list_open(cache, segment);
        accel__host_stat_add(&cache->figures.segments, 1);
        accel__host_stat_add(&cache->figures.reserved_bytes, segment->size);
    }
    cache->figures.num_host_alloc++;
    accel__host_time_add(&cache->figures.host_alloc_time, ns);
    accel__host_unlock(cache);
    return first;
}

static accel_status no_structure(const accel__host_cache *cache, const char *function)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, cache->device->backend->table.name, function,
                       "no memory to describe pinned memory");
}

accel_status accel__host_take_new(accel__host_cache *cache, size_t size, unsigned class_index,
                                  size_t alignment, bool is_shared, const char *function,
                                  accel__host_block **out_block)
{
    uint64_t ns = 0;
    *out_block = NULL;
    accel__host_segment *segment = describe(size, class_index, alignment, is_shared);
    if (segment == NULL)
        return no_structure(cache, function);
    const accel_status status = driver_alloc(cache, segment->size, alignment, &segment->pointer,
                                             &ns);
    if (status != ACCEL_OK) {
        accel__deallocate(segment);
        return accel__error_met_by(status, function);
    }
    *out_block = adopt(cache, segment, ns);
    if (*out_block != NULL)
        return ACCEL_OK;
    end_segment(cache, segment);
    return no_structure(cache, function);
}

/* With the lock: out of everything. Returned for the driver. */
static accel__host_segment *detach_oldest(accel__host_cache *cache)
{
    accel__host_segment *segment = cache->idle_first;
    unlist_idle(cache, segment);
    if (segment->made < segment->capacity)
        unlist_open(cache, segment);
    while (segment->blocks != NULL) {
        accel__host_block *block = segment->blocks;
        segment->blocks = block->sibling;
        end_block(cache, block);
    }
    accel__host_stat_take(&cache->figures.segments, 1);
    accel__host_stat_take(&cache->figures.reserved_bytes, segment->size);
    return segment;
}

size_t accel__host_give_back(accel__host_cache *cache, size_t keep)
{
    size_t given = 0;
    for (;;) {
        accel__host_lock(cache);
        accel__host_segment *segment = cache->cached_bytes > keep ? detach_oldest(cache) : NULL;
        accel__host_unlock(cache);
        if (segment == NULL)
            return given;
        given += segment->size;
        end_segment(cache, segment);
    }
}
