/* preprocess_support.h: a source, and what the preprocessor must make of it. Every accepted source is
 * also printed and read again, which must give the same tokens. */
#ifndef TESTS_UNIT_PREPROCESS_SUPPORT_H
#define TESTS_UNIT_PREPROCESS_SUPPORT_H

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/preprocess/preprocess.h"
#include "support/check.h"

typedef struct run {
    bool good;
    accel__unit unit;
    accel__diagnostics diagnostics;
    accel__text text; /* the unit, printed */
} run;

static inline run preprocess_bytes(const char *source, size_t size,
                                   const accel_module_options *options)
{
    static const accel_define predefined[] = {{"__OPENCL_VERSION__", "120"}};
    run result = {0};
    result.good = accel__preprocess(source, size, options, predefined, 1, &result.diagnostics,
                                    &result.unit);
    if (result.good)
        accel__unit_print(&result.unit, NULL, &result.text);
    return result;
}

static inline void release(run *result)
{
    accel__unit_release(&result->unit);
    accel__diagnostics_release(&result->diagnostics);
    accel__text_release(&result->text);
}

static inline bool same_token(const accel__unit *left, const accel__unit *right, size_t index)
{
    const accel__token *a = &left->tokens[index];
    const accel__token *b = &right->tokens[index];
    if (a->kind == ACCEL__TOKEN_END)
        return b->kind == ACCEL__TOKEN_END;
    return a->kind == b->kind && a->size == b->size && memcmp(a->text, b->text, a->size) == 0 &&
           a->line == b->line && strcmp(left->files[a->file], right->files[b->file]) == 0;
}

/* Printing and reading again changes nothing. */
static inline void check_round_trip(const run *first)
{
    run second = preprocess_bytes(accel__text_string(&first->text), first->text.size, NULL);
    if (!second.good)
        print_error("%s\n---\n%s", first->text.data, accel__text_string(&second.diagnostics.log));
    assert_true(second.good);
    assert_int_equal(second.unit.token_count, first->unit.token_count);
    for (size_t i = 0; i < first->unit.token_count; i++)
        if (!same_token(&first->unit, &second.unit, i)) {
            const accel__token *token = &first->unit.tokens[i];
            fail_msg("token %zu (%.*s) differs in:\n%s", i, (int)token->size, token->text,
                     first->text.data);
        }
    release(&second);
}

/* The tokens with one blank between them. */
static inline void spell(const accel__unit *unit, accel__text *out_text)
{
    for (size_t i = 0; i + 1 < unit->token_count; i++) {
        if (i != 0)
            accel__text_append_char(out_text, ' ');
        if (unit->tokens[i].kind == ACCEL__TOKEN_PRAGMA)
            accel__text_append_string(out_text, "@");
        accel__text_append(out_text, unit->tokens[i].text, unit->tokens[i].size);
    }
}

static inline void gives_with(const char *source, const accel_module_options *options,
                              const char *wanted)
{
    run result = preprocess_bytes(source, strlen(source), options);
    if (!result.good)
        fail_msg("%s\n---\n%s", source, accel__text_string(&result.diagnostics.log));
    accel__text spelled = {0};
    spell(&result.unit, &spelled);
    assert_string_equal(accel__text_string(&spelled), wanted);
    check_round_trip(&result);
    accel__text_release(&spelled);
    release(&result);
}

static inline void gives(const char *source, const char *wanted)
{
    gives_with(source, NULL, wanted);
}

/* The source is refused, and `message` is a line of the log. */
static inline void fails_with(const char *source, size_t size, const accel_module_options *options,
                              const char *message)
{
    run result = preprocess_bytes(source, size, options);
    if (result.good || strstr(accel__text_string(&result.diagnostics.log), message) == NULL)
        fail_msg("%s\n--- wanted: %s\n--- got: %s", source, message,
                 accel__text_string(&result.diagnostics.log));
    assert_true(result.diagnostics.error_count > 0);
    assert_null(result.unit.tokens);
    assert_null(result.unit.storage);
    release(&result);
}

static inline void fails(const char *source, const char *message)
{
    fails_with(source, strlen(source), NULL, message);
}

static char directory[] = "/tmp/accel_pp_test-XXXXXX";

static inline void write_file(const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

static inline void make_directory(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static inline int make_own_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static inline int remove_own_directory(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static inline accel_module_options file_options(const char *const *paths, uint32_t count)
{
    static char name[512];
    snprintf(name, sizeof name, "%s/main.cl", directory);
    return (accel_module_options){.struct_size = sizeof(accel_module_options),
                                  .include_paths = paths,
                                  .include_path_count = count,
                                  .file_name = name};
}

/* C17 6.10.3.5: the definitions of examples 3 and 4. */
#define EXAMPLE_3                                                                                  \
    "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n"   \
    "#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n"           \
    "#define q(x) x\n#define r(x,y) x ## y\n#define str(x) # x\n"

#define EXAMPLE_4                                                                                  \
    "#define str(s) # s\n#define xstr(s) str(s)\n#define glue(a, b) a ## b\n"                      \
    "#define debug(s, t) printf(\"x\" # s \"= %d, x\" # t \"= %s\", \\\n x ## s, x ## t)\n"        \
    "#define xglue(a, b) glue(a, b)\n#define HIGHLOW \"hello\"\n#define LOW LOW \", world\"\n"

#endif
