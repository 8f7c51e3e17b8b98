/* debug.c: see debug.h. Everything here may be slow, and waits where it must. */
#include "memory/debug.h"

#include <string.h>
#include <time.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/log.h"
#include "core/capture.h"
#include "core/device.h"
#include "memory/marks.h"

enum {
    CANARY = 0xcb,
    CANARY_SIZE = 512, /* on each side */
    POISON_NEW = 0xa5, /* also in the documentation */
    POISON_FREED = 0xdd,
    NAPS = 2500, /* of a tenth of a millisecond, for streams that use the memory */
    NAP_NS = 100000
};

/* The memory of the structures stays theirs as long as the process lives: readers of the address map may
 * look at one at any time. */
typedef struct guarded {
    accel__range range; /* first: the map hands it back */
    accel__mark home;   /* streams that use it; under the mutex while it is live */
    void *inner;        /* the allocation that it lies in */
    uint32_t generation;
    struct guarded *next; /* among the spare ones */
} guarded;

/* Guards the spare ones, and marks of live ranges. A leaf. A child abandons its parent's. */
static accel__mutex mutex;
static uint32_t spare_generation;
static guarded *spare;

static void lock(void)
{
    accel__mutex_lock(&mutex);
    if (!accel__generation_is(spare_generation)) {
        spare = NULL;
        spare_generation = accel__generation();
    }
}

static guarded *draw(void)
{
    lock();
    guarded *found = spare;
    if (found != NULL)
        spare = found->next;
    accel__mutex_unlock(&mutex);
    return found != NULL ? found : accel__allocate(sizeof *found);
}

static void put_aside(guarded *memory)
{
    lock();
    memory->next = spare;
    spare = memory;
    accel__mutex_unlock(&mutex);
}

/* ---- reaching the memory ---- */

static bool host_reaches(const accel__device *device, accel_memory_kind kind)
{
    return kind == ACCEL_MEMORY_KIND_PINNED ||
           (device->backend->table.flags & ACCEL_BACKEND_HOST_ACCESS) != 0;
}

/* In the order of the stream; what cannot be queued now (in a callback, in a capture) is left out. Pinned
 * memory is idle when it is handed out, so the host writes at once. */
static accel_status fill(accel_stream *stream, accel_memory_kind kind, void *begin, int byte,
                         size_t size)
{
    const unsigned char pattern = (unsigned char)byte;
    accel_native_stream *native = NULL;
    if (kind == ACCEL_MEMORY_KIND_PINNED)
        memset(begin, byte, size);
    else if (accel__stream_is_ready(stream, &native))
        return stream->backend->table.memory.fill(native, begin, &pattern, 1, size);
    return ACCEL_OK;
}

/* False: work is still pending after a quarter of a second. What the program itself holds up, by a lock or
 * an event that it sets later, must not hold up the allocator for ever. */
static bool wait_a_while(accel__mark *first)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    accel__marks_set(first);
    for (int i = 0; i < NAPS && !accel__marks_passed(first); i++)
        (void)nanosleep(&nap, NULL);
    return accel__marks_passed(first);
}

/* New memory. Where the host reaches it the program may write to it at once, so the fill must be over. */
static accel_status fill_new(accel_stream *stream, accel_memory_kind kind, void *begin, size_t size)
{
    accel__mark mark;
    const accel_status status = fill(stream, kind, begin, POISON_NEW, size);
    if (status != ACCEL_OK || kind == ACCEL_MEMORY_KIND_PINNED ||
        !host_reaches(stream->device, kind))
        return status;
    accel__marks_begin(&mark, stream);
    (void)wait_a_while(&mark);
    accel__marks_end(&mark);
    return ACCEL_OK;
}

