/* kernels_numbers_test.c: integer and floating arithmetic of kernels against C. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernel_files.h"

enum { N = 64 };

static uint32_t seed = 77;
static const int odd_ints[] = {0, 1, -1, INT_MIN, INT_MAX, 2, -2, 255, -128, 65536, 31, 32, 33};

static const accel_launch_shape line = {{4, 1, 1}, {N / 4, 1, 1}};

static int any_int(int i)
{
    const int count = (int)(sizeof odd_ints / sizeof odd_ints[0]);
    return i < count ? odd_ints[i] : (int)test_random(&seed) >> (test_random(&seed) % 31);
}

static void fill_ints(int *a, int *b)
{
    for (int i = 0; i < N; i++) {
        a[i] = any_int(i);
        b[i] = any_int((i * 7 + 3) % N);
    }
}

static void expect(const char *what, int i, int column, int got, int wanted)
{
    if (got != wanted)
        fail_msg("%s: row %d, column %d is %d, not %d", what, i, column, got, wanted);
}

static void operators(accel_device device, bool checks)
{
    static int a[N], b[N], out[N * 16];
    fill_ints(a, b);
    RUN("integers.cl", "operators", line, ARG_BUFFER(a), ARG_BUFFER(b), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        const int64_t x = a[i], y = b[i];
        const uint32_t ux = (uint32_t)x, uy = (uint32_t)y;
        const int s = (int)(uy & 31);
        const int64_t w[16] = {
            y == 0 ? 0 : x / y,
            y == 0 ? 0 : x % y,
            uy == 0 ? 0 : ux / uy,
            uy == 0 ? 0 : ux % uy,
            (int32_t)(ux << s),
            x >> s,
            ux >> s,
            (x & y) | (~x ^ y),
            (x < y) + 2 * (x <= y) + 4 * (ux < uy) + 8 * (x == y) + 16 * !x,
            (x && y) * 10 + (x || y),
            (int8_t)x + (uint8_t)x * (int16_t)y,
            (int32_t)(ux * 2654435761u + uy),
            x > y ? x - 1 : -y,
            x * y >> 32,
            x / 7 + x % -5,
            (int32_t)((uint64_t)ux * uy % 1000003u),
        };
        for (int k = 0; k < 16; k++)
            expect("operators", i, k, out[i * 16 + k], (int)w[k]);
    }
}

static void assignments(accel_device device, bool checks)
{
    enum { COUNT = 16 };
    int data[COUNT], before[COUNT];
    uint8_t bytes[COUNT];
    int64_t longs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        before[i] = data[i] = i * 37 + 5;
        bytes[i] = (uint8_t)(i * 31);
        longs[i] = (int64_t)i * 1000000000039;
    }
    const accel_launch_shape shape = {{4, 1, 1}, {4, 1, 1}};
    RUN("integers.cl", "assignments", shape, ARG_BUFFER(data), ARG_BUFFER(bytes),
        ARG_BUFFER(longs));
    for (int i = 0; i < COUNT; i++) {
        const int v = (((before[i] + 2) * 5 / before[i] % 1000 << i >> 1 | 16) ^ 5) & 0xffff;
        const int k = v + 1 + v + 2; /* data = v++; data += 1 + ++v */
        expect("assignments", i, 0, data[i], k);
        const uint8_t byte = (uint8_t)((uint8_t)(i * 31 + 200) / 3 << 1);
        expect("assignments", i, 1, bytes[i], byte);
        const int64_t whole = (int64_t)i * 1000000000039 / k - ((int64_t)i << 40);
        assert_true(longs[i] == whole % 1000000007);
    }
}

