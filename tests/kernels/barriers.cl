/* Barriers in loops, conditions, switches and functions. Each kernel works for any 1-D block. */

__kernel void reduce(__global const int *in, __global int *out, __local int *part, const int n)
{
    const uint gid = get_global_id(0);
    const uint lid = get_local_id(0);
    part[lid] = gid < n ? in[gid] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint left = get_local_size(0);
    while (left > 1) {
        const uint half_size = (left + 1) / 2;
        if (lid + half_size < left)
            part[lid] += part[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
        left = half_size;
    }
    if (lid == 0)
        out[get_group_id(0)] = part[0];
}

__kernel void scan(__global int *data, __local int *a, __local int *b)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    __local int *from = a;
    __local int *to = b;
    int value = data[get_global_id(0)];
    from[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < size; step *= 2) {
        to[lid] = lid >= step ? from[lid] + from[lid - step] : from[lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        __local int *other = from;
        from = to;
        to = other;
    }
    data[get_global_id(0)] = from[lid] * 2 - value;
}

/* items beyond n leave at once, the others go on to barriers */
__kernel void early_return(__global const int *in, __global int *out, __local int *tile,
                           const int n)
{
    const int gid = get_global_id(0);
    if (gid >= n)
        return;
    const int lid = get_local_id(0);
    tile[lid] = in[gid];
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = tile[lid];
    if (lid > 0)
        sum += tile[lid - 1];
    if (gid + 1 < n && lid + 1 < (int)get_local_size(0))
        sum += tile[lid + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[gid] = sum;
}

/* items leave after they have loaded something; what they stored stays */
__kernel void late_return(__global const int *in, __global int *out, __local int *tile)
{
    const int gid = get_global_id(0);
    const int lid = get_local_id(0);
    const int value = in[gid];
    tile[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (value % 3 == 0) {
        out[gid] = -1;
        return;
    }
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += tile[(lid + i) % (int)get_local_size(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[gid] = sum;
}

__kernel void in_branches(__global int *data, __local int *tile, const int mode)
{
    const int lid = get_local_id(0);
    const int last = get_local_size(0) - 1;
    int value = data[get_global_id(0)];
    if (mode > 10) {
        tile[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tile[last - lid];
        if (mode > 20) {
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[lid] = value + 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            value = tile[last - lid];
        }
    } else if (mode > 5) {
        tile[last - lid] = value * 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tile[lid];
    } else {
        value = -value;
    }
    data[get_global_id(0)] = value;
}

/* the loop's condition is data in local memory */
__kernel void settle(__global int *data, __local int *tile, __global int *rounds)
{
    __local int changed;
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    int count = 0;
    tile[lid] = data[get_global_id(0)];
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0)
            changed = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        int mine = tile[lid];
        const int left = tile[lid > 0 ? lid - 1 : lid];
        const int right = tile[lid + 1 < size ? lid + 1 : lid];
        const int best = max(mine, max(left, right));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (best != mine) {
            tile[lid] = best;
            changed = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        count++;
    } while (changed);
    data[get_global_id(0)] = tile[lid];
    if (lid == 0)
        rounds[get_group_id(0)] = count;
}

__kernel void in_switch(__global int *data, __local int *tile, const int mode)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    int value = data[get_global_id(0)];
    switch (mode) {
    case 0:
        tile[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tile[(lid + 1) % size];
        break;
    case 1:
        value += 100;
        /* on into the next */
    case 2: {
        tile[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int other = tile[size - 1 - lid];
        value = other * 3;
        break;
    }
    default:
        value = 7;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = value;
}

int rotate_block(__local int *tile, int value, int by)
{
    const int lid = get_local_id(0);
    if (by == 0)
        return value;
    tile[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int result = tile[(lid + by) % (int)get_local_size(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    return result;
}

void rotate_twice(__local int *tile, int *value, int by)
{
    *value = rotate_block(tile, *value, by);
    *value += rotate_block(tile, *value + 1, by + 1);
}

__kernel void in_functions(__global int *data, __local int *tile, const int by)
{
    int value = data[get_global_id(0)];
    int twice = rotate_block(tile, value, by);
    rotate_twice(tile, &value, by);
    if (by > 2)
        twice = rotate_block(tile, twice, 1);
    data[get_global_id(0)] = value * 1000 + twice;
}

__kernel void nested(__global int *data, __local int *tile, const int rows, const int stop)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    int sum = 0;
    for (int i = 0; i < rows; i++) {
        if (i == 2)
            continue;
        for (int j = i; j < rows; j++) {
            if (i * 10 + j == stop)
                break;
            tile[lid] = data[get_global_id(0)] + j;
            barrier(CLK_LOCAL_MEM_FENCE);
            sum += tile[(lid + i + j) % size] * (i + 1);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (sum > 1000000000)
            sum = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = sum;
}

/* items part behind the last barrier of a turn, and are together again for the next */
__kernel void parting(__global int *data, __local int *tile, const int turns)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    int sum = 0;
    for (int t = 0; t < turns; t++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[lid] = data[get_global_id(0)] * (t + 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        const int other = tile[size - 1 - lid];
        if ((other & 1) == 0)
            continue;
        if (other % 3 == 0) {
            sum -= other;
            continue;
        }
        sum += other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = sum;
}

__kernel void odd_even_sort(__global int *data, __local int *tile)
{
    const uint lid = get_local_id(0);
    const uint size = get_local_size(0);
    tile[lid] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint turn = 0; turn < size; ++turn) {
        const uint at = 2 * lid + (turn & 1u);
        if (at + 1 < size) {
            const int a = tile[at], b = tile[at + 1];
            if (a > b) {
                tile[at] = b;
                tile[at + 1] = a;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[get_global_id(0)] = tile[lid];
}

/* arrays and addresses of private memory live on behind barriers */
__kernel void private_memory(__global int *data, __local int *tile)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    int window[5];
    int seen = 0;
    int *counter = &seen;
    const int weights[5] = {1, -2, 3, -4, 5};
    for (int i = 0; i < 5; i++)
        window[i] = data[get_global_id(0)] + i * i;
    for (int i = 0; i < 5; i++) {
        tile[lid] = window[i] * weights[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        window[i] = tile[(lid + i) % size];
        *counter += window[i] & 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum = sum * 3 + window[i];
    data[get_global_id(0)] = sum + seen;
}

/* all items leave together, out of two loops at once */
__kernel void leave_all(__global int *data, __local int *tile, const int at)
{
    const int lid = get_local_id(0);
    for (int i = 0; i < 10; i++) {
        tile[lid] = data[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        data[get_global_id(0)] = tile[get_local_size(0) - 1 - lid] + 1;
        if (i == at) {
            if (lid == 0)
                data[get_global_id(0)] += 1000;
            return;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[get_global_id(0)] = -data[get_global_id(0)];
}
