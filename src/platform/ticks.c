/* ticks.c: the kernel uses the processor's counter for its own clock only where it runs at one
 * speed, never stops, and agrees on all processors: that is what is asked here. */
#include "platform/ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "platform/calls.h"

#if defined(__x86_64__)

_Atomic(bool) accel__ticks_are_cycles;

void accel__ticks_prepare(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static const char wanted[] = "tsc\n";
    static _Atomic(bool) is_known;
    char text[sizeof wanted] = "";
    if (atomic_load(&is_known))
        return;
    const int descriptor = accel__platform.open(path, O_RDONLY, 0);
    if (descriptor < 0)
        return;
    const ssize_t size = read(descriptor, text, sizeof text);
    close(descriptor);
    const bool same = size == sizeof wanted - 1 && memcmp(text, wanted, sizeof wanted - 1) == 0;
    atomic_store(&accel__ticks_are_cycles, same);
    atomic_store(&is_known, true);
}

#else

void accel__ticks_prepare(void)
{
}

#endif

accel__ticks_pair accel__ticks_now(void)
{
    accel__ticks_pair best = {0};
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; i++) { /* the reading that was interrupted least */
        const uint64_t before = accel__ticks();
        const uint64_t ns = accel__clock_ns();
        const uint64_t after = accel__ticks();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        best = (accel__ticks_pair){.ticks = before + (after - before) / 2, .ns = ns};
    }
    return best;
}

uint64_t accel__ticks_to_ns(uint64_t ticks, const accel__ticks_pair *before,
                            const accel__ticks_pair *after)
{
    const uint64_t span = after->ticks - before->ticks;
    if (ticks <= before->ticks || span == 0)
        return before->ns;
    const double rate = (double)(after->ns - before->ns) / (double)span;
    return before->ns + (uint64_t)((double)(ticks - before->ticks) * rate);
}
