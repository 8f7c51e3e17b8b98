/* barrier.c: see barrier.h. */
#include "platform/barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/generation.h"

_Atomic(bool) accel__barrier_fences = true;

static _Atomic(uint32_t) prepared; /* the generation that registered, or found that it cannot */

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/* A thread that still fences does no harm, so nobody waits for the change to be seen. Once a process does
 * without fences it cannot go back; a child registers anew, and one that cannot (a filter of system calls
 * was set meanwhile) fences, with none of its threads at work yet. */
void accel__barrier_prepare(void)
{
    const uint32_t now = accel__generation();
    if (atomic_load_explicit(&prepared, memory_order_acquire) == now)
        return;
    const bool works = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    atomic_store_explicit(&accel__barrier_fences, !works, memory_order_seq_cst);
    atomic_store_explicit(&prepared, now, memory_order_release);
}

void accel__barrier_all(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&accel__barrier_fences, memory_order_relaxed))
        (void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
