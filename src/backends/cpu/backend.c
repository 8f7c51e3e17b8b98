/* backend.c: the table of the cpu backend: kernels are C functions, devices are the processors that the
 * process may use, device memory is host memory. */
#include "backends/cpu/device.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/module/module.h"
#include "backends/cpu/queue/event.h"
#include "backends/cpu/queue/schedule.h"
#include "backends/cpu/queue/stream.h"
#include "backends/cpu/random/random.h"
#include "backends/cpu/virtual.h"
#include "backends/cpu/workers/pool.h"

/* Found by the build through the name of the folder. */
const accel_backend_table *accel__backend_cpu(void);

/* There is nothing to select from: processors are no drivers. */
static accel_status start(const accel_backend_selected *selected, uint32_t count)
{
    (void)selected, (void)count;
    return accel__cpu_pool_configure();
}

static accel_dialect dialect(accel_native_device *device)
{
    (void)device;
    return ACCEL_DIALECT_CPU_C;
}

static const accel_backend_table table = {
    .struct_size = sizeof(accel_backend_table),
    .abi = ACCEL_BACKEND_ABI,
    .name = "cpu",
    .rank = ACCEL_BACKEND_RANK_CPU,
    .flags = ACCEL_BACKEND_SURVIVES_FORK | ACCEL_BACKEND_HOST_ACCESS,
    .local = {.probe = accel__cpu_probe,
              .describe = accel__cpu_describe,
              .capability = accel__cpu_capability},
    .discovery = {.start = start, .stop = accel__cpu_pool_stop},
    .device = {.open = accel__cpu_open, .memory_info = accel__cpu_memory_info},
    .memory = {.alloc = accel__cpu_memory_alloc,
               .free = accel__cpu_memory_free,
               .copy = accel__cpu_memory_copy,
               .fill = accel__cpu_memory_fill},
    .stream = {.create = accel__cpu_stream_create,
               .destroy = accel__cpu_stream_destroy,
               .query = accel__cpu_stream_query,
               .synchronize = accel__cpu_stream_synchronize},
    .event = {.create = accel__cpu_event_create,
              .destroy = accel__cpu_event_destroy,
              .record = accel__cpu_event_record,
              .query = accel__cpu_event_query,
              .synchronize = accel__cpu_event_synchronize,
              .wait = accel__cpu_event_wait},
    .kernel = {.dialect = dialect,
               .compiler_key = accel__cpu_compiler_key,
               .compile = accel__cpu_compile,
               .load = accel__cpu_load,
               .unload = accel__cpu_unload,
               .function_count = accel__cpu_function_count,
               .function = accel__cpu_function,
               .launch = accel__cpu_launch},
    .timing = {.elapsed = accel__cpu_event_elapsed},
    .callbacks = {.add = accel__cpu_stream_add_callback},
    .pinned = {.alloc = accel__cpu_memory_alloc, .free = accel__cpu_memory_free},
    .priorities = {.range = accel__cpu_priority_range},
    .peer = {.reachable = accel__cpu_peer_reachable, .copy = accel__cpu_peer_copy},
    .functions = {.load = accel__cpu_load_functions},
    .handles = {.stream = accel__cpu_stream_handle, .event = accel__cpu_event_handle},
    .random = {.load = accel__cpu_random_load},
    .virtual_memory = {.granularity = accel__cpu_virtual_granularity,
                       .reserve = accel__cpu_virtual_reserve,
                       .release = accel__cpu_virtual_release,
                       .commit = accel__cpu_virtual_commit,
                       .decommit = accel__cpu_virtual_decommit},
    .schedules = {.create = accel__cpu_schedule_create,
                  .update = accel__cpu_schedule_update,
                  .replay = accel__cpu_schedule_replay,
                  .destroy = accel__cpu_schedule_destroy},
};

const accel_backend_table *accel__backend_cpu(void)
{
    return &table;
}
