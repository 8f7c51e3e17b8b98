/* kernel.c: the functions around a kernel's body: arguments, memory, the loop over blocks. */
#include "kernel/emit_cpu/plan.h"

#define MOST_STACK ((size_t)32 * 1024) /* local memory beyond it goes to the launch's scratch */

static bool is_block_variable(const accel__symbol *symbol)
{
    return symbol->storage == ACCEL__STORAGE_BLOCK;
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* The bytes of scratch that local memory takes: none where it fits the stack. */
static size_t block_scratch(const accel__plan *plan)
{
    size_t size = 0;
    for (uint32_t i = 0; i < plan->variable_count; i++)
        if (is_block_variable(plan->variables[i]))
            size += round_up(accel__type_size(plan->variables[i]->type));
    return size <= MOST_STACK ? 0 : size;
}

static void emit_params(accel__emitter *emitter, const accel__plan *plan)
{
    uint32_t index = 0;
    for (const accel__symbol *param = plan->kernel->params; param != NULL;
         param = param->next_param, index++) {
        accel__emit_variable(emitter, param);
        if (param->type->kind == ACCEL__TYPE_VECTOR) {
            accel__emit(emitter,
                        ";\n__builtin_memcpy(&u_%s_%u, accel_launch->arguments[%u], sizeof "
                        "u_%s_%u);\n",
                        param->name, param->id, index, param->name, param->id);
            continue;
        }
        accel__emit(emitter, " = *(");
        accel__emit_declared_pointer(emitter, param->type);
        accel__emit(emitter, ")accel_launch->arguments[%u];\n", index);
        accel__emit(emitter, "(void)u_%s_%u;\n", param->name, param->id);
    }
}

/* Local memory: arrays that the whole block shares, kept by the thread from block to block. */
static void emit_block_variables(accel__emitter *emitter, const accel__plan *plan)
{
    const bool in_scratch = block_scratch(plan) > 0;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        const accel__symbol *symbol = plan->variables[i];
        if (!is_block_variable(symbol))
            continue;
        if (in_scratch && symbol->type->kind == ACCEL__TYPE_ARRAY) {
            const accel__type pointer = {.kind = ACCEL__TYPE_POINTER, .base = symbol->type->base};
            accel__emit_declarator(emitter, &pointer, "", symbol, "");
            accel__emit(emitter, " = (void *)accel_memory;\naccel_memory += %zu;\n",
                        round_up(accel__type_size(symbol->type)));
        } else {
            accel__emit(emitter, "__attribute__((aligned(64))) ");
            accel__emit_variable(emitter, symbol);
            accel__emit(emitter, ";\n");
        }
    }
}

static void emit_item_arrays(accel__emitter *emitter, const accel__plan *plan)
{
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        const accel__symbol *symbol = plan->variables[i];
        if (symbol->storage != ACCEL__STORAGE_ITEMS)
            continue;
        accel__type item = *symbol->type;
        item.qualifiers &= (uint8_t)~ACCEL__QUALIFIER_CONST;
        const accel__type array = {.kind = ACCEL__TYPE_ARRAY, .base = &item, .count = ACCEL__STRIP};
        const accel__type pointer = {
            .kind = ACCEL__TYPE_POINTER, .base = &item, .qualifiers = ACCEL__QUALIFIER_RESTRICT};
        if (plan->flat) {
            accel__emit(emitter, "__attribute__((aligned(64))) ");
            accel__emit_declarator(emitter, &array, "", symbol, "");
            accel__emit(emitter, ";\n");
        } else {
            accel__emit_declarator(emitter, &pointer, "", symbol, "");
            accel__emit(emitter,
                        " = (void *)accel_memory;\n"
                        "accel_memory += accel_round((unsigned long)accel_items * %zu);\n",
                        accel__type_size(symbol->type));
        }
    }
}

