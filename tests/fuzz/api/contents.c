/* contents.c: steps that write to memory, and look whether what was written is there.
 *
 * A thread keeps for each of its blocks what must be in it. A block is used on one stream at a time: before
 * another one takes it, that one waits for the first, and is recorded with the memory. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static fuzz_block *pick(fuzz_thread *thread)
{
    fuzz_block *block = thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    return block != NULL && block->shadow != NULL ? block : NULL;
}

/* A stream for the block, with a reference, that has passed all its uses: the one of its last use, its home, or
 * another one of its device. */
static bool is_of_device(fuzz_thread *thread, accel_stream *stream, const fuzz_block *block)
{
    accel_device device = {0, 0};
    if (stream != NULL)
        CALL(thread, accel_stream_get_device, stream, &device);
    return device.backend == block->device.backend && device.index == block->device.index;
}

static accel_stream *order(fuzz_thread *thread, fuzz_block *block)
{
    accel_stream *before = block->last != NULL ? block->last : block->home;
    accel_stream *stream = fuzz_take(thread, FUZZ_STREAM);
    if (!is_of_device(thread, stream, block) || draw_chance(&thread->draw, 50)) {
        fuzz_drop(thread, FUZZ_STREAM, stream);
        stream = is_of_device(thread, before, block) ? before : block->home;
        ASK(thread, accel_stream_retain, stream);
    }
    if (before == stream)
        return stream;
    REQUIRE(thread, CALL(thread, accel_stream_wait_stream, stream, before) == ACCEL_OK,
            "a sound stream cannot wait for another");
    REQUIRE(thread, CALL(thread, accel_record_stream, block->pointer, stream) == ACCEL_OK,
            "a stream cannot be recorded");
    return stream;
}

static void used(fuzz_thread *thread, fuzz_block *block, accel_stream *stream)
{
    fuzz_drop(thread, FUZZ_STREAM, block->last);
    block->last = stream; /* the reference goes over */
}

/* Reading memory that holds nothing known is harmless, but told by nobody. */
void fuzz_verify(fuzz_thread *thread, fuzz_block *block)
{
    unsigned char *host = malloc(block->size);
    accel_stream *stream = order(thread, block);
    REQUIRE(thread, host != NULL, "no memory");
    REQUIRE(thread, CALL(thread, accel_copy, host, block->pointer, block->size, stream) == ACCEL_OK,
            "memory cannot be read");
    REQUIRE(thread, CALL(thread, accel_stream_synchronize, stream) == ACCEL_OK, "no end");
    for (size_t i = 0; block->is_known && i < block->size; i++)
        REQUIRE(thread, host[i] == block->shadow[i],
                "byte %zu of %zu is %u, not %u, at %p, of %s memory%s", i, block->size, host[i],
                block->shadow[i], (void *)block->pointer,
                block->kind == ACCEL_MEMORY_KIND_DEVICE ? "device" : "pinned",
                block->is_wrapped ? ", wrapped" : "");
    memcpy(block->shadow, host, block->size);
    block->is_known = true;
    atomic_fetch_add_explicit(&fuzz_shared_page->checked, 1, memory_order_relaxed);
    used(thread, block, stream);
    free(host);
}

static void verify(fuzz_thread *thread)
{
    fuzz_block *block = pick(thread);
    if (block != NULL)
        fuzz_verify(thread, block);
}

static void fill(fuzz_thread *thread)
{
    static const size_t pattern_sizes[] = {1, 2, 4, 8};
    fuzz_block *block = pick(thread);
    if (block == NULL)
        return;
    const uint64_t pattern = draw_bits(&thread->draw);
    const size_t unit = pattern_sizes[draw_below(&thread->draw, 4)];
    const size_t units = block->size / unit;
    const size_t first = draw_chance(&thread->draw, 50)
                             ? 0
                             : draw_below(&thread->draw, (uint32_t)units + 1);
    const size_t count = units - first;
    accel_stream *stream = order(thread, block);
    REQUIRE(thread,
            CALL(thread, accel_fill, block->pointer + first * unit, &pattern, unit, count * unit,
                 stream) == ACCEL_OK,
            "memory cannot be filled");
    for (size_t i = first; i < units; i++)
        memcpy(block->shadow + i * unit, &pattern, unit);
    block->is_known |= first == 0 && units * unit == block->size;
    used(thread, block, stream);
}

