/* random_split_test.c: a fill that is too large for one launch of its device is made by several, which
 * together write what one would have (B107). The device is given a small limit for that. */
#include <stdlib.h>

#include "core/device.h"
#include "support/check.h"

enum { COUNT = 200003 };

static accel_stream *stream;
static accel_generator *generator;
static unsigned char *memory;

static void draw(accel_data_type type, bool raw, unsigned char *back)
{
    const size_t size = COUNT * accel_data_type_size(type);
    OK(accel_generator_set_offset(generator, (UINT64_C(1) << 34) - 80000));
    OK(accel_fill(memory, "", 1, COUNT * 8, stream));
    if (raw)
        OK(accel_random_raw(memory, type, COUNT, generator, stream));
    else
        OK(accel_random_normal(memory, type, COUNT, generator, stream));
    OK(accel_copy(back, memory, size, stream));
    OK(accel_stream_synchronize(stream));
}

static void several_launches(void **state)
{
    static const struct {
        accel_data_type type;
        bool raw;
    } kinds[] = {{ACCEL_DATA_TYPE_U32, true},
                 {ACCEL_DATA_TYPE_U64, true},
                 {ACCEL_DATA_TYPE_F32, false},
                 {ACCEL_DATA_TYPE_F64, false},
                 {ACCEL_DATA_TYPE_BF16, false}};
    accel__device *device = NULL;
    unsigned char *whole = malloc(COUNT * 8);
    unsigned char *parts = malloc(COUNT * 8);
    (void)state;
    assert_true(whole != NULL && parts != NULL);
    OK(accel__device_resolve(test_cpu_device(0), __func__, &device));
    const accel_device_capability limits = device->capability;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t size = COUNT * accel_data_type_size(kinds[i].type);
        device->capability = limits;
        draw(kinds[i].type, kinds[i].raw, whole);
        for (uint64_t most = 1; most < 30; most += 7) {
            device->capability.max_grid[0] = most;
            draw(kinds[i].type, kinds[i].raw, parts);
            assert_memory_equal(whole, parts, size);
        }
    }
    device->capability = limits;
    free(whole);
    free(parts);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_launches)};
    if (accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
        accel_generator_create(test_cpu_device(0), &generator) != ACCEL_OK ||
        accel_memory_alloc(stream, COUNT * 8, NULL, (void **)&memory) != ACCEL_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    accel_memory_free(memory);
    accel_generator_release(generator);
    accel_stream_release(stream);
    return failed;
}
