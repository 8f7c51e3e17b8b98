/* program_support.h: a source taken through preprocessor, parser and translator to C. */
#ifndef TESTS_UNIT_PROGRAM_SUPPORT_H
#define TESTS_UNIT_PROGRAM_SUPPORT_H

#include "kernel/preprocess/preprocess.h"
#include "kernel/tree/program.h"
#include "support/check.h"

typedef struct translation {
    accel__unit unit;
    accel__diagnostics diagnostics;
    accel__program *program; /* NULL: refused */
    accel__text text;        /* C, where the translator took it too */
    bool good;
} translation;

static inline translation translate_bytes(const char *source, size_t size, bool check_barriers)
{
    translation result = {0};
    if (!accel__preprocess(source, size, NULL, NULL, 0, &result.diagnostics, &result.unit))
        return result;
    result.program = accel__program_parse(&result.unit, &result.diagnostics);
    result.good = result.program != NULL &&
                  accel__program_emit_cpu(result.program, check_barriers, &result.diagnostics,
                                          &result.text);
    return result;
}

static inline translation translate(const char *source)
{
    return translate_bytes(source, strlen(source), false);
}

static inline void translation_release(translation *result)
{
    accel__program_release(result->program);
    accel__unit_release(&result->unit);
    accel__diagnostics_release(&result->diagnostics);
    accel__text_release(&result->text);
}

/* The source is refused with a message that contains `message`. */
static inline void refuses(const char *source, const char *message)
{
    translation result = translate(source);
    const char *log = accel__text_string(&result.diagnostics.log);
    if (result.good || strstr(log, message) == NULL)
        fail_msg("%s\n--- wanted: %s\n--- got: %s", source, message, log);
    assert_true(result.diagnostics.error_count > 0);
    translation_release(&result);
}

static inline void accepts(const char *source)
{
    translation result = translate(source);
    if (!result.good)
        fail_msg("%s\n--- %s", source, accel__text_string(&result.diagnostics.log));
    translation_release(&result);
}

#endif
