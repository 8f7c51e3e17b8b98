/* kernels_tiles_test.c: two- and three-dimensional blocks over local memory, and atomics. */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernel_files.h"

static uint32_t seed;

/* ---- tiles.cl ---- */

static void transpose(accel_device device, bool checks)
{
    enum { W = 37, H = 21 };
    static float in[W * H], out[W * H];
    const int w = W, h = H;
    for (int i = 0; i < W * H; i++)
        in[i] = (float)i;
    const accel_launch_shape shape = {{(W + 7) / 8, (H + 7) / 8, 1}, {8, 8, 1}};
    RUN("tiles.cl", "transpose", shape, ARG_BUFFER(out), ARG_BUFFER(in), ARG_VALUE(w),
        ARG_VALUE(h));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_true(out[x * H + y] == in[y * W + x]);
}

static void multiply(accel_device device, bool checks)
{
    enum { N = 29 };
    static float a[N * N], b[N * N], c[N * N];
    const uint32_t n = N;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(test_random(&seed) % 100) - 50.0f;
        b[i] = (float)(test_random(&seed) % 100) - 50.0f;
    }
    const accel_launch_shape shape = {{4, 4, 1}, {8, 8, 1}};
    RUN("tiles.cl", "multiply", shape, ARG_BUFFER(c), ARG_BUFFER(a), ARG_BUFFER(b), ARG_VALUE(n));
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += (double)a[y * N + k] * b[k * N + x];
            assert_true((double)c[y * N + x] == sum); /* small whole numbers: exact */
        }
}

static int pixel(const int *in, int width, int height, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return in[y * width + x];
}

static void blur(accel_device device, bool checks)
{
    enum { W = 45, H = 33 };
    static int in[W * H], out[W * H];
    static const uint32_t blocks[][2] = {{8, 8}, {16, 16}, {5, 7}, {32, 2}, {1, 1}, {3, 11}};
    const int w = W, h = H;
    for (int i = 0; i < W * H; i++)
        in[i] = (int)(test_random(&seed) % 256);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const uint32_t bw = blocks[i][0], bh = blocks[i][1];
        const accel_launch_shape shape = {{(W + bw - 1) / bw, (H + bh - 1) / bh, 1}, {bw, bh, 1}};
        memset(out, 0, sizeof out);
        RUN("tiles.cl", "blur", shape, ARG_BUFFER(out), ARG_BUFFER(in),
            ARG_LOCAL((bw + 2) * (bh + 2) * sizeof(int)), ARG_VALUE(w), ARG_VALUE(h));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int sum = 0;
                for (int k = 0; k < 9; k++)
                    sum += pixel(in, W, H, x + k % 3 - 1, y + k / 3 - 1);
                assert_int_equal(out[y * W + x], sum);
            }
    }
}

static void turn_box(accel_device device, bool checks)
{
    enum { W = 3, H = 5, D = 4, GX = 2, GY = 3, GZ = 2, COUNT = W * H * D * GX * GY * GZ };
    static int data[COUNT], before[COUNT];
    for (int i = 0; i < COUNT; i++)
        before[i] = data[i] = (int)test_random(&seed);
    const accel_launch_shape shape = {{GX, GY, GZ}, {W, H, D}};
    RUN("tiles.cl", "turn_box", shape, ARG_BUFFER(data), ARG_LOCAL(W * H * D * sizeof(int)));
    for (int i = 0; i < COUNT; i++) {
        const int x = i % (W * GX), y = i / (W * GX) % (H * GY), z = i / (W * GX) / (H * GY);
        const int mx = x / W * W + W - 1 - x % W;
        const int my = y / H * H + H - 1 - y % H;
        const int mz = z / D * D + D - 1 - z % D;
        assert_int_equal(data[i], before[(mz * H * GY + my) * W * GX + mx]);
    }
}

static void required(accel_device device, bool checks)
{
    int out[3] = {0};
    const accel_launch_shape shape = {{3, 1, 1}, {4, 4, 2}};
    RUN("tiles.cl", "required", shape, ARG_BUFFER(out));
    for (int i = 0; i < 3; i++)
        assert_int_equal(out[i], 6 * 8 + 60 * 8 + 100 * 16);
}

/* ---- atomics.cl ---- */

static void histogram(accel_device device, bool checks)
{
    enum { N = 10007 };
    static uint8_t in[N];
    static uint32_t bins[256], expected[256];
    const uint32_t n = N;
    memset(bins, 0, sizeof bins);
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < N; i++) {
        in[i] = (uint8_t)(test_random(&seed) % 256 * (test_random(&seed) % 2));
        expected[in[i]]++;
    }
    const accel_launch_shape shape = {{7, 1, 1}, {96, 1, 1}};
    RUN("atomics.cl", "histogram", shape, ARG_BUFFER(in), ARG_BUFFER(bins), ARG_VALUE(n));
    assert_memory_equal(bins, expected, sizeof bins);
}

