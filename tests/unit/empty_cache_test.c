/* empty_cache_test.c: accel_empty_cache over a driver that keeps books: what goes back, what must be waited
 * for, on which device, and what the figures say. Cases B54 and B72. */
#include <pthread.h>
#include <time.h>

#include <accel/memory_stats.h>

#include "unit/heap_support.h"

static accel_backend backends[2]; /* fixed, growable */
static int32_t next_device;

/* The writer that B54 is about: work that stands still on a stream, on memory that was freed. */
static _Atomic(bool) is_writing;
static _Atomic(uintptr_t) written;
static _Atomic(unsigned) taken_early;

static void look_at_taken(uintptr_t begin, size_t size)
{
    if (is_writing && written - begin < size)
        taken_early++;
}

static void *let_go_later(void *user)
{
    const struct timespec pause = {0, 30000000};
    (void)user;
    nanosleep(&pause, NULL);
    is_writing = false;
    mock_release_all();
    return NULL;
}

static accel_stream *stream_of(accel_device device, bool held)
{
    accel_stream *stream = NULL;
    mock_hold_new_streams(held);
    OK(accel_stream_create(device, NULL, &stream));
    mock_hold_new_streams(false);
    return stream;
}

static void *allocate(accel_stream *stream, size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(stream, size, NULL, &memory));
    return memory;
}

static void *empty(void *user)
{
    (void)user;
    return (void *)(intptr_t)accel_empty_cache();
}

/* The side stream of device 1 writes, device 0 is current, and the cache is emptied, here or on another
 * thread. `home`: the memory is the side stream's own, else it was recorded there. */
static void empty_beside_a_writer(int grows, bool home, bool other_thread)
{
    const accel_device first = ACCEL_DEVICE(backends[grows], next_device++);
    const accel_device second = ACCEL_DEVICE(backends[grows], next_device++);
    accel_stream *plain = stream_of(second, false);
    accel_stream *side = stream_of(second, true);
    void *memory = allocate(home ? side : plain, 40 * MIB);
    heap_hold(side);
    if (!home)
        OK(accel_record_stream(memory, side));
    written = (uintptr_t)memory;
    is_writing = true;
    OK(accel_memory_free(memory));
    OK(accel_set_device_index(first));
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, let_go_later, NULL), 0);
    if (other_thread) {
        pthread_t emptier;
        void *status = NULL;
        assert_int_equal(pthread_create(&emptier, NULL, empty, NULL), 0);
        assert_int_equal(pthread_join(emptier, &status), 0);
        assert_null(status);
    } else {
        OK(accel_empty_cache());
    }
    assert_false(is_writing); /* it was waited for */
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(taken_early, 0);
    assert_int_equal(ledger.used, 0);
    accel_stream_release(plain);
    accel_stream_release(side);
}

static void test_writers_are_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        empty_beside_a_writer(i & 1, (i & 2) != 0, (i & 4) != 0);
}

/* Short of memory, cached memory of a busy stream must not go either. */
static void test_writers_are_waited_for_when_memory_is_short(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        const accel_device device = ACCEL_DEVICE(backends[grows], next_device++);
        ledger.capacity = 64 * MIB;
        accel_stream *plain = stream_of(device, false);
        accel_stream *side = stream_of(device, true);
        void *memory = allocate(side, 40 * MIB);
        heap_hold(side);
        written = (uintptr_t)memory;
        is_writing = true;
        OK(accel_memory_free(memory));
        pthread_t helper;
        assert_int_equal(pthread_create(&helper, NULL, let_go_later, NULL), 0);
        memory = allocate(plain, 50 * MIB);
        assert_false(is_writing);
        assert_int_equal(taken_early, 0);
        assert_int_equal(pthread_join(helper, NULL), 0);
        OK(accel_memory_free(memory));
        accel_stream_release(plain);
        accel_stream_release(side);
        OK(accel_empty_cache());
        ledger.capacity = 1024 * MIB;
    }
}

static accel_memory_statistics figures(accel_device device)
{
    accel_memory_statistics got = {.struct_size = sizeof got};
    OK(accel_memory_stats(device, &got));
    return got;
}

