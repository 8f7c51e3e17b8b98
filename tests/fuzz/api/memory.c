/* memory.c: steps that allocate, wrap, free, and ask what a pointer is. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* ---- blocks ---- */

static fuzz_block *new_block(fuzz_thread *thread, void *pointer, size_t size,
                             accel_memory_kind kind)
{
    accel_pointer_information info = {.struct_size = sizeof info};
    fuzz_block *block = calloc(1, sizeof *block);
    REQUIRE(thread, block != NULL, "no memory");
    REQUIRE(thread, CALL(thread, accel_pointer_info, pointer, &info) == ACCEL_OK,
            "nothing is told");
    REQUIRE(thread,
            info.base == pointer && info.size == size && info.offset == 0 && info.kind == kind,
            "memory of %zu bytes and kind %d is told to be of %zu and %d", size, (int)kind,
            info.size, (int)info.kind);
    REQUIRE(thread, fuzz_state_of(info.device) != NULL, "memory is of no known device");
    *block = (fuzz_block){.pointer = pointer,
                          .size = size,
                          .kind = kind,
                          .device = info.device,
                          .home = info.home_stream};
    ASK(thread, accel_stream_retain, block->home);
    if (size <= FUZZ_SHADOW_MAX)
        block->shadow = malloc(size);
    return block;
}

static void count_live(const fuzz_block *block, int64_t sign)
{
    fuzz_device_state *device = fuzz_state_of(block->device);
    if (block->is_wrapped || block->kind != ACCEL_MEMORY_KIND_DEVICE || device == NULL)
        return;
    atomic_fetch_add(&device->live, sign);
    atomic_fetch_add(&device->bytes, sign * (int64_t)block->size);
}

fuzz_block *fuzz_make_block(fuzz_thread *thread, accel_stream *stream, size_t size,
                            accel_memory_kind kind)
{
    void *pointer = NULL;
    const accel_memory_options options = {.struct_size = sizeof options, .kind = kind};
    if (MAKE(thread, accel_memory_alloc, &pointer, stream, size, &options) != ACCEL_OK)
        return NULL;
    fuzz_block *block = new_block(thread, pointer, size, kind);
    count_live(block, 1);
    return block;
}

void fuzz_free_block(fuzz_thread *thread, fuzz_block *block)
{
    if (block == NULL)
        return;
    count_live(block, -1);
    REQUIRE(thread, CALL(thread, accel_memory_free, block->pointer) == ACCEL_OK,
            "live memory cannot be freed");
    ASK(thread, accel_stream_release, block->home);
    ASK(thread, accel_stream_release, block->last);
    free(block->shadow);
    free(block);
}

void fuzz_free_blocks(fuzz_thread *thread)
{
    for (int i = 0; i < FUZZ_BLOCKS_MAX; i++) {
        fuzz_free_block(thread, thread->blocks[i]);
        thread->blocks[i] = NULL;
    }
}

/* ---- allocating ---- */

static void allocate(fuzz_thread *thread)
{
    static const size_t alignments[] = {0, 1, 512, 4096, 1 << 21, 3, SIZE_MAX, (size_t)1 << 31};
    accel_memory_pool *pool = draw_chance(&thread->draw, 25) ? fuzz_take(thread, FUZZ_POOL) : NULL;
    accel_stream *stream = fuzz_take_stream(thread);
    fuzz_block **slot = &thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    const accel_memory_options options = {
        .struct_size = draw_chance(&thread->draw, 98) ? sizeof options : 2,
        .kind = draw_chance(&thread->draw, 97) ? (accel_memory_kind)draw_below(&thread->draw, 3)
                                               : (accel_memory_kind)77,
        .alignment = draw_chance(&thread->draw, 70) ? 0 : alignments[draw_below(&thread->draw, 8)],
        .pool = pool,
        .dedicated = draw_chance(&thread->draw, 4)};
    const bool has_options = draw_chance(&thread->draw, 60);
    const size_t size = fuzz_size(thread);
    void *pointer = &pointer;
    const accel_status status = CALL(thread, accel_memory_alloc, stream, size,
                                     has_options ? &options : NULL, &pointer);
    REQUIRE(thread, (pointer != NULL) == (status == ACCEL_OK && size != 0),
            "%zu bytes: %s, and a pointer %p", size, accel_status_name(status), pointer);
    if (pointer != NULL) {
        const bool pinned = has_options && options.kind == ACCEL_MEMORY_KIND_PINNED;
        const size_t alignment = has_options && options.alignment > ACCEL_MEMORY_ALIGNMENT
                                     ? options.alignment
                                     : ACCEL_MEMORY_ALIGNMENT;
        REQUIRE(thread, (uintptr_t)pointer % alignment == 0, "memory is not aligned");
        fuzz_free_block(thread, *slot);
        *slot = new_block(thread, pointer, size,
                          pinned ? ACCEL_MEMORY_KIND_PINNED : ACCEL_MEMORY_KIND_DEVICE);
        count_live(*slot, 1);
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_POOL, pool);
}

static void release_wrapped(void *pointer, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(pointer);
    atomic_fetch_add(&world.wraps_released, 1);
}

