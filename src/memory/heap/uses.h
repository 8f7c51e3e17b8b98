/* uses.h: blocks of heaps that other streams than their home stream use, and those of them that were freed and
 * wait until these streams have passed. */
#ifndef ACCEL_MEMORY_HEAP_USES_H
#define ACCEL_MEMORY_HEAP_USES_H

#include "memory/heap/block.h"

/* One more stream that uses the live block. INVALID_ARGUMENT without a record: it is not live any more. */
accel_status accel__uses_record(accel__block *block, accel_stream *stream, const char *function);

/* A freed block with uses, in state PENDING, waits from now on; its statistics say so already. Puts marks
 * behind what is queued on its streams. */
void accel__uses_wait(accel__block *block);

/* Blocks of the device (NULL: of all) whose streams have passed by now go to their heaps. Never waits; inside a
 * callback it does nothing. True: some did. With no lock held. */
bool accel__uses_collect(const accel__device *device);

#endif
