/* emit_cpu.h: the translator of a program to C for the cpu backend, shared by emit_cpu_*.c.
 *
 * A kernel becomes a function that loops over blocks and, inside, over work-items. Its body is cut
 * into a skeleton, which runs once for a block, and regions, which are loops over the work-items
 * (emit_cpu/plan.h). All names of the user carry a prefix, all of ours begin with accel_.
 *
 * The emitted source is meant for: -std=gnu17 -O3 -march=native -fno-math-errno -fno-trapping-math
 * -fno-strict-aliasing -ffp-contract=off -fPIC -shared, and -lm behind it. */
#ifndef ACCEL_KERNEL_EMIT_CPU_H
#define ACCEL_KERNEL_EMIT_CPU_H

#include <setjmp.h>

#include "kernel/tree/ast.h"

typedef struct accel__plan accel__plan;

/* Parts of the prelude, emitted where something asked for them. */
enum {
    ACCEL__PRELUDE_INTEGER = 1,
    ACCEL__PRELUDE_MATH = 2,
    ACCEL__PRELUDE_ATOMIC = 4,
    ACCEL__PRELUDE_CONVERT = 8,
    ACCEL__PRELUDE_HALF = 16,
    ACCEL__PRELUDE_VECTOR = 32,
    ACCEL__PRELUDE_REGION = 64
};

typedef struct accel__emitter {
    const accel__program *program;
    accel__diagnostics *diagnostics;
    accel__text *out;
    accel__arena arena; /* of the plans: gone when the source is written */
    jmp_buf bail;
    accel__plan *plan;          /* of the kernel being written; NULL in functions */
    const accel__type *returns; /* of the function being written */
    bool check_barriers;
    bool is_constant; /* an initialiser at program scope: no statements inside of it */
    unsigned prelude;
    uint32_t next_id;
    uint32_t region;    /* being written; 0: none */
    bool leaves_region; /* something jumps to its end */
} accel__emitter;

_Noreturn void accel__emit_fail(accel__emitter *emitter, uint32_t file, uint32_t line,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));
void *accel__emit_take(accel__emitter *emitter, size_t size);
void accel__emit(accel__emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void accel__emit_line(accel__emitter *emitter, const accel__node *node); /* #line, on a new line */

/* ---- emit_cpu/type.c ---- */

void accel__emit_type(accel__emitter *emitter, const accel__type *type);
/* "T NAME" of a variable; its own const is left out, since the translation may assign later. */
void accel__emit_variable(accel__emitter *emitter, const accel__symbol *symbol);
void accel__emit_declarator(accel__emitter *emitter, const accel__type *type, const char *prefix,
                            const accel__symbol *symbol, const char *suffix);
void accel__emit_records(accel__emitter *emitter);
/* "const T *": a pointer to an object of that type. */
void accel__emit_declared_pointer(accel__emitter *emitter, const accel__type *type);
const char *accel__emit_suffix(const accel__type *type); /* "i32", "f64": of a scalar */

/* ---- emit_cpu/expression.c, emit_cpu/assign.c, emit_cpu/item.c, emit_cpu/call.c ---- */

void accel__emit_expression(accel__emitter *emitter, const accel__node *node);
/* As a value of `type`, with an index of work-items kept as plain int arithmetic where it can be:
 * compilers only turn loops over signed indices into vector code. */
void accel__emit_converted(accel__emitter *emitter, const accel__type *type,
                           const accel__node *node);
/* The same inside of an initialiser. */
void accel__emit_element(accel__emitter *emitter, const accel__type *type, const accel__node *node);
void accel__emit_assign(accel__emitter *emitter, const accel__node *node);
void accel__emit_division(accel__emitter *emitter, const accel__node *node,
                          const accel__type *common);
void accel__emit_shift(accel__emitter *emitter, const accel__node *node,
                       const accel__type *shifted);
/* Everything whose operands or result are vectors: swizzles, literals, casts, assignments. */
void accel__emit_vector(accel__emitter *emitter, const accel__node *node);
void accel__emit_vector_call(accel__emitter *emitter, const accel__node *node);
void accel__emit_widened(accel__emitter *emitter, const accel__type *type, const accel__node *node);
/* A subscript that moves with the work-item, as a signed number; false: it is none. */
bool accel__emit_row_index(accel__emitter *emitter, const accel__node *index);
void accel__emit_item(accel__emitter *emitter, const accel__node *node);
bool accel__emit_narrow(accel__emitter *emitter, const accel__type *type, const accel__node *node);
void accel__emit_call(accel__emitter *emitter, const accel__node *node);
void accel__emit_builtin(accel__emitter *emitter, const accel__node *node);

/* ---- emit_cpu/statement.c: statements inside of functions and of regions ---- */

void accel__emit_statement(accel__emitter *emitter, const accel__node *node);
void accel__emit_function_head(accel__emitter *emitter, const accel__symbol *function);
void accel__emit_function(accel__emitter *emitter, const accel__symbol *function);

/* ---- emit_cpu/kernel.c, emit_cpu/prelude.c ---- */

/* The kernel's functions and its table of parameters. */
accel__plan *accel__emit_kernel(accel__emitter *emitter, accel__symbol *kernel, uint32_t index);
void accel__emit_prelude(accel__text *out, unsigned parts);

#endif
