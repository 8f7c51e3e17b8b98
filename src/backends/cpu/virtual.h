/* virtual.h: reserved addresses that get and lose memory part by part. */
#ifndef ACCEL_BACKENDS_CPU_VIRTUAL_H
#define ACCEL_BACKENDS_CPU_VIRTUAL_H

#include <accel/backend.h>

accel_status accel__cpu_virtual_granularity(accel_native_device *device, size_t *out_bytes);
accel_status accel__cpu_virtual_reserve(accel_native_device *device, size_t size,
                                        void **out_address);
void accel__cpu_virtual_release(accel_native_device *device, void *address, size_t size);
accel_status accel__cpu_virtual_commit(accel_native_device *device, void *address, size_t size);
void accel__cpu_virtual_decommit(accel_native_device *device, void *address, size_t size);

#endif
