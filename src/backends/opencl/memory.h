/* memory.h: device memory, and for drivers without device pointers the map from addresses to buffers. */
#ifndef ACCEL_OPENCL_MEMORY_H
#define ACCEL_OPENCL_MEMORY_H

#include <accel/backend.h>

#include "backends/opencl/symbols.h"
#include "platform/mutex.h"

struct accel__opencl_device;

/* One allocation of a device. */
typedef struct accel__opencl_range {
    uintptr_t begin;
    size_t size;     /* as asked for */
    size_t reserved; /* translation: bytes of address space from `begin` */
    cl_mem buffer;   /* translation: what holds the bytes; else NULL */
} accel__opencl_range;

/* The allocations of a device, ordered by address. The mutex guards all of it; a leaf. */
typedef struct accel__opencl_memory {
    accel__mutex mutex;
    accel__opencl_range *ranges;
    size_t count;
    size_t capacity;
    size_t taken; /* bytes in all */
} accel__opencl_memory;

accel_status accel__opencl_memory_alloc(accel_native_device *device, size_t size, size_t alignment,
                                        void **out_pointer);
void accel__opencl_memory_free(accel_native_device *device, void *pointer);
size_t accel__opencl_memory_taken(accel__opencl_memory *memory);
void accel__opencl_memory_close(struct accel__opencl_device *device);

/* For a device that translates: the buffer that `pointer` points into (its end included) and the offset
 * in bytes. False: it points into no allocation of the device. */
bool accel__opencl_resolve(struct accel__opencl_device *device, const void *pointer,
                           cl_mem *out_buffer, size_t *out_offset);

#endif
