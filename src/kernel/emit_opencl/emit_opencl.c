/* emit_opencl.c: portable source as OpenCL C 1.2. The source is a subset of it, so its own text is kept,
 * and compilers speak of the user's lines and words. Changed is only what OpenCL leaves undefined and the
 * kernel language does not, what came with later versions, and how pointers are passed.
 *
 * At the head stands a comment that tells the kernels and their parameters: a driver's object does not,
 * and the backend keeps it beside that. */
#include "kernel/emit_opencl/emit_opencl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- edits ---- */

const char *accel__opencl_text(accel__opencl_emitter *emitter, const char *format, ...)
{
    accel__text made = {0};
    va_list list;
    va_start(list, format);
    accel__text_format_list(&made, format, list);
    va_end(list);
    const char *kept = made.failed ? NULL
                                   : accel__arena_copy(&emitter->arena, accel__text_string(&made),
                                                       made.size);
    accel__text_release(&made);
    if (kept == NULL)
        emitter->out_of_memory = true;
    return kept != NULL ? kept : "";
}

void accel__opencl_put_before(accel__opencl_emitter *emitter, size_t token, const char *text)
{
    accel__unit_edit *edit = &emitter->edits[token];
    edit->before = edit->before == NULL ? text
                                        : accel__opencl_text(emitter, "%s %s", text, edit->before);
}

void accel__opencl_put_after(accel__opencl_emitter *emitter, size_t token, const char *text)
{
    accel__unit_edit *edit = &emitter->edits[token];
    edit->after = edit->after == NULL ? text
                                      : accel__opencl_text(emitter, "%s %s", edit->after, text);
}

const char *accel__opencl_copy_tokens(accel__opencl_emitter *emitter, size_t begin, size_t end)
{
    accel__text line = {0};
    for (size_t i = begin; i < end; i++) {
        const accel__token *token = &emitter->program->unit->tokens[i];
        const char *instead = emitter->edits[i].instead;
        if (i != begin)
            accel__text_append_char(&line, ' ');
        accel__text_append(&line, instead != NULL ? instead : token->text,
                           instead != NULL ? strlen(instead) : token->size);
    }
    const char *kept = accel__opencl_text(emitter, "%s", accel__text_string(&line));
    emitter->out_of_memory = emitter->out_of_memory || line.failed;
    accel__text_release(&line);
    return kept;
}

/* ---- words ---- */

static bool token_is(const accel__token *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

/* What a work-item asks of a dimension, and the answer where there is no such dimension. Drivers give
 * others; an argument that is a plain 0, 1 or 2 needs no care. */
static const struct {
    const char *name; /* behind "get_" */
    int beyond;
} item_functions[ACCEL__OPENCL_ITEM_FUNCTIONS] = {
    {"global_id", 0},   {"local_id", 0},   {"group_id", 0},   {"global_offset", 0},
    {"global_size", 1}, {"local_size", 1}, {"num_groups", 1},
};

static const char *item_function(accel__opencl_emitter *emitter, const accel__token *token)
{
    const bool plain = token[2].size == 1 && token[2].text[0] >= '0' && token[2].text[0] <= '2' &&
                       token_is(token + 3, ")");
    const bool enqueued = token_is(token, "get_enqueued_local_size");
    const char *name = enqueued ? "local_size" : token->text + strlen("get_");
    const size_t size = enqueued ? strlen(name) : token->size - strlen("get_");
    for (size_t i = 0; i < ACCEL__OPENCL_ITEM_FUNCTIONS; i++)
        if (strncmp(item_functions[i].name, name, size) == 0 &&
            item_functions[i].name[size] == '\0') {
            emitter->asks[i] = emitter->asks[i] || !plain;
            return accel__opencl_text(emitter, "%s%s", plain ? "get_" : emitter->prefix,
                                      item_functions[i].name);
        }
    return NULL;
}

/* A function that OpenCL C 1.2 has under another name, or in another way. */
static const char *other_name(accel__opencl_emitter *emitter, const accel__token *token)
{
    if (token_is(token, "work_group_barrier"))
        return "barrier";
    if (token->size > 4 && memcmp(token->text, "get_", 4) == 0)
        return item_function(emitter, token);
    if (token->size > 5 && memcmp(token->text, "atom_", 5) == 0)
        return accel__opencl_text(emitter, "atomic_%.*s", (int)token->size - 5, token->text + 5);
    if (!token_is(token, "ctz"))
        return NULL;
    emitter->counts_zeros = true;
    return accel__opencl_text(emitter, "%sctz", emitter->prefix);
}

/* `inline` alone would leave the function without a definition, and contraction stays off. */
static void edit_word(accel__opencl_emitter *emitter, size_t at)
{
    const accel__token *token = &emitter->program->unit->tokens[at];
    accel__unit_edit *edit = &emitter->edits[at];
    if (token->kind == ACCEL__TOKEN_PRAGMA) {
        const accel__token copy = *token;
        if (memmem(copy.text, copy.size, "FP_CONTRACT", strlen("FP_CONTRACT")) != NULL)
            edit->instead = "";
        return;
    }
    if (token->kind != ACCEL__TOKEN_IDENTIFIER)
        return;
    if (token_is(token, "inline") || token_is(token, "__inline"))
        edit->instead = "";
    else if (token_is(token, "_Bool"))
        edit->instead = "bool";
    else if (token_is(token, "NULL"))
        emitter->names_null = true;
    else if (token_is(token + 1, "(") && accel__builtin_find(token->text, token->size) != NULL)
        edit->instead = other_name(emitter, token);
}

/* Whether a name of the source begins with the prefix. */
static bool is_taken(const accel__unit *unit, const char *prefix)
{
    const size_t size = strlen(prefix);
    for (size_t i = 0; i < unit->token_count; i++)
        if (unit->tokens[i].kind == ACCEL__TOKEN_IDENTIFIER && unit->tokens[i].size >= size &&
            memcmp(unit->tokens[i].text, prefix, size) == 0)
            return true;
    return false;
}

static void choose_prefix(accel__opencl_emitter *emitter)
{
    emitter->prefix = "accel_";
    while (is_taken(emitter->program->unit, emitter->prefix) && !emitter->out_of_memory)
        emitter->prefix = accel__opencl_text(emitter, "%s_", emitter->prefix);
}

/* ---- declarations that must stand further out ---- */

/* Moves them, under names of their own. */
static void edit_inner(accel__opencl_emitter *emitter)
{
    const accel__program *program = emitter->program;
    for (const accel__inner_name *at = program->inner_names; at != NULL; at = at->next)
        emitter->edits[at->token].instead = accel__opencl_text(emitter, "%sinner_%u",
                                                               emitter->prefix, at->id);
    for (const accel__inner *at = program->inner; at != NULL; at = at->next) {
        const char *moved = accel__opencl_copy_tokens(emitter, at->begin, at->end);
        for (size_t i = at->begin; i + 1 < at->end; i++)
            emitter->edits[i].instead = "";
        if (at->is_local)
            accel__opencl_put_after(emitter, at->place, moved);
        else
            accel__opencl_put_before(emitter, at->place, moved);
    }
}

/* ---- the head ---- */

static void emit_facts(const accel__program *program, accel__diagnostics *diagnostics,
                       accel__text *out)
{
    accel__text_append_string(out, "/* accel kernels 1\n");
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const accel__signature *kernel = &program->kernels[i];
        const uint32_t *block = kernel->required_block;
        accel__text_format(out, "kernel %s %u %u %u %u %u\n", kernel->name, block[0], block[1],
                           block[2], kernel->param_count,
                           accel__opencl_notes(program, program->kernel_symbols[i], diagnostics));
        for (uint32_t j = 0; j < kernel->param_count; j++) {
            const accel_param *param = &kernel->params[j];
            accel__text_format(out, "param %s %d %d %u %u %zu\n",
                               param->name[0] != '\0' ? param->name : "-", (int)param->kind,
                               (int)param->type, param->lanes, param->read_only, param->size);
        }
    }
    accel__text_append_string(out, "*/\n");
}