/* From host memory that is gone as soon as the stream has passed. */
static void copy_in(fuzz_thread *thread)
{
    fuzz_block *block = pick(thread);
    if (block == NULL)
        return;
    const size_t first = draw_below(&thread->draw, (uint32_t)block->size);
    const size_t size = block->size - first;
    unsigned char *host = malloc(size);
    REQUIRE(thread, host != NULL, "no memory");
    for (size_t i = 0; i < size; i++)
        host[i] = (unsigned char)draw_bits(&thread->draw);
    accel_stream *stream = order(thread, block);
    REQUIRE(thread,
            CALL(thread, accel_copy, block->pointer + first, host, size, stream) == ACCEL_OK,
            "memory cannot be written");
    memcpy(block->shadow + first, host, size);
    block->is_known |= first == 0;
    REQUIRE(thread, CALL(thread, accel_stream_synchronize, stream) == ACCEL_OK, "no end");
    used(thread, block, stream);
    free(host);
}

/* Makes `stream` wait for all uses of `other`, too, and the other way round once `queue` was called: the uses
 * of both blocks then go on behind `stream`. */
static bool join(fuzz_thread *thread, fuzz_block *other, accel_stream *stream)
{
    accel_stream *before = other->last != NULL ? other->last : other->home;
    if (before == stream)
        return true;
    REQUIRE(thread, CALL(thread, accel_stream_wait_stream, stream, before) == ACCEL_OK,
            "a sound stream cannot wait for another");
    return CALL(thread, accel_record_stream, other->pointer, stream) == ACCEL_OK;
}

/* Between two blocks, rows of them or all, perhaps of two devices. */
static void copy_over(fuzz_thread *thread)
{
    fuzz_block *to = pick(thread);
    fuzz_block *from = pick(thread);
    if (to == NULL || from == NULL || to == from || !from->is_known)
        return;
    const size_t least = to->size < from->size ? to->size : from->size;
    const size_t width = 1 + draw_below(&thread->draw, (uint32_t)least);
    const size_t height = draw_chance(&thread->draw, 50) ? 1 : least / width;
    const bool plain = height == 1 && draw_chance(&thread->draw, 50);
    accel_stream *stream = order(thread, to);
    if (!join(thread, from,
              stream)) { /* of another backend: its memory cannot wait for this stream */
        used(thread, to, stream);
        return;
    }
    const accel_status status = plain ? CALL(thread, accel_copy, to->pointer, from->pointer, width,
                                             stream)
                                      : CALL(thread, accel_copy_2d, to->pointer, to->size / height,
                                             from->pointer, from->size / height, width, height,
                                             stream);
    REQUIRE(thread, status == ACCEL_OK || status == ACCEL_ERROR_MISMATCH, "a copy fails: %s",
            accel_last_error_message());
    for (size_t row = 0; status == ACCEL_OK && row < height; row++)
        memcpy(to->shadow + row * (to->size / height), from->shadow + row * (from->size / height),
               width);
    to->is_known |= status == ACCEL_OK && width == to->size;
    ASK(thread, accel_stream_retain, stream);
    used(thread, to, stream);
    used(thread, from, stream);
}

static void bump(fuzz_thread *thread)
{
    fuzz_block *block = pick(thread);
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    accel_kernel *kernel = NULL;
    if (block != NULL && block->kind == ACCEL_MEMORY_KIND_DEVICE && module != NULL &&
        CALL(thread, accel_module_get_kernel, module, "bump", &kernel) == ACCEL_OK) {
        const uint32_t count = (uint32_t)(block->size / sizeof(uint32_t));
        const uint32_t value = (uint32_t)draw_bits(&thread->draw);
        const accel_launch_shape shape = {.grid = {count / 64 + 1, 1, 1}, .block = {64, 1, 1}};
        const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(block->pointer), ACCEL_ARG_VALUE(value),
                                         ACCEL_ARG_VALUE(count)};
        accel_stream *stream = order(thread, block);
        const accel_status status = CALL(thread, accel_kernel_launch, kernel, stream, &shape, args,
                                         3);
        REQUIRE(thread, status == ACCEL_OK || status == ACCEL_ERROR_MISMATCH, "a launch fails: %s",
                accel_last_error_message());
        for (uint32_t i = 0; status == ACCEL_OK && block->is_known && i < count; i++) {
            uint32_t element;
            memcpy(&element, block->shadow + i * sizeof element, sizeof element);
            element += value;
            memcpy(block->shadow + i * sizeof element, &element, sizeof element);
        }
        used(thread, block, stream);
    }
    fuzz_drop(thread, FUZZ_MODULE, module);
}

