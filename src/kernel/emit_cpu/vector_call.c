/* vector_call.c: the functions of the table over vectors: most run lane by lane. */
#include <stdio.h>
#include <string.h>

#include "kernel/emit_cpu/plan.h"

#define MOST_ARGS 3

/* One call: its arguments in variables accel_a<id>_<n>. */
typedef struct lanes_call {
    const accel__node *node;
    uint32_t id;
    unsigned count;              /* lanes */
    accel__node args[MOST_ARGS]; /* what stands for one lane of each */
    char texts[MOST_ARGS][80];
    accel__type elements[MOST_ARGS];
    int out; /* index of a pointer to a vector; -1: none */
} lanes_call;

static void emit_value_type(accel__emitter *emitter, const accel__type *type)
{
    accel__type plain = *type;
    plain.qualifiers = 0;
    accel__emit_type(emitter, &plain);
}

static const accel__type *decayed(const accel__type *type, accel__type *room)
{
    if (type->kind != ACCEL__TYPE_ARRAY)
        return type;
    *room = (accel__type){.kind = ACCEL__TYPE_POINTER, .base = type->base};
    return room;
}

static void prepare_arg(accel__emitter *emitter, lanes_call *call, const accel__node *arg,
                        unsigned index)
{
    accel__type room;
    const accel__type *type = decayed(arg->type, &room);
    const bool pointer = type->kind == ACCEL__TYPE_POINTER;
    emit_value_type(emitter, type);
    accel__emit(emitter, " accel_a%u_%u = ", call->id, index);
    accel__emit_expression(emitter, arg);
    accel__emit(emitter, "; ");
    const accel__type *element = pointer ? type->base : type;
    call->elements[index] = element->kind == ACCEL__TYPE_VECTOR ? *element->base : *type;
    if (pointer && element->kind == ACCEL__TYPE_VECTOR) {
        accel__emit_type(emitter, element->base);
        accel__emit(emitter, " accel_o%u; ", call->id);
        snprintf(call->texts[index], sizeof call->texts[index], "&accel_o%u", call->id);
        call->elements[index] = (accel__type){.kind = ACCEL__TYPE_POINTER, .base = element->base};
        call->out = (int)index;
    } else {
        const bool chooses = call->node->builtin->rule == ACCEL__RULE_SELECT && index == 2;
        snprintf(call->texts[index], sizeof call->texts[index], "%saccel_a%u_%u%s%s",
                 chooses ? "(" : "", call->id, index,
                 type->kind == ACCEL__TYPE_VECTOR ? "[accel_k]" : "", chooses ? " < 0)" : "");
    }
    call->args[index] = (accel__node){.kind = ACCEL__NODE_FLOAT,
                                      .text = call->texts[index],
                                      .type = &call->elements[index],
                                      .file = arg->file,
                                      .line = arg->line};
    if (index > 0)
        call->args[index - 1].next = &call->args[index];
}

static unsigned lanes_of(const accel__node *node)
{
    for (const accel__node *arg = node->a; arg != NULL; arg = arg->next)
        if (arg->type->kind == ACCEL__TYPE_VECTOR)
            return (unsigned)arg->type->count;
    return 1;
}

static void open_call(accel__emitter *emitter, lanes_call *call, const accel__node *node)
{
    *call = (lanes_call){.node = node, .id = ++emitter->next_id, .out = -1};
    call->count = lanes_of(node);
    unsigned index = 0;
    accel__emit(emitter, "({ ");
    for (const accel__node *arg = node->a; arg != NULL && index < MOST_ARGS; arg = arg->next)
        prepare_arg(emitter, call, arg, index++);
}

static void emit_lane(accel__emitter *emitter, const lanes_call *call)
{
    accel__node one = *call->node;
    one.a = (accel__node *)&call->args[0];
    one.type = one.type->kind == ACCEL__TYPE_VECTOR ? one.type->base
                                                    : accel__type_scalar(ACCEL__TYPE_INT);
    accel__emit_builtin(emitter, &one);
}

static void open_lanes(accel__emitter *emitter, const lanes_call *call)
{
    accel__emit(emitter, "for (int accel_k = 0; accel_k < %u; accel_k++) { ", call->count);
}

static void emit_by_lane(accel__emitter *emitter, const accel__node *node)
{
    lanes_call call;
    open_call(emitter, &call, node);
    emit_value_type(emitter, node->type);
    accel__emit(emitter, " accel_r%u = {0}; ", call.id);
    open_lanes(emitter, &call);
    accel__emit(emitter, "accel_r%u[accel_k] = %s", call.id,
                node->builtin->rule == ACCEL__RULE_TEST ? "-" : "");
    emit_lane(emitter, &call);
    accel__emit(emitter, "; ");
    if (call.out >= 0)
        accel__emit(emitter, "(*accel_a%u_%d)[accel_k] = accel_o%u; ", call.id, call.out, call.id);
    accel__emit(emitter, "} accel_r%u; })", call.id);
}

