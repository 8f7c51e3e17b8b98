/* spin.c: waiting for a spin lock: its owner may have lost its processor. */
#include "platform/spin.h"

#include <sched.h>

#include "platform/futex.h"

enum { SPINS = 100 };

void accel__spin_lock_slow(accel__spin *spin)
{
    for (int i = 0; !accel__spin_try_lock(spin); i++) {
        if (i < SPINS)
            accel__spin_pause();
        else
            sched_yield();
    }
}