/* A graph of a fill and some additions, replayed: what it leaves follows from how often that was. */
static void replay(fuzz_thread *thread)
{
    fuzz_block *block = pick(thread);
    if (block == NULL || block->kind != ACCEL_MEMORY_KIND_DEVICE || block->size < 8)
        return;
    const size_t size = block->size / 8 * 8;
    const uint64_t pattern = draw_bits(&thread->draw);
    const size_t half = size / 16 * 8;
    accel_graph *graph = NULL;
    accel_graph_node node = 77;
    if (MAKE(thread, accel_graph_create, &graph, block->device, NULL) != ACCEL_OK)
        return;
    accel_stream *stream = order(thread, block);
    bool is_built = CALL(thread, accel_graph_add_fill, graph, NULL, 0, block->pointer, &pattern, 8,
                         size, &node) == ACCEL_OK;
    if (half != 0) {
        is_built &= CALL(thread, accel_graph_add_copy, graph, &node, 1, block->pointer,
                         block->pointer + half, half, NULL) == ACCEL_OK;
    }
    REQUIRE(thread, is_built, "a graph cannot be built: %s", accel_last_error_message());
    for (uint32_t times = 1 + draw_below(&thread->draw, 3); times > 0; times--)
        REQUIRE(thread, CALL(thread, accel_graph_replay, graph, stream) == ACCEL_OK,
                "a graph cannot be replayed: %s", accel_last_error_message());
    for (size_t i = 0; i < size; i += 8)
        memcpy(block->shadow + i, &pattern, 8);
    block->is_known |= size == block->size;
    used(thread, block, stream);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

static void random_fill(fuzz_thread *thread)
{
    fuzz_block *block = pick(thread);
    uint32_t lowest = 0xff;
    if (block == NULL || block->kind != ACCEL_MEMORY_KIND_DEVICE)
        return;
    accel_stream *stream = order(thread, block);
    const uint32_t most = draw_below(&thread->draw, 200);
    const accel_status status = CALL(thread, accel_random_integers, block->pointer,
                                     ACCEL_DATA_TYPE_U8, block->size, 1, most, NULL, stream);
    /* The default generator's offset may have been set to the end of its range. */
    REQUIRE(thread, status == ACCEL_ERROR_OUT_OF_RANGE || (status == ACCEL_OK) == (most >= 1),
            "numbers from 1 to %u give %s", most, accel_status_name(status));
    used(thread, block, stream);
    if (status != ACCEL_OK)
        return;
    block->is_known = false;
    fuzz_verify(thread, block);
    for (size_t i = 0; i < block->size; i++)
        lowest = block->shadow[i] < 1 || block->shadow[i] > most ? block->shadow[i] : lowest;
    REQUIRE(thread, lowest == 0xff || most == 0xff, "a number from 1 to %u is %u", most, lowest);
}

/* Everything goes, onto scratch memory. */
static void misuse_copies(fuzz_thread *thread)
{
    static const size_t pattern_sizes[] = {1, 2, 4, 8, 0, 3, 16, SIZE_MAX};
    const fuzz_device_state *to = fuzz_good_device(thread);
    const fuzz_device_state *from = fuzz_good_device(thread);
    accel_stream *stream = fuzz_take_stream(thread);
    size_t size = fuzz_size(thread);
    if (size > FUZZ_SCRATCH_SIZE)
        size = FUZZ_SCRATCH_SIZE;
    void *destination = fuzz_scratch(thread, to, &size);
    const void *source = fuzz_scratch(thread, from, &size);
    switch (draw_below(&thread->draw, 3)) {
    case 0:
        CALL(thread, accel_copy, destination, source, size, stream);
        break;
    case 1: {
        const size_t height = draw_chance(&thread->draw, 10) ? SIZE_MAX
                                                             : draw_below(&thread->draw, 9);
        const size_t width = height == 0 || height > 9 ? size : size / height;
        const size_t pitch = draw_chance(&thread->draw, 90) ? width : draw_bits(&thread->draw);
        /* Of plain memory nothing is known, so it gets what it holds only. */
        if (height <= 9 && pitch == width)
            CALL(thread, accel_copy_2d, destination, width, source, width, width, height, stream);
        else
            CALL(thread, accel_copy_2d, to->scratch, pitch, from->scratch, width, width, height,
                 stream);
        break;
    }
    default: {
        const size_t unit = pattern_sizes[draw_below(&thread->draw, 8)];
        CALL(thread, accel_fill, destination, draw_chance(&thread->draw, 95) ? &size : NULL,
             unit <= 8 ? unit : 77, size, stream);
        break;
    }
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

const fuzz_step fuzz_steps_contents[] = {
    {"verify", 12, verify},
    {"fill", 14, fill},
    {"copy in", 8, copy_in},
    {"copy over", 10, copy_over},
    {"bump", 10, bump},
    {"replay onto a block", 3, replay},
    {"random fill", 4, random_fill},
    {"misuse copies", 10, misuse_copies},
    {NULL, 0, NULL},
};
