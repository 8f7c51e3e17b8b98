/* kernels_flow_test.c: tests/kernels/flow.cl and vectors.cl against C: control flow, aliasing, the
 * shape of a launch, guards, records, names, vectors. */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernel_files.h"

static uint32_t seed = 5;

/* A launch shape for `total` items in blocks of `block`. */
static accel_launch_shape line(uint32_t total, uint32_t block)
{
    return (accel_launch_shape){{total / block, 1, 1}, {block, 1, 1}};
}

static void aliased(accel_device device, bool checks)
{
    enum { N = 192 };
    static int a[2 * N], before[2 * N];
    const int k = 3;
    for (int i = 0; i < 2 * N; i++)
        before[i] = a[i] = (int)(test_random(&seed) % 100);
    const accel_launch_shape shape = line(N, 48);
    static int b[2 * N];
    RUN("flow.cl", "aliased", shape, ARG_BUFFER(a), ARG_BUFFER(b), ARG_VALUE(k));
    for (int i = 0; i < N; i++) {
        const int sum = before[2 * i] + k;
        assert_int_equal(b[2 * i + 1], 2 * sum);
        assert_int_equal(a[2 * i], 2 * sum + before[2 * i + 1]);
    }
}

/* The same buffer behind both parameters. */
static void aliased_for_real(accel_device device, bool checks)
{
    enum { N = 192 };
    static int a[2 * N], before[2 * N];
    const int k = 3;
    for (int i = 0; i < 2 * N; i++)
        before[i] = a[i] = (int)(test_random(&seed) % 100);
    const accel_launch_shape shape = line(N, 48);
    RUN("flow.cl", "aliased", shape, ARG_BUFFER(a), ARG_SAME, ARG_VALUE(k));
    for (int i = 0; i < N; i++) {
        const int sum = before[2 * i] + k;
        assert_int_equal(a[2 * i + 1], 2 * sum);
        assert_int_equal(a[2 * i], 4 * sum);
    }
}

static void same_item(accel_device device, bool checks)
{
    enum { N = 100 };
    static int a[4 * N], wanted[4 * N];
    for (int i = 0; i < 4 * N; i++)
        wanted[i] = a[i] = (int)(test_random(&seed) % 100);
    for (int i = 0; i < N; i++) {
        volatile int *p = wanted + 4 * i;
        for (int k = 0; k < 3; k++) {
            p[k + 1] = p[k] + 1;
            p[0] += p[k + 1];
        }
        p[0]++;
    }
    const accel_launch_shape shape = line(N, 25);
    RUN("flow.cl", "same_item", shape, ARG_BUFFER(a));
    assert_memory_equal(a, wanted, sizeof a);
}

static uint64_t place(const accel_launch_shape *shape, const uint64_t id[3])
{
    uint64_t h = 17;
    for (int d = 0; d < 4; d++) {
        const uint64_t g = d < 3 ? shape->grid[d] : 1, b = d < 3 ? shape->block[d] : 1;
        const uint64_t at = d < 3 ? id[d] : 0;
        const uint64_t parts[7] = {at, at % b, at / b, g * b, b, g, 0};
        for (int i = 0; i < 7; i++)
            h = h * 31 + parts[i];
    }
    return h;
}

