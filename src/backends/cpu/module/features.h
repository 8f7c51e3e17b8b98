/* features.h: what this machine's processors can do, as /proc/cpuinfo says it. Code is compiled for the
 * machine at hand (-march=native), so compiled objects are kept apart by it, and one that was carried
 * here is refused where it would meet an illegal instruction. */
#ifndef ACCEL_BACKENDS_CPU_MODULE_FEATURES_H
#define ACCEL_BACKENDS_CPU_MODULE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A number that stands for model and features of the first processor. */
uint64_t accel__cpu_features_hash(void);

/* Appends C text that makes an object say what it needs: `const char accel_cpu_needs[]`, words each
 * behind a blank. Goes behind the kernel's own text. */
void accel__cpu_append_needs(accel__text *text);
#define ACCEL__CPU_NEEDS_SYMBOL "accel_cpu_needs"

/* False where a word of `needs` is no feature of this machine: it is copied to `missing`. True where
 * the features cannot be read. */
bool accel__cpu_features_suffice(const char *needs, char *missing, size_t capacity);

#endif
