/* job.h: one launch that several threads work on. Its executor puts it on the board; idle workers, and
 * callers that wait for that very queue, join it. Each begins with its own part of the blocks, the same
 * at each launch, so that it finds in its caches what it left there; then it helps with the other parts.
 * In the end the executor takes the job off the board and waits for those who are still inside. */
#ifndef ACCEL_BACKENDS_CPU_WORKERS_JOB_H
#define ACCEL_BACKENDS_CPU_WORKERS_JOB_H

#include "backends/cpu/workers/execute.h"

enum { ACCEL__CPU_BOARD_SIZE = 16, ACCEL__CPU_PARTS = 32 };

typedef struct accel__cpu_part {
    _Alignas(64) _Atomic(uint64_t) next;
    uint64_t end;
} accel__cpu_part;

typedef struct accel__cpu_job {
    const accel__cpu_launch_op *op;
    const unsigned char *arguments; /* packed */
    uint64_t block_count;
    uint64_t least_range;  /* blocks that one thread takes at least, where there are that many */
    uint32_t thread_count; /* that may take part */
    bool is_measured;      /* also where it cannot be shared: what the function costs */
    _Atomic(bool) is_exhausted; /* nothing is left to take */
    _Atomic(const char *) error;
    accel__cpu_part *parts; /* where it is shared */
    uint32_t part_count;
} accel__cpu_job;

/* A place on the board. */
typedef struct accel__cpu_place {
    _Alignas(64) _Atomic(uint32_t)
        word;            /* bit 0: taken, 1: open, 2: the executor sleeps; then a count */
    accel__cpu_job *job; /* valid for those who are counted */
    _Atomic(accel__cpu_queue *) queue;
} accel__cpu_place;

typedef struct accel__cpu_board {
    _Alignas(64) _Atomic(uint32_t) open_count;
    accel__cpu_place places[ACCEL__CPU_BOARD_SIZE];
} accel__cpu_board;

void accel__cpu_board_reset(accel__cpu_board *board);

/* Runs all blocks of the job. False: no memory; nothing ran. */
bool accel__cpu_job_run(accel__cpu_executor *executor, accel__cpu_queue *queue,
                        accel__cpu_job *job);

/* What a launch will take in ticks on one thread; UINT64_MAX where its function has not run yet. */
uint64_t accel__cpu_job_expected(const accel__cpu_launch_op *op);

/* Whether a job of the queue is on the board, and none of another. */
bool accel__cpu_job_is_only(accel__cpu_queue *queue);

/* Joins a job, of `queue` only where that is not NULL. False: there was none to join. */
bool accel__cpu_job_help(accel__cpu_executor *executor, accel__cpu_queue *queue);

#endif
