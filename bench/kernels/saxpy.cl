/* y = a x + y. */
__kernel void saxpy(__global float *y, __global const float *x, float a, int count)
{
    int i = get_global_id(0);
    if (i < count) {
        y[i] = a * x[i] + y[i];
    }
}
