/* backend.c: the table of the opencl backend: any driver of OpenCL 1.2 or newer, opened at run time. */
#include "backends/opencl/device.h"
#include "backends/opencl/driver/driver.h"
#include "backends/opencl/driver/icd.h"
#include "backends/opencl/module/module.h"
#include "backends/opencl/queue/event.h"
#include "backends/opencl/queue/gate.h"
#include "backends/opencl/queue/stream.h"

/* Found by the build through the name of the folder. */
const accel_backend_table *accel__backend_opencl(void);

static const char *const library_prefixes[] = {
    "libOpenCL.so", "libpocl",          "libMesaOpenCL", "libRusticlOpenCL", "libigdrcl",
    "libintelocl",  "libnvidia-opencl", "libamdocl",     "liboclgrind",      NULL};

static const char *const device_file_prefixes[] = {"/dev/dri/", "/dev/nvidia", "/dev/kfd",
                                                   "/dev/mali", NULL};

static const accel_backend_table table = {
    .struct_size = sizeof(accel_backend_table),
    .abi = ACCEL_BACKEND_ABI,
    .name = "opencl",
    .rank = ACCEL_BACKEND_RANK_OPENCL,
    .library_prefixes = library_prefixes,
    .device_file_prefixes = device_file_prefixes,
    .drivers = {.stamp = accel__opencl_stamp,
                .list = accel__opencl_list,
                .probe = accel__opencl_probe},
    .discovery = {.start = accel__opencl_start, .stop = accel__opencl_stop},
    .device = {.open = accel__opencl_open, .memory_info = accel__opencl_memory_info},
    .memory = {.alloc = accel__opencl_memory_alloc,
               .free = accel__opencl_memory_free,
               .copy = accel__opencl_copy,
               .fill = accel__opencl_fill},
    .stream = {.create = accel__opencl_stream_create,
               .destroy = accel__opencl_stream_destroy,
               .query = accel__opencl_stream_query,
               .synchronize = accel__opencl_stream_synchronize},
    .event = {.create = accel__opencl_event_create,
              .destroy = accel__opencl_event_destroy,
              .record = accel__opencl_event_record,
              .query = accel__opencl_event_query,
              .synchronize = accel__opencl_event_synchronize,
              .wait = accel__opencl_event_wait},
    .kernel = {.dialect = accel__opencl_dialect,
               .compiler_key = accel__opencl_compiler_key,
               .compile = accel__opencl_compile,
               .load = accel__opencl_load,
               .unload = accel__opencl_unload,
               .function_count = accel__opencl_function_count,
               .function = accel__opencl_function_get,
               .launch = accel__opencl_launch},
    .timing = {.elapsed = accel__opencl_event_elapsed},
    .callbacks = {.add = accel__opencl_callback_add},
    .pinned = {.alloc = accel__opencl_pinned_alloc, .free = accel__opencl_pinned_free},
    .priorities = {.range = accel__opencl_priority_range},
    .peer = {.reachable = accel__opencl_peer_reachable, .copy = accel__opencl_peer_copy},
    .handles = {.stream = accel__opencl_stream_handle, .event = accel__opencl_event_handle},
};

const accel_backend_table *accel__backend_opencl(void)
{
    return &table;
}