static int64_t clamp64(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static int leading_zeros(uint64_t v, int bits)
{
    int count = 0;
    while (count < bits && (v >> (bits - 1 - count) & 1) == 0)
        count++;
    return count;
}

static int ones(uint32_t v)
{
    int count = 0;
    for (; v != 0; v &= v - 1)
        count++;
    return count;
}

static void integer_functions(accel_device device, bool checks)
{
    static int a[N], b[N], out[N * 24];
    fill_ints(a, b);
    RUN("integers.cl", "functions", line, ARG_BUFFER(a), ARG_BUFFER(b), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        const int64_t x = a[i], y = b[i];
        const uint32_t ux = (uint32_t)x, uy = (uint32_t)y;
        const unsigned turn = uy & 31;
        const int64_t w[24] = {
            llabs(x),
            llabs(x - y),
            clamp64(x + y, INT_MIN, INT_MAX),
            clamp64(x - y, INT_MIN, INT_MAX),
            clamp64((int64_t)ux + uy, 0, UINT_MAX),
            clamp64((int64_t)ux - uy, 0, UINT_MAX),
            (x + y) >> 1,
            (x + y + 1) >> 1,
            x * y >> 32,
            (int64_t)((uint64_t)ux * uy >> 32),
            (x * y >> 32) + 5,
            clamp64(x * y + 7, INT_MIN, INT_MAX),
            turn == 0 ? ux : (int64_t)(ux << turn | ux >> (32 - turn)),
            leading_zeros(ux, 32),
            ones(ux),
            x ^ y,
            clamp64(x, -100, 100),
            (x & 0xfff) * (y & 0xfff),
            (x & 0xfff) * (y & 0xfff) + 3,
            (int64_t)(((uint64_t)ux << 32 | uy) >> 16),
            (x & ~0x0ff0f00fll) | (y & 0x0ff0f00fll),
            x & 1 ? y : x,
            leading_zeros(ux & 255, 8) + 100 * leading_zeros(uy & 65535, 16),
            (int64_t)((uint64_t)ux * uy >> 24),
        };
        for (int k = 0; k < 24; k++)
            expect("functions", i, k, out[i * 24 + k], (int)w[k]);
    }
}

static void conversions(accel_device device, bool checks)
{
    static float f[N];
    static int v[N], out[N * 14];
    for (int i = 0; i < N; i++) {
        f[i] = (float)((int)(test_random(&seed) % 4001) - 2000) / 4.0f;
        v[i] = any_int(i);
    }
    f[0] = 0.5f;
    f[1] = -0.5f;
    f[2] = 2.5f;
    RUN("integers.cl", "conversions", line, ARG_BUFFER(f), ARG_BUFFER(v), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        int bits;
        memcpy(&bits, &f[i], sizeof bits);
        const int64_t w[14] = {
            (int64_t)f[i],
            (int64_t)rintf(f[i]),
            (int64_t)ceilf(f[i]),
            (int64_t)floorf(f[i]),
            clamp64((int64_t)f[i], -128, 127),
            clamp64((int64_t)rintf(f[i]), 0, 255),
            clamp64(v[i], SHRT_MIN, SHRT_MAX),
            clamp64(v[i], 0, UINT_MAX) >> 1,
            (uint8_t)v[i],
            bits,
            v[i],
            (int64_t)(float)v[i] > INT_MAX ? out[i * 14 + 11] : (int64_t)(float)v[i],
            clamp64(v[i], 0, 65535),
            f[i] > 0.5f,
        };
        for (int k = 0; k < 14; k++)
            expect("conversions", i, k, out[i * 14 + k], (int)w[k]);
    }
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static void loops(accel_device device, bool checks)
{
    static uint32_t a[N], b[N], out[N], expected[N];
    const uint32_t n = N - 3;
    const int rounds = 100;
    for (int i = 0; i < N; i++) {
        a[i] = test_random(&seed) % 100000;
        b[i] = test_random(&seed) % 1000;
        out[i] = 9;
        expected[i] = i < (int)n ? gcd(a[i], b[i]) : 9;
    }
    RUN("integers.cl", "gcds", line, ARG_BUFFER(a), ARG_BUFFER(b), ARG_BUFFER(out), ARG_VALUE(n));
    assert_memory_equal(out, expected, sizeof out);
    RUN("integers.cl", "collatz", line, ARG_BUFFER(a), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        uint32_t steps = 0;
        for (uint64_t v = a[i]; v > 1; v = v % 2 ? 3 * v + 1 : v / 2)
            steps++;
        assert_int_equal(out[i], steps);
    }
    memcpy(out, a, sizeof out);
    RUN("integers.cl", "xorshift", line, ARG_BUFFER(out), ARG_VALUE(rounds));
    for (int i = 0; i < N; i++) {
        uint32_t x = a[i];
        for (int k = 0; k < rounds; k++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x = x * 1664525u + 1013904223u;
        }
        assert_int_equal(out[i], x);
    }
}

/* ---- floats.cl ---- */

static void near_to(const char *what, int i, int column, double got, double wanted)
{
    const double room = 2e-5 * (1.0 + fabs(wanted));
    if (!(fabs(got - wanted) <= room) && !(isnan(got) && isnan(wanted)))
        fail_msg("%s: row %d, column %d is %.9g, not %.9g", what, i, column, got, wanted);
}

static double largest(double x, double y)
{
    return fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y);
}

static void float_functions(accel_device device, bool checks)
{
    static float a[N], b[N], out[N * 32];
    for (int i = 0; i < N; i++) {
        a[i] = (float)((int)(test_random(&seed) % 2001) - 1000) / 256.0f;
        b[i] = (float)((int)(test_random(&seed) % 2001) - 1000) / 256.0f;
    }
    RUN("floats.cl", "functions", line, ARG_BUFFER(a), ARG_BUFFER(b), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        const double x = a[i], y = b[i];
        const double t = x < -1 ? 0 : x > 1 ? 1 : (x + 1) / 2;
        int exponent;
        const double fraction = frexp(x, &exponent);
        const double w[32] = {
            sqrt(fabs(x)),
            fmax(x, y),
            fmin(x, y),
            floor(x) + ceil(y) * 2,
            trunc(x) + rint(y) * 2 + round(x) * 4,
            x * y + 1.5,
            x * 2 + y,
            x + (y - x) * 0.25,
            (y < x ? 0 : 1) + 2 * t * t * (3 - 2 * t),
            (x > 0   ? 1
             : x < 0 ? -1
                     : 0) +
                copysign(3, y),
            fmin(fmax(x, -0.5), 0.5),
            sin(x) + cos(y),
            exp(x) + exp2(y),
            log(fabs(x) + 1) + log2(fabs(y) + 1),
            pow(fabs(x), y),
            atan2(x, y),
            hypot(x, y),
            fmod(x, 0.75),
            ldexp(x, i % 5),
            x * x * x + cbrt(fabs(y)),
            ilogb(fabs(x) + 0.001),
            1 / sqrt(fabs(x) + 0.1),
            x * 57.29577951308232 + y * 0.017453292519943295,
            fdim(x, y) + largest(x, y),
            x / (fabs(y) + 1) + 1 / (fabs(x) + 1),
            tanh(x) + cbrt(y) + erf(x),
            x - floor(x),
            floor(x),
            fraction,
            exponent,
            sin(x),
            cos(x),
        };
        for (int k = 0; k < 32; k++)
            near_to("functions", i, k, (double)out[i * 32 + k], w[k]);
    }
}

static void float_tests(accel_device device, bool checks)
{
    static const float odd[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-40f};
    static float a[N], b[N];
    static int out[N];
    for (int i = 0; i < N; i++) {
        a[i] = odd[i / 8];
        b[i] = odd[i % 8];
    }
    RUN("floats.cl", "tests", line, ARG_BUFFER(a), ARG_BUFFER(b), ARG_BUFFER(out));
    for (int i = 0; i < N; i++) {
        const float x = a[i], y = b[i];
        const int ordered = x == x && y == y;
        const int wanted = (x != x) | (fabsf(x) > FLT_MAX) << 1 | (fabsf(x) <= FLT_MAX) << 2 |
                           (fabsf(x) <= FLT_MAX && fabsf(x) >= FLT_MIN) << 3 |
                           (signbit(x) != 0) << 4 | (x < y) << 5 | (x >= y) << 6 | (x == y) << 7 |
                           (1 - ordered) << 8 | ordered << 9 | (x != y) << 10 | (x < y) << 11 |
                           (ordered ? x < y : 1) << 12 | (x < y || x > y) << 13;
        expect("tests", i, 0, out[i], wanted);
    }
}

static void doubles(accel_device device, bool checks)
{
    if (!test_has_doubles(device))
        return;
    static double data[N], expected[N];
    const double k = 6.0;
    const int n = N - 5;
    for (int i = 0; i < N; i++) {
        expected[i] = data[i] = i / 8.0;
        double sum = 0;
        double compensation = 0;
        for (int j = 1; j <= 1000 && i < n; j++) {
            const double y = k / (j * (double)j + data[i]) - compensation;
            const double t = sum + y;
            compensation = (t - sum) - y;
            sum = t;
        }
        if (i < n)
            expected[i] = sum + sqrt(data[i]) + 3.14159265358979323846;
    }
    RUN("floats.cl", "doubles", line, ARG_BUFFER(data), ARG_VALUE(k), ARG_VALUE(n));
    for (int i = 0; i < N; i++)
        assert_true(fabs(data[i] - expected[i]) < 1e-13 * (1 + fabs(expected[i])));
}

static void horner(accel_device device, bool checks)
{
    static const float table[8] = {0.5f, -1.0f, 2.0f, 3.25f, -4.0f, 5.0f, 0.125f, 7.0f};
    static float in[N], out[N];
    const uint32_t n = N - 1;
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i - 32) / 32.0f;
        out[i] = 99.0f;
    }
    RUN("floats.cl", "horner", line, ARG_BUFFER(out), ARG_BUFFER(in), ARG_VALUE(n));
    for (int i = 0; i < (int)n; i++) {
        double sum = 0;
        for (int k = 7; k >= 0; k--)
            sum = sum * (double)in[i] + (double)table[k];
        near_to("horner", i, 0, (double)out[i], sum + (double)table[(i + 3) % 8]);
    }
    assert_true(out[N - 1] == 99.0f);
}

