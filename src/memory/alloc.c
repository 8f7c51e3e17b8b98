/* alloc.c: stream-ordered memory straight from the backend. The caching allocators will come between
 * these functions and the backend; what they promise stays.
 *
 * A freed block whose streams have not passed yet waits in `waiting` with a mark (an event) behind its
 * use on each of them, and goes back to the backend at a later allocation, free or device-wide
 * synchronize that finds all marks passed. Nothing here waits for a stream, but an allocation that would fail without. */
#include <accel/memory.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"
#include "core/options.h"
#include "core/pointers.h"

/* A stream other than the home stream that uses the memory, and the mark behind that use. */
typedef struct use_of {
    struct use_of *next;
    accel_stream *stream;     /* counted */
    bool is_over;             /* the stream was idle at the free */
    accel_native_event *mark; /* recorded at the free; NULL before, or where that failed */
} use_of;

typedef struct allocation {
    accel__range range;                /* first: the pointer map hands it back */
    use_of home;                       /* the home stream, as the first use */
    use_of *uses;                      /* all others */
    _Atomic(struct allocation *) next; /* in the list of blocks that wait for their streams */
} allocation;

/* Blocks that wait. Pushed at the head and unlinked by single stores, so that a forked child finds it
 * whole. The mutex guards changes; a leaf but for event queries. */
static accel__mutex waiting_mutex;
static _Atomic(allocation *) waiting;

/* Structures that are not in use: a reader of the map may still look at one. Guarded by waiting_mutex. */
static _Atomic(allocation *) spare;

static allocation *draw(void)
{
    accel__mutex_lock(&waiting_mutex);
    allocation *found = spare;
    if (found != NULL)
        spare = atomic_load(&found->next);
    accel__mutex_unlock(&waiting_mutex);
    return found != NULL ? found : accel__allocate(sizeof *found);
}

static void put_aside(allocation *block)
{
    accel__mutex_lock(&waiting_mutex);
    block->next = atomic_load(&spare);
    spare = block;
    accel__mutex_unlock(&waiting_mutex);
}

/* ---- giving back ---- */

static const accel_backend_table *table_of(const allocation *block)
{
    return &accel__range_device(&block->range)->backend->table;
}

/* The mark is of the stream's backend, which need not be the memory's. */
static const accel_backend_event *events_of(const use_of *use)
{
    return &use->stream->backend->table.event;
}

/* Whether the stream has passed its use of the block. A mark that fails (the stream failed, or the
 * mark was cut off by a fork) counts as passed: nothing runs there any more. */
static bool use_is_over(const use_of *use)
{
    bool done = false;
    if (use->is_over)
        return true;
    if (use->mark == NULL || accel__backend_is_forked(use->stream->backend))
        return accel__stream_is_idle(use->stream);
    return events_of(use)->query(use->mark, &done) != ACCEL_OK || done;
}

static bool is_idle(const allocation *block)
{
    if (accel__backend_is_forked(accel__range_device(&block->range)->backend))
        return false; /* the parent's: nothing of its driver may be asked here, ever */
    if (!use_is_over(&block->home))
        return false;
    for (const use_of *use = block->uses; use != NULL; use = use->next)
        if (!use_is_over(use))
            return false;
    return true;
}

static void close_use(use_of *use)
{
    if (use->mark != NULL && !accel__backend_is_forked(use->stream->backend))
        events_of(use)->destroy(use->mark);
    accel_stream_release(use->stream);
}

/* Memory back to the backend, block gone. */
static void give_back(allocation *block)
{
    accel__device *device = accel__range_device(&block->range);
    void *pointer = (void *)block->range.begin;
    if (block->range.kind == ACCEL_MEMORY_KIND_PINNED)
        table_of(block)->pinned.free(device->native, pointer);
    else
        table_of(block)->memory.free(device->native, pointer);
    close_use(&block->home);
    while (block->uses != NULL) {
        use_of *use = block->uses;
        block->uses = use->next;
        close_use(use);
        accel__deallocate(use);
    }
    put_aside(block);
}

