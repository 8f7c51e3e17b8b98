/* Vector types. */

float4 scale(float4 a, float s)
{
    return a * s + 1.0f;
}

__constant float4 bias = (float4)(0.5f, 1.0f, 1.5f, 2.0f);

__kernel void floats(__global float4 *data, const float4 p, __global float *sums)
{
    const int i = get_global_id(0);
    float4 x = data[i];
    x.xy = x.yx + p.zw;
    x.w += 3.0f;
    x = scale(x, 2.0f) - bias;
    const int4 less = x < p;
    float4 y = select(x, p, less);
    y = fmax(y, -2.0f) + (float4)(x.lo, p.hi);
    sums[4 * i] = dot(x, y);
    sums[4 * i + 1] = length(x.xyz);
    sums[4 * i + 2] = any(less) + 2.0f * all(less);
    sums[4 * i + 3] = x.s3 + y.even.y;
    data[i] = y * x.wzyx;
}

__kernel void integers(__global int4 *data, __global uchar16 *bytes)
{
    const int i = get_global_id(0);
    int4 v = data[i];
    v = v / (int4)(3, 0, -1, 7) + v % 5;
    v <<= 1;
    v = (v > 10) ? v : -v;
    v.s13 = v.s31;
    data[i] = v | (v == (int4)(0));
    uchar16 b = bytes[i];
    b.lo = b.hi >> (uchar8)(1);
    b.s0 = 200;
    b += (uchar16)(100);
    bytes[i] = b;
}

__kernel void threes(__global const float *in, __global float *out, __global float3 *padded)
{
    const int i = get_global_id(0);
    const float3 a = vload3(i, in);
    const float3 b = (float3)(1.0f, 2.0f, 3.0f);
    const float3 c = cross(a, b);
    vstore3(c, i, out);
    padded[i] = c + a * b;
}

__kernel void converted(__global const float4 *in, __global char4 *out, __global int4 *raw)
{
    const int i = get_global_id(0);
    out[i] = convert_char4_sat_rte(in[i]);
    raw[i] = as_int4(in[i]) ^ convert_int4(in[i]);
}

__kernel void shared(__global float2 *data, __local float2 *tile)
{
    const int lid = get_local_id(0);
    float2 mine = data[get_global_id(0)];
    tile[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float2 other = tile[get_local_size(0) - 1 - lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = mine * 2.0f + other.yx;
}