static void mandelbrot(accel_device device, bool checks)
{
    enum { W = 50, H = 30, MOST = 60 };
    static int out[W * H];
    const int w = W, h = H, most = MOST;
    const accel_launch_shape shape = {{7, 4, 1}, {8, 8, 1}};
    RUN("floats.cl", "mandelbrot", shape, ARG_BUFFER(out), ARG_VALUE(w), ARG_VALUE(h),
        ARG_VALUE(most));
    int different = 0;
    for (int i = 0; i < W * H; i++) {
        const double cr = -2.0 + 3.0 * (i % W) / W, ci = -1.0 + 2.0 * (i / W) / H;
        double zr = 0, zi = 0;
        int k = 0;
        for (; k < MOST && zr * zr + zi * zi < 4; k++) {
            const double t = zr * zr - zi * zi + cr;
            zi = 2 * zr * zi + ci;
            zr = t;
        }
        different += k != out[i];
    }
    assert_true(different < W * H / 50); /* float and double part company at the rim */
}

static void halves(accel_device device, bool checks)
{
    /* 1, -2, 65504, smallest normal, smallest of all, infinity, 0.1, 1/3 */
    uint16_t in[8] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00, 0x2e66, 0x3555};
    uint16_t out[8] = {0};
    const uint16_t doubled[8] = {0x4000, 0xc400, 0x7c00, 0x0800, 0x0002, 0x7c00, 0x3266, 0x3955};
    const uint16_t halved[8] = {0x3800, 0xbc00, 0x77ff, 0x0200, 0x0000, 0x7c00, 0x2a66, 0x3155};
    const accel_launch_shape shape = {{1, 1, 1}, {8, 1, 1}};
    const float two = 2.0f, half = 0.5f;
    RUN("floats.cl", "halves", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_VALUE(two));
    assert_memory_equal(out, doubled, sizeof out);
    RUN("floats.cl", "halves", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_VALUE(half));
    assert_memory_equal(out, halved, sizeof out);
}

