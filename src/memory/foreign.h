/* foreign.h: memory that something else allocated, as accel_memory_wrap makes it known. alloc.c hands ranges
 * whose owner is ACCEL__RANGE_OF_FOREIGN to these. */
#ifndef ACCEL_MEMORY_FOREIGN_H
#define ACCEL_MEMORY_FOREIGN_H

#include "core/pointers.h"

/* The memory is unknown from now on; its owner is told when the streams have passed. INVALID_ARGUMENT without a
 * record: the range is not live. No lock may be held. */
accel_status accel__foreign_free(accel__range *range);

/* One more stream that uses it. INVALID_ARGUMENT without a record: it is not live. */
accel_status accel__foreign_record(accel__range *range, accel_stream *stream, const char *function);

/* Tells the owners of what streams have passed by now; never waits. After a synchronize, and where the
 * allocator collects. No lock may be held. */
void accel__foreign_collect(void);

#endif