static void wrap(fuzz_thread *thread)
{
    const fuzz_device_state *device = fuzz_good_device(thread);
    fuzz_block **slot = &thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    const size_t size = fuzz_small_size(thread);
    void *pointer = aligned_alloc(512, (size + 511) / 512 * 512);
    accel_stream *stream = fuzz_take(thread, FUZZ_STREAM);
    accel_memory_wrap_options options = {.struct_size = sizeof options,
                                         .kind = device->is_cpu && draw_chance(&thread->draw, 70)
                                                     ? ACCEL_MEMORY_KIND_DEVICE
                                                     : ACCEL_MEMORY_KIND_PINNED,
                                         .stream = stream,
                                         .release = release_wrapped};
    REQUIRE(thread, pointer != NULL, "no memory");
    atomic_fetch_add(&world.wraps_added, 1);
    if (CALL(thread, accel_memory_wrap, device->device, pointer, size, &options) == ACCEL_OK) {
        fuzz_free_block(thread, *slot);
        *slot = new_block(thread, pointer, size, options.kind);
        (*slot)->is_wrapped = true;
        options.release = NULL; /* it is known already, and a part of it is, too */
        REQUIRE(thread,
                CALL(thread, accel_memory_wrap, device->device, pointer, size, &options) ==
                    ACCEL_ERROR_INVALID_ARGUMENT,
                "memory can be wrapped twice");
    } else {
        free(pointer);
        atomic_fetch_sub(&world.wraps_added, 1);
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

static void misuse_wrap(fuzz_thread *thread)
{
    static unsigned char here[512];
    accel_memory_wrap_options options = {.struct_size = sizeof options,
                                         .kind = (accel_memory_kind)77};
    CALL(thread, accel_memory_wrap, fuzz_device(thread), NULL, 8, NULL);
    CALL(thread, accel_memory_wrap, fuzz_device(thread), here, 0, NULL);
    CALL(thread, accel_memory_wrap, fuzz_device(thread), here, SIZE_MAX, NULL);
    CALL(thread, accel_memory_wrap, fuzz_device(thread), here, sizeof here, &options);
    options.struct_size = 1;
    CALL(thread, accel_memory_wrap, fuzz_device(thread), here, sizeof here, &options);
    CALL(thread, accel_memory_wrap, fuzz_device(thread), fuzz_good_device(thread)->scratch + 8, 8,
         NULL);
}

/* ---- freeing ---- */

static void free_block(fuzz_thread *thread)
{
    fuzz_block **slot = &thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    if (*slot == NULL)
        return;
    void *pointer = (*slot)->pointer;
    fuzz_free_block(thread, *slot);
    *slot = NULL;
    /* Elsewhere another thread may have that memory by now. */
    if (fuzz_is_alone() && draw_chance(&thread->draw, 20))
        REQUIRE(thread, CALL(thread, accel_memory_free, pointer) == ACCEL_ERROR_INVALID_ARGUMENT,
                "memory can be freed twice");
}

static void misuse_free(fuzz_thread *thread)
{
    static unsigned char here[8];
    const fuzz_device_state *device = fuzz_good_device(thread);
    void *const wrong[] = {here, &thread, (void *)(uintptr_t)8, (void *)UINTPTR_MAX,
                           device->scratch + 1 + draw_below(&thread->draw, 600)};
    REQUIRE(thread, CALL(thread, accel_memory_free, NULL) == ACCEL_OK, "NULL cannot be freed");
    REQUIRE(thread,
            CALL(thread, accel_memory_free, wrong[draw_below(&thread->draw, 5)]) ==
                ACCEL_ERROR_INVALID_ARGUMENT,
            "a pointer to something else can be freed");
}

/* From one thread to the next. */
static void give(fuzz_thread *thread)
{
    fuzz_block **slot = &thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    *slot = atomic_exchange(&world.gifts[draw_below(&thread->draw, FUZZ_GIFTS)], *slot);
}

/* ---- asking ---- */

static void ask_pointer(fuzz_thread *thread)
{
    OUT_STRUCT(accel_pointer_information, info);
    const void *pointer = fuzz_pointer(thread);
    if (CALL(thread, accel_pointer_info, pointer, &info.as) == ACCEL_OK &&
        info.as.struct_size == sizeof info.as) {
        if (info.as.kind == ACCEL_MEMORY_KIND_UNKNOWN)
            REQUIRE(thread, info.as.size == 0 && info.as.home_stream == NULL,
                    "something is told of nothing");
        else
            REQUIRE(thread, (const unsigned char *)info.as.base + info.as.offset == pointer,
                    "base and offset are not the pointer");
    }
    CALL(thread, accel_pointer_info, pointer, NULL);
}

static void record_stream(fuzz_thread *thread)
{
    accel_stream *stream = fuzz_take_stream(thread);
    fuzz_block *block = thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    if (block != NULL && draw_chance(&thread->draw, 80))
        CALL(thread, accel_record_stream,
             block->pointer +
                 draw_below(&thread->draw, (uint32_t)(block->size < 99 ? block->size : 99)),
             stream);
    else
        CALL(thread, accel_record_stream, fuzz_pointer(thread), stream);
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

const fuzz_step fuzz_steps_memory[] = {
    {"allocate", 24, allocate},
    {"wrap", 3, wrap},
    {"misuse wrap", 1, misuse_wrap},
    {"free", 14, free_block},
    {"misuse free", 2, misuse_free},
    {"give", 6, give},
    {"ask pointer", 4, ask_pointer},
    {"record stream", 4, record_stream},
    {NULL, 0, NULL},
};
