/* short_memory_test.c: an allocation that finds no room waits for what was freed and is still in use, also
 * behind a stream that has failed: nothing runs there any more. With the mock, and little memory. */
#include <stdlib.h>

#include "doubles/mock_backend.h"
#include "support/check.h"

#include "core/registry.h"

enum { BLOCK = 8 << 20, ROOM = 12 << 20 };

static accel_backend number;
static accel_backend_table real;

/* ---- a device with room for one block ---- */

enum { BLOCKS_MAX = 8 };

static struct {
    void *address;
    size_t size;
} blocks[BLOCKS_MAX];
static size_t taken;
static unsigned refusals;

static accel_status alloc(accel_native_device *device, size_t size, size_t alignment,
                          void **out_pointer)
{
    *out_pointer = NULL;
    if (taken + size > ROOM) {
        refusals++;
        mock.fail[MOCK_ALLOC] = 1;
    }
    const accel_status status = real.memory.alloc(device, size, alignment, out_pointer);
    for (int i = 0; i < BLOCKS_MAX && status == ACCEL_OK; i++)
        if (blocks[i].address == NULL) {
            blocks[i].address = *out_pointer;
            blocks[i].size = size;
            taken += size;
            break;
        }
    return status;
}

static void give_back(accel_native_device *device, void *pointer)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (blocks[i].address == pointer) {
            blocks[i].address = NULL;
            taken -= blocks[i].size;
        }
    real.memory.free(device, pointer);
}

/* ---- a stream that fails ---- */

static accel_native_stream *failing;

static accel_status synchronize(accel_native_stream *stream)
{
    mock_release_all(); /* what is waited for goes on */
    if (stream == failing)
        mock.fail[MOCK_STREAM_SYNCHRONIZE] = 1;
    return real.stream.synchronize(stream);
}

static accel_status create(accel_native_device *device, int32_t priority,
                           accel_native_stream **out_stream)
{
    const accel_status status = real.stream.create(device, priority, out_stream);
    failing = *out_stream; /* the last one */
    return status;
}

/* One for each case: what an earlier one keeps in caches shall not matter. */
static void add_backend(const char *name)
{
    real = mock_table();
    accel_backend_table table = real;
    memset(blocks, 0, sizeof blocks);
    taken = 0;
    table.name = name;
    table.memory.alloc = alloc;
    table.memory.free = give_back;
    table.stream.synchronize = synchronize;
    table.stream.create = create;
    mock.device_count = 1;
    OK(accel__registry_add(&table, &number));
}

/* A block that was freed with work pending on its stream; with `fails`, that is not all that is waited
 * for: another stream, made later and so met first, fails in the wait. */
static void allocate_behind(bool fails)
{
    accel_stream *busy = NULL;
    accel_stream *other = NULL;
    void *first = NULL;
    void *second = NULL;
    mock_hold_new_streams(true);
    OK(accel_stream_create(ACCEL_DEVICE(number, 0), NULL, &busy));
    mock_hold_new_streams(false);
    OK(accel_stream_create(ACCEL_DEVICE(number, 0), NULL, &other));
    if (!fails)
        failing = NULL;
    OK(accel_memory_alloc(busy, BLOCK, NULL, &first));
    OK(accel_fill(first, "", 1, 64, busy));
    OK(accel_memory_free(first));
    refusals = 0;
    accel_error before = {.struct_size = sizeof before};
    OK(accel_last_error(&before));
    OK(accel_memory_alloc(other, BLOCK, NULL, &second));
    assert_true(refusals != 0); /* else this is no test of anything */
    accel_error after = {.struct_size = sizeof after};
    OK(accel_last_error(&after));
    assert_string_equal(after.message, before.message); /* what was made good leaves no record */
    OK(accel_memory_free(second));
    failing = NULL;
    accel_stream_release(other);
    accel_stream_release(busy);
    OK(accel_synchronize(ACCEL_DEVICE(number, 0)));
}

static void test_behind_a_busy_stream(void **state)
{
    (void)state;
    add_backend("narrow");
    allocate_behind(false);
}

static void test_behind_a_failed_stream(void **state)
{
    (void)state;
    add_backend("narrow_too");
    allocate_behind(true);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behind_a_busy_stream),
        cmocka_unit_test(test_behind_a_failed_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
