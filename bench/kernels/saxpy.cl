/* y = a x + y */
__kernel void saxpy(__global float *restrict y, __global const float *restrict x, const float a,
                    const int n)
{
    const int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
