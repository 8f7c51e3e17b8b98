/* memory.h: the memory, pinned and peer groups of the table. */
#ifndef ACCEL_BACKENDS_CPU_MEMORY_H
#define ACCEL_BACKENDS_CPU_MEMORY_H

#include <accel/backend.h>

accel_status accel__cpu_memory_alloc(accel_native_device *device, size_t size, size_t alignment,
                                     void **out_pointer);
void accel__cpu_memory_free(accel_native_device *device, void *pointer);
accel_status accel__cpu_memory_copy(accel_native_stream *stream, const accel_backend_copy *copy);
accel_status accel__cpu_memory_fill(accel_native_stream *stream, void *destination,
                                    const void *pattern, size_t pattern_size, size_t size);
bool accel__cpu_peer_reachable(accel_native_device *destination, accel_native_device *source);
accel_status accel__cpu_peer_copy(accel_native_stream *stream, accel_native_device *destination,
                                  accel_native_device *source, const accel_backend_copy *copy);

#endif
