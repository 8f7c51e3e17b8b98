/* standins.c: see standins.h. Host callbacks need the stream they are for: their stand-in is
 * callback.c, which looks at the group itself; peer copies become staging.c's, since nothing is
 * reachable; the stand-in of random fill is the random layer's, which looks at the group, too. */
#include "core/standins.h"

#include "base/allocate.h"
#include "base/error.h"

static accel_status unsupported(const char *function, const char *what)
{
    return accel__fail(ACCEL_ERROR_UNSUPPORTED, NULL, function, "this backend has no %s", what);
}

static accel_status no_elapsed(accel_native_event *start, accel_native_event *end,
                               double *out_milliseconds)
{
    (void)start, (void)end, (void)out_milliseconds;
    return unsupported("accel_event_elapsed_time", "event timing");
}

static accel_status no_callback(accel_native_stream *stream,
                                void (*call)(accel_status status, void *user), void *user)
{
    (void)stream, (void)call, (void)user;
    return unsupported("accel_stream_add_callback", "host callbacks");
}

static accel_status host_alloc(accel_native_device *device, size_t size, size_t alignment,
                               void **out_pointer)
{
    (void)device;
    *out_pointer = accel__allocate_aligned(size, alignment);
    return *out_pointer != NULL
               ? ACCEL_OK
               : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, "accel_memory_alloc",
                             "no host memory for %zu bytes", size);
}

static void host_free(accel_native_device *device, void *pointer)
{
    (void)device;
    accel__deallocate(pointer);
}

static accel_status one_priority(int32_t index, int32_t *out_lowest, int32_t *out_highest)
{
    (void)index;
    *out_lowest = *out_highest = 0;
    return ACCEL_OK;
}

static bool unreachable(accel_native_device *destination, accel_native_device *source)
{
    (void)destination, (void)source;
    return false;
}

static accel_status no_peer_copy(accel_native_stream *stream, accel_native_device *destination,
                                 accel_native_device *source, const accel_backend_copy *copy)
{
    (void)stream, (void)destination, (void)source, (void)copy;
    return unsupported("accel_copy", "direct copies between devices");
}

static accel_status no_functions(accel_native_device *device, const accel_cpu_kernel *kernels,
                                 uint32_t kernel_count, accel_native_module **out_module)
{
    (void)device, (void)kernels, (void)kernel_count;
    *out_module = NULL;
    return unsupported("accel_module_create_from_functions", "kernels in C functions");
}

static accel_status no_stream_handle(accel_native_stream *stream, void **out_handle)
{
    (void)stream;
    *out_handle = NULL;
    return unsupported("accel_stream_get_native_handle", "native handles");
}

static accel_status no_event_handle(accel_native_event *event, void **out_handle)
{
    (void)event;
    *out_handle = NULL;
    return unsupported("accel_event_get_native_handle", "native handles");
}

/* Nobody calls these: the allocator asks whether the backend has the group. */
static accel_status no_granularity(accel_native_device *device, size_t *out_bytes)
{
    (void)device;
    *out_bytes = 0;
    return unsupported("accel_memory_alloc", "virtual memory");
}

static accel_status no_reserve(accel_native_device *device, size_t size, void **out_address)
{
    (void)device, (void)size;
    *out_address = NULL;
    return unsupported("accel_memory_alloc", "virtual memory");
}

static accel_status no_commit(accel_native_device *device, void *address, size_t size)
{
    (void)device, (void)address, (void)size;
    return unsupported("accel_memory_alloc", "virtual memory");
}

static void no_return(accel_native_device *device, void *address, size_t size)
{
    (void)device, (void)address, (void)size;
}

static accel_status no_schedule(accel_native_device *device, const accel_backend_step *steps,
                                uint32_t step_count, accel_native_schedule **out_schedule)
{
    (void)device, (void)steps, (void)step_count;
    *out_schedule = NULL;
    return unsupported("accel_graph_instantiate", "schedules");
}

static bool no_update(accel_native_schedule *schedule, uint32_t index,
                      const accel_backend_step *step)
{
    (void)schedule, (void)index, (void)step;
    return false;
}

static accel_status no_replay(accel_native_stream *stream, accel_native_schedule *schedule)
{
    (void)stream, (void)schedule;
    return unsupported("accel_graph_replay", "schedules");
}

static void no_schedule_destroy(accel_native_schedule *schedule)
{
    (void)schedule;
}

static accel_status no_random(accel_native_device *device, accel_native_module **out_module,
                              uint64_t *out_block_elements)
{
    (void)device;
    *out_module = NULL;
    *out_block_elements = 0;
    return unsupported("accel_random_raw", "random fill of its own");
}

const accel_backend_table accel__standins = {
    .timing = {.elapsed = no_elapsed},
    .callbacks = {.add = no_callback},
    .pinned = {.alloc = host_alloc, .free = host_free},
    .priorities = {.range = one_priority},
    .peer = {.reachable = unreachable, .copy = no_peer_copy},
    .functions = {.load = no_functions},
    .handles = {.stream = no_stream_handle, .event = no_event_handle},
    .random = {.load = no_random},
    .virtual_memory = {.granularity = no_granularity,
                       .reserve = no_reserve,
                       .release = no_return,
                       .commit = no_commit,
                       .decommit = no_return},
    .schedules = {.create = no_schedule,
                  .update = no_update,
                  .replay = no_replay,
                  .destroy = no_schedule_destroy},
};