static void each_kind(accel_device device, bool checks)
{
    enum { N = 1000 };
    static int in[N];
    int a[9] = {0, 0, 1000000000, -1000000000, -1, 0, 0, 0, 0};
    uint32_t u[3] = {UINT32_MAX, 0, 0};
    int wa[9] = {0, 0, 1000000000, -1000000000, -1, 0, 0, N, -N};
    uint32_t wu[3] = {UINT32_MAX, 0, N};
    for (int i = 0; i < N; i++) {
        in[i] = (int)(test_random(&seed) >> 8) - (1 << 23);
        wa[0] += in[i];
        wa[1] -= in[i];
        wa[2] = in[i] < wa[2] ? in[i] : wa[2];
        wa[3] = in[i] > wa[3] ? in[i] : wa[3];
        wa[4] &= in[i];
        wa[5] |= in[i];
        wa[6] ^= in[i];
        wu[0] = (uint32_t)in[i] < wu[0] ? (uint32_t)in[i] : wu[0];
        wu[1] = (uint32_t)in[i] > wu[1] ? (uint32_t)in[i] : wu[1];
    }
    const accel_launch_shape shape = {{20, 1, 1}, {50, 1, 1}};
    RUN("atomics.cl", "each_kind", shape, ARG_BUFFER(in), ARG_BUFFER(a), ARG_BUFFER(u));
    assert_memory_equal(a, wa, sizeof a);
    assert_memory_equal(u, wu, sizeof u);
}

static void tickets(accel_device device, bool checks)
{
    enum { N = 4096 };
    static uint32_t out[N];
    static uint8_t seen[N];
    uint32_t next[1] = {0};
    memset(seen, 0, sizeof seen);
    const accel_launch_shape shape = {{64, 1, 1}, {64, 1, 1}};
    RUN("atomics.cl", "tickets", shape, ARG_BUFFER(next), ARG_BUFFER(out));
    assert_int_equal(next[0], N);
    for (int i = 0; i < N; i++) {
        assert_true(out[i] < N);
        assert_int_equal(seen[out[i]]++, 0);
    }
}

static void floating(accel_device device, bool checks)
{
    enum { N = 512 };
    static float in[N], out[N];
    float sum[1] = {0}, slot[1] = {-1.0f};
    float expected = 0;
    for (int i = 0; i < N; i++)
        expected += in[i] = (float)(test_random(&seed) % 1000);
    const accel_launch_shape shape = {{16, 1, 1}, {32, 1, 1}};
    RUN("atomics.cl", "add_float", shape, ARG_BUFFER(in), ARG_BUFFER(sum));
    assert_true(sum[0] == expected); /* whole numbers: exact in any order */
    RUN("atomics.cl", "exchange", shape, ARG_BUFFER(slot), ARG_BUFFER(out));
    double left = -1.0;
    for (int i = 0; i < N; i++)
        left += (double)i - (double)out[i];
    assert_true((double)slot[0] == left); /* each number was seen once but the one that stayed */
}

static void last_block(accel_device device, bool checks)
{
    enum { BLOCKS = 33, SIZE = 48, N = BLOCKS * SIZE };
    static int in[N], partial[BLOCKS];
    uint32_t done[1] = {0};
    int out[1] = {0}, expected = 0;
    for (int i = 0; i < N; i++)
        expected += in[i] = (int)(test_random(&seed) % 1000);
    const accel_launch_shape shape = {{BLOCKS, 1, 1}, {SIZE, 1, 1}};
    RUN("atomics.cl", "last_block", shape, ARG_BUFFER(in), ARG_BUFFER(partial), ARG_BUFFER(done),
        ARG_BUFFER(out));
    assert_int_equal(out[0], expected);
}

TEST_OF(transpose)
TEST_OF(multiply)
TEST_OF(blur)
TEST_OF(turn_box)
TEST_OF(required)
TEST_OF(histogram)
TEST_OF(each_kind)
TEST_OF(tickets)
TEST_OF(floating)
TEST_OF(last_block)

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose), cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_blur),      cmocka_unit_test(test_turn_box),
        cmocka_unit_test(test_required),  cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_each_kind), cmocka_unit_test(test_tickets),
        cmocka_unit_test(test_floating),  cmocka_unit_test(test_last_block),
    };
    return cmocka_run_group_tests(tests, NULL, test_release_kernel_files);
}
