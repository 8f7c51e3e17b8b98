/* prelude.h: the longer parts of the prelude, each in a file of its own. */
#ifndef ACCEL_KERNEL_EMIT_CPU_PRELUDE_H
#define ACCEL_KERNEL_EMIT_CPU_PRELUDE_H

extern const char accel__prelude_integer[];
extern const char accel__prelude_integer_more[];
extern const char accel__prelude_math[];
extern const char accel__prelude_math_more[];
extern const char accel__prelude_vector[];

#endif
