/* params.c: for drivers without device pointers. Each "__global T *p" of a kernel becomes
 * "__global uchar *base, ulong offset", and the kernel's body begins with the declaration that was the
 * parameter's. The source's own tokens tell where that is: by now they are known to be in order. */
#include <string.h>

#include "kernel/emit_opencl/emit_opencl.h"

/* A walk over the tokens at program scope. */
typedef struct scan {
    accel__opencl_emitter *emitter;
    const accel__token *tokens;
    size_t count;  /* END not counted */
    uint32_t next; /* number of our names */
} scan;

static bool is_at(const scan *state, size_t at, const char *text)
{
    const accel__token *token = &state->tokens[at];
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

static int nesting(const scan *state, size_t at)
{
    if (state->tokens[at].kind != ACCEL__TOKEN_PUNCTUATOR)
        return 0;
    if (is_at(state, at, "(") || is_at(state, at, "[") || is_at(state, at, "{"))
        return 1;
    return is_at(state, at, ")") || is_at(state, at, "]") || is_at(state, at, "}") ? -1 : 0;
}

/* The token behind the bracket that closes the one at `at`. */
static size_t skip_brackets(const scan *state, size_t at)
{
    int depth = 0;
    do
        depth += nesting(state, at++);
    while (depth != 0 && at < state->count);
    return at;
}

static const accel__symbol *find_kernel(const scan *state, size_t name)
{
    const accel__program *program = state->emitter->program;
    for (uint32_t i = 0; i < program->kernel_count; i++)
        if (is_at(state, name, program->kernel_symbols[i]->name))
            return program->kernel_symbols[i];
    return NULL;
}

/* The end of the parameter that begins at `at`: its comma, or the closing bracket. */
static size_t param_end(const scan *state, size_t at)
{
    while (at < state->count && !is_at(state, at, ",") && !is_at(state, at, ")"))
        at = nesting(state, at) > 0 ? skip_brackets(state, at) : at + 1;
    return at;
}

/* The parameter's name: the last word that stands in no brackets. */
static size_t param_name(const scan *state, size_t begin, size_t end)
{
    size_t name = begin;
    for (size_t at = begin; at < end;) {
        if (state->tokens[at].kind == ACCEL__TOKEN_IDENTIFIER && !is_at(state, at, "__attribute__"))
            name = at;
        at = nesting(state, at) > 0 ? skip_brackets(state, at) : at + 1;
    }
    return name;
}

/* The declaration that the parameter becomes in the body. "T p[]" and "T p[4][5]" mean pointers. */
static const char *declaration(const scan *state, size_t begin, size_t end)
{
    accel__opencl_emitter *emitter = state->emitter;
    const size_t name = param_name(state, begin, end);
    const char *left = accel__opencl_copy_tokens(emitter, begin, name);
    const char *word = accel__opencl_copy_tokens(emitter, name, name + 1);
    if (name + 1 == end || !is_at(state, name + 1, "["))
        return accel__opencl_copy_tokens(emitter, begin, end);
    const size_t more = skip_brackets(state, name + 1);
    const char *right = accel__opencl_copy_tokens(emitter, more, end);
    return more < end && is_at(state, more, "[")
               ? accel__opencl_text(emitter, "%s (*%s) %s", left, word, right)
               : accel__opencl_text(emitter, "%s *%s %s", left, word, right);
}

/* Rewrites one parameter; *body grows by what the kernel's body must begin with. */
static void edit_param(scan *state, size_t begin, size_t end, const accel__symbol *param,
                       const char **body)
{
    accel__opencl_emitter *emitter = state->emitter;
    const accel__type *type = param->type;
    if (type->kind != ACCEL__TYPE_POINTER || type->base->space == ACCEL__SPACE_LOCAL)
        return;
    const char *space = type->base->space == ACCEL__SPACE_CONSTANT ? "__constant" : "__global";
    const bool is_const = type->base->space == ACCEL__SPACE_GLOBAL &&
                          (type->base->qualifiers & ACCEL__QUALIFIER_CONST) != 0;
    const char *access = is_const ? "const " : "";
    const uint32_t number = state->next++;
    const char *prefix = emitter->prefix;
    *body = accel__opencl_text(emitter, "%s %s = (%s %svoid *)(%sbase_%u + %soffset_%u);", *body,
                               declaration(state, begin, end), space, access, prefix, number,
                               prefix, number);
    for (size_t at = begin; at < end; at++)
        emitter->edits[at].instead = "";
    emitter->edits[begin].instead = accel__opencl_text(
        emitter, "%s %suchar *%sbase_%u, ulong %soffset_%u", space, access, prefix, number, prefix,
        number);
}

/* The kernel whose name stands at `name`. Returns the place behind its parameters and attributes. */
static size_t edit_kernel(scan *state, size_t name)
{
    const accel__symbol *kernel = find_kernel(state, name);
    const accel__symbol *param = kernel != NULL ? kernel->params : NULL;
    const char *body = "";
    size_t at = name + 2;
    for (; param != NULL && at < state->count; param = param->next_param) {
        const size_t end = param_end(state, at);
        edit_param(state, at, end, param, &body);
        at = end + 1;
    }
    at = skip_brackets(state, name + 1);
    while (at < state->count && is_at(state, at, "__attribute__"))
        at = skip_brackets(state, at + 1);
    if (body[0] != '\0' && is_at(state, at, "{"))
        accel__opencl_put_after(state->emitter, at, body);
    return at;
}

void accel__opencl_edit_params(accel__opencl_emitter *emitter)
{
    const accel__unit *unit = emitter->program->unit;
    scan state = {.emitter = emitter, .tokens = unit->tokens, .count = unit->token_count - 1};
    bool is_kernel = false;
    size_t at = 0;
    while (at < state.count && !emitter->out_of_memory) {
        const bool is_word = state.tokens[at].kind == ACCEL__TOKEN_IDENTIFIER;
        is_kernel = is_kernel || is_at(&state, at, "__kernel") || is_at(&state, at, "kernel");
        if (is_kernel && is_word && is_at(&state, at + 1, "(") &&
            !is_at(&state, at, "__attribute__")) {
            at = edit_kernel(&state, at);
            is_kernel = false;
        } else {
            at = nesting(&state, at) > 0 ? skip_brackets(&state, at) : at + 1;
        }
    }
}
