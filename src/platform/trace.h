/* trace.h: what in this process shows that libraries of a kind are in use: are they mapped, does a thread
 * stand in one, is one of their device files open? Reads /proc/self only, and starts nothing. */
#ifndef ACCEL_PLATFORM_TRACE_H
#define ACCEL_PLATFORM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct accel__trace {
    char library[256];     /* the one with the most threads, else the first mapped; "": none */
    uint32_t thread_count; /* other threads of the process that stand in it */
    char device_file[256]; /* the first one that is open or mapped; "": none */
    bool device_is_open;   /* else it is mapped only */
} accel__trace;

/* Libraries are told by how their files' names begin, device files by how their paths do; both lists end
 * with NULL, and NULL is an empty one. Returns 0 or errno's value (no /proc; ENOMEM).
 *
 * A thread stands in a library where a return address on its stack lies in that library's code. Only
 * threads that sleep can be looked at; of a thread that runs nothing is known. */
int accel__trace_look(const char *const *library_prefixes, const char *const *device_prefixes,
                      accel__trace *out_trace);

#endif
