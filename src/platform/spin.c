/* spin.c: waiting for a spin lock. Its owner may have lost its processor, to this very thread where that has a
 * higher priority, or may do more than usual: whoever waits lets others run, and sleeps in the end. */
#include "platform/spin.h"

#include <sched.h>
#include <time.h>

#include "platform/futex.h"

enum { SPINS = 100, YIELDS = 100, NAP_NS = 50000 };

void accel__spin_lock_slow(accel__spin *spin)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    for (int i = 0; !accel__spin_try_lock(spin); i++) {
        if (i < SPINS)
            accel__spin_pause();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&nap, NULL); /* a signal only shortens it */
    }
}
