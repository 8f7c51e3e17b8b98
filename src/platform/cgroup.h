/* cgroup.h: what the control groups of this process allow it, of both versions, its own group and those
 * around it. Files of /proc and /sys only; nothing is kept. */
#ifndef ACCEL_PLATFORM_CGROUP_H
#define ACCEL_PLATFORM_CGROUP_H

#include <stddef.h>
#include <stdint.h>

/* `root` is "", or in tests a folder in which /proc and /sys are imitated. */

/* Bytes: the least limit, and what is left where least is (files that the system can drop again count as
 * left). UINT64_MAX: no limit. */
void accel__cgroup_memory(const char *root, uint64_t *out_limit, uint64_t *out_left);

/* Processors, rounded up; 0: no limit. */
unsigned accel__cgroup_processors(const char *root);

#endif
