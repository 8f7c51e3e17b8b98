/* c = a b for n x n matrices, n a multiple of TILE, through tiles in local memory */
#ifndef TILE
#define TILE 16
#endif
__kernel void matmul(__global float *c, __global const float *a, __global const float *b,
                     const int n)
{
    __local float as[TILE][TILE];
    __local float bs[TILE][TILE];
    const int x = get_local_id(0);
    const int y = get_local_id(1);
    const int column = get_group_id(0) * TILE + x;
    const int row = get_group_id(1) * TILE + y;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; t++) {
        as[y][x] = a[row * n + t * TILE + x];
        bs[y][x] = b[(t * TILE + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += as[y][k] * bs[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