static void emit_zero_counting(const accel__opencl_emitter *emitter, accel__text *out)
{
    static const char *const types[] = {"char", "uchar", "short", "ushort",
                                        "int",  "uint",  "long",  "ulong"};
    static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (size_t j = 0; j < sizeof widths / sizeof widths[0]; j++)
            accel__text_format(out,
                               "static __attribute__((overloadable)) %s%s %sctz(%s%s x) { return "
                               "popcount((%s%s)(~x & (x - (%s%s)(1)))); }\n",
                               types[i], widths[j], emitter->prefix, types[i], widths[j], types[i],
                               widths[j], types[i], widths[j]);
}

static void emit_item_functions(const accel__opencl_emitter *emitter, accel__text *out)
{
    for (size_t i = 0; i < ACCEL__OPENCL_ITEM_FUNCTIONS; i++) {
        const char *name = item_functions[i].name;
        if (emitter->asks[i])
            accel__text_format(out,
                               "static size_t %s%s(uint d) { return d == 0 ? get_%s(0) : d == 1 ? "
                               "get_%s(1) : d == 2 ? get_%s(2) : %d; }\n",
                               emitter->prefix, name, name, name, name, item_functions[i].beyond);
    }
}

static void emit_head(const accel__opencl_emitter *emitter, accel__text *out)
{
    emit_facts(emitter->program, emitter->diagnostics, out);
    accel__text_append_string(out, "#pragma OPENCL FP_CONTRACT OFF\n");
    if (emitter->program->uses_double)
        accel__text_append_string(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    if (emitter->names_null)
        accel__text_append_string(out, "#ifndef NULL\n#define NULL ((void *)0)\n#endif\n");
    if (emitter->counts_zeros)
        emit_zero_counting(emitter, out);
    emit_item_functions(emitter, out);
    accel__opencl_emit_divisions(emitter, out);
}

bool accel__program_emit_opencl(const accel__program *program, bool offsets,
                                accel__diagnostics *diagnostics, accel__text *out_text)
{
    const accel__unit *unit = program->unit;
    accel__opencl_emitter emitter = {.program = program, .diagnostics = diagnostics};
    bool done = true;
    emitter.edits = accel__arena_take(&emitter.arena,
                                      (unit->token_count + 1) * sizeof *emitter.edits);
    emitter.out_of_memory = emitter.edits == NULL;
    if (!emitter.out_of_memory) {
        choose_prefix(&emitter);
        for (size_t i = 0; i + 1 < unit->token_count; i++)
            edit_word(&emitter, i);
        edit_inner(&emitter);
        if (offsets)
            accel__opencl_edit_params(&emitter);
        done = accel__opencl_edit_divisions(&emitter);
        emit_head(&emitter, out_text);
        accel__unit_print(unit, emitter.edits, out_text);
    }
    if (emitter.out_of_memory || out_text->failed || diagnostics->out_of_memory) {
        diagnostics->out_of_memory = true;
        done = false;
    }
    accel__arena_release(&emitter.arena);
    return done;
}
