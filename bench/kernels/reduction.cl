/* sums of blocks, by halving in local memory */
__kernel void reduction(__global const float *in, __global float *sums, __local float *part,
                        const uint n)
{
    const uint gid = get_global_id(0);
    const uint lid = get_local_id(0);
    part[lid] = gid < n ? in[gid] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (lid < s)
            part[lid] += part[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        sums[get_group_id(0)] = part[0];
}
