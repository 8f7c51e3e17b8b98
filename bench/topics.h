/* SPDX-License-Identifier: MIT
 * topics.h: the topics, one file each. A topic that needs a process in which no backend has started
 * comes first in main.c.
 */
#ifndef BENCH_TOPICS_H
#define BENCH_TOPICS_H

#include "harness.h"

extern const bench_topic bench_topic_start;    /* dlopen, accel list, device_count */
extern const bench_topic bench_topic_launch;   /* empty kernels */
extern const bench_topic bench_topic_loops;    /* kernels from source without barriers */
extern const bench_topic bench_topic_barriers; /* kernels from source with barriers */
extern const bench_topic bench_topic_events;
extern const bench_topic bench_topic_memory; /* alloc and free, history, snapshots */
extern const bench_topic bench_topic_graphs; /* replay, per node */
extern const bench_topic bench_topic_copies;
extern const bench_topic bench_topic_random; /* raw, uniform and normal, by each path of cpu */
extern const bench_topic bench_topic_opencl_overhead; /* the same kernel through both */

#endif
