/* memory.h: device and pinned memory, and for drivers without device pointers the map from addresses to
 * buffers. */
#ifndef ACCEL_OPENCL_MEMORY_H
#define ACCEL_OPENCL_MEMORY_H

#include <accel/backend.h>

#include "backends/opencl/driver/symbols.h"
#include "platform/mutex.h"

struct accel__opencl_device;

/* One allocation of a device. */
typedef struct accel__opencl_range {
    uintptr_t begin;
    size_t size;     /* as asked for */
    void *raw;       /* what the driver gave (USM, SVM, pinned), or the reserved addresses */
    size_t raw_size; /* translation: bytes of address space from `raw` */
    cl_mem buffer;   /* translation and pinned: what holds the bytes; else NULL */
} accel__opencl_range;

/* Allocations ordered by address. The mutex guards all of it; a leaf. */
typedef struct accel__opencl_memory {
    accel__mutex mutex;
    accel__opencl_range *ranges;
    size_t count;
    size_t capacity;
    size_t taken; /* bytes in all */
} accel__opencl_memory;

/* ranges.c. enter: false without memory. find: around the address, its end included where nothing begins
 * there. take: the one that begins there, taken out. */
bool accel__opencl_range_enter(accel__opencl_memory *memory, const accel__opencl_range *range);
bool accel__opencl_range_find(accel__opencl_memory *memory, const void *pointer,
                              accel__opencl_range *out_range);
bool accel__opencl_range_take(accel__opencl_memory *memory, const void *begin,
                              accel__opencl_range *out_range);
size_t accel__opencl_memory_taken(accel__opencl_memory *memory);

/* memory.c */
accel_status accel__opencl_memory_alloc(accel_native_device *device, size_t size, size_t alignment,
                                        void **out_pointer);
void accel__opencl_memory_free(accel_native_device *device, void *pointer);

/* pinned.c */
accel_status accel__opencl_pinned_alloc(accel_native_device *device, size_t size, size_t alignment,
                                        void **out_pointer);
void accel__opencl_pinned_free(accel_native_device *device, void *pointer);

/* copy.c, peer copies included */
accel_status accel__opencl_copy(accel_native_stream *stream, const accel_backend_copy *copy);
accel_status accel__opencl_fill(accel_native_stream *stream, void *destination, const void *pattern,
                                size_t pattern_size, size_t size);
bool accel__opencl_peer_reachable(accel_native_device *destination, accel_native_device *source);
accel_status accel__opencl_peer_copy(accel_native_stream *stream, accel_native_device *destination,
                                     accel_native_device *source, const accel_backend_copy *copy);

/* For a device that translates: the buffer that `pointer` points into (its end included) and the offset
 * in bytes. False: it points into no allocation of the device. */
bool accel__opencl_resolve(struct accel__opencl_device *device, const void *pointer,
                           cl_mem *out_buffer, size_t *out_offset);

#endif
