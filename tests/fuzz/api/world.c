/* world.c: see world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fuzz_world world = {.slots_mutex = PTHREAD_MUTEX_INITIALIZER, .gate = PTHREAD_RWLOCK_INITIALIZER};
unsigned char fuzz_host[FUZZ_SCRATCH_SIZE];

#if defined(__SANITIZE_THREAD__)
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *memory, size_t size,
                             const char *description);

void fuzz_ignore_races(void *memory, size_t size)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, memory, size, "scratch memory");
}
#else
void fuzz_ignore_races(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
#endif

/* Requests that no machine can meet are asked for; the sanitizers' allocators end the program, unless told. */
#if defined(__SANITIZE_ADDRESS__)
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#elif defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

/* ---- tables ---- */

static void retain(fuzz_thread *thread, fuzz_kind kind, void *object)
{
    switch (kind) {
    case FUZZ_STREAM:
    case FUZZ_CAPTURE_STREAM:
        ASK(thread, accel_stream_retain, object);
        break;
    case FUZZ_EVENT:
    case FUZZ_CAPTURE_EVENT:
        ASK(thread, accel_event_retain, object);
        break;
    case FUZZ_MODULE:
        ASK(thread, accel_module_retain, object);
        break;
    case FUZZ_POOL:
    case FUZZ_GRAPH_POOL:
        REQUIRE(thread, CALL(thread, accel_memory_pool_retain, object) == ACCEL_OK,
                "a live pool cannot be retained");
        break;
    case FUZZ_GRAPH:
        ASK(thread, accel_graph_retain, object);
        break;
    default:
        ASK(thread, accel_generator_retain, object);
        break;
    }
}

void fuzz_drop(fuzz_thread *thread, fuzz_kind kind, void *object)
{
    switch (kind) {
    case FUZZ_STREAM:
    case FUZZ_CAPTURE_STREAM:
        ASK(thread, accel_stream_release, object);
        break;
    case FUZZ_EVENT:
    case FUZZ_CAPTURE_EVENT:
        ASK(thread, accel_event_release, object);
        break;
    case FUZZ_MODULE:
        ASK(thread, accel_module_release, object);
        break;
    case FUZZ_POOL:
    case FUZZ_GRAPH_POOL:
        REQUIRE(thread, CALL(thread, accel_memory_pool_release, object) == ACCEL_OK,
                "a live pool cannot be released");
        break;
    case FUZZ_GRAPH:
        ASK(thread, accel_graph_release, object);
        break;
    default:
        ASK(thread, accel_generator_release, object);
        break;
    }
}

void *fuzz_take(fuzz_thread *thread, fuzz_kind kind)
{
    const uint32_t slot = draw_below(&thread->draw, FUZZ_SLOTS);
    pthread_mutex_lock(&world.slots_mutex);
    void *object = world.slots[kind][slot];
    if (object != NULL)
        retain(thread, kind, object);
    pthread_mutex_unlock(&world.slots_mutex);
    return object;
}

static void *exchange(fuzz_kind kind, uint32_t slot, void *object)
{
    pthread_mutex_lock(&world.slots_mutex);
    void *before = world.slots[kind][slot];
    world.slots[kind][slot] = object;
    pthread_mutex_unlock(&world.slots_mutex);
    return before;
}

void fuzz_put(fuzz_thread *thread, fuzz_kind kind, void *object)
{
    fuzz_drop(thread, kind, exchange(kind, draw_below(&thread->draw, FUZZ_SLOTS), object));
}

/* In any order: objects hold each other. */
void fuzz_clear(fuzz_thread *thread)
{
    const uint32_t first = draw_below(&thread->draw, FUZZ_KIND_COUNT);
    for (uint32_t i = 0; i < FUZZ_KIND_COUNT; i++) {
        const fuzz_kind kind = (fuzz_kind)((first + i) % FUZZ_KIND_COUNT);
        for (uint32_t slot = 0; slot < FUZZ_SLOTS; slot++)
            fuzz_drop(thread, kind, exchange(kind, slot, NULL));
    }
}

accel_stream *fuzz_take_stream(fuzz_thread *thread)
{
    accel_stream *stream = NULL;
    const uint32_t sort = draw_below(&thread->draw, 100);
    if (sort < 10)
        return NULL;
    if (sort < 20 && CALL(thread, accel_stream_default, fuzz_device(thread), &stream) == ACCEL_OK)
        return stream;
    return fuzz_take(thread, FUZZ_STREAM);
}

/* ---- arguments ---- */

fuzz_device_state *fuzz_good_device(fuzz_thread *thread)
{
    return &world.devices[draw_below(&thread->draw, (uint32_t)world.device_count)];
}

