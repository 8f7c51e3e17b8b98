/* report.h: how an allocation fails for want of memory. */
#ifndef ACCEL_MEMORY_SHORTAGE_REPORT_H
#define ACCEL_MEMORY_SHORTAGE_REPORT_H

#include "memory/heap/segment.h"

/* Makes the thread's report, counts, notes in the history, calls the observers and records OUT_OF_MEMORY,
 * which it returns, with the vendor's code and text of the failure that is on record unless the limit
 * forbade it. No lock may be held. */
accel_status accel__report_out_of_memory(accel__heap *heap, size_t asked, size_t rounded,
                                         size_t wanted, bool limit_forbade);

#endif