/* Unlinks one waiting block that is idle; NULL where there is none. */
static allocation *take_idle(void)
{
    accel__mutex_lock(&waiting_mutex);
    _Atomic(allocation *) *link = &waiting;
    while (*link != NULL && !is_idle(*link))
        link = &atomic_load(link)->next;
    allocation *found = *link;
    if (found != NULL)
        *link = atomic_load(&found->next);
    accel__mutex_unlock(&waiting_mutex);
    return found;
}

/* Gives back all that can be. True: something was. */
static bool collect(void)
{
    allocation *found = NULL;
    bool any = false;
    if (atomic_load_explicit(&waiting, memory_order_acquire) == NULL)
        return false;
    accel__error_mute();
    while ((found = take_idle()) != NULL) {
        give_back(found);
        any = true;
    }
    accel__error_unmute();
    return any;
}

static void collect_after_synchronize(void)
{
    collect();
}

/* ---- allocating ---- */

static accel_status from_backend(accel__device *device, const accel_memory_options *options,
                                 size_t size, void **out_pointer)
{
    const accel_backend_table *table = &device->backend->table;
    return options->kind == ACCEL_MEMORY_KIND_PINNED
               ? table->pinned.alloc(device->native, size, options->alignment, out_pointer)
               : table->memory.alloc(device->native, size, options->alignment, out_pointer);
}

/* When memory is short: what has passed is given back; then what is freed but still in use is waited
 * for; only then does the request fail. A first failure that is made good leaves no record. */
static accel_status from_backend_or_wait(accel__device *device, const accel_memory_options *options,
                                         size_t size, void **out_pointer)
{
    collect();
    if (waiting == NULL)
        return from_backend(device, options, size, out_pointer);
    accel__error_mute();
    const accel_status status = from_backend(device, options, size, out_pointer);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY || status == ACCEL_ERROR_OUT_OF_HOST_MEMORY) {
        (void)accel__device_synchronize(device, "accel_memory_alloc"); /* a failed stream is over */
        collect();
    }
    accel__error_unmute();
    return status == ACCEL_OK ? status : from_backend(device, options, size, out_pointer);
}

static accel_status check_options(accel_memory_options *options, size_t size)
{
    static const char function[] = "accel_memory_alloc";
    if (options->kind == ACCEL_MEMORY_KIND_UNKNOWN)
        options->kind = ACCEL_MEMORY_KIND_DEVICE;
    if (options->kind != ACCEL_MEMORY_KIND_DEVICE && options->kind != ACCEL_MEMORY_KIND_PINNED)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "kind %d is neither device nor pinned memory", (int)options->kind);
    const size_t alignment = options->alignment;
    if ((alignment & (alignment - 1)) != 0 || alignment > (size_t)1 << 30)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "alignment %zu is no power of two up to 2^30", alignment);
    if (alignment < ACCEL_MEMORY_ALIGNMENT)
        options->alignment = ACCEL_MEMORY_ALIGNMENT;
    if (size > PTRDIFF_MAX - options->alignment)
        return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, NULL, function,
                           "%zu bytes are more than any device has", size);
    return ACCEL_OK;
}

static accel_status allocate(accel_stream *stream, size_t size, const accel_memory_options *options,
                             void **out_pointer)
{
    accel__device *device = stream->device;
    allocation *block = draw();
    if (block == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name,
                           "accel_memory_alloc", "no host memory to keep account of an allocation");
    const accel_status status = from_backend_or_wait(device, options, size, out_pointer);
    if (status != ACCEL_OK) {
        put_aside(block);
        *out_pointer = NULL;
        return status;
    }
    accel_stream_retain(stream);
    block->home = (use_of){.stream = stream};
    accel__range_set_begin(&block->range, (uintptr_t)*out_pointer);
    accel__range_set_size(&block->range, size);
    accel__range_set(&block->range, device, options->kind, stream);
    if (accel__pointers_enter(&block->range) == ACCEL_OK) {
        accel__range_set_state(&block->range, ACCEL__RANGE_LIVE);
        return ACCEL_OK;
    }
    give_back(block);
    *out_pointer = NULL;
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name,
                       "accel_memory_alloc", "no host memory to keep account of an allocation");
}