fuzz_device_state *fuzz_state_of(accel_device device)
{
    for (int i = 0; i < world.device_count; i++)
        if (world.devices[i].device.backend == device.backend &&
            world.devices[i].device.index == device.index)
            return &world.devices[i];
    return NULL;
}

accel_device fuzz_device(fuzz_thread *thread)
{
    static const int32_t indices[] = {-1, INT32_MAX, INT32_MIN + 1, ACCEL_INDEX_NONE, 7, 1000, 0};
    const uint32_t sort = draw_below(&thread->draw, 100);
    if (sort < 75)
        return fuzz_good_device(thread)->device;
    if (sort < 85)
        return ACCEL_DEVICE_CURRENT;
    return ACCEL_DEVICE(fuzz_backend(thread),
                        indices[draw_below(&thread->draw, sizeof indices / sizeof indices[0])]);
}

accel_backend fuzz_backend(fuzz_thread *thread)
{
    static const accel_backend odd[] = {
        ACCEL_BACKEND_NONE, ACCEL_BACKEND_CURRENT, 1, 2, 3, 99, UINT32_MAX - 1, 0x80000000};
    if (draw_chance(&thread->draw, 60))
        return world.backend;
    return odd[draw_below(&thread->draw, sizeof odd / sizeof odd[0])];
}

size_t fuzz_small_size(fuzz_thread *thread)
{
    static const size_t edges[] = {1, 2, 3, 4, 7, 8, 511, 512, 513, 4095, 4096, 4097, 32768, 32769};
    if (draw_chance(&thread->draw, 30))
        return edges[draw_below(&thread->draw, sizeof edges / sizeof edges[0])];
    return 1 + draw_below(&thread->draw, UINT32_C(1) << draw_below(&thread->draw, 17));
}

size_t fuzz_size(fuzz_thread *thread)
{
    static const size_t edges[] = {0,
                                   (1 << 20) - 512,
                                   1 << 20,
                                   (1 << 20) + 1,
                                   2 << 20,
                                   5 << 20,
                                   (20 << 20) + 3,
                                   SIZE_MAX,
                                   SIZE_MAX - 1,
                                   SIZE_MAX - 511,
                                   SIZE_MAX - 4095,
                                   SIZE_MAX / 2,
                                   SIZE_MAX / 2 + 1,
                                   (size_t)1 << 44,
                                   (size_t)1 << 47};
    if (draw_chance(&thread->draw, 75))
        return fuzz_small_size(thread);
    return edges[draw_below(&thread->draw, sizeof edges / sizeof edges[0])];
}

uint32_t fuzz_struct_size(fuzz_thread *thread, size_t size)
{
    const uint32_t odd[] = {0, 1, 3, 4, 8, (uint32_t)size - 1, (uint32_t)size + 8, UINT32_MAX};
    if (draw_chance(&thread->draw, 94))
        return (uint32_t)size;
    /* The last one says that there is more room than there is. */
    return odd[draw_below(&thread->draw, sizeof odd / sizeof odd[0] - 1)];
}

const void *fuzz_pointer(fuzz_thread *thread)
{
    static int here;
    const fuzz_device_state *device = fuzz_good_device(thread);
    const fuzz_block *block = thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    switch (draw_below(&thread->draw, 9)) {
    case 0:
        return NULL;
    case 1:
        return (const void *)(uintptr_t)8;
    case 2:
        return (const void *)UINTPTR_MAX;
    case 3:
        return &here;
    case 4:
        return &thread->draw;
    case 5:
        return device->scratch + draw_below(&thread->draw, FUZZ_SCRATCH_SIZE + 1);
    case 6:
        return (const void *)(uintptr_t)draw_bits(&thread->draw);
    default:
        return block != NULL ? block->pointer + draw_below(&thread->draw, 600) : NULL;
    }
}

void *fuzz_scratch(fuzz_thread *thread, const fuzz_device_state *device, size_t *size)
{
    const uint32_t sort = draw_below(&thread->draw, 100);
    const size_t offset = draw_below(&thread->draw, FUZZ_SCRATCH_SIZE / 8) * 8;
    if (sort < 3)
        return NULL;
    if (sort < 6)
        *size = SIZE_MAX - draw_below(&thread->draw, 3); /* beyond the end, if anybody takes it */
    else if (*size > FUZZ_SCRATCH_SIZE - offset)
        *size = FUZZ_SCRATCH_SIZE - offset;
    if (sort < 70)
        return device->scratch + offset;
    /* Nothing is known of the size of plain memory. */
    if (sort < 85 || *size > FUZZ_SCRATCH_SIZE)
        return device->pinned + offset;
    return fuzz_host + offset;
}