/* The streams have passed. False: the memory could not be read. */
static bool read_back(accel_stream *stream, accel_memory_kind kind, const void *begin,
                      unsigned char *buffer, size_t size)
{
    accel_native_stream *native = NULL;
    const accel_backend_table *table = &stream->backend->table;
    if (host_reaches(stream->device, kind)) {
        memcpy(buffer, begin, size);
        return true;
    }
    const accel_backend_copy copy = {.destination = buffer,
                                     .source = begin,
                                     .destination_pitch = size,
                                     .source_pitch = size,
                                     .width = size,
                                     .height = 1,
                                     .direction = ACCEL_COPY_DIRECTION_DEVICE_TO_HOST};
    return accel__stream_is_ready(stream, &native) &&
           table->memory.copy(native, &copy) == ACCEL_OK &&
           table->stream.synchronize(native) == ACCEL_OK;
}

/* ---- making ---- */

static accel_status no_structure(const accel_stream *stream)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name,
                       "accel_memory_alloc", "no memory to guard an allocation");
}

static size_t lead_of(const accel_memory_options *options)
{
    return options->alignment > CANARY_SIZE ? options->alignment : CANARY_SIZE;
}

static accel_status enter(accel_stream *stream, size_t size, const accel_memory_options *options,
                          void *inner, void **out_pointer)
{
    unsigned char *begin = (unsigned char *)inner + lead_of(options);
    guarded *made = draw();
    if (made == NULL)
        return no_structure(stream);
    made->inner = inner;
    made->generation = accel__generation();
    accel__range_set_begin(&made->range, (uintptr_t)begin);
    accel__range_set_size(&made->range, size);
    accel__range_set_owner(&made->range, ACCEL__RANGE_OF_GUARD);
    accel__range_set(&made->range, stream->device, options->kind, stream);
    accel__marks_begin(&made->home, stream);
    accel_status status = fill(stream, options->kind, begin - CANARY_SIZE, CANARY, CANARY_SIZE);
    if (status == ACCEL_OK)
        status = fill(stream, options->kind, begin + size, CANARY, CANARY_SIZE);
    if (status == ACCEL_OK && accel__pointers_enter(&made->range) != ACCEL_OK)
        status = no_structure(stream);
    if (status != ACCEL_OK) {
        accel__marks_end(&made->home);
        put_aside(made);
        return status;
    }
    accel__range_set_state(&made->range, ACCEL__RANGE_LIVE);
    *out_pointer = begin;
    return ACCEL_OK;
}

static accel_status guarded_alloc(accel_stream *stream, size_t size,
                                  const accel_memory_options *options, accel__plain_alloc plain,
                                  void **out_pointer)
{
    size_t whole = 0;
    if (__builtin_add_overflow(size, lead_of(options) + CANARY_SIZE, &whole))
        whole = SIZE_MAX; /* refused by the plain way, with its message */
    void *inner = NULL;
    accel_status status = plain(stream, whole, options, &inner);
    if (status == ACCEL_OK && accel__config_get()->poison)
        status = fill_new(stream, options->kind, inner, whole);
    if (status == ACCEL_OK)
        status = enter(stream, size, options, inner, out_pointer);
    if (status != ACCEL_OK && inner != NULL)
        (void)accel_memory_free(inner);
    return status;
}

accel_status accel__debug_alloc(accel_stream *stream, size_t size,
                                const accel_memory_options *options, accel__plain_alloc plain,
                                void **out_pointer)
{
    const accel__config *config = accel__config_get();
    accel_native_stream *native = NULL;
    *out_pointer = NULL;
    if (config->guard && accel__stream_is_ready(stream, &native))
        return guarded_alloc(stream, size, options, plain, out_pointer);
    accel_status status = plain(stream, size, options, out_pointer);
    if (status != ACCEL_OK || !config->poison)
        return status;
    status = fill_new(stream, options->kind, *out_pointer, size);
    if (status == ACCEL_OK)
        return ACCEL_OK;
    (void)accel_memory_free(*out_pointer);
    *out_pointer = NULL;
    return status;
}

/* ---- looking ---- */

static accel_status corrupted(const guarded *memory, const char *side, size_t distance,
                              long long offset, unsigned byte)
{
    return accel__fail(ACCEL_ERROR_CORRUPTED,
                       accel__range_device(&memory->range)->backend->table.name,
                       "accel_memory_free",
                       "the memory of %zu bytes at %p was written to outside: byte %zu %s (offset "
                       "%lld) is 0x%02x now",
                       accel__range_size(&memory->range),
                       (void *)accel__range_begin(&memory->range), distance, side, offset, byte);
}

