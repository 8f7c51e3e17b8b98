/* Barriers that not all items of a block reach: the debug mode finds each of them. */

__kernel void in_branch(__global int *p, const int odd)
{
    if (get_local_id(0) >= odd) {
        barrier(CLK_LOCAL_MEM_FENCE);
        p[get_global_id(0)] = 1;
    }
}

__kernel void in_loop(__global int *p, const int odd)
{
    for (int i = get_local_id(0) < odd ? 1 : 0; i < 3; i++)
        barrier(CLK_LOCAL_MEM_FENCE);
    p[get_global_id(0)] = 1;
}

__kernel void behind_break(__global int *p, const int odd)
{
    for (int i = 0; i < 3; i++) {
        if (p[get_global_id(0)] < odd && i == 1)
            break;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    p[get_global_id(0)] = 1;
}

__kernel void in_case(__global int *p, const int odd)
{
    switch (get_local_id(0) < odd ? 1 : 2) {
    case 1:
        barrier(CLK_LOCAL_MEM_FENCE);
        break;
    default:
        p[get_global_id(0)] = 1;
    }
}
