/* Two- and three-dimensional blocks over local memory. */
#define T 8

__kernel void transpose(__global float *out, __global const float *in, const int width,
                        const int height)
{
    __local float tile[T][T + 1];
    const int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_group_id(0) * T + lx;
    int y = get_group_id(1) * T + ly;
    if (x < width && y < height)
        tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * T + lx;
    y = get_group_id(0) * T + ly;
    if (x < height && y < width)
        out[y * height + x] = tile[lx][ly];
}

/* any n: tiles at the edge are filled with zeros */
__kernel void multiply(__global float *c, __global const float *a, __global const float *b,
                       const uint n)
{
    __local float ta[T][T], tb[T][T];
    const uint x = get_local_id(0), y = get_local_id(1);
    const uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (uint t = 0; t < n; t += T) {
        ta[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0.0f;
        tb[y][x] = column < n && t + y < n ? b[(t + y) * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < T; k++)
            sum = fma(ta[y][k], tb[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

/* a halo of one around each block */
__kernel void blur(__global int *out, __global const int *in, __local int *tile, const int width,
                   const int height)
{
    const int bw = get_local_size(0), bh = get_local_size(1);
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x0 = get_group_id(0) * bw - 1, y0 = get_group_id(1) * bh - 1;
    for (int i = ly * bw + lx; i < (bw + 2) * (bh + 2); i += bw * bh) {
        const int x = clamp(x0 + i % (bw + 2), 0, width - 1);
        const int y = clamp(y0 + i / (bw + 2), 0, height - 1);
        tile[i] = in[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int sum = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[(ly + dy) * (bw + 2) + lx + dx];
    out[y * width + x] = sum;
}

__kernel void turn_box(__global int *data, __local int *box)
{
    const int x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
    const int w = get_local_size(0), h = get_local_size(1), d = get_local_size(2);
    const int at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) +
                   get_global_id(0);
    int value = data[at];
    for (int i = 0; i < 3; i++) {
        box[(z * h + y) * w + x] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = i == 0   ? box[(z * h + y) * w + w - 1 - x]
                : i == 1 ? box[(z * h + h - 1 - y) * w + x]
                         : box[((d - 1 - z) * h + y) * w + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[at] = value;
}

__kernel __attribute__((reqd_work_group_size(4, 4, 2))) void required(__global int *out)
{
    __local int sum;
    if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0)
        sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum, (int)(get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2)));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0)
        out[get_group_id(0)] = sum;
}
