/* kernels_barriers_test.c: tests/kernels/barriers.cl against loops over whole blocks in C, in blocks
 * of many sizes, powers of two or not. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernel_files.h"

enum { BLOCKS = 5, MOST = 256 };

static const uint32_t sizes[] = {1, 2, 3, 5, 8, 16, 37, 64, 100, 256};
static accel_device device;
static bool checks;
static uint32_t block;
static uint32_t total;
static int data[BLOCKS * MOST];
static int wanted[BLOCKS * MOST];

static accel_launch_shape line(void)
{
    return (accel_launch_shape){{BLOCKS, 1, 1}, {block, 1, 1}};
}

#define RUN_LINE(name, ...)                                                                        \
    do {                                                                                           \
        const accel_launch_shape shape = line();                                                   \
        RUN("barriers.cl", name, shape, __VA_ARGS__);                                              \
    } while (0)

#define DATA ARG_BYTES(data, total * sizeof(int))
#define TILE ARG_LOCAL(block * sizeof(int))

static void fill(uint32_t seed, int most)
{
    for (uint32_t i = 0; i < total; i++)
        data[i] = (int)(test_random(&seed) % (uint32_t)most);
}

/* The block of item i, and where it begins. */
static uint32_t begin_of(uint32_t i)
{
    return i / block * block;
}

static void compare(const char *what)
{
    for (uint32_t i = 0; i < total; i++)
        if (data[i] != wanted[i])
            fail_msg("%s, blocks of %u: item %u is %d, not %d", what, block, i, data[i], wanted[i]);
}

static void reduce(void)
{
    int out[BLOCKS] = {0};
    const int n = (int)total - 2 < 0 ? 0 : (int)total - 2;
    fill(1, 1000);
    RUN_LINE("reduce", DATA, ARG_BUFFER(out), TILE, ARG_VALUE(n));
    for (uint32_t b = 0; b < BLOCKS; b++) {
        int sum = 0;
        for (uint32_t i = b * block; i < (b + 1) * block && (int)i < n; i++)
            sum += data[i];
        assert_int_equal(out[b], sum);
    }
}

static void scan(void)
{
    fill(2, 1000);
    for (uint32_t i = 0; i < total; i++) {
        int sum = 0;
        for (uint32_t k = begin_of(i); k <= i; k++)
            sum += data[k];
        wanted[i] = 2 * sum - data[i];
    }
    RUN_LINE("scan", DATA, TILE, TILE);
    compare("scan");
}

static void early_return(void)
{
    static int out[BLOCKS * MOST];
    for (int n = 0; n <= (int)total; n += (int)total / 3 + 1) {
        fill(3, 1000);
        for (uint32_t i = 0; i < total; i++) {
            out[i] = -5;
            wanted[i] = -5;
            if ((int)i >= n)
                continue;
            wanted[i] = data[i] + (i > begin_of(i) ? data[i - 1] : 0);
            if ((int)i + 1 < n && i + 1 < begin_of(i) + block)
                wanted[i] += data[i + 1];
        }
        RUN_LINE("early_return", DATA, ARG_BYTES(out, total * sizeof(int)), TILE, ARG_VALUE(n));
        memcpy(data, out, total * sizeof(int));
        compare("early_return");
    }
}

static void late_return(void)
{
    static int out[BLOCKS * MOST];
    fill(4, 1000);
    for (uint32_t i = 0; i < total; i++) {
        wanted[i] = -1;
        if (data[i] % 3 == 0)
            continue;
        wanted[i] = 0;
        for (uint32_t k = 0; k < 4; k++)
            wanted[i] += data[begin_of(i) + (i - begin_of(i) + k) % block];
    }
    RUN_LINE("late_return", DATA, ARG_BYTES(out, total * sizeof(int)), TILE);
    memcpy(data, out, total * sizeof(int));
    compare("late_return");
}

static void in_branches(void)
{
    for (int mode = 0; mode <= 24; mode += 6) {
        fill(5, 1000);
        for (uint32_t i = 0; i < total; i++) {
            const uint32_t mirror = 2 * begin_of(i) + block - 1 - i;
            wanted[i] = mode > 20   ? data[i] + 1
                        : mode > 10 ? data[mirror]
                        : mode > 5  ? data[mirror] * 2
                                    : -data[i];
        }
        RUN_LINE("in_branches", DATA, TILE, ARG_VALUE(mode));
        compare("in_branches");
    }
}