static void where(accel_device device, bool checks)
{
    static const accel_launch_shape shapes[] = {
        {{5, 1, 1}, {7, 1, 1}}, {{3, 4, 1}, {5, 2, 1}},  {{2, 3, 4}, {3, 2, 2}},
        {{1, 1, 9}, {1, 1, 3}}, {{40, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {64, 4, 1}},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const accel_launch_shape *shape = &shapes[s];
        static uint64_t out[1024];
        static int fixed[1024];
        uint64_t size[3], count = 1;
        for (int d = 0; d < 3; d++)
            count *= size[d] = shape->grid[d] * shape->block[d];
        RUN("flow.cl", "where", *shape, ARG_BYTES(out, count * sizeof out[0]));
        RUN("flow.cl", "where_fixed", *shape, ARG_BYTES(fixed, count * sizeof fixed[0]));
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t id[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
            assert_int_equal(out[i], place(shape, id));
            assert_int_equal(fixed[i], id[0] + 1000 * id[1] + 1000000 * id[2]);
        }
    }
}

static void guards(accel_device device, bool checks)
{
    enum { W = 24, H = 6 };
    static int out[W * H];
    static const int ns[] = {-3, 0, 1, 5, 23, 24, 100};
    static const uint32_t ms[] = {0, 1, 4, 6, UINT32_MAX};
    const accel_launch_shape box = {{3, 3, 1}, {8, 2, 1}};
    const accel_launch_shape row = {{3, 1, 1}, {8, 1, 1}};
    for (int k = 0; k < 7 * 5; k++) {
        const int n = ns[k % 7];
        const uint32_t m = ms[k / 7];
        memset(out, 0, sizeof out);
        RUN("flow.cl", "guards_a", box, ARG_BUFFER(out), ARG_VALUE(n), ARG_VALUE(m));
        for (int i = 0; i < W * H; i++)
            assert_int_equal(out[i], i % W < n && (uint32_t)(i / W) < m && i % W >= 2);
        memset(out, 0, sizeof out);
        RUN("flow.cl", "guards_b", box, ARG_BUFFER(out), ARG_VALUE(n), ARG_VALUE(m));
        for (int i = 0; i < W * H; i++)
            assert_int_equal(out[i],
                             i % W < n && i / W <= (int64_t)m && i / W >= 1 ? i % W + 3 : 0);
        memset(out, 0, sizeof out);
        RUN("flow.cl", "guards_c", row, ARG_BUFFER(out), ARG_VALUE(n));
        for (int i = 0; i < W; i++)
            assert_int_equal(out[i],
                             n != 0 && (uint32_t)i <= (uint32_t)(2 * n) && i % 8 != 1 ? 5 : 0);
        memset(out, 0, sizeof out);
        RUN("flow.cl", "guard_changed", row, ARG_BUFFER(out), ARG_VALUE(n));
        for (int i = 0; i < W; i++)
            assert_int_equal(out[i], i + 1 <= n / 2 ? i + 1 : 0);
    }
}

static int jumped(int in)
{
    int sum = 0;
    for (int a = 0; a <= in; a++) {
        if (a % 3 == 1)
            continue;
        for (int b = a; b != 7; b--) {
            sum += b;
            if (sum > 500)
                sum /= 2;
            if (b <= 0)
                break;
        }
        bool next = false;
        if (a % 5 == 0)
            sum += 3;
        else if (a % 5 == 1)
            sum += 2;
        else if (a % 5 == 3) {
            sum += 2 * a;
            next = 2 * a > 12;
        } else
            sum--;
        while (!next && sum > 10000)
            sum /= 2;
    }
    return sum < 0 ? -1 : sum;
}

static void jumps(accel_device device, bool checks)
{
    enum { N = 60 };
    static int in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = i - 3;
    const accel_launch_shape shape = line(N, 12);
    RUN("flow.cl", "jumps", shape, ARG_BUFFER(in), ARG_BUFFER(out));
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], jumped(in[i]));
}

static void names(accel_device device, bool checks)
{
    int in[4] = {1, 2, 3, 4}, out[4] = {0};
    const int value = 7;
    const accel_launch_shape shape = line(4, 2);
    RUN("flow.cl", "names", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_VALUE(value));
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], in[i] + 7 + 1 + 12 + 6 + 4 + 5);
}

struct test_pair {
    struct {
        float weight;
        int index[2];
    } first;
    signed char tag;
    double second;
};

static void records(accel_device device, bool checks)
{
    if (!test_has_doubles(device)) /* one of the fields is one */
        return;
    enum { N = 20 };
    static struct test_pair data[N];
    int sizes[4] = {0};
    for (int i = 0; i < N; i++)
        data[i] = (struct test_pair){{(float)i, {1, 2}}, (signed char)i, i / 2.0};
    const accel_launch_shape shape = line(N, 4);
    RUN("flow.cl", "records", shape, ARG_BUFFER(data), ARG_BUFFER(sizes));
    for (int i = 0; i < N; i++) {
        assert_true(data[i].first.weight == (float)(2 * i));
        assert_int_equal(data[i].first.index[0], 4);
        assert_int_equal(data[i].first.index[1], 30);
        assert_int_equal(data[i].tag, i + 3);
        assert_true(data[i].second == i / 2.0 + 30 + i);
    }
    const int wanted[4] = {sizeof(struct test_pair), 12, 8, 801};
    assert_memory_equal(sizes, wanted, sizeof sizes);
}

static void search(accel_device device, bool checks)
{
    enum { N = 50, KEYS = 40 };
    static int sorted[N], keys[KEYS], out[KEYS];
    const int n = N;
    for (int i = 0; i < N; i++)
        sorted[i] = 3 * i;
    for (int i = 0; i < KEYS; i++)
        keys[i] = (int)(test_random(&seed) % 160) - 5;
    const accel_launch_shape shape = line(KEYS, 8);
    RUN("flow.cl", "search", shape, ARG_BUFFER(sorted), ARG_VALUE(n), ARG_BUFFER(keys),
        ARG_BUFFER(out));
    for (int i = 0; i < KEYS; i++) {
        int at = 0;
        while (at < N && sorted[at] < keys[i])
            at++;
        assert_int_equal(out[i], at);
    }
}

