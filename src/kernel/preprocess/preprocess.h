/* preprocess.h: C preprocessing of portable source: comments, continuation lines, #include, object-
 * and function-like macros, conditionals, #error, #pragma, #line. Output: a token unit. */
#ifndef ACCEL_KERNEL_PREPROCESS_H
#define ACCEL_KERNEL_PREPROCESS_H

#include <accel/kernel.h>

#include "kernel/lex/diagnostic.h"
#include "kernel/lex/token.h"

/* False where an error was diagnosed (or memory ran out: diagnostics->out_of_memory). `options` may
 * be NULL. `predefined` are further macros ({name, value} pairs), e.g. __OPENCL_VERSION__. */
bool accel__preprocess(const char *source, size_t size, const accel_module_options *options,
                       const accel_define *predefined, uint32_t predefined_count,
                       accel__diagnostics *diagnostics, accel__unit *out_unit);

void accel__unit_release(accel__unit *unit); /* a zeroed unit is allowed */

/* A change to one token of a unit, for printing: what stands before and behind it (on its line), and
 * what stands in its place (NULL: itself). */
typedef struct accel__unit_edit {
    const char *before;
    const char *instead;
    const char *after;
} accel__unit_edit;

/* The unit as text again, with #line directives. `edits`: one for each token, or NULL for none. */
void accel__unit_print(const accel__unit *unit, const accel__unit_edit *edits,
                       accel__text *out_text);

#endif
