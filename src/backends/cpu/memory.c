/* memory.c: see memory.h. Device memory is host memory. */
#include "backends/cpu/memory.h"

#include <string.h>

#include "backends/cpu/queue/stream.h"
#include "backends/cpu/workers/execute.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/pool.h"
#include "base/error.h"
#include "platform/machine.h"
#include "platform/pages.h"

enum {
    CHECKED_SIZE = 64 * 1024 * 1024, /* allocations that are compared with what there is */
    SHARED_SIZE = 512 * 1024,        /* a copy that threads share */
    PIECE_SIZE = 64 * 1024
};

static accel_status out_of_memory(size_t size)
{
    uint64_t available = 0;
    uint64_t total = 0;
    accel__machine_memory(&available, &total);
    return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, "cpu", "accel_memory_alloc",
                       "no memory for %zu bytes (%llu of %llu are free)", size,
                       (unsigned long long)available, (unsigned long long)total);
}

accel_status accel__cpu_memory_alloc(accel_native_device *device, size_t size, size_t alignment,
                                     void **out_pointer)
{
    uint64_t available = 0;
    uint64_t total = 0;
    (void)device;
    *out_pointer = NULL;
    /* The system would promise more than there is, and end the process at the first touch. */
    if (size < CHECKED_SIZE || !accel__machine_memory(&available, &total) || size <= total)
        *out_pointer = accel__pages_allocate(size, alignment);
    return *out_pointer != NULL ? ACCEL_OK : out_of_memory(size);
}

void accel__cpu_memory_free(accel_native_device *device, void *pointer)
{
    (void)device;
    accel__pages_free(pointer);
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

static void copy_rows(const accel__cpu_copy_op *copy, size_t first, size_t last)
{
    unsigned char *destination = (unsigned char *)copy->destination +
                                 first * copy->destination_pitch;
    const unsigned char *source = (const unsigned char *)copy->source + first * copy->source_pitch;
    for (size_t row = first; row < last; row++) {
        memcpy(destination, source, copy->width);
        destination += copy->destination_pitch;
        source += copy->source_pitch;
    }
}

/* A large copy is a kernel whose blocks are pieces, each of the same number of rows or of bytes. */
typedef struct piece_op {
    accel__cpu_copy_op copy;
    size_t piece; /* rows, or bytes where there is one row */
} piece_op;

static const char *copy_pieces(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    const piece_op *op = launch->arguments[0];
    const size_t whole = op->copy.height > 1 ? op->copy.height : op->copy.width;
    const size_t begin = (size_t)first * op->piece;
    const size_t end = last * op->piece < whole ? (size_t)last * op->piece : whole;
    if (op->copy.height > 1)
        copy_rows(&op->copy, begin, end);
    else
        memcpy((char *)op->copy.destination + begin, (const char *)op->copy.source + begin,
               end - begin);
    return NULL;
}

static const accel_param piece_params[] = {
    {.name = "op", .kind = ACCEL_PARAM_KIND_VALUE, .lanes = 1, .size = sizeof(piece_op)}};
static const accel_cpu_kernel piece_kernel = {
    .name = "copy", .function = copy_pieces, .params = piece_params, .param_count = 1};
static const uint32_t piece_offsets[] = {0};
static accel__cpu_native_function piece_function = {.kernel = &piece_kernel,
                                                    .offsets = piece_offsets};

static void copy_shared(accel__cpu_executor *executor, accel__cpu_queue *queue,
                        const accel__cpu_copy_op *copy)
{
    const size_t unit = copy->height > 1 ? copy->width : 1;
    const piece_op pieces = {.copy = *copy, .piece = (PIECE_SIZE + unit - 1) / unit};
    const size_t whole = copy->height > 1 ? copy->height : copy->width;
    const accel__cpu_launch_op op = {.function = &piece_function,
                                     .grid = {(whole + pieces.piece - 1) / pieces.piece, 1, 1},
                                     .block = {1, 1, 1}};
    accel__cpu_job job = {.op = &op,
                          .arguments = (const unsigned char *)&pieces,
                          .block_count = op.grid[0],
                          .thread_count = accel__cpu_thread_count(),
                          .is_measured = true};
    accel__cpu_job_run(executor, queue, &job); /* needs no memory, so it does not fail */
}

void accel__cpu_copy_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                             const accel__cpu_copy_op *copy)
{
    accel__cpu_copy_op whole = *copy;
    if (copy->destination_pitch == copy->width && copy->source_pitch == copy->width) {
        whole.width *= copy->height;
        whole.height = 1;
    }
    if (whole.width * whole.height >= SHARED_SIZE)
        copy_shared(executor, queue, &whole);
    else
        copy_rows(&whole, 0, whole.height);
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
