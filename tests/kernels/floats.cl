/* float and double arithmetic. */

__kernel void functions(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0);
    const float x = a[i], y = b[i];
    __global float *o = out + i * 32;
    o[0] = sqrt(fabs(x));
    o[1] = fmax(x, y);
    o[2] = fmin(x, y);
    o[3] = floor(x) + ceil(y) * 2.0f;
    o[4] = trunc(x) + rint(y) * 2.0f + round(x) * 4.0f;
    o[5] = fma(x, y, 1.5f);
    o[6] = mad(x, 2.0f, y);
    o[7] = mix(x, y, 0.25f);
    o[8] = step(x, y) + 2.0f * smoothstep(-1.0f, 1.0f, x);
    o[9] = sign(x) + copysign(3.0f, y);
    o[10] = clamp(x, -0.5f, 0.5f);
    o[11] = sin(x) + cos(y);
    o[12] = exp(x) + exp2(y);
    o[13] = log(fabs(x) + 1.0f) + log2(fabs(y) + 1.0f);
    o[14] = pow(fabs(x), y);
    o[15] = atan2(x, y);
    o[16] = hypot(x, y);
    o[17] = fmod(x, 0.75f);
    o[18] = ldexp(x, i % 5);
    o[19] = pown(x, 3) + rootn(fabs(y), 3);
    o[20] = (float)ilogb(fabs(x) + 0.001f);
    o[21] = rsqrt(fabs(x) + 0.1f);
    o[22] = degrees(x) + radians(y);
    o[23] = fdim(x, y) + maxmag(x, y);
    o[24] = native_divide(x, fabs(y) + 1.0f) + native_recip(fabs(x) + 1.0f);
    o[25] = tanh(x) + cbrt(y) + erf(x);
    float whole;
    o[26] = fract(x, &whole);
    o[27] = whole;
    int exponent;
    o[28] = frexp(x, &exponent);
    o[29] = (float)exponent;
    float c;
    o[30] = sincos(x, &c);
    o[31] = c;
}

__kernel void tests(__global const float *a, __global const float *b, __global int *out)
{
    const int i = get_global_id(0);
    const float x = a[i], y = b[i];
    out[i] = isnan(x) | isinf(x) << 1 | isfinite(x) << 2 | isnormal(x) << 3 | (signbit(x) != 0) << 4 |
             isless(x, y) << 5 | isgreaterequal(x, y) << 6 | isequal(x, y) << 7 |
             isunordered(x, y) << 8 | isordered(x, y) << 9 | (x != y) << 10 | (x < y) << 11 |
             !(x >= y) << 12 | islessgreater(x, y) << 13;
}

#ifdef cl_khr_fp64 /* the device has doubles */
__kernel void doubles(__global double *data, const double k, const int n)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;
    double sum = 0.0, compensation = 0.0;
    for (int j = 1; j <= 1000; j++) {
        const double y = k / (j * (double)j + data[i]) - compensation;
        const double t = sum + y;
        compensation = (t - sum) - y;
        sum = t;
    }
    data[i] = sum + sqrt(data[i]) + M_PI;
}
#endif

__constant float table[8] = {0.5f, -1.0f, 2.0f, 3.25f, -4.0f, 5.0f, 0.125f, 7.0f};
__constant int offset = 3;

__kernel void horner(__global float *out, __global const float *in, const uint n)
{
    uint i = get_global_id(0);
    if (i < n) {
        float sum = 0.0f;
        for (int k = 7; k >= 0; k--)
            sum = sum * in[i] + table[k];
        out[i] = sum + table[(i + offset) % 8];
    }
}

__kernel void mandelbrot(__global int *out, const int width, const int height, const int most)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const float cr = -2.0f + 3.0f * x / width, ci = -1.0f + 2.0f * y / height;
    float zr = 0.0f, zi = 0.0f;
    int k = 0;
    while (k < most && zr * zr + zi * zi < 4.0f) {
        const float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        k++;
    }
    out[y * width + x] = k;
}

__kernel void halves(__global const half *in, __global half *out, const float k)
{
    const int i = get_global_id(0);
    vstore_half(vload_half(i, in) * k, i, out);
}

__kernel void matrix_vector(__global const float *m, __global const float *v, __global float *out,
                            const int n)
{
    const int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += m[row * n + k] * v[k];
    out[row] = sum;
}

/* rows of different lengths */
__kernel void sparse(__global const int *begin, __global const int *column,
                     __global const float *value, __global const float *v, __global float *out,
                     const int rows)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = begin[row]; k < begin[row + 1]; k++)
        sum += value[k] * v[column[k]];
    out[row] = sum;
}

__kernel void bodies(__global float *out, __global const float *x, __global const float *m,
                     const int n)
{
    const int i = get_global_id(0);
    const float xi = x[i];
    float sum = 0.0f;
    int near_count = 0;
    for (int j = 0; j < n; j++) {
        const float d = x[j] - xi;
        if (j == i)
            continue;
        if (fabs(d) < 0.5f)
            near_count++;
        sum += m[j] * d / sqrt(d * d + 0.01f);
    }
    out[i] = sum + near_count;
}
