/* collect.c: see collect.h. */
#include "memory/collect.h"

#include "core/stream.h"
#include "memory/foreign.h"
#include "memory/heap/uses.h"
#include "memory/host/host.h"
#include "memory/pool.h"

static void collect(void)
{
    accel__uses_collect(NULL);
    accel__host_collect();
    accel__foreign_collect();
    accel__pool_settle(NULL);
}

void accel__collect_after_synchronize(void)
{
    atomic_store(&accel__after_synchronize, collect);
}
