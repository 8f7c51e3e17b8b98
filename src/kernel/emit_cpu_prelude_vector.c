/* emit_cpu_prelude_vector.c: vector types, as C text. */
#include "kernel/emit_cpu_prelude.h"

const char accel__prelude_vector[] =
    "#define ACCEL_VECTOR(T, S) \\\n"
    "    typedef T accel_##S##x2 __attribute__((vector_size(2 * sizeof(T)))); \\\n"
    "    typedef T accel_##S##x4 __attribute__((vector_size(4 * sizeof(T)))); \\\n"
    "    typedef accel_##S##x4 accel_##S##x3; \\\n"
    "    typedef T accel_##S##x8 __attribute__((vector_size(8 * sizeof(T)))); \\\n"
    "    typedef T accel_##S##x16 __attribute__((vector_size(16 * sizeof(T))));\n"
    "ACCEL_VECTOR(signed char, i8)\n"
    "ACCEL_VECTOR(unsigned char, u8)\n"
    "ACCEL_VECTOR(short, i16)\n"
    "ACCEL_VECTOR(unsigned short, u16)\n"
    "ACCEL_VECTOR(int, i32)\n"
    "ACCEL_VECTOR(unsigned, u32)\n"
    "ACCEL_VECTOR(long, i64)\n"
    "ACCEL_VECTOR(unsigned long, u64)\n"
    "ACCEL_VECTOR(float, f32)\n"
    "ACCEL_VECTOR(double, f64)\n";
