/* strongest.cl: the period with the greatest power: a reduction by one block of any size.
 *
 * Each work-item looks through its share; then the block halves what is left, with a barrier after
 * each step. `best` holds the index of the best trial that each work-item knows of. */

__kernel void strongest(__global const float *periods, __global const float *powers, uint trials,
                        __local uint *best, __global float *answer)
{
    uint self = get_local_id(0);
    uint size = get_local_size(0);
    uint mine = self < trials ? self : 0;
    for (uint i = self; i < trials; i += size)
        if (powers[i] > powers[mine])
            mine = i;
    best[self] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);

    while (size > 1) {
        uint half_size = (size + 1) / 2; /* rounded up: no size is a special case */
        if (self + half_size < size && powers[best[self + half_size]] > powers[best[self]])
            best[self] = best[self + half_size];
        size = half_size;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (self == 0) {
        answer[0] = periods[best[0]];
        answer[1] = powers[best[0]];
    }
}