static void emit_memory(accel__emitter *emitter, const accel__plan *plan)
{
    accel__emit(emitter, "const int accel_items = accel_bx * accel_by * accel_bz;\n"
                         "unsigned char *accel_memory = accel_launch->scratch;\n"
                         "(void)accel_items;\n(void)accel_memory;\n");
    emit_block_variables(emitter, plan);
    emit_item_arrays(emitter, plan);
    if (plan->return_mask || plan->full_mask)
        accel__emit(emitter, "unsigned char *restrict accel_s = accel_memory;\n");
}

static void emit_group_constants(accel__emitter *emitter, const accel__plan *plan)
{
    for (unsigned i = 0; i < 3; i++)
        accel__emit(emitter,
                    "const long accel_group%u = accel_g.group[%u];\n"
                    "(void)accel_group%u;\n",
                    i, i, i);
    for (unsigned i = plan->flat ? 1 : 0; i < 3; i++)
        accel__emit(emitter,
                    "const long accel_base%u = accel_g.base[%u];\n"
                    "const int accel_int_base%u = (int)accel_base%u;\n"
                    "(void)accel_base%u, (void)accel_int_base%u;\n",
                    i, i, i, i, i, i);
}

static void emit_body(accel__emitter *emitter, const accel__plan *plan)
{
    accel__emit_skeleton(emitter, plan->body->a);
    accel__emit(emitter, "\n#line 1 \"accel\"\naccel_done: __attribute__((unused));\n");
}

/* Blocks one after the other; the regions loop over the items of the block. */
static void emit_block_loop(accel__emitter *emitter, const accel__plan *plan)
{
    accel__emit(emitter, "for (unsigned long accel_block = accel_first; accel_block < accel_last; "
                         "accel_block++) {\n"
                         "accel_group_set(&accel_g, accel_block);\n");
    emit_group_constants(emitter, plan);
    accel__emit(emitter, "int accel_x0 = 0, accel_x1 = accel_bx;\n"
                         "int accel_y0 = 0, accel_y1 = accel_by;\n"
                         "int accel_z0 = 0, accel_z1 = accel_bz;\n");
    if (plan->return_mask || plan->full_mask)
        accel__emit(emitter, "__builtin_memset(accel_s, 0, (unsigned long)accel_items);\n");
    emit_body(emitter, plan);
    accel__emit(emitter, "}\n");
}

/* Rows of items. Where nothing names the block, a row goes on through the blocks beside it. */
static void emit_flat_loop(accel__emitter *emitter, const accel__plan *plan)
{
    accel__emit(emitter, "for (unsigned long accel_block = accel_first; accel_block < accel_last;) "
                         "{\naccel_group_set(&accel_g, accel_block);\n");
    accel__emit(emitter,
                "const long accel_run = %s;\n"
                "const long accel_row = accel_run * accel_bx;\n",
                plan->names_block ? "1" : "accel_group_run(&accel_g, accel_last - accel_block)");
    emit_group_constants(emitter, plan);
    accel__emit(emitter,
                "const long accel_row_base = accel_g.base[0];\n"
                "for (int accel_z = 0; accel_z < accel_bz; accel_z++)\n"
                "for (int accel_y = 0; accel_y < accel_by; accel_y++)\n"
                "for (long accel_at = 0; accel_at < accel_row; accel_at += %s) {\n",
                plan->strips ? "ACCEL_STRIP" : "accel_row");
    accel__emit(emitter,
                "const long accel_base0 = accel_row_base + accel_at;\n"
                "const int accel_int_base0 = (int)accel_base0;\n"
                "const int accel_start0 = (int)accel_at;\n"
                "int accel_x0 = 0, accel_x1 = %s;\n"
                "accel_g.base[0] = accel_base0;\naccel_g.start[0] = accel_start0;\n"
                "(void)accel_int_base0, (void)accel_start0;\n",
                plan->strips ? "accel_upper(ACCEL_STRIP, accel_row - accel_at)" : "(int)accel_row");
    emit_body(emitter, plan);
    accel__emit(emitter, "}\naccel_block += (unsigned long)accel_run;\n}\n");
}

