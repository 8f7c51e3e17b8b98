/* emit_opencl.h: portable source as text for OpenCL compilers: the source's own tokens, with the few
 * changes that make them behave as the kernel language says. Shared by emit_opencl*.c. */
#ifndef ACCEL_KERNEL_EMIT_OPENCL_H
#define ACCEL_KERNEL_EMIT_OPENCL_H

#include "kernel/lex/arena.h"
#include "kernel/preprocess/preprocess.h"
#include "kernel/tree/ast.h"
#include "kernel/tree/program.h"

enum { ACCEL__OPENCL_KINDS = 8, ACCEL__OPENCL_WIDTHS = 6, ACCEL__OPENCL_ITEM_FUNCTIONS = 7 };

typedef struct accel__opencl_emitter {
    const accel__program *program;
    accel__diagnostics *diagnostics;
    accel__arena arena;      /* texts of edits */
    accel__unit_edit *edits; /* one for each token */
    const char *prefix;      /* of our own names; no name of the source begins with it */
    /* Helpers that the prelude must hold: [is %][kind - CHAR][width]. */
    bool divides[2][ACCEL__OPENCL_KINDS][ACCEL__OPENCL_WIDTHS];
    bool counts_zeros;                       /* ctz */
    bool asks[ACCEL__OPENCL_ITEM_FUNCTIONS]; /* of a dimension that is not written out */
    bool names_null;
    bool out_of_memory;
} accel__opencl_emitter;

/* ---- edits (emit_opencl/emit_opencl.c); a text is made with printf's rules and lives as long as the emitter ---- */

const char *accel__opencl_text(accel__opencl_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* In front of what was put before the token already. */
void accel__opencl_put_before(accel__opencl_emitter *emitter, size_t token, const char *text);
/* Behind what was put after the token already. */
void accel__opencl_put_after(accel__opencl_emitter *emitter, size_t token, const char *text);

/* The tokens [begin, end), edited, as one line of text. */
const char *accel__opencl_copy_tokens(accel__opencl_emitter *emitter, size_t begin, size_t end);

/* ---- emit_opencl/divide.c ---- */

/* Gives each division of integers that could trap the meaning of the kernel language. False where that
 * cannot be written; diagnosed. */
bool accel__opencl_edit_divisions(accel__opencl_emitter *emitter);

/* The helpers that the edits call. */
void accel__opencl_emit_divisions(const accel__opencl_emitter *emitter, accel__text *out_text);

/* ---- emit_opencl/params.c ---- */

/* Makes a buffer and an offset of each pointer parameter of the kernels. */
void accel__opencl_edit_params(accel__opencl_emitter *emitter);

/* ---- emit_opencl/notes.c ---- */

enum {
    ACCEL__OPENCL_NOTE_LEAVES = 1, /* some items return before a barrier that others reach */
    ACCEL__OPENCL_NOTE_JUMPS = 2   /* a switch or a function's return jumps past a barrier */
};

/* 0 where memory ran out, which is diagnosed. */
unsigned accel__opencl_notes(const accel__program *program, accel__symbol *kernel,
                             accel__diagnostics *diagnostics);

#endif
