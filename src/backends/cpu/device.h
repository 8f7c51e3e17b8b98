/* device.h: the devices of the cpu backend, and the objects that hang on them. */
#ifndef ACCEL_BACKENDS_CPU_DEVICE_H
#define ACCEL_BACKENDS_CPU_DEVICE_H

#include <accel/backend.h>

#include "backends/cpu/queue/queue.h"
#include "platform/mutex.h"

struct accel_native_device {
    int32_t index;
    _Atomic(uint32_t) references; /* one of open/close, one per queue */
    accel__mutex mutex;           /* guards the rest; taken before no other */
    uint32_t generation;          /* of the list: one of another is empty */
    accel__cpu_queue *first;      /* in the order of their serials */
    accel__cpu_queue *last;
    uint64_t next_serial;
};

/* Adds a queue and gives it its serial; takes it out. */
void accel__cpu_device_add(accel_native_device *device, accel__cpu_queue *queue);
void accel__cpu_device_remove(accel_native_device *device, accel__cpu_queue *queue);
void accel__cpu_device_unreference(accel_native_device *device);

/* The functions of the table's discovery and device groups. */
void accel__cpu_probe(accel_backend_probe *out_probe);
accel_status accel__cpu_describe(int32_t index, accel_device_info *out_info);
accel_status accel__cpu_capability(int32_t index, accel_device_capability *out_capability);
accel_status accel__cpu_priority_range(int32_t index, int32_t *out_lowest, int32_t *out_highest);
accel_status accel__cpu_open(int32_t index, accel_native_device **out_device);
accel_status accel__cpu_memory_info(int32_t index, size_t *out_free, size_t *out_total);

#endif
