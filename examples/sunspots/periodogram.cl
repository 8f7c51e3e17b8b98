/* periodogram.cl: how strongly each of many periods shows in a series of equally spaced numbers.
 *
 * One work-item per trial period. Their frequencies are evenly spaced, from 1 / longest to
 * 1 / shortest, in units of one step of the series. strongest.cl finds the peak. */

float trial_frequency(uint i, uint trials, float longest, float shortest)
{
    float low = 1.0f / longest;
    float high = 1.0f / shortest;
    return trials > 1 ? low + (high - low) * (float)i / (float)(trials - 1) : low;
}

__kernel void periodogram(__global const float *numbers, uint count, float longest, float shortest,
                          uint trials, __global float *periods, __global float *powers)
{
    uint i = get_global_id(0);
    if (i >= trials)
        return;
    float frequency = trial_frequency(i, trials, longest, shortest);
    float mean = 0.0f;
    for (uint t = 0; t < count; t++)
        mean += numbers[t];
    mean /= (float)count;

    float in_phase = 0.0f;
    float quadrature = 0.0f;
    for (uint t = 0; t < count; t++) {
        float turns = frequency * (float)t;
        float angle = 6.28318530718f * (turns - floor(turns)); /* a small angle keeps its digits */
        in_phase += (numbers[t] - mean) * cos(angle);
        quadrature += (numbers[t] - mean) * sin(angle);
    }
    periods[i] = 1.0f / frequency;
    powers[i] = (in_phase * in_phase + quadrature * quadrature) / (float)count;
}
