/* program.c: from tokens to a checked program, and the questions callers ask of one. */
#include "kernel/tree/program.h"

#include "base/allocate.h"
#include "kernel/parse/parse.h"

#define MOST_ERRORS 20

/* Moves behind the declaration that failed, so that the next one can be parsed. */
static void skip_declaration(accel__parser *parser)
{
    parser->at = parser->start;
    int depth = 0;
    for (;;) {
        const accel__token *token = accel__parse_next(parser);
        if (token->kind == ACCEL__TOKEN_END)
            return;
        if (accel__token_has(token, "{"))
            depth++;
        else if (accel__token_has(token, "}") && --depth <= 0)
            return;
        else if (depth == 0 && accel__token_has(token, ";"))
            return;
    }
}

static void parse_all(accel__parser *parser)
{
    while (accel__parse_peek(parser)->kind != ACCEL__TOKEN_END) {
        parser->names_before = parser->names;
        parser->start = parser->at;
        if (setjmp(parser->bail) == 0) {
            accel__parse_external(parser);
            continue;
        }
        if (parser->diagnostics->out_of_memory || parser->diagnostics->error_count >= MOST_ERRORS)
            return;
        parser->names = parser->names_before;
        parser->level = 0;
        parser->loops = parser->switches = parser->depth = 0;
        parser->barrier = NULL;
        parser->function = NULL;
        skip_declaration(parser);
    }
}

static void fill_param(accel_param *param, const accel__symbol *symbol)
{
    const accel__type *type = symbol->type;
    const accel__type *value = type->kind == ACCEL__TYPE_POINTER ? type->base : type;
    param->name = symbol->name;
    param->kind = type->kind != ACCEL__TYPE_POINTER    ? ACCEL_PARAM_KIND_VALUE
                  : value->space == ACCEL__SPACE_LOCAL ? ACCEL_PARAM_KIND_LOCAL
                                                       : ACCEL_PARAM_KIND_POINTER;
    param->type = accel__type_data_type(value);
    param->lanes = value->kind == ACCEL__TYPE_VECTOR ? (uint32_t)value->count : 1;
    param->read_only = type->kind == ACCEL__TYPE_POINTER &&
                       ((value->qualifiers & ACCEL__QUALIFIER_CONST) ||
                        value->space == ACCEL__SPACE_CONSTANT);
    param->size = accel__type_size(value);
}

static void fill_signature(accel__parser *parser, accel__signature *signature,
                           const accel__symbol *kernel)
{
    accel_param *params = accel__parse_take(parser,
                                            (kernel->param_count + 1u) * sizeof(accel_param));
    uint32_t count = 0;
    for (const accel__symbol *at = kernel->params; at != NULL; at = at->next_param)
        fill_param(&params[count++], at);
    signature->name = kernel->name;
    signature->params = params;
    signature->param_count = count;
    for (int i = 0; i < 3; i++)
        signature->required_block[i] = kernel->required_block[i];
}

static void list_kernels(accel__parser *parser)
{
    accel__program *program = parser->program;
    uint32_t count = 0;
    for (const accel__symbol *at = program->first; at != NULL; at = at->next)
        count += at->is_kernel;
    program->kernels = accel__parse_take(parser, (count + 1u) * sizeof program->kernels[0]);
    program->kernel_symbols = accel__parse_take(parser,
                                                (count + 1u) * sizeof program->kernel_symbols[0]);
    for (accel__symbol *at = program->first; at != NULL; at = at->next) {
        if (!at->is_kernel)
            continue;
        program->kernel_symbols[program->kernel_count] = at;
        fill_signature(parser, &program->kernels[program->kernel_count++], at);
    }
}

accel__program *accel__program_parse(const accel__unit *unit, accel__diagnostics *diagnostics)
{
    accel__program *program = accel__allocate(sizeof *program);
    accel__parser *parser = accel__allocate(sizeof *parser);
    if (program == NULL || parser == NULL) {
        diagnostics->out_of_memory = true;
    } else {
        const uint32_t errors = diagnostics->error_count;
        program->unit = unit;
        parser->unit = unit;
        parser->program = program;
        parser->diagnostics = diagnostics;
        parse_all(parser);
        if (setjmp(parser->bail) == 0 && diagnostics->error_count == errors &&
            !diagnostics->out_of_memory && accel__check_program(parser)) {
            list_kernels(parser);
            accel__deallocate(parser);
            return program;
        }
    }
    accel__deallocate(parser);
    accel__program_release(program);
    return NULL;
}

void accel__program_release(accel__program *program)
{
    if (program == NULL)
        return;
    accel__arena_release(&program->arena);
    accel__deallocate(program);
}

uint32_t accel__program_kernel_count(const accel__program *program)
{
    return program->kernel_count;
}

const accel__signature *accel__program_kernel(const accel__program *program, uint32_t index)
{
    return index < program->kernel_count ? &program->kernels[index] : NULL;
}

bool accel__program_uses_double(const accel__program *program)
{
    return program->uses_double;
}