static void wrapping(accel_device device, bool checks)
{
    enum { N = 70 };
    static int in[N], out[N];
    const uint32_t back = UINT32_MAX, n = N - 3;
    for (int i = 0; i < N; i++)
        in[i] = (int)(test_random(&seed) % 10);
    const accel_launch_shape shape = line(N, 14);
    RUN("flow.cl", "wrapping", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_VALUE(back),
        ARG_VALUE(n));
    for (int i = 0; i < (int)n; i++)
        assert_int_equal(out[(int)n - 1 - i],
                         in[i] + (i > 0 ? in[i - 1] * 10 + in[i - 1] * 100 : 0));
}

static void across(accel_device device, bool checks)
{
    enum { N = 1000 };
    static int out[N], in[32];
    for (int i = 0; i < 32; i++)
        in[i] = (int)(test_random(&seed) % 100);
    for (int k = 0; k < 12; k++) {
        const int n = k * 2, m = 11 - k;
        const accel_launch_shape shape = line(N, k % 2 == 0 ? 125 : 500);
        RUN("flow.cl", "across", shape, ARG_BUFFER(out), ARG_BUFFER(in), ARG_VALUE(n),
            ARG_VALUE(m));
        for (int g = 0; g < N; g++) {
            uint32_t a = (uint32_t)g, b = 1;
            int total = 0;
            for (int i = 0; i < n; i++) {
                a = a * 3 + (uint32_t)in[i];
                total += n - 2 * i;
                for (int j = 0; j < m; j++) {
                    b ^= a + (uint32_t)(j * (n - 2 * i));
                    a -= (uint32_t)in[j];
                }
            }
            for (int i = m; i > 0; i /= 2)
                b += (uint32_t)(in[i] * total * 2);
            assert_int_equal(out[g], (int)(a ^ b));
        }
    }
}

static void bytes(accel_device device, bool checks)
{
    enum { W = 33, H = 9 };
    static uint8_t image[W * H], before[W * H];
    const int w = W, h = H;
    for (int turn = 0; turn < 2; turn++) {
        const signed char invert = (signed char)turn;
        for (int i = 0; i < W * H; i++)
            before[i] = image[i] = (uint8_t)test_random(&seed);
        const accel_launch_shape shape = {{3, 2, 1}, {16, 5, 1}};
        RUN("flow.cl", "bytes", shape, ARG_BUFFER(image), ARG_VALUE(w), ARG_VALUE(h),
            ARG_VALUE(invert));
        for (int i = 0; i < W * H; i++) {
            const int value = before[i] - 128;
            const bool high = (before[i] > 127) != (turn == 1);
            assert_int_equal(image[i], (uint8_t)(high ? 255 - value : value / 2));
        }
    }
}

/* ---- vectors.cl ---- */

static void vector_floats(accel_device device, bool checks)
{
    enum { N = 24 };
    static float data[4 * N], sums[4 * N], in[4 * N];
    static const float p[4] = {0.5f, -1.0f, 2.0f, 4.0f}, bias[4] = {0.5f, 1.0f, 1.5f, 2.0f};
    for (int i = 0; i < 4 * N; i++)
        in[i] = data[i] = (float)((int)(test_random(&seed) % 65) - 32) / 8.0f;
    const accel_launch_shape shape = line(N, 6);
    RUN("vectors.cl", "floats", shape, ARG_BUFFER(data), ARG_VALUE(p), ARG_BUFFER(sums));
    for (int i = 0; i < N; i++) {
        const float *v = in + 4 * i;
        float x[4] = {v[1] + p[2], v[0] + p[3], v[2], v[3] + 3.0f};
        float y[4];
        int any = 0;
        int all = 1;
        for (int k = 0; k < 4; k++) {
            x[k] = x[k] * 2.0f + 1.0f - bias[k];
            any |= x[k] < p[k];
            all &= x[k] < p[k];
            y[k] = x[k] < p[k] ? p[k] : x[k];
        }
        const float joined[4] = {x[0], x[1], p[2], p[3]};
        float dot = 0;
        for (int k = 0; k < 4; k++) {
            y[k] = fmaxf(y[k], -2.0f) + joined[k];
            dot += x[k] * y[k];
        }
        for (int k = 0; k < 4; k++)
            assert_true(data[4 * i + k] == y[k] * x[3 - k]);
        assert_true(fabsf(sums[4 * i] - dot) < 1e-3f);
        assert_true(fabsf(sums[4 * i + 1] - sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])) <
                    1e-4f);
        assert_true(sums[4 * i + 2] == (float)(any + 2 * all));
        assert_true(sums[4 * i + 3] == x[3] + y[2]);
    }
}

