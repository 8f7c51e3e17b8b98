/* kernel_files.h: runs the kernels of tests/kernels on every device there is. A test states the
 * arguments once, with what the host expects afterwards; buffers are copied in, and back. */
#ifndef TESTS_SUPPORT_KERNEL_FILES_H
#define TESTS_SUPPORT_KERNEL_FILES_H

#include <accel/accel.h>

typedef struct test_arg {
    accel_kernel_arg_kind kind;
    size_t size;
    const void
        *data; /* POINTER: host memory that is copied to the device and back; not constant then */
} test_arg;

#define ARG_BUFFER(array)                                                                          \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_POINTER, sizeof(array), (array)                                      \
    }
#define ARG_BYTES(pointer, bytes)                                                                  \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_POINTER, (bytes), (pointer)                                          \
    }
#define ARG_VALUE(variable)                                                                        \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_VALUE, sizeof(variable), &(variable)                                 \
    }
#define ARG_LOCAL(bytes)                                                                           \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_LOCAL, (bytes), NULL                                                 \
    }

/* The same buffer as the argument before it. */
#define ARG_SAME                                                                                   \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_POINTER, 0, NULL                                                     \
    }

/* The text of tests/kernels/`file`, with a NUL behind it; to be freed. */
char *test_kernel_text(const char *file, size_t *out_size);

/* Runs kernel `name` of tests/kernels/`file`, in blocks as `shape` says, on `device`. Modules are
 * built once a device and kept. `checks`: with the debug mode of barriers. Fails the test where
 * anything fails. */
void test_run_kernel(accel_device device, bool checks, const char *file, const char *name,
                     const accel_launch_shape *shape, const test_arg *args, uint32_t arg_count);

/* The module of a file; lent. */
accel_module *test_kernel_file(accel_device device, bool checks, const char *file);

/* Calls `test` for each device, and once more with checked barriers where the device has that. Left out
 * are drivers' devices for which the file TEST_EXCEPTIONS has a line
 *
 *     BACKEND/DRIVER kernels/NAME REASON
 *
 * with the DRIVER that TEST_DRIVER names. */
void test_each_device(const char *name, void (*test)(accel_device device, bool checks));

bool test_has_doubles(accel_device device);

/* Numbers that look random and are the same in each run. */
uint32_t test_random(uint32_t *state);

/* In a function (accel_device device, bool checks): runs a kernel with these arguments there. */
#define RUN(file, name, shape, ...)                                                                \
    do {                                                                                           \
        const test_arg args[] = {__VA_ARGS__};                                                     \
        test_run_kernel(device, checks, file, name, &(shape), args, sizeof args / sizeof args[0]); \
    } while (0)

/* The test test_`name`, which calls name(device, checks) for each device. */
#define TEST_OF(name)                                                                              \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        test_each_device(#name, name);                                                             \
    }

/* Releases the modules; for cmocka's groups. */
int test_release_kernel_files(void **state);

#endif
