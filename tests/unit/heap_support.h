/* heap_support.h: a device of the ledger backend and its heap, in the hands of a test. */
#ifndef TESTS_UNIT_HEAP_SUPPORT_H
#define TESTS_UNIT_HEAP_SUPPORT_H

#include "doubles/ledger_backend.h"
#include "doubles/mock_backend.h"
#include "support/check.h"

#include <accel/allocator.h>
#include <accel/allocator_config.h>

#include "core/device.h"
#include "core/registry.h"
#include "memory/heap/heap.h"

#define MIB ((size_t)1 << 20)

typedef struct heap_fixture {
    accel_device device;
    accel_stream *stream; /* an own one, with an own lane */
    accel__heap *heap;
    accel__lane *lane;
} heap_fixture;

/* Registers the backend; once in a process. Devices of it are found by index from then on. */
static inline accel_backend heap_backend(bool growable)
{
    accel_backend number = 0;
    const accel_backend_table table = ledger_table(growable);
    mock.device_count = MOCK_DEVICES_MAX;
    assert_int_equal(accel__registry_add(&table, &number), ACCEL_OK);
    return number;
}

/* The backend with fixed or with growable segments, registered at the first call. */
static inline accel_backend heap_number(bool growable)
{
    static accel_backend numbers[2];
    if (numbers[growable] == ACCEL_BACKEND_NONE)
        numbers[growable] = heap_backend(growable);
    return numbers[growable];
}

static inline accel__lane *heap_lane(const heap_fixture *on, accel_stream *stream)
{
    accel__lane *lane = NULL;
    OK(accel__lane_of(on->heap, stream, &lane));
    return lane;
}

static inline void heap_open(heap_fixture *on, accel_backend number, int32_t index)
{
    on->device = ACCEL_DEVICE(number, index);
    OK(accel_stream_create(on->device, NULL, &on->stream));
    OK(accel__heap_of(on->stream->device, NULL, &on->heap));
    on->lane = heap_lane(on, on->stream);
}

/* Everything was put back: the driver must have it all again. */
static inline void heap_close(heap_fixture *on)
{
    accel_stream_release(on->stream);
    accel__heap_empty_cache(on->heap->device);
    assert_int_equal(on->heap->busy_count, 0);
    assert_int_equal(ledger.used, 0);
    assert_int_equal(ledger.allocations, 0);
    assert_int_equal(ledger.reserved, 0);
    assert_int_equal(ledger.mistakes, 0);
    OK(accel_allocator_set_config(""));
}

/* Work on the stream, which stays pending where that is held. */
static inline void heap_hold(accel_stream *stream)
{
    static unsigned char target[8];
    static const unsigned char byte;
    OK(stream->backend->table.memory.fill(stream->native, target, &byte, 1, sizeof target));
}

static inline size_t heap_round(size_t size)
{
    return (size + 511) & ~(size_t)511;
}

static inline accel_status heap_try(accel__lane *lane, size_t size, accel__block **out_block)
{
    return accel__heap_take_or_grow(lane, size, heap_round(size), 512, false, out_block);
}

static inline accel__block *heap_get(accel__lane *lane, size_t size)
{
    accel__block *block = NULL;
    OK(heap_try(lane, size, &block));
    assert_non_null(block);
    assert_true(block->size >= heap_round(size));
    assert_ptr_equal(block->lane, lane);
    return block;
}

static inline uintptr_t heap_begin(const accel__block *block)
{
    return accel__range_begin(&block->range);
}

static inline void heap_check(accel__heap *heap)
{
    accel__spin_lock(&heap->spin);
    const bool valid = accel__heap_is_valid(heap);
    accel__spin_unlock(&heap->spin);
    assert_true(valid);
}

#endif