static void settle(void)
{
    int rounds[BLOCKS];
    fill(6, 1000);
    int most[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        most[b] = -1;
        for (uint32_t i = b * block; i < (b + 1) * block; i++)
            most[b] = data[i] > most[b] ? data[i] : most[b];
    }
    int expected[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t far = 0;
        for (uint32_t i = b * block; i < (b + 1) * block; i++) {
            uint32_t near = MOST;
            for (uint32_t k = b * block; k < (b + 1) * block; k++)
                if (data[k] == most[b] && (uint32_t)abs((int)k - (int)i) < near)
                    near = (uint32_t)abs((int)k - (int)i);
            far = near > far ? near : far;
        }
        expected[b] = (int)far + 1;
    }
    RUN_LINE("settle", DATA, TILE, ARG_BUFFER(rounds));
    for (uint32_t i = 0; i < total; i++)
        wanted[i] = most[i / block];
    compare("settle");
    assert_memory_equal(rounds, expected, sizeof rounds);
}

static void in_switch(void)
{
    for (int mode = 0; mode < 4; mode++) {
        fill(7, 1000);
        for (uint32_t i = 0; i < total; i++) {
            const uint32_t b = begin_of(i);
            const int other = data[2 * b + block - 1 - i];
            wanted[i] = mode == 0   ? data[b + (i - b + 1) % block]
                        : mode == 1 ? (other + 100) * 3
                        : mode == 2 ? other * 3
                                    : 7;
        }
        RUN_LINE("in_switch", DATA, TILE, ARG_VALUE(mode));
        compare("in_switch");
    }
}

static int rotated(const int *values, uint32_t i, uint32_t by)
{
    return values[begin_of(i) + (i - begin_of(i) + by) % block];
}

static void in_functions(void)
{
    static int once[BLOCKS * MOST], twice[BLOCKS * MOST];
    for (int by = 0; by < 5; by++) {
        fill(8, 100);
        for (uint32_t i = 0; i < total; i++)
            once[i] = rotated(data, i, (uint32_t)by);
        for (uint32_t i = 0; i < total; i++)
            twice[i] = once[i] + rotated(once, i, (uint32_t)by + 1) + 1;
        for (uint32_t i = 0; i < total; i++)
            wanted[i] = twice[i] * 1000 + (by > 2 ? rotated(once, i, 1) : once[i]);
        RUN_LINE("in_functions", DATA, TILE, ARG_VALUE(by));
        compare("in_functions");
    }
}

static void nested(void)
{
    const int rows = 4;
    for (int stop = 0; stop < 40; stop += 13) {
        fill(9, 100);
        for (uint32_t i = 0; i < total; i++) {
            int sum = 0;
            for (int r = 0; r < rows; r++)
                for (int c = r; r != 2 && c < rows && r * 10 + c != stop; c++)
                    sum += (rotated(data, i, (uint32_t)(r + c)) + c) * (r + 1);
            wanted[i] = sum;
        }
        RUN_LINE("nested", DATA, TILE, ARG_VALUE(rows), ARG_VALUE(stop));
        compare("nested");
    }
}

