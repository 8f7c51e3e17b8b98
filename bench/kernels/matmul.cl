/* c = a b for square matrices, in tiles of 16 x 16 that a block holds in local memory. */
#define TILE 16

__kernel void matmul(__global float *c, __global const float *a, __global const float *b, int n)
{
    __local float tile_a[TILE][TILE];
    __local float tile_b[TILE][TILE];
    int column = get_local_id(0);
    int row = get_local_id(1);
    int x = get_group_id(0) * TILE + column;
    int y = get_group_id(1) * TILE + row;
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        tile_a[row][column] = a[y * n + t + column];
        tile_b[row][column] = b[(t + row) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[row][k] * tile_b[k][column];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