static void sums(accel_device device, bool checks)
{
    enum { ROWS = 30, COLUMNS = 30 };
    static float m[ROWS * COLUMNS], v[COLUMNS], out[ROWS];
    static int begin[ROWS + 1], column[ROWS * COLUMNS];
    const int n = COLUMNS, rows = ROWS;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        m[i] = (float)(test_random(&seed) % 64);
        v[i % COLUMNS] = (float)(test_random(&seed) % 64);
        column[i] = (int)(test_random(&seed) % COLUMNS);
    }
    for (int i = 0; i < ROWS; i++)
        begin[i + 1] = begin[i] + (int)(test_random(&seed) % COLUMNS);
    const accel_launch_shape exact = {{5, 1, 1}, {6, 1, 1}};
    RUN("floats.cl", "matrix_vector", exact, ARG_BUFFER(m), ARG_BUFFER(v), ARG_BUFFER(out),
        ARG_VALUE(n));
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
        for (int k = 0; k < COLUMNS; k++)
            sum += m[r * COLUMNS + k] * v[k];
        assert_true(out[r] == sum);
    }
    const accel_launch_shape more = {{2, 1, 1}, {16, 1, 1}};
    RUN("floats.cl", "sparse", more, ARG_BUFFER(begin), ARG_BUFFER(column), ARG_BUFFER(m),
        ARG_BUFFER(v), ARG_BUFFER(out), ARG_VALUE(rows));
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
        for (int k = begin[r]; k < begin[r + 1]; k++)
            sum += m[k] * v[column[k]];
        assert_true(out[r] == sum);
    }
}

static void bodies(accel_device device, bool checks)
{
    enum { COUNT = 700 };
    static float x[COUNT], m[COUNT], out[COUNT];
    const int n = COUNT;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(test_random(&seed) % 1000) / 100.0f;
        m[i] = (float)(test_random(&seed) % 100) / 100.0f;
    }
    const accel_launch_shape shape = {{7, 1, 1}, {100, 1, 1}};
    RUN("floats.cl", "bodies", shape, ARG_BUFFER(out), ARG_BUFFER(x), ARG_BUFFER(m), ARG_VALUE(n));
    for (int i = 0; i < COUNT; i++) {
        double sum = 0;
        for (int j = 0; j < COUNT; j++) {
            const double d = (double)(x[j] - x[i]);
            if (j != i)
                sum += (fabs(d) < 0.5 ? 1 : 0) + (double)m[j] * d / sqrt(d * d + 0.01);
        }
        assert_true(fabs((double)out[i] - sum) < 0.01);
    }
}

TEST_OF(operators)
TEST_OF(assignments)
TEST_OF(integer_functions)
TEST_OF(conversions)
TEST_OF(loops)
TEST_OF(float_functions)
TEST_OF(float_tests)
TEST_OF(doubles)
TEST_OF(horner)
TEST_OF(mandelbrot)
TEST_OF(halves)
TEST_OF(sums)
TEST_OF(bodies)

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_integer_functions),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_float_functions),
        cmocka_unit_test(test_float_tests),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_horner),
        cmocka_unit_test(test_mandelbrot),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, test_release_kernel_files);
}