accel_status accel_memory_alloc(accel_stream *stream, size_t size,
                                const accel_memory_options *options, void **out_pointer)
{
    if (out_pointer == NULL)
        return accel__fail_null(__func__, "out_pointer");
    *out_pointer = NULL;
    accel_memory_options known = {0};
    accel_native_stream *native = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = check_options(&known, size);
    if (status == ACCEL_OK)
        status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, __func__, &native);
    return status == ACCEL_OK && size != 0 ? allocate(stream, size, &known, out_pointer) : status;
}

/* ---- freeing ---- */

/* Puts a mark behind the use. Without one (no memory, or inside a callback, where some drivers allow
 * no calls) the block waits until the whole stream is idle. */
static void mark_use(use_of *use)
{
    const accel_backend_event *event = events_of(use);
    accel_native_stream *native = use->stream->native;
    use->is_over = accel__stream_is_idle(use->stream);
    if (native == NULL || accel__callback_depth != 0 || use->is_over ||
        event->create(use->stream->device->native, false, &use->mark) != ACCEL_OK)
        return;
    if (event->record(use->mark, native) != ACCEL_OK) {
        event->destroy(use->mark);
        use->mark = NULL;
    }
}

static void wait_or_give_back(allocation *block)
{
    mark_use(&block->home);
    for (use_of *use = block->uses; use != NULL; use = use->next)
        mark_use(use);
    if (is_idle(block)) {
        give_back(block);
        return;
    }
    atomic_store(&accel__after_synchronize, collect_after_synchronize);
    accel__mutex_lock(&waiting_mutex);
    block->next = atomic_load(&waiting);
    waiting = block;
    accel__mutex_unlock(&waiting_mutex);
}

/* Of two that free the same pointer one gets it. */
static accel__range *take_out(const void *pointer)
{
    uint32_t live = ACCEL__RANGE_LIVE;
    accel__range *range = accel__pointers_at(pointer);
    if (range == NULL ||
        !atomic_compare_exchange_strong(&range->state, &live, ACCEL__RANGE_PENDING))
        return NULL;
    accel__pointers_leave(range);
    return range;
}

accel_status accel_memory_free(void *pointer)
{
    if (pointer == NULL)
        return ACCEL_OK;
    accel__range *range = take_out(pointer);
    if (range == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                           "%p is not the start of a live allocation: freed twice, inside a block, "
                           "or not of accel_memory_alloc",
                           pointer);
    if (accel__backend_is_forked(accel__range_device(range)->backend))
        return ACCEL_OK; /* the parent's: nothing of the driver may be touched here */
    accel__error_mute();
    wait_or_give_back((allocation *)range);
    accel__error_unmute();
    if (accel__callback_depth == 0)
        collect();
    return ACCEL_OK;
}

/* ---- use on other streams ---- */

static bool has_use(const allocation *block, const accel_stream *stream)
{
    bool has = block->home.stream == stream;
    for (const use_of *use = block->uses; use != NULL; use = use->next)
        has = has || use->stream == stream;
    return has;
}

/* Takes `made` over, or leaves it where the block has that stream already. */
static accel_status add_use(const void *pointer, use_of **made)
{
    accel_status status = ACCEL_ERROR_INVALID_ARGUMENT;
    accel__mutex_lock(&waiting_mutex);
    allocation *block = (allocation *)accel__pointers_around(pointer);
    if (block != NULL) {
        status = ACCEL_OK;
        if (!has_use(block, (*made)->stream)) {
            (*made)->next = block->uses;
            block->uses = *made;
            *made = NULL;
        }
    }
    accel__mutex_unlock(&waiting_mutex);
    return status;
}

accel_status accel_record_stream(const void *pointer, accel_stream *stream)
{
    if (pointer == NULL)
        return ACCEL_OK;
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status != ACCEL_OK)
        return status;
    use_of *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name, __func__,
                           "no memory to note the use of a stream");
    accel_stream_retain(stream);
    made->stream = stream;
    status = add_use(pointer, &made);
    if (status != ACCEL_OK)
        status = accel__fail(status, NULL, __func__,
                             "%p lies in no allocation of accel_memory_alloc", pointer);
    if (made != NULL) {
        accel_stream_release(stream);
        accel__deallocate(made);
    }
    return status;
}
