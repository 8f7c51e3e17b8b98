/* size_text.c: see size_text.h. Called by `accel list` and `accel memory`. */
#include "cli/size_text.h"

#include <stdio.h>

const char *accel__size_text(uint64_t size, char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)size;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    snprintf(text, ACCEL__SIZE_TEXT_MAX, unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

uint64_t accel__size_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
