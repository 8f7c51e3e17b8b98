/* host_support.h: a mock backend with pinned memory that counts, checks and fails as a test says. */
#ifndef TESTS_UNIT_HOST_SUPPORT_H
#define TESTS_UNIT_HOST_SUPPORT_H

#include <accel/allocator_config.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/device.h"
#include "core/pointers.h"
#include "doubles/mock_backend.h"
#include "memory/host/host.h"
#include "support/check.h"

static accel_backend pinned_backend;
static _Atomic(size_t) pinned_bytes;   /* that the driver has given now */
static _Atomic(size_t) pinned_most;    /* it gives no more than this; 0: no limit */
static _Atomic(unsigned) pinned_calls; /* that gave memory */

typedef struct pinned_header {
    void *base;
    size_t size;
} pinned_header;

static inline accel_status pinned_alloc(accel_native_device *device, size_t size, size_t alignment,
                                        void **out_pointer)
{
    (void)device;
    *out_pointer = NULL;
    void *base = pinned_most != 0 && pinned_bytes + size > pinned_most
                     ? NULL
                     : malloc(size + alignment + sizeof(pinned_header));
    if (base == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "mock", "accel_memory_alloc",
                           "the mock pins no more than %zu bytes", (size_t)pinned_most);
    const uintptr_t start = (uintptr_t)base + sizeof(pinned_header) + alignment - 1;
    pinned_header *pointer = (pinned_header *)(start & ~(uintptr_t)(alignment - 1));
    pointer[-1] = (pinned_header){.base = base, .size = size};
    pinned_bytes += size;
    pinned_calls++;
    *out_pointer = pointer;
    return ACCEL_OK;
}

static inline void pinned_free(accel_native_device *device, void *pointer)
{
    (void)device;
    const pinned_header header = ((pinned_header *)pointer)[-1];
    memset(pointer, 0xbb, header.size);
    pinned_bytes -= header.size;
    free(header.base);
}

/* Once per program, before the first call. */
static inline accel_device pinned_begin(void)
{
    accel_backend_table table = mock_table();
    table.pinned = (accel_backend_pinned){.alloc = pinned_alloc, .free = pinned_free};
    setenv("ACCEL_BACKENDS", "cpu, mock", 1);
    unsetenv("ACCEL_ALLOC_CONF");
    mock.device_count = 2;
    if (accel__registry_add(&table, &pinned_backend) != ACCEL_OK)
        abort();
    return ACCEL_DEVICE(pinned_backend, 0);
}

/* A stream with a native one. */
static inline accel_stream *pinned_stream(accel_device device, bool is_held)
{
    accel_stream *stream = NULL;
    mock_hold_new_streams(is_held);
    OK(accel_stream_create(device, NULL, &stream));
    mock_hold_new_streams(false);
    return stream;
}

/* Work that a held stream does not get past. */
static inline void pinned_work(accel_stream *stream)
{
    accel_event *event = NULL;
    accel_device device;
    OK(accel_stream_get_device(stream, &device));
    OK(accel_event_create(device, NULL, &event));
    OK(accel_event_record(event, stream));
    accel_event_release(event);
}

static inline void *pinned_take(accel_stream *stream, size_t size)
{
    void *pointer = NULL;
    OK(accel__host_alloc(stream, size, ACCEL_MEMORY_ALIGNMENT, "accel_memory_alloc", &pointer));
    assert_non_null(pointer);
    return pointer;
}

static inline accel_status pinned_give(void *pointer)
{
    accel__range *range = accel__pointers_at(pointer);
    return range != NULL ? accel__host_free(range) : ACCEL_ERROR_INVALID_ARGUMENT;
}

static inline accel_host_memory_statistics pinned_figures(accel_device device)
{
    accel_host_memory_statistics figures = {.struct_size = sizeof figures};
    OK(accel_host_memory_stats(device, &figures));
    return figures;
}

#endif
