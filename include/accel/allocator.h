/* SPDX-License-Identifier: MIT
 * allocator.h: what a program can have of the caching allocator of device memory: giving back what is
 * cached, limits, and the want of memory.
 *
 * When memory is short an allocation tries, in this order: blocks that other threads have at hand; blocks
 * whose streams have passed; free memory of other streams that have passed it; new memory; giving cached
 * memory back and asking again; the program's hooks; waiting for streams that hold freed memory; free memory
 * of pools that allow it. Only then it fails, with a report. A failed allocation leaves everything usable.
 */
#ifndef ACCEL_ALLOCATOR_H
#define ACCEL_ALLOCATOR_H

#include <accel/memory_pool.h>

ACCEL_BEGIN_DECLS

/* accel_empty_cache (question): gives the device memory that no allocation uses back to the drivers, on
 * every device that was used, and waits for the streams that still work on freed memory. Does nothing
 * where nothing was allocated. Host memory: accel_empty_host_cache.
 * Errors: IN_CALLBACK. Any thread; fork: in a child it concerns the child's own memory. */
ACCEL_API accel_status accel_empty_cache(void);

/* ---- limits ---- */

/* accel_allocator_set_memory_fraction (question): this process may reserve at most `fraction` (0 to 1) of
 * the memory that the device has in all; 1: no limit. It is in place of the setting
 * per_process_memory_fraction. It bounds what accel reserves for device memory: a driver's own needs, pinned
 * memory and other libraries are outside. What is reserved already stays; new memory is had only within the
 * limit, after cached memory was given back.
 * Errors: INVALID_ARGUMENT (below 0, above 1, no number), those of the device,
 * OUT_OF_HOST_MEMORY. Any thread; fork: a child inherits it. */
ACCEL_API accel_status accel_allocator_set_memory_fraction(accel_device device, double fraction);

/* accel_allocator_set_memory_limit (question): the same in bytes; 0: no limit. It is in place of the setting
 * memory_limit_mb. With several limits the least holds.
 * Errors: those of the device, OUT_OF_HOST_MEMORY. Any thread; fork: a child
 * inherits it. */
ACCEL_API accel_status accel_allocator_set_memory_limit(accel_device device, size_t size);

/* accel_allocator_get_memory_limit (question; a use of the device where a fraction is set and the device is
 * not in use yet, but on cpu): what holds now, in bytes; 0: no limit.
 * Errors: INVALID_ARGUMENT (NULL), those of the device, OUT_OF_HOST_MEMORY, those
 * of a start. Any thread. */
ACCEL_API accel_status accel_allocator_get_memory_limit(accel_device device, size_t *out_size);

/* ---- out of memory ---- */

/* One pool of memory of the device in a report. */
typedef struct accel_out_of_memory_pool {
    accel_memory_pool_id id;
    size_t reserved;     /* bytes from the driver */
    size_t cached;       /* bytes of those that no allocation uses */
    size_t largest_hole; /* bytes of the largest free piece */
} accel_out_of_memory_pool;

#define ACCEL_OUT_OF_MEMORY_POOLS_MAX 8

typedef struct accel_out_of_memory_report {
    uint32_t struct_size; /* in, where a program passes one */
    accel_device device;
    size_t asked;       /* bytes that the program asked for */
    size_t rounded;     /* bytes that would be handed out */
    size_t wanted;      /* bytes that the driver was asked for last, or would have been */
    size_t total;       /* bytes of the device; 0: unknown */
    size_t free;        /* bytes that the driver says are free for every process; 0: unknown */
    size_t limit;       /* bytes that this process may reserve; 0: no limit */
    bool limit_forbade; /* the limit was in the way, not the driver */
    size_t reserved;    /* bytes that accel has from the driver */
    size_t allocated;   /* bytes of those in use: handed out, or freed and still used by a stream */
    size_t cached;      /* the other bytes of those: free */
    size_t largest_hole;  /* bytes of the largest free piece that accel has */
    double fragmentation; /* 0: what is cached is one piece; near 1: it is many small ones */
    size_t others;        /* bytes that other processes and libraries use; 0: none, or unknown */
    uint32_t pool_count;  /* entries of pools; further pools are in the sums above only */
    accel_out_of_memory_pool pools[ACCEL_OUT_OF_MEMORY_POOLS_MAX];
    char text[1024]; /* all of that for a person, with advice */
} accel_out_of_memory_report;

/* accel_allocator_get_out_of_memory_report (question): the report of the calling thread's last allocation
 * that failed for want of device memory; struct_size alone is left where there was none.
 * Errors: INVALID_ARGUMENT (NULL, struct_size). Fork: the child's thread keeps it. */
ACCEL_API accel_status
accel_allocator_get_out_of_memory_report(accel_out_of_memory_report *out_report);

/* Called when an allocation fails for want of device memory, on its thread, with no lock of accel held. It
 * may ask, free and take snapshots; allocating in it fails at once where memory is short. */
typedef void (*accel_out_of_memory_observer)(const accel_out_of_memory_report *report, void *user);

/* Called when memory is short and nothing cached helps: gives memory free that the program can do without.
 * Returns whether it did. The same rules. */
typedef bool (*accel_memory_pressure_hook)(accel_device device, size_t size, void *user);

/* accel_allocator_add_… (question): from now on `function` is called with `user`, after those added before.
 * The same pair may be added once. accel_allocator_remove_…: no more; a call that is under way on another
 * thread may still end after the return. At most 16 of each.
 * Errors: INVALID_ARGUMENT (NULL, added already), NOT_FOUND (to remove), OUT_OF_RANGE (too many). Any
 * thread, also inside of one; fork: a child inherits them. */
ACCEL_API accel_status
accel_allocator_add_out_of_memory_observer(accel_out_of_memory_observer function, void *user);
ACCEL_API accel_status
accel_allocator_remove_out_of_memory_observer(accel_out_of_memory_observer function, void *user);
ACCEL_API accel_status accel_allocator_add_memory_pressure_hook(accel_memory_pressure_hook function,
                                                                void *user);
ACCEL_API accel_status
accel_allocator_remove_memory_pressure_hook(accel_memory_pressure_hook function, void *user);

ACCEL_END_DECLS

#endif /* ACCEL_ALLOCATOR_H */
