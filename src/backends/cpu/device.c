/* device.c: see device.h. Questions are answered from /proc, /sys and the environment, and leave
 * nothing behind. */
#include "backends/cpu/device.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/error.h"
#include "platform/machine.h"
#include "platform/thread.h"

enum { MAX_DEVICES = 64, MAX_BLOCK = 4096, LOCAL_SIZE = 256 * 1024, ALIGNMENT = 512 };

void accel__cpu_probe(accel_backend_probe *out_probe)
{
    uint64_t count = 0;
    if (!accel__environment_number("ACCEL_CPU_DEVICES", 1, MAX_DEVICES, 1, &count)) {
        snprintf(out_probe->reason, sizeof out_probe->reason,
                 "ACCEL_CPU_DEVICES is '%.32s': it must be a number from 1 to %d",
                 accel__environment_get("ACCEL_CPU_DEVICES"), (int)MAX_DEVICES);
        snprintf(out_probe->variable, sizeof out_probe->variable, "ACCEL_CPU_DEVICES");
        count = 0;
    }
    out_probe->device_count = (int32_t)count;
}

accel_status accel__cpu_memory_info(int32_t index, size_t *out_free, size_t *out_total)
{
    (void)index;
    uint64_t available = 0;
    uint64_t total = 0;
    const bool is_known = accel__machine_memory(&available, &total);
    *out_free = (size_t)available;
    *out_total = (size_t)total;
    return is_known ? ACCEL_OK
                    : accel__fail(ACCEL_ERROR_SYSTEM, "cpu", "accel_get_memory_info",
                                  "/proc/meminfo cannot be read");
}

accel_status accel__cpu_describe(int32_t index, accel_device_info *out_info)
{
    struct utsname system;
    uint64_t available = 0;
    out_info->kind = ACCEL_DEVICE_KIND_CPU;
    accel__machine_processor(out_info->name, sizeof out_info->name, out_info->vendor,
                             sizeof out_info->vendor);
    if (uname(&system) == 0)
        snprintf(out_info->driver, sizeof out_info->driver, "%.16s %.40s", system.sysname,
                 system.release);
    snprintf(out_info->uuid, sizeof out_info->uuid, "cpu-%d", (int)index);
    accel__machine_memory(&available, &out_info->total_memory);
    return ACCEL_OK;
}

accel_status accel__cpu_priority_range(int32_t index, int32_t *out_lowest, int32_t *out_highest)
{
    (void)index;
    *out_lowest = 0;
    *out_highest = -1;
    return ACCEL_OK;
}

static uint64_t all_data_types(void)
{
#define TYPE_BIT(name, number, size, text) | ACCEL_DATA_TYPE_BIT(number)
    return 0 ACCEL_DATA_TYPE_LIST(TYPE_BIT);
#undef TYPE_BIT
}

accel_status accel__cpu_capability(int32_t index, accel_device_capability *out_capability)
{
    accel_device_capability *capability = out_capability;
    size_t available = 0;
    size_t total = 0;
    const accel_status status = accel__cpu_memory_info(index, &available, &total);
    if (status != ACCEL_OK)
        return status;
    capability->compute_units = accel__thread_cpu_count();
    capability->data_types = all_data_types();
    capability->total_memory = total;
    capability->max_allocation = total;
    capability->alignment = ALIGNMENT;
    for (int i = 0; i < 3; i++) {
        capability->max_grid[i] = INT64_MAX;
        capability->max_block[i] = MAX_BLOCK;
    }
    capability->max_grid_blocks = INT64_MAX;
    capability->max_block_items = MAX_BLOCK;
    capability->local_memory_size = LOCAL_SIZE;
    accel__cpu_priority_range(index, &capability->priority_lowest, &capability->priority_highest);
    capability->kernels_from_source = accel__cpu_has_compiler();
    capability->fp64 = true;
    capability->atomics_32 = true;
    capability->timing = true;
    capability->pinned_memory = true;
    capability->peer_copies = true;
    capability->concurrent_streams = true;
    capability->ordered_callbacks = true;
    capability->native_handles = true;
    capability->pointers_in_memory = true;
    capability->host_access = true;
    capability->survives_fork = true;
    return ACCEL_OK;
}

/* ---- devices in use ---- */

accel_status accel__cpu_open(int32_t index, accel_native_device **out_device)
{
    accel_native_device *device = accel__allocate(sizeof *device);
    *out_device = device;
    if (device == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", "accel_initialize",
                           "no memory for device cpu:%d", (int)index);
    device->index = index;
    device->generation = accel__generation();
    atomic_store(&device->references, 1);
    return ACCEL_OK;
}

void accel__cpu_device_unreference(accel_native_device *device)
{
    if (atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) == 1)
        accel__deallocate(device);
}

void accel__cpu_device_add(accel_native_device *device, accel__cpu_queue *queue)
{
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    accel__mutex_lock(&device->mutex);
    if (device->generation != accel__generation()) { /* a child: its parent's queues are no more */
        device->generation = accel__generation();
        device->first = device->last = NULL;
    }
    queue->serial = device->next_serial++;
    queue->device_next = NULL;
    queue->device_previous = device->last;
    if (device->last != NULL)
        device->last->device_next = queue;
    else
        device->first = queue;
    device->last = queue;
    accel__mutex_unlock(&device->mutex);
}

void accel__cpu_device_remove(accel_native_device *device, accel__cpu_queue *queue)
{
    accel__mutex_lock(&device->mutex);
    if (accel__cpu_queue_generation(queue) == device->generation) {
        if (queue->device_previous != NULL)
            queue->device_previous->device_next = queue->device_next;
        else
            device->first = queue->device_next;
        if (queue->device_next != NULL)
            queue->device_next->device_previous = queue->device_previous;
        else
            device->last = queue->device_previous;
    }
    accel__mutex_unlock(&device->mutex);
    accel__cpu_device_unreference(device);
}
