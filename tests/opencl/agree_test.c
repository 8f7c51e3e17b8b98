/* agree_test.c: opencl:0 beside cpu:0 on the same kernels and numbers: integers agree bit for bit, so does
 * float arithmetic, and functions of floats within the ulp that OpenCL allows them.
 *
 * docs/backend-opencl.md states these bounds. */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"

enum { ROWS = 512 };

typedef struct column {
    const char *expression; /* of floats x and y */
    unsigned ulp;           /* between the two devices: OpenCL's bound, and the cpu backend's 1 */
} column;

static const column columns[] = {
    {"x + y", 0},
    {"x * y", 0},
    {"x * y + x", 0}, /* not contracted */
    {"x - floor(y)", 0},
    {"rint(x) + trunc(y)", 0},
    {"fmin(x, y) - fmax(x, y)", 0},
    {"ldexp(x, 3)", 0},
    {"convert_float(convert_int_sat_rte(x * 100.0f))", 0},
    {"fma(x, y, 1.0f)", 0},
    {"x / (fabs(y) + 0.5f)", 3},
    {"sqrt(fabs(x))", 3},
    {"rsqrt(fabs(x) + 0.01f)", 3},
    {"exp(x)", 4},
    {"exp2(x)", 4},
    {"log(fabs(x) + 1.5f)", 4},
    {"log2(fabs(x) + 1.5f)", 4},
    {"sin(x)", 5},
    {"cos(x)", 5},
    {"atan(x)", 6},
    {"tanh(x)", 6},
    {"cbrt(x)", 3},
    {"hypot(x, y)", 5},
    {"pow(fabs(x) + 0.1f, y)", 17},
    {"erf(x)", 17},
};

static const char *const integers[] = {
    "a / b",
    "a % b",
    "a << (b & 31)",
    "a >> (b & 31)",
    "mul_hi(a, b)",
    "add_sat(a, b)",
    "hadd(a, b)",
    "(int)rotate((uint)a, (uint)b)",
    "clz(a)",
    "popcount(a)",
    "(int)abs_diff(a, b)",
    "ctz(a)",
    "(int)((ulong)a / (ulong)b)",
    "(int)((long)a % (long)b)",
    "(short)a / (short)b",
    "convert_uchar_sat(a)",
    "(int)((uint)a ^ (uint)b * 1664525u)",
    "max(a, b) - (min(a, b) & 255)",
};

enum {
    FLOATS = sizeof columns / sizeof columns[0],
    INTEGERS = sizeof integers / sizeof integers[0]
};

static accel_device devices[2]; /* cpu:0, opencl:0 */

static void add(char *text, size_t capacity, const char *format, int number, const char *expression)
{
    const size_t used = strlen(text);
    assert_true(used + 100 < capacity);
    snprintf(text + used, capacity - used, format, number, expression);
}

/* One kernel with all expressions, one line each. */
static const char *make_source(void)
{
    static char text[8192];
    strcpy(text, "__kernel void floats(__global const float *in, __global float *out)\n{\n"
                 "const int i = get_global_id(0); const float x = in[2 * i], y = in[2 * i + 1];\n");
    add(text, sizeof text, "out += i * %d;%s\n", FLOATS, "");
    for (int k = 0; k < FLOATS; k++)
        add(text, sizeof text, "out[%d] = %s;\n", k, columns[k].expression);
    strcat(text, "}\n__kernel void integers(__global const int *in, __global int *out)\n{\n"
                 "const int i = get_global_id(0); const int a = in[2 * i], b = in[2 * i + 1];\n");
    add(text, sizeof text, "out += i * %d;%s\n", INTEGERS, "");
    for (int k = 0; k < INTEGERS; k++)
        add(text, sizeof text, "out[%d] = %s;\n", k, integers[k]);
    strcat(text, "}\n");
    return text;
}

static void run(accel_device device, const char *name, const void *in, void *out, size_t out_size)
{
    const char *source = make_source();
    const accel_launch_shape shape = {{ROWS / 32, 1, 1}, {32, 1, 1}};
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *from = NULL;
    void *to = NULL;
    if (accel_module_create_from_source(device, source, strlen(source), NULL, &module) != ACCEL_OK)
        fail_msg("%s\n%s", accel_last_error_message(), source);
    OK(accel_module_get_kernel(module, name, &kernel));
    OK(accel_stream_default(device, &stream));
    OK(accel_memory_alloc(stream, ROWS * 8, NULL, &from));
    OK(accel_memory_alloc(stream, out_size, NULL, &to));
    OK(accel_copy(from, in, ROWS * 8, stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(from), ACCEL_ARG_POINTER(to)};
    OK(accel_kernel_launch(kernel, stream, &shape, args, 2));
    OK(accel_copy(out, to, out_size, stream));
    OK(accel_stream_synchronize(stream));
    OK(accel_memory_free(from));
    OK(accel_memory_free(to));
    accel_module_release(module);
}

/* How many floats lie between two. */
static uint32_t distance(float a, float b)
{
    int32_t bits[2];
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : UINT32_MAX;
    memcpy(&bits[0], &a, 4);
    memcpy(&bits[1], &b, 4);
    for (int i = 0; i < 2; i++)
        bits[i] = bits[i] < 0 ? INT32_MIN - bits[i] : bits[i];
    const int64_t difference = (int64_t)bits[0] - bits[1];
    return (uint32_t)(difference < 0 ? -difference : difference);
}

static void test_floats(void **state)
{
    (void)state;
    static float in[2 * ROWS], out[2][ROWS * FLOATS];
    srand(7);
    for (int i = 0; i < 2 * ROWS; i++)
        in[i] = (float)(rand() % 16001 - 8000) / 1024.0f;
    for (int d = 0; d < 2; d++)
        run(devices[d], "floats", in, out[d], sizeof out[d]);
    bool good = true;
    for (int k = 0; k < FLOATS; k++) {
        uint32_t worst = 0;
        for (int i = 0; i < ROWS; i++) {
            const uint32_t now = distance(out[0][i * FLOATS + k], out[1][i * FLOATS + k]);
            worst = now > worst ? now : worst;
        }
        if (worst > columns[k].ulp)
            print_error("%s: %u ulp, not %u\n", columns[k].expression, worst, columns[k].ulp);
        good = good && worst <= columns[k].ulp;
    }
    assert_true(good);
}

static void test_integers(void **state)
{
    (void)state;
    static const int odd[] = {0, 1, -1, 2, INT32_MAX, INT32_MIN, 7, -7};
    static int in[2 * ROWS], out[2][ROWS * INTEGERS];
    srand(11);
    for (int i = 0; i < 2 * ROWS; i++)
        in[i] = i < 128 ? odd[(i % 2 == 0 ? i / 16 : i / 2) % 8]
                        : (int)((unsigned)rand() * 2654435761u);
    for (int d = 0; d < 2; d++)
        run(devices[d], "integers", in, out[d], sizeof out[d]);
    for (int i = 0; i < ROWS * INTEGERS; i++)
        if (out[0][i] != out[1][i])
            fail_msg("%s of %d and %d: %d on cpu, %d on opencl", integers[i % INTEGERS],
                     in[2 * (i / INTEGERS)], in[2 * (i / INTEGERS) + 1], out[0][i], out[1][i]);
}

static int begin(void **state)
{
    (void)state;
    devices[0] = test_cpu_device(0);
    devices[1].index = 0;
    OK(accel_backend_find("opencl", &devices[1].backend));
    return 0;
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
