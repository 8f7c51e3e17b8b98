/* barrier.c: see barrier.h. */
#include "platform/barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/generation.h"

static _Atomic(uint32_t) prepared; /* generation << 1 | 1 where the barrier works */

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

bool accel__barrier_prepare(void)
{
    const uint32_t now = accel__generation() << 1;
    uint32_t known = atomic_load_explicit(&prepared, memory_order_acquire);
    if (known >> 1 != now >> 1) {
        const bool works = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
        known = now | (works ? 1u : 0u);
        atomic_store_explicit(&prepared, known, memory_order_release);
    }
    return (known & 1u) != 0;
}

void accel__barrier_all(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(&prepared, memory_order_relaxed) & 1u) != 0)
        (void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
