/* The sum of each block, as a tree in local memory. */
__kernel void reduction(__global float *sums, __global const float *in, __local float *scratch)
{
    int lid = get_local_id(0);
    scratch[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size) {
            scratch[lid] += scratch[lid + half_size];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) {
        sums[get_group_id(0)] = scratch[0];
    }
}