/* B72: asked, handed out and reserved are three things, and each has its own peak. */
static void test_three_sizes(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static void *blocks[COUNT];
    for (int grows = 0; grows < 2; grows++) {
        const accel_device device = ACCEL_DEVICE(backends[grows], next_device++);
        accel_stream *stream = stream_of(device, false);
        for (int i = 0; i < COUNT; i++)
            blocks[i] = allocate(stream, 1);
        accel_memory_statistics got = figures(device);
        assert_int_equal(got.requested_bytes[0].current, COUNT);
        assert_int_equal(got.allocated_bytes[0].current, COUNT * 512);
        assert_int_equal(got.reserved_bytes[0].current % (int64_t)(2 * MIB), 0);
        assert_int_equal(got.reserved_bytes[0].current, ledger.used);
        for (int i = 0; i < COUNT; i++)
            OK(accel_memory_free(blocks[i]));
        OK(accel_empty_cache());
        const accel_memory_statistics after = figures(device);
        assert_int_equal(after.requested_bytes[0].current, 0);
        assert_int_equal(after.allocated_bytes[0].current, 0);
        assert_int_equal(after.reserved_bytes[0].current, 0);
        assert_int_equal(after.requested_bytes[0].peak, COUNT);
        assert_int_equal(after.allocated_bytes[0].peak, COUNT * 512);
        assert_int_equal(after.reserved_bytes[0].peak, got.reserved_bytes[0].current);
        accel_stream_release(stream);
    }
}

/* The collection rule goes by what is reserved, not by what was asked for. */
static void test_garbage_is_collected(void **state)
{
    (void)state;
    const accel_device device = ACCEL_DEVICE(backends[0], next_device++);
    OK(accel_allocator_set_config("expandable_segments:False,garbage_collection_threshold:0.5"));
    OK(accel_allocator_set_memory_limit(device, 400 * MIB));
    accel_stream *stream = stream_of(device, false);
    void *old[3];
    for (int i = 0; i < 3; i++)
        old[i] = allocate(stream, 70 * MIB);
    for (int i = 0; i < 3; i++)
        OK(accel_memory_free(old[i]));
    assert_int_equal(ledger.used, 210 * MIB);
    void *larger = allocate(stream, 100 * MIB);
    assert_true(ledger.used < 310 * MIB); /* above 200 MiB what lay longest went */
    OK(accel_memory_free(larger));
    OK(accel_allocator_set_memory_limit(device, 0));
    OK(accel_allocator_set_config(""));
    accel_stream_release(stream);
    OK(accel_empty_cache());
    assert_int_equal(ledger.used, 0);
}

/* Each allocation is one of the driver, and goes back once its stream has passed, not before. */
static void test_without_caching(void **state)
{
    (void)state;
    OK(accel_allocator_set_config("caching:False"));
    const accel_device device = ACCEL_DEVICE(backends[0], next_device++);
    accel_stream *plain = stream_of(device, false);
    accel_stream *side = stream_of(device, true);
    const unsigned calls = ledger.calls;
    void *memory = allocate(plain, 1000);
    assert_int_equal(ledger.used, 1024);
    OK(accel_memory_free(memory));
    assert_int_equal(ledger.used, 0);
    assert_int_equal(ledger.calls, calls + 2);
    memory = allocate(side, 1000);
    heap_hold(side);
    written = (uintptr_t)memory;
    is_writing = true;
    OK(accel_memory_free(memory));
    assert_int_equal(ledger.used, 1024);
    is_writing = false;
    mock_release_all();
    OK(accel_memory_free(allocate(plain, 1)));
    assert_int_equal(ledger.used, 0);
    assert_int_equal(taken_early, 0);
    OK(accel_allocator_set_config(""));
    accel_stream_release(plain);
    accel_stream_release(side);
}

/* B49: nothing was allocated, and nothing is asked. */
static void test_nothing_to_empty(void **state)
{
    (void)state;
    const unsigned calls = ledger.calls;
    OK(accel_empty_cache());
    assert_int_equal(ledger.calls, calls);
}

static int set_up(void **state)
{
    (void)state;
    ledger.capacity = 1024 * MIB;
    ledger.on_taken = look_at_taken;
    backends[0] = heap_backend(false);
    backends[1] = heap_backend(true);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_empty),
        cmocka_unit_test(test_writers_are_waited_for),
        cmocka_unit_test(test_writers_are_waited_for_when_memory_is_short),
        cmocka_unit_test(test_three_sizes),
        cmocka_unit_test(test_garbage_is_collected),
        cmocka_unit_test(test_without_caching),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
