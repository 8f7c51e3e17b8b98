/* Accelerations of `count` bodies under their mutual gravity, one body a work-item. */
__kernel void nbody(__global float *ax, __global float *ay, __global float *az,
                    __global const float *x, __global const float *y, __global const float *z,
                    __global const float *mass, int count, float softening)
{
    int i = get_global_id(0);
    if (i >= count) {
        return;
    }
    float sum_x = 0.0f;
    float sum_y = 0.0f;
    float sum_z = 0.0f;
    for (int j = 0; j < count; j++) {
        float dx = x[j] - x[i];
        float dy = y[j] - y[i];
        float dz = z[j] - z[i];
        float inverse = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + softening);
        float pull = mass[j] * inverse * inverse * inverse;
        sum_x += pull * dx;
        sum_y += pull * dy;
        sum_z += pull * dz;
    }
    ax[i] = sum_x;
    ay[i] = sum_y;
    az[i] = sum_z;
}
