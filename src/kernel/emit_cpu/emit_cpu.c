/* emit_cpu.c: a whole program as one C source for the cpu backend. Errors leave by longjmp to here;
 * the plans' memory goes with their arena. */
#include "kernel/emit_cpu/emit_cpu.h"

#include <stdio.h>

#include "kernel/emit_cpu/plan.h"

void accel__emit_fail(accel__emitter *emitter, uint32_t file, uint32_t line, const char *format,
                      ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    accel__diagnose_error(emitter->diagnostics, emitter->program->unit->files[file], line, "%s",
                          text);
    longjmp(emitter->bail, 1);
}

void *accel__emit_take(accel__emitter *emitter, size_t size)
{
    void *memory = accel__arena_take(&emitter->arena, size);
    if (memory == NULL) {
        emitter->diagnostics->out_of_memory = true;
        longjmp(emitter->bail, 1);
    }
    return memory;
}

void accel__emit(accel__emitter *emitter, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    accel__text_format_list(emitter->out, format, list);
    va_end(list);
}

/* Names in #line are C strings. */
static void append_file_name(accel__text *out, const char *name)
{
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            accel__text_append_char(out, '\\');
        accel__text_append_char(out, *name == '\n' ? ' ' : *name);
    }
}

void accel__emit_line(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "\n#line %u \"", node->line > 0 ? node->line : 1);
    append_file_name(emitter->out, emitter->program->unit->files[node->file]);
    accel__emit(emitter, "\"\n");
}

static void emit_constants(accel__emitter *emitter)
{
    for (const accel__symbol *at = emitter->program->first; at != NULL; at = at->next) {
        if (at->kind != ACCEL__SYMBOL_VARIABLE)
            continue;
        accel__emit_line(emitter, at->init);
        accel__emit(emitter, "static const ");
        accel__emit_variable(emitter, at);
        accel__emit(emitter, " = ");
        emitter->is_constant = true;
        accel__emit_element(emitter, at->type, at->init);
        emitter->is_constant = false;
        accel__emit(emitter, ";\n");
    }
}

static void emit_functions(accel__emitter *emitter)
{
    /* those that hold a barrier only exist inlined into the plans of kernels */
    for (accel__symbol *at = emitter->program->first; at != NULL; at = at->next)
        if (at->kind == ACCEL__SYMBOL_FUNCTION && !at->is_kernel && !at->has_barrier) {
            accel__emit_function_head(emitter, at);
            accel__emit(emitter, ";\n");
        }
    for (accel__symbol *at = emitter->program->first; at != NULL; at = at->next)
        if (at->kind == ACCEL__SYMBOL_FUNCTION && !at->is_kernel && !at->has_barrier) {
            accel__emit_line(emitter, at->body);
            accel__emit_function(emitter, at);
        }
}

static void emit_table(accel__emitter *emitter, accel__text *table)
{
    const uint32_t count = emitter->program->kernel_count;
    accel__emit(emitter, "static const accel_cpu_kernel accel_kernels[] = {\n");
    accel__text_append_string(emitter->out, accel__text_string(table));
    accel__emit(emitter,
                "    {0, 0, 0, 0, {0, 0, 0}, 0, 0},\n};\n"
                "__attribute__((visibility(\"default\"))) extern const accel_cpu_object "
                "accel_cpu_module;\n"
                "const accel_cpu_object accel_cpu_module = {1, %u, accel_kernels};\n",
                count);
}

static void emit_kernels(accel__emitter *emitter, accel__text *table)
{
    for (uint32_t i = 0; i < emitter->program->kernel_count; i++) {
        accel__symbol *kernel = emitter->program->kernel_symbols[i];
        const accel__plan *plan = accel__emit_kernel(emitter, kernel, i);
        const uint32_t *block = kernel->required_block;
        accel__text_format(table,
                           "    {\"%s\", accel_kernel_%u, accel_params_%u, %u, {%u, %u, %u}, %zu, "
                           "%zu},\n",
                           kernel->name, i, i, kernel->param_count, block[0], block[1], block[2],
                           plan->scratch_fixed, plan->scratch_per_item);
    }
    emit_table(emitter, table);
}

static bool emit_program(accel__emitter *emitter, accel__text *table)
{
    if (setjmp(emitter->bail) != 0)
        return false;
    accel__emit_records(emitter);
    emit_constants(emitter);
    emit_functions(emitter);
    emit_kernels(emitter, table);
    return true;
}

bool accel__program_emit_cpu(const accel__program *program, bool check_barriers,
                             accel__diagnostics *diagnostics, accel__text *out_text)
{
    accel__text body = {0};
    accel__text table = {0};
    accel__emitter emitter = {.program = program,
                              .diagnostics = diagnostics,
                              .out = &body,
                              .check_barriers = check_barriers,
                              .next_id = program->next_id};
    bool done = emit_program(&emitter, &table);
    if (done) {
        accel__emit_prelude(out_text, emitter.prelude);
        accel__text_append_string(out_text, accel__text_string(&body));
    }
    if (body.failed || table.failed || out_text->failed) {
        diagnostics->out_of_memory = true;
        done = false;
    }
    accel__text_release(&table);
    accel__text_release(&body);
    accel__arena_release(&emitter.arena);
    return done;
}
