/* execute.h: doing what is in a queue. An executor is a thread that holds a queue's claim: a worker, or
 * a caller that synchronises. */
#ifndef ACCEL_BACKENDS_CPU_WORKERS_EXECUTE_H
#define ACCEL_BACKENDS_CPU_WORKERS_EXECUTE_H

#include "backends/cpu/queue/queue.h"

/* Memory for blocks of local memory and for scratch: one thread uses it at a time. */
typedef struct accel__cpu_arena {
    struct accel__cpu_arena *next;
    unsigned char *base; /* 64-byte aligned */
    size_t size;
    size_t stagger; /* bytes: keeps threads off each other's lines of the first-level cache */
} accel__cpu_arena;

typedef struct accel__cpu_executor {
    accel__cpu_arena *arena; /* taken when first needed */
    bool is_worker;
    uint32_t home; /* which part of a shared job it begins with: 0 for callers */
} accel__cpu_executor;

/* `size` bytes, 64-byte aligned, until the next call. NULL: no memory. */
unsigned char *accel__cpu_executor_memory(accel__cpu_executor *executor, size_t size);
/* Gives the memory back for others to use. */
void accel__cpu_executor_end(accel__cpu_executor *executor);
/* Frees what nobody uses. */
void accel__cpu_arenas_free(void);

typedef enum accel__cpu_drained {
    ACCEL__CPU_DRAINED,   /* the limit is reached, or the next operation is not there */
    ACCEL__CPU_SUSPENDED, /* the queue waits for another one, and the claim is gone */
    ACCEL__CPU_FORKED     /* a callback has forked, and this is the child */
} accel__cpu_drained;

/* Executes operations below position `limit`, `budget` of them at most. Claim held. */
accel__cpu_drained accel__cpu_drain(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                    uint64_t limit, uint32_t budget);

/* Operations of other files. */
void accel__cpu_launch_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                               accel__cpu_slot *slot, uint64_t position, uint64_t expected);
void accel__cpu_launch_release(accel__cpu_slot *slot);
/* Runs a launch whose arguments are packed; a failure sticks to the queue. */
void accel__cpu_launch_run(accel__cpu_executor *executor, accel__cpu_queue *queue,
                           const accel__cpu_launch_op *op, const unsigned char *arguments,
                           uint64_t position, bool is_measured);
/* Packs arguments as accel__cpu_native_function says. */
void accel__cpu_launch_pack(const accel__cpu_native_function *function,
                            const accel_kernel_arg *args, uint32_t arg_count,
                            unsigned char *target);
void accel__cpu_copy_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                             const accel__cpu_copy_op *copy);
void accel__cpu_fill_execute(const accel__cpu_fill_op *fill);
void accel__cpu_event_stamp(accel_native_event *event, accel__cpu_queue *queue, uint64_t position);
void accel__cpu_event_unreference(accel_native_event *event);

#endif
