/* host_class_test.c: the size classes of pinned memory (memory/host/host_class.h): bounded waste, in order. */
#include "support/check.h"

#include "memory/host/host_class.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static void test_classes(void **state)
{
    (void)state;
    unsigned last_class = 0;
    size_t last_rounded = 0;
    for (size_t size = 1; size <= (size_t)1 << ACCEL__HOST_CLASS_MOST_LOG2; size += size / 61 + 1) {
        const size_t rounded = accel__host_class_round(size);
        const unsigned class_index = accel__host_class_of(rounded);
        assert_true(rounded >= size && rounded % 512 == 0);
        assert_true(rounded - size < 512 || (rounded - size) * 8 <= size);
        assert_true(size <= MIB || rounded - size < 4 * KIB);
        assert_int_equal(accel__host_class_round(rounded), rounded);
        assert_true(class_index < ACCEL__HOST_CLASSES && class_index >= last_class);
        if (rounded <= MIB && rounded != last_rounded)
            assert_true(last_rounded == 0 || class_index > last_class);
        assert_true(accel__host_class_most(rounded) - rounded <= rounded / 8);
        assert_true(accel__host_class_of(accel__host_class_most(rounded)) <=
                    class_index + ACCEL__HOST_CLASS_SPAN);
        last_class = class_index;
        last_rounded = rounded;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