/* The byte nearest to the memory that is not as it was. */
static accel_status look_at(const guarded *memory, const unsigned char *before,
                            const unsigned char *behind)
{
    const size_t size = accel__range_size(&memory->range);
    for (size_t i = 0; i < CANARY_SIZE; i++)
        if (behind[i] != CANARY)
            return corrupted(memory, "behind its end", i + 1, (long long)size + (long long)i,
                             behind[i]);
    for (size_t i = 1; i <= CANARY_SIZE; i++)
        if (before[CANARY_SIZE - i] != CANARY)
            return corrupted(memory, "before its begin", i, -(long long)i, before[CANARY_SIZE - i]);
    return ACCEL_OK;
}

static bool may_look(guarded *memory)
{
    if (wait_a_while(&memory->home))
        return true;
    accel__log(ACCEL_LOG_LEVEL_WARNING, accel__range_device(&memory->range)->backend->table.name,
               "guard: work on the memory of %zu bytes at %p did not end within a quarter of a "
               "second of its free: its canaries were not looked at",
               accel__range_size(&memory->range), (void *)accel__range_begin(&memory->range));
    return false;
}

static accel_status look(guarded *memory)
{
    unsigned char before[CANARY_SIZE];
    unsigned char behind[CANARY_SIZE];
    accel_stream *home = memory->home.stream;
    accel_native_stream *native = NULL;
    const unsigned char *begin = (const unsigned char *)accel__range_begin(&memory->range);
    const accel_memory_kind kind = memory->range.kind;
    bool is_done = false;
    if (!accel__stream_is_ready(home, &native) || !may_look(memory))
        return ACCEL_OK;
    accel__error_mute();
    /* A stream that failed may have passed over the canaries. */
    const bool is_read = home->backend->table.stream.query(native, &is_done) == ACCEL_OK &&
                         read_back(home, kind, begin - CANARY_SIZE, before, CANARY_SIZE) &&
                         read_back(home, kind, begin + accel__range_size(&memory->range), behind,
                                   CANARY_SIZE);
    accel__error_unmute();
    return is_read ? look_at(memory, before, behind) : ACCEL_OK;
}

accel_status accel__debug_free(accel__range *range, accel_status (*plain)(void *pointer))
{
    guarded *memory = (guarded *)range;
    uint32_t live = ACCEL__RANGE_LIVE;
    lock(); /* accel__debug_record adds to a live range only */
    const bool is_mine = atomic_compare_exchange_strong(&range->state, &live, ACCEL__RANGE_PENDING);
    accel__mutex_unlock(&mutex);
    if (!is_mine)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (!accel__generation_is(memory->generation))
        return ACCEL_OK; /* the parent's, as what it lies in */
    const accel_status status = look(memory);
    void *inner = memory->inner;
    accel__pointers_leave(range);
    accel__marks_end(&memory->home);
    put_aside(memory);
    const accel_status freed = plain(inner);
    return status != ACCEL_OK ? status : freed;
}

accel_status accel__debug_record(accel__range *range, accel_stream *stream, const char *function,
                                 void **out_inner)
{
    guarded *memory = (guarded *)range;
    *out_inner = memory->inner;
    accel__mark *mark = accel__mark_create(stream);
    if (mark == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name, function,
                           "no memory to note the use of a stream");
    lock();
    const bool is_live = accel__range_state_of(range) == ACCEL__RANGE_LIVE;
    const bool is_added = is_live && accel__marks_add(&memory->home, mark);
    accel__mutex_unlock(&mutex);
    if (!is_added)
        accel__mark_release(mark);
    return is_live ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT;
}

void accel__debug_poison(const accel__range *range)
{
    accel_stream *home = accel__range_home(range);
    if (!accel__config_get()->poison || range->kind != ACCEL_MEMORY_KIND_DEVICE)
        return;
    accel__error_mute();
    (void)fill(home, ACCEL_MEMORY_KIND_DEVICE, (void *)accel__range_begin(range), POISON_FREED,
               accel__range_size(range));
    accel__error_unmute();
}
