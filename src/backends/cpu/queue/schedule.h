/* schedule.h: a row of launches, copies and fills that a queue holds as one operation. Its executor runs
 * the row without a look at the queue in between. */
#ifndef ACCEL_BACKENDS_CPU_QUEUE_SCHEDULE_H
#define ACCEL_BACKENDS_CPU_QUEUE_SCHEDULE_H

#include "backends/cpu/workers/execute.h"

/* The table's group. */
accel_status accel__cpu_schedule_create(accel_native_device *device,
                                        const accel_backend_step *steps, uint32_t step_count,
                                        accel_native_schedule **out_schedule);
bool accel__cpu_schedule_update(accel_native_schedule *schedule, uint32_t index,
                                const accel_backend_step *step);
accel_status accel__cpu_schedule_replay(accel_native_stream *stream,
                                        accel_native_schedule *schedule);
void accel__cpu_schedule_destroy(accel_native_schedule *schedule);

/* ---- for executors ---- */

/* What a replay took of late, in ticks; UINT64_MAX where none has ended yet. */
uint64_t accel__cpu_schedule_expected(const accel_native_schedule *schedule);
void accel__cpu_schedule_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                 accel_native_schedule *schedule, uint64_t position);
void accel__cpu_schedule_unreference(accel_native_schedule *schedule);

#endif
