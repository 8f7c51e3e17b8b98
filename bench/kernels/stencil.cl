/* one step of a 5-point stencil over the inside of a width x height grid */
__kernel void stencil(__global float *restrict out, __global const float *restrict in,
                      const int width, const int height, const float k)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const int at = y * width + x;
    out[at] = in[at] + k * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4.0f * in[at]);
}