static void vector_integers(accel_device device, bool checks)
{
    enum { N = 12 };
    static int data[4 * N], in[4 * N];
    static uint8_t raw[16 * N], bytes_in[16 * N];
    static const int by[4] = {3, 0, -1, 7};
    for (int i = 0; i < 4 * N; i++)
        in[i] = data[i] = (int)(test_random(&seed) % 201) - 100;
    for (int i = 0; i < 16 * N; i++)
        bytes_in[i] = raw[i] = (uint8_t)test_random(&seed);
    const accel_launch_shape shape = line(N, 4);
    RUN("vectors.cl", "integers", shape, ARG_BUFFER(data), ARG_BUFFER(raw));
    for (int i = 0; i < N; i++) {
        int v[4];
        for (int k = 0; k < 4; k++) {
            v[k] = ((by[k] == 0 ? 0 : in[4 * i + k] / by[k]) + in[4 * i + k] % 5) * 2;
            v[k] = v[k] > 10 ? v[k] : -v[k];
        }
        const int swapped[4] = {v[0], v[3], v[2], v[1]};
        for (int k = 0; k < 4; k++)
            assert_int_equal(data[4 * i + k], swapped[k] == 0 ? -1 : swapped[k]);
        for (int k = 0; k < 16; k++) {
            const uint8_t *b = bytes_in + 16 * i;
            const int value = k == 0 ? 200 : k < 8 ? b[k + 8] >> 1 : b[k];
            assert_int_equal(raw[16 * i + k], (uint8_t)(value + 100));
        }
    }
}

static void vector_memory(accel_device device, bool checks)
{
    enum { N = 8 };
    static float in[3 * N], out[3 * N], padded[4 * N];
    static const float b[3] = {1, 2, 3};
    for (int i = 0; i < 3 * N; i++)
        in[i] = (float)(test_random(&seed) % 10);
    const accel_launch_shape shape = line(N, 4);
    RUN("vectors.cl", "threes", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_BUFFER(padded));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            const float *a = in + 3 * i;
            const int j = (k + 1) % 3, l = (k + 2) % 3;
            const float c = a[j] * b[l] - a[l] * b[j];
            assert_true(out[3 * i + k] == c);
            assert_true(padded[4 * i + k] == c + a[k] * b[k]);
        }
}

static void vector_conversions(accel_device device, bool checks)
{
    enum { N = 8 };
    static float in[4 * N];
    static signed char out[4 * N];
    static int raw[4 * N];
    for (int i = 0; i < 4 * N; i++)
        in[i] = (float)((int)(test_random(&seed) % 801) - 400) / 2.0f;
    const accel_launch_shape shape = line(N, 2);
    RUN("vectors.cl", "converted", shape, ARG_BUFFER(in), ARG_BUFFER(out), ARG_BUFFER(raw));
    for (int i = 0; i < 4 * N; i++) {
        int bits;
        memcpy(&bits, &in[i], sizeof bits);
        const float rounded = rintf(in[i]);
        assert_int_equal(out[i], rounded < -128 ? -128 : rounded > 127 ? 127 : (int)rounded);
        assert_int_equal(raw[i], bits ^ (int)in[i]);
    }
}

static void vector_shared(accel_device device, bool checks)
{
    enum { N = 35, BLOCK = 7 };
    static float data[2 * N], in[2 * N];
    for (int i = 0; i < 2 * N; i++)
        in[i] = data[i] = (float)(test_random(&seed) % 100);
    const accel_launch_shape shape = line(N, BLOCK);
    RUN("vectors.cl", "shared", shape, ARG_BUFFER(data), ARG_LOCAL(BLOCK * 2 * sizeof(float)));
    for (int i = 0; i < N; i++) {
        const int other = i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK;
        for (int k = 0; k < 2; k++)
            assert_true(data[2 * i + k] == in[2 * i + k] * 2 + in[2 * other + 1 - k]);
    }
}

TEST_OF(aliased)
TEST_OF(aliased_for_real)
TEST_OF(same_item)
TEST_OF(where)
TEST_OF(guards)
TEST_OF(jumps)
TEST_OF(names)
TEST_OF(records)
TEST_OF(search)
TEST_OF(wrapping)
TEST_OF(across)
TEST_OF(bytes)
TEST_OF(vector_floats)
TEST_OF(vector_integers)
TEST_OF(vector_memory)
TEST_OF(vector_conversions)
TEST_OF(vector_shared)

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliased),       cmocka_unit_test(test_aliased_for_real),
        cmocka_unit_test(test_same_item),     cmocka_unit_test(test_where),
        cmocka_unit_test(test_guards),        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_records),
        cmocka_unit_test(test_search),        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_across),        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_vector_floats), cmocka_unit_test(test_vector_integers),
        cmocka_unit_test(test_vector_memory), cmocka_unit_test(test_vector_conversions),
        cmocka_unit_test(test_vector_shared),
    };
    return cmocka_run_group_tests(tests, NULL, test_release_kernel_files);
}
