/* settings.c: see settings.h. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "draw.h"

enum { VALUE_SIZE = 96 };

typedef struct settings {
    char devices[VALUE_SIZE];
    char threads[VALUE_SIZE];
    char mask[VALUE_SIZE];
} settings;

static settings draw_settings(uint64_t seed, const char *backend)
{
    static const char *const groups[] = {"timing",  "callbacks", "pinned",  "priorities",
                                         "peer",    "functions", "handles", "random",
                                         "virtual", "schedules", "all"};
    settings drawn;
    fuzz_draw draw = draw_for(seed, UINT64_MAX, 0, 0);
    snprintf(drawn.devices, VALUE_SIZE, "%u", 1 + draw_below(&draw, 3));
    snprintf(drawn.threads, VALUE_SIZE, "%u", 1 + draw_below(&draw, 3));
    drawn.mask[0] = '\0';
    if (draw_chance(&draw, 60))
        snprintf(drawn.mask, VALUE_SIZE, "%s:%s,%s:%s", backend, groups[draw_below(&draw, 11)],
                 backend, groups[draw_below(&draw, 10)]);
    return drawn;
}

void fuzz_apply_settings(uint64_t seed, const char *backend)
{
    const settings drawn = draw_settings(seed, backend);
    setenv("ACCEL_CPU_DEVICES", drawn.devices, 1);
    setenv("ACCEL_CPU_THREADS", drawn.threads, 1);
    setenv("ACCEL_MASK", drawn.mask, 1);
}

const char *fuzz_settings_text(uint64_t seed, const char *backend)
{
    static char text[4 * VALUE_SIZE];
    const settings drawn = draw_settings(seed, backend);
    snprintf(text, sizeof text, "(ACCEL_CPU_DEVICES=%s ACCEL_CPU_THREADS=%s ACCEL_MASK=%s)",
             drawn.devices, drawn.threads, drawn.mask);
    return text;
}
