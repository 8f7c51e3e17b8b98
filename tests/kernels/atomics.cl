/* 32-bit atomics on global and local memory. */

__kernel void histogram(__global const uchar *in, __global uint *bins, const uint n)
{
    __local uint mine[256];
    const uint lid = get_local_id(0);
    for (uint i = lid; i < 256; i += get_local_size(0))
        mine[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&mine[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < 256; i += get_local_size(0))
        if (mine[i] > 0)
            atomic_add(&bins[i], mine[i]);
}

__kernel void each_kind(__global const int *in, volatile __global int *a, volatile __global uint *u)
{
    const int v = in[get_global_id(0)];
    atomic_add(&a[0], v);
    atomic_sub(&a[1], v);
    atomic_min(&a[2], v);
    atomic_max(&a[3], v);
    atomic_and(&a[4], v);
    atomic_or(&a[5], v);
    atomic_xor(&a[6], v);
    atomic_inc(&a[7]);
    atomic_dec(&a[8]);
    atom_min(&u[0], (uint)v);
    atom_max(&u[1], (uint)v);
    atom_add(&u[2], 1u);
}

/* every item gets a number of its own */
__kernel void tickets(__global uint *next, __global uint *out)
{
    out[get_global_id(0)] = atomic_inc(next);
}

/* a sum of floats, by compare and exchange */
__kernel void add_float(__global const float *in, volatile __global uint *sum)
{
    uint before = *sum, assumed;
    do {
        assumed = before;
        before = atomic_cmpxchg(sum, assumed, as_uint(as_float(assumed) + in[get_global_id(0)]));
    } while (before != assumed);
}

__kernel void exchange(__global float *slot, __global float *out)
{
    out[get_global_id(0)] = atomic_xchg(slot, (float)get_global_id(0));
}

/* the block that comes last adds up what all have left */
__kernel void last_block(__global const int *in, __global int *partial, __global uint *done,
                         __global int *out)
{
    __local int sum;
    __local uint ticket;
    const uint lid = get_local_id(0);
    if (lid == 0)
        sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum, in[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        partial[get_group_id(0)] = sum;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        ticket = atomic_inc(done);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (ticket == get_num_groups(0) - 1 && lid == 0) {
        int total = 0;
        for (uint i = 0; i < get_num_groups(0); i++)
            total += partial[i];
        *out = total;
    }
}
