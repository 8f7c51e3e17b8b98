/* memory.c: see memory.h. Device memory is host memory. What comes before each allocation says how to
 * give it back; large ones are mapped, so that they cost nothing until they are touched, and lie on huge
 * pages where the system has them. */
#include "backends/cpu/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/device.h"
#include "backends/cpu/execute.h"
#include "backends/cpu/stream.h"
#include "base/allocate.h"
#include "base/error.h"
#include "platform/calls.h"

enum { MAPPED_SIZE = 128 * 1024, HUGE_PAGE = 2 * 1024 * 1024 };

typedef struct header {
    void *base;
    size_t mapped_size; /* 0: from accel__allocate_aligned */
} header;

static header *header_of(void *pointer)
{
    return (header *)pointer - 1;
}

static accel_status out_of_memory(size_t size)
{
    size_t available = 0;
    size_t total = 0;
    accel__cpu_memory_info(0, &available, &total);
    return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, "cpu", "accel_memory_alloc",
                       "no memory for %zu bytes (%zu of %zu are free)", size, available, total);
}

/* Room for `size` bytes at `alignment`, and for the header before them. NULL: no memory. */
static void *obtain(size_t size, size_t alignment)
{
    const bool is_mapped = size >= MAPPED_SIZE;
    const size_t least = size >= HUGE_PAGE ? HUGE_PAGE : 64;
    const size_t aligned = alignment < least ? least : alignment;
    size_t whole = 0;
    if (__builtin_add_overflow(size, aligned + sizeof(header), &whole) || whole > PTRDIFF_MAX)
        return NULL;
    void *base = is_mapped ? accel__platform.map(NULL, whole, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                           : accel__allocate_aligned(whole, 64);
    if (base == NULL || base == MAP_FAILED)
        return NULL;
    const uintptr_t start = (uintptr_t)base + sizeof(header) + aligned - 1;
    void *pointer = (char *)base + ((start & ~(uintptr_t)(aligned - 1)) - (uintptr_t)base);
    if (size >= HUGE_PAGE)
        madvise(pointer, size, MADV_HUGEPAGE);
    *header_of(pointer) = (header){.base = base, .mapped_size = is_mapped ? whole : 0};
    return pointer;
}

accel_status accel__cpu_memory_alloc(accel_native_device *device, size_t size, size_t alignment,
                                     void **out_pointer)
{
    size_t available = 0;
    size_t total = SIZE_MAX;
    /* The system would promise more than there is, and end the process at the first touch. */
    if (size >= MAPPED_SIZE)
        accel__cpu_memory_info(device->index, &available, &total);
    *out_pointer = size <= total ? obtain(size, alignment) : NULL;
    return *out_pointer != NULL ? ACCEL_OK : out_of_memory(size);
}

void accel__cpu_memory_free(accel_native_device *device, void *pointer)
{
    (void)device;
    const header found = *header_of(pointer);
    if (found.mapped_size != 0)
        accel__platform.unmap(found.base, found.mapped_size);
    else
        accel__deallocate(found.base);
}

/* ---- copies and fills ---- */

accel_status accel__cpu_memory_copy(accel_native_stream *stream, const accel_backend_copy *copy)
{
    static const char function[] = "accel_copy";
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    const accel_status status = accel__cpu_stream_reserve(stream, function, &queue, &ticket);
    if (status != ACCEL_OK)
        return status;
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    slot->op = ACCEL__CPU_OP_COPY;
    slot->copy = (accel__cpu_copy_op){
        .destination = copy->destination,
        .source = copy->source,
        .destination_pitch = copy->destination_pitch,
        .source_pitch = copy->source_pitch,
        .width = copy->width,
        .height = copy->height,
    };
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

void accel__cpu_copy_execute(const accel__cpu_copy_op *copy)
{
    unsigned char *destination = copy->destination;
    const unsigned char *source = copy->source;
    size_t width = copy->width;
    size_t height = copy->height;
    if (height > 1 && copy->destination_pitch == width && copy->source_pitch == width) {
        width *= height;
        height = 1;
    }
    for (size_t row = 0; row < height; row++) {
        memcpy(destination, source, width);
        destination += copy->destination_pitch;
        source += copy->source_pitch;
    }
}

accel_status accel__cpu_memory_fill(accel_native_stream *stream, void *destination,
                                    const void *pattern, size_t pattern_size, size_t size)
{
    static const char function[] = "accel_fill";
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    const accel_status status = accel__cpu_stream_reserve(stream, function, &queue, &ticket);
    if (status != ACCEL_OK)
        return status;
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    slot->op = ACCEL__CPU_OP_FILL;
    slot->fill.destination = destination;
    slot->fill.size = size;
    slot->fill.pattern_size = pattern_size;
    memcpy(slot->fill.pattern, pattern, pattern_size);
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

#define FILL_WITH(type)                                                                            \
    do {                                                                                           \
        type value;                                                                                \
        memcpy(&value, fill->pattern, sizeof value);                                               \
        type *target = fill->destination;                                                          \
        for (size_t i = 0; i < fill->size / sizeof value; i++)                                     \
            target[i] = value;                                                                     \
    } while (0)

void accel__cpu_fill_execute(const accel__cpu_fill_op *fill)
{
    switch (fill->pattern_size) {
    case 1:
        memset(fill->destination, fill->pattern[0], fill->size);
        break;
    case 2:
        FILL_WITH(uint16_t);
        break;
    case 4:
        FILL_WITH(uint32_t);
        break;
    default:
        FILL_WITH(uint64_t);
        break;
    }
}

bool accel__cpu_peer_reachable(accel_native_device *destination, accel_native_device *source)
{
    (void)destination, (void)source;
    return true; /* the devices share the machine's memory */
}

accel_status accel__cpu_peer_copy(accel_native_stream *stream, accel_native_device *destination,
                                  accel_native_device *source, const accel_backend_copy *copy)
{
    (void)destination, (void)source;
    return accel__cpu_memory_copy(stream, copy);
}