/* any, all: one int for all lanes. */
static void emit_truth(accel__emitter *emitter, const accel__node *node)
{
    lanes_call call;
    const bool any = strcmp(node->builtin->name, "any") == 0;
    open_call(emitter, &call, node);
    accel__emit(emitter, "int accel_r%u = %d; ", call.id, any ? 0 : 1);
    open_lanes(emitter, &call);
    accel__emit(emitter, "accel_r%u %s= ", call.id, any ? "|" : "&");
    emit_lane(emitter, &call);
    accel__emit(emitter, "; } accel_r%u; })", call.id);
}

/* The sum of products of lanes of a0 and a1, of a0 alone, or of their difference. */
static void emit_sum(accel__emitter *emitter, const lanes_call *call, const char *what)
{
    const uint32_t id = call->id;
    emit_value_type(emitter, call->node->a->type->base);
    accel__emit(emitter, " accel_s%u = 0; ", id);
    open_lanes(emitter, call);
    if (strcmp(what, "dot") == 0)
        accel__emit(emitter, "accel_s%u += accel_a%u_0[accel_k] * accel_a%u_1[accel_k]; } ", id, id,
                    id);
    else if (strcmp(what, "distance") == 0)
        accel__emit(emitter,
                    "accel_s%u += (accel_a%u_0[accel_k] - accel_a%u_1[accel_k]) * "
                    "(accel_a%u_0[accel_k] - accel_a%u_1[accel_k]); } ",
                    id, id, id, id, id);
    else
        accel__emit(emitter, "accel_s%u += accel_a%u_0[accel_k] * accel_a%u_0[accel_k]; } ", id, id,
                    id);
}

static void emit_geometry(accel__emitter *emitter, const accel__node *node)
{
    lanes_call call;
    const char *name = node->builtin->name;
    const char *bare = strncmp(name, "fast_", 5) == 0 ? name + 5 : name;
    const char *f = node->a->type->base->kind == ACCEL__TYPE_FLOAT ? "f" : "";
    open_call(emitter, &call, node);
    emit_sum(emitter, &call, bare);
    if (strcmp(bare, "dot") == 0)
        accel__emit(emitter, "accel_s%u; })", call.id);
    else if (strcmp(bare, "normalize") == 0)
        accel__emit(emitter,
                    "accel_s%u == 0 ? accel_a%u_0 : accel_a%u_0 / __builtin_sqrt%s(accel_s%u); })",
                    call.id, call.id, call.id, f, call.id);
    else
        accel__emit(emitter, "__builtin_sqrt%s(accel_s%u); })", f, call.id);
}

static void emit_cross(accel__emitter *emitter, const accel__node *node)
{
    static const unsigned next[] = {1, 2, 0};
    lanes_call call;
    open_call(emitter, &call, node);
    accel__emit(emitter, "(");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, "){");
    for (unsigned i = 0; i < 3; i++) {
        const unsigned j = next[i];
        const unsigned k = next[j];
        accel__emit(emitter,
                    "accel_a%u_0[%u] * accel_a%u_1[%u] - accel_a%u_0[%u] * accel_a%u_1[%u], ",
                    call.id, j, call.id, k, call.id, k, call.id, j);
    }
    accel__emit(emitter, "0}; })");
}

/* vloadN, vstoreN: N elements behind the pointer, aligned like one. */
static void emit_memory(accel__emitter *emitter, const accel__node *node)
{
    const bool stores = node->builtin->rule == ACCEL__RULE_VSTORE;
    const accel__node *at = stores ? node->a->next : node->a;
    const accel__type *vector = stores ? node->a->type : node->type;
    const unsigned count = node->builtin->value;
    const uint32_t id = ++emitter->next_id;
    const size_t size = accel__type_size(vector->base) * count;
    accel__emit(emitter, "({ ");
    emit_value_type(emitter, vector);
    accel__emit(emitter, " accel_r%u = ", id);
    if (stores)
        accel__emit_expression(emitter, node->a);
    else
        accel__emit(emitter, "{0}");
    accel__emit(emitter, "; %svoid *accel_p%u = (%schar *)(", stores ? "" : "const ", id,
                stores ? "" : "const ");
    accel__emit_expression(emitter, at->next);
    accel__emit(emitter, ") + %zuul * ", size);
    accel__emit_expression(emitter, at);
    if (stores)
        accel__emit(emitter, "; __builtin_memcpy(accel_p%u, &accel_r%u, %zu); })", id, id, size);
    else
        accel__emit(emitter, "; __builtin_memcpy(&accel_r%u, accel_p%u, %zu); accel_r%u; })", id,
                    id, size, id);
}

void accel__emit_vector_call(accel__emitter *emitter, const accel__node *node)
{
    const char *name = node->builtin->name;
    emitter->prelude |= ACCEL__PRELUDE_VECTOR;
    if (node->builtin->rule == ACCEL__RULE_VLOAD || node->builtin->rule == ACCEL__RULE_VSTORE)
        emit_memory(emitter, node);
    else if (node->builtin->rule == ACCEL__RULE_TRUTH)
        emit_truth(emitter, node);
    else if (node->builtin->rule == ACCEL__RULE_CROSS)
        emit_cross(emitter, node);
    else if (node->builtin->rule == ACCEL__RULE_DOT || strcmp(name, "normalize") == 0 ||
             strcmp(name, "fast_normalize") == 0)
        emit_geometry(emitter, node);
    else
        emit_by_lane(emitter, node);
}