static void emit_run(accel__emitter *emitter, const accel__plan *plan, uint32_t index)
{
    accel__emit(emitter,
                "static inline __attribute__((always_inline)) const char *accel_run_%u(\n"
                "const accel_cpu_launch *accel_launch, unsigned long accel_first, unsigned long "
                "accel_last,\nconst int accel_bx, const int accel_by, const int accel_bz)\n{\n"
                "accel_group accel_g;\naccel_group_begin(&accel_g, accel_launch);\n",
                index);
    for (unsigned i = 0; i < 3; i++)
        accel__emit(emitter,
                    "const long accel_size%u = accel_g.size[%u], accel_count%u = "
                    "accel_g.count[%u];\n(void)accel_size%u, (void)accel_count%u;\n",
                    i, i, i, i, i, i);
    emit_params(emitter, plan);
    emit_memory(emitter, plan);
    if (plan->flat)
        emit_flat_loop(emitter, plan);
    else
        emit_block_loop(emitter, plan);
    accel__emit(emitter, "return 0;\n}\n\n");
}

/* Common shapes of blocks as constants: loops of known length need no remainder. */
static void emit_dispatch(accel__emitter *emitter, const accel__plan *plan, uint32_t index)
{
    const uint32_t *required = plan->kernel->required_block;
    const char *call = "return accel_run_%u(launch, first, last, %s);\n";
    accel__emit(emitter,
                "static const char *accel_kernel_%u(const accel_cpu_launch *launch, unsigned long "
                "first, unsigned long last)\n{\n"
                "const int bx = (int)launch->block[0], by = (int)launch->block[1], bz = "
                "(int)launch->block[2];\n",
                index);
    if (required[0] != 0) {
        accel__emit(emitter,
                    "(void)bx, (void)by, (void)bz;\n"
                    "return accel_run_%u(launch, first, last, %u, %u, %u);\n}\n\n",
                    index, required[0], required[1], required[2]);
        return;
    }
    if (!plan->flat && !plan->full_mask) {
        accel__emit(emitter, plan->names_rows ? "if (by == 16 && bz == 1 && bx == 16)\n    "
                                              : "if (by == 1 && bz == 1 && bx == 256)\n    ");
        accel__emit(emitter, call, index, plan->names_rows ? "16, 16, 1" : "256, 1, 1");
    }
    accel__emit(emitter, call, index, "bx, by, bz");
    accel__emit(emitter, "}\n\n");
}

static const char *kind_name(const accel_param *param)
{
    return param->kind == ACCEL_PARAM_KIND_VALUE     ? "accel_param_value"
           : param->kind == ACCEL_PARAM_KIND_POINTER ? "accel_param_pointer"
                                                     : "accel_param_local";
}

static void emit_table_params(accel__emitter *emitter, uint32_t index)
{
    const accel__signature *signature = accel__program_kernel(emitter->program, index);
    accel__emit(emitter, "static const accel_param accel_params_%u[] = {\n", index);
    for (uint32_t i = 0; i < signature->param_count; i++) {
        const accel_param *param = &signature->params[i];
        accel__emit(emitter, "    {\"%s\", %s, %d, %u, %u, %zu},\n", param->name, kind_name(param),
                    (int)param->type, param->lanes, param->read_only, param->size);
    }
    accel__emit(emitter, "    {0, accel_param_value, 0, 0, 0, 0},\n};\n\n");
}

/* What the launch must provide: see accel_cpu_kernel. */
static void set_scratch(accel__plan *plan)
{
    plan->scratch_fixed = block_scratch(plan);
    if (plan->flat)
        return;
    plan->scratch_fixed += 64 * (size_t)plan->item_arrays;
    plan->scratch_per_item = plan->item_bytes;
    if (plan->return_mask || plan->full_mask)
        plan->scratch_per_item += 1;
}

accel__plan *accel__emit_kernel(accel__emitter *emitter, accel__symbol *kernel, uint32_t index)
{
    accel__plan *plan = accel__plan_create(emitter, kernel);
    emitter->plan = plan;
    set_scratch(plan);
    emit_run(emitter, plan, index);
    emit_dispatch(emitter, plan, index);
    emit_table_params(emitter, index);
    emitter->plan = NULL;
    return plan;
}
