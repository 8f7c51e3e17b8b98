/* program.h: a checked translation unit of portable source: the grammar of docs/kernel-language.md,
 * version 1. What lies outside it is refused with its line, never half translated. */
#ifndef ACCEL_KERNEL_PROGRAM_H
#define ACCEL_KERNEL_PROGRAM_H

#include <accel/kernel.h>

#include "kernel/lex/diagnostic.h"
#include "kernel/lex/token.h"

typedef struct accel__program accel__program;

/* One kernel as callers see it. */
typedef struct accel__signature {
    const char *name;
    const accel_param *params;
    uint32_t param_count;
    uint32_t required_block[3]; /* reqd_work_group_size; 0: none */
} accel__signature;

/* NULL where an error was diagnosed (or memory ran out: diagnostics->out_of_memory). The unit must
 * outlive the program. */
accel__program *accel__program_parse(const accel__unit *unit, accel__diagnostics *diagnostics);
void accel__program_release(accel__program *program); /* NULL is allowed */

uint32_t accel__program_kernel_count(const accel__program *program);
const accel__signature *accel__program_kernel(const accel__program *program, uint32_t index);
bool accel__program_uses_double(const accel__program *program);

/* Appends one self-contained C17 (GNU) source for the system's compiler, which makes a shared object
 * of the cpu kernel ABI (<accel/cpu.h>) of it; #line directives name the user's lines. False where an
 * error was diagnosed. `check_barriers`: the debug mode of accel_module_options. */
bool accel__program_emit_cpu(const accel__program *program, bool check_barriers,
                             accel__diagnostics *diagnostics, accel__text *out_text);

/* Appends the source again as OpenCL C 1.2, led by a comment that tells its kernels
 * (docs/backend-opencl.md). `offsets`: kernels take each pointer as a buffer and an offset in bytes.
 * False where an error was diagnosed. */
bool accel__program_emit_opencl(const accel__program *program, bool offsets,
                                accel__diagnostics *diagnostics, accel__text *out_text);

#endif
