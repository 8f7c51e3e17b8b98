/* accelerations of n bodies, all pairs */
__kernel void nbody(__global float *restrict ax, __global float *restrict ay,
                    __global float *restrict az, __global const float *restrict x,
                    __global const float *restrict y, __global const float *restrict z,
                    __global const float *restrict mass, const int n)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int j = 0; j < n; j++) {
        const float dx = x[j] - x[i];
        const float dy = y[j] - y[i];
        const float dz = z[j] - z[i];
        const float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
        const float r = 1.0f / sqrt(r2);
        const float s = mass[j] * r * r * r;
        sx += dx * s;
        sy += dy * s;
        sz += dz * s;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
}