static void parting(void)
{
    const int turns = 6;
    fill(10, 1000);
    for (uint32_t i = 0; i < total; i++) {
        int sum = 0;
        for (int t = 0; t < turns; t++) {
            const int other = data[2 * begin_of(i) + block - 1 - i] * (t + 1);
            if (other % 2 != 0)
                sum += other % 3 == 0 ? -other : other;
        }
        wanted[i] = sum;
    }
    RUN_LINE("parting", DATA, TILE, ARG_VALUE(turns));
    compare("parting");
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void odd_even_sort(void)
{
    fill(11, 100000);
    memcpy(wanted, data, total * sizeof(int));
    for (uint32_t b = 0; b < BLOCKS; b++)
        qsort(wanted + b * block, block, sizeof(int), by_value);
    RUN_LINE("odd_even_sort", DATA, TILE);
    compare("odd_even_sort");
}

static void private_memory(void)
{
    static const int weights[] = {1, -2, 3, -4, 5};
    fill(12, 1000);
    for (uint32_t i = 0; i < total; i++) {
        int sum = 0;
        int odd = 0;
        for (int k = 0; k < 5; k++) {
            const int value = (rotated(data, i, (uint32_t)k) + k * k) * weights[k];
            odd += value & 1;
            sum = sum * 3 + value;
        }
        wanted[i] = sum + odd;
    }
    RUN_LINE("private_memory", DATA, TILE);
    compare("private_memory");
}

static void leave_all(void)
{
    static int before[BLOCKS * MOST];
    for (int at = 0; at <= 11; at += 5) {
        fill(13, 1000);
        memcpy(wanted, data, total * sizeof(int));
        for (int turn = 0; turn <= at && turn < 10; turn++) {
            memcpy(before, wanted, total * sizeof(int));
            for (uint32_t i = 0; i < total; i++)
                wanted[i] = before[2 * begin_of(i) + block - 1 - i] + 1;
        }
        for (uint32_t i = 0; i < total; i++)
            wanted[i] = at >= 10 ? -wanted[i] : wanted[i] + (i == begin_of(i) ? 1000 : 0);
        RUN_LINE("leave_all", DATA, TILE, ARG_VALUE(at));
        compare("leave_all");
    }
}

static void (*body)(void);

static void run_sizes(accel_device on, bool with_checks)
{
    device = on;
    checks = with_checks;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        block = sizes[i];
        total = BLOCKS * block;
        body();
    }
}

#define SIZES_TEST_OF(name)                                                                        \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        body = name;                                                                               \
        test_each_device(#name, run_sizes);                                                        \
    }

SIZES_TEST_OF(reduce)
SIZES_TEST_OF(scan)
SIZES_TEST_OF(early_return)
SIZES_TEST_OF(late_return)
SIZES_TEST_OF(in_branches)
SIZES_TEST_OF(settle)
SIZES_TEST_OF(in_switch)
SIZES_TEST_OF(in_functions)
SIZES_TEST_OF(nested)
SIZES_TEST_OF(parting)
SIZES_TEST_OF(odd_even_sort)
SIZES_TEST_OF(private_memory)
SIZES_TEST_OF(leave_all)

/* ---- the debug mode ---- */

static const char unmet_lines[][32] = {"line 6", "line 14", "line 23", "line 30"};
static const char *const unmet[] = {"in_branch", "in_loop", "behind_break", "in_case"};

static accel_status launch_unmet(accel_module *module, const char *name, int odd)
{
    int values[16];
    void *memory = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    for (int i = 0; i < 16; i++)
        values[i] = i;
    OK(accel_module_get_kernel(module, name, &kernel));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_memory_alloc(stream, sizeof values, NULL, &memory));
    OK(accel_copy(memory, values, sizeof values, stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(odd)};
    const accel_launch_shape shape = {{2, 1, 1}, {8, 1, 1}};
    OK(accel_kernel_launch(kernel, stream, &shape, args, 2));
    const accel_status status = accel_stream_synchronize(stream);
    accel_memory_free(memory);
    accel_stream_release(stream);
    return status;
}

/* Where all items agree nothing is said; where they do not, the stream fails and names the line. */
static void test_unmet_barriers(void **state)
{
    (void)state;
    accel_module *module = test_kernel_file(test_cpu_device(0), true, "unmet.cl");
    for (size_t i = 0; i < sizeof unmet / sizeof unmet[0]; i++) {
        OK(launch_unmet(module, unmet[i], 0));
        assert_int_not_equal(launch_unmet(module, unmet[i], 3), ACCEL_OK);
        if (strstr(accel_last_error_message(), unmet_lines[i]) == NULL)
            fail_msg("%s: %s", unmet[i], accel_last_error_message());
    }
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce),        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_early_return),  cmocka_unit_test(test_late_return),
        cmocka_unit_test(test_in_branches),   cmocka_unit_test(test_settle),
        cmocka_unit_test(test_in_switch),     cmocka_unit_test(test_in_functions),
        cmocka_unit_test(test_nested),        cmocka_unit_test(test_parting),
        cmocka_unit_test(test_odd_even_sort), cmocka_unit_test(test_private_memory),
        cmocka_unit_test(test_leave_all),     cmocka_unit_test(test_unmet_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, test_release_kernel_files);
}
