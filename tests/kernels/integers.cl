/* Integer arithmetic, functions and conversions. */

__kernel void operators(__global const int *a, __global const int *b, __global int *out)
{
    const int i = get_global_id(0);
    const int x = a[i], y = b[i];
    const uint ux = (uint)x, uy = (uint)y;
    __global int *o = out + i * 16;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (int)(ux / uy);
    o[3] = (int)(ux % uy);
    o[4] = (int)(ux << y);
    o[5] = x >> y;
    o[6] = (int)(ux >> (y & 31));
    o[7] = (x & y) | (~x ^ y);
    o[8] = (x < y) + 2 * (x <= y) + 4 * (ux < uy) + 8 * (x == y) + 16 * !x;
    o[9] = (x && y) * 10 + (x || y);
    o[10] = (char)x + (uchar)x * (short)y;
    o[11] = (int)(ux * 2654435761u + uy);
    o[12] = x > y ? x - 1 : (y > 0, -y);
    o[13] = (int)((long)x * y >> 32);
    o[14] = x / 7 + x % -5;
    o[15] = (int)((ulong)ux * uy % 1000003ul);
}

__kernel void assignments(__global int *data, __global uchar *bytes, __global long *longs)
{
    const int i = get_global_id(0);
    int v = data[i];
    v += 3;
    v -= 1;
    v *= 5;
    v /= data[i];
    v %= 1000;
    v <<= i;
    v >>= 1;
    v |= 16;
    v ^= 5;
    v &= 0xffff;
    int k = 0;
    data[i + k++] = v++;
    data[i] += k-- + ++v;
    bytes[i] += 200;
    bytes[i] /= (uchar)3;
    bytes[i] <<= 1;
    longs[i] /= data[i];
    longs[i] -= (long)i << 40;
    longs[i] %= 1000000007l;
}

__kernel void functions(__global const int *a, __global const int *b, __global int *out)
{
    const int i = get_global_id(0);
    const int x = a[i], y = b[i];
    const uint ux = (uint)x, uy = (uint)y;
    __global int *o = out + i * 24;
    o[0] = (int)abs(x);
    o[1] = (int)abs_diff(x, y);
    o[2] = add_sat(x, y);
    o[3] = sub_sat(x, y);
    o[4] = (int)add_sat(ux, uy);
    o[5] = (int)sub_sat(ux, uy);
    o[6] = hadd(x, y);
    o[7] = rhadd(x, y);
    o[8] = mul_hi(x, y);
    o[9] = (int)mul_hi(ux, uy);
    o[10] = mad_hi(x, y, 5);
    o[11] = mad_sat(x, y, 7);
    o[12] = (int)rotate(ux, uy);
    o[13] = clz(x);
    o[14] = popcount(x);
    o[15] = min(x, y) ^ max(x, y);
    o[16] = clamp(x, -100, 100);
    o[17] = mul24(x & 0xfff, y & 0xfff);
    o[18] = mad24(x & 0xfff, y & 0xfff, 3);
    o[19] = (int)(upsample(x, uy) >> 16);
    o[20] = bitselect(x, y, 0x0ff0f00f);
    o[21] = select(x, y, x & 1);
    o[22] = clz((uchar)x) + 100 * clz((short)y);
    o[23] = (int)mul_hi((ulong)ux << 20, (ulong)uy << 20);
}

__kernel void conversions(__global const float *f, __global const int *v, __global int *out)
{
    const int i = get_global_id(0);
    const float x = f[i];
    __global int *o = out + i * 14;
    o[0] = convert_int(x);
    o[1] = convert_int_rte(x);
    o[2] = convert_int_rtp(x);
    o[3] = convert_int_rtn(x);
    o[4] = convert_char_sat(x);
    o[5] = convert_uchar_sat_rte(x);
    o[6] = convert_short_sat(v[i]);
    o[7] = convert_uint_sat(v[i]) >> 1;
    o[8] = convert_uchar(v[i]);
    o[9] = as_int(x);
    o[10] = as_int(as_float(v[i]));
    o[11] = (int)convert_float(v[i]);
    o[12] = (int)convert_ushort_sat(v[i]);
    o[13] = (int)(x > 0.5f);
}

uint gcd(uint a, uint b)
{
    while (b != 0) {
        const uint r = a % b;
        a = b;
        b = r;
    }
    return a;
}

__kernel void gcds(__global const uint *a, __global const uint *b, __global uint *out, const uint n)
{
    const size_t i = get_global_id(0);
    if (!(i < n))
        return;
    out[i] = gcd(a[i], b[i]);
}

__kernel void collatz(__global const uint *in, __global uint *out)
{
    uint steps = 0;
    for (ulong v = in[get_global_id(0)]; v > 1; steps++)
        v = v & 1 ? 3 * v + 1 : v / 2;
    out[get_global_id(0)] = steps;
}

/* a generator whose arithmetic wraps */
__kernel void xorshift(__global uint *state, const int rounds)
{
    uint x = state[get_global_id(0)];
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x = x * 1664525u + 1013904223u;
    }
    state[get_global_id(0)] = x;
}
