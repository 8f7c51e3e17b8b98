/* divide.c: divisions of integers. By zero they give 0, and the most negative number divided
 * by -1 gives itself; OpenCL leaves both undefined, and on processors they would end the process. */
#include <stdio.h>

#include "kernel/emit_opencl/emit_opencl.h"

static const char *const scalar_names[] = {"char", "uchar", "short", "ushort",
                                           "int",  "uint",  "long",  "ulong"};
static const unsigned widths[ACCEL__OPENCL_WIDTHS] = {1, 2, 3, 4, 8, 16};

static int width_index(const accel__type *type)
{
    int index = 0;
    while (type->kind == ACCEL__TYPE_VECTOR && widths[index] != type->count)
        index++;
    return index;
}

static const char *type_name(accel__opencl_emitter *emitter, const accel__type *type)
{
    const bool is_vector = type->kind == ACCEL__TYPE_VECTOR;
    const int kind = is_vector ? type->base->kind : type->kind;
    if (kind == ACCEL__TYPE_BOOL)
        return "bool";
    return is_vector ? accel__opencl_text(emitter, "%s%u", scalar_names[kind - ACCEL__TYPE_CHAR],
                                          (unsigned)type->count)
                     : scalar_names[kind - ACCEL__TYPE_CHAR];
}

/* The type that both operands are brought to. */
static const accel__type *common_type(const accel__node *node)
{
    if (node->kind == ACCEL__NODE_BINARY || node->type->kind == ACCEL__TYPE_VECTOR)
        return node->type;
    return accel__type_scalar(accel__type_common((accel__type_kind)node->a->type->kind,
                                                 (accel__type_kind)node->b->type->kind));
}

/* The helper's name; the prelude will have it. */
static const char *helper(accel__opencl_emitter *emitter, const accel__node *node)
{
    const accel__type *type = common_type(node);
    const bool is_vector = type->kind == ACCEL__TYPE_VECTOR;
    const int kind = (is_vector ? type->base->kind : type->kind) - ACCEL__TYPE_CHAR;
    emitter->divides[node->op[0] == '%'][kind][width_index(type)] = true;
    return accel__opencl_text(emitter, "%s%s_%s", emitter->prefix,
                              node->op[0] == '%' ? "mod" : "div", type_name(emitter, type));
}

static void edit_binary(accel__opencl_emitter *emitter, const accel__division *division)
{
    const char *name = helper(emitter, division->node);
    const char *type = type_name(emitter, common_type(division->node));
    accel__opencl_put_before(emitter, division->begin,
                             accel__opencl_text(emitter, "%s((%s)(", name, type));
    emitter->edits[division->op].instead = accel__opencl_text(emitter, "), (%s)(", type);
    accel__opencl_put_after(emitter, division->end, "))");
}

/* "a /= b": a is evaluated once, through a pointer. */
static void edit_assignment(accel__opencl_emitter *emitter, const accel__division *division)
{
    static const char *const spaces[] = {
        [ACCEL__SPACE_PRIVATE] = "__private",
        [ACCEL__SPACE_GLOBAL] = "__global",
        [ACCEL__SPACE_CONSTANT] = "__constant",
        [ACCEL__SPACE_LOCAL] = "__local",
    };
    const accel__type *type = division->node->a->type;
    const char *name = helper(emitter, division->node);
    const char *own = type_name(emitter, type);
    const char *common = type_name(emitter, common_type(division->node));
    const char *is_volatile = type->qualifiers & ACCEL__QUALIFIER_VOLATILE ? "volatile " : "";
    accel__opencl_put_before(emitter, division->begin,
                             accel__opencl_text(emitter, "({ %s %s%s *%sp = &(",
                                                spaces[type->space], is_volatile, own,
                                                emitter->prefix));
    emitter->edits[division->op].instead = accel__opencl_text(
        emitter, "); *%sp = (%s)%s((%s)(*%sp), (%s)(", emitter->prefix, own, name, common,
        emitter->prefix, common);
    accel__opencl_put_after(emitter, division->end, ")); })");
}

/* Whether naming the operand twice could be told from naming it once, or needs edits of its own. */
static bool has_effects(const accel__node *node)
{
    if (node == NULL)
        return false;
    if (node->kind == ACCEL__NODE_STEP || node->kind == ACCEL__NODE_ASSIGN ||
        node->kind == ACCEL__NODE_CALL || node->kind == ACCEL__NODE_BUILTIN || node->op[0] == '/' ||
        node->op[0] == '%')
        return true;
    return has_effects(node->a) || has_effects(node->b) || has_effects(node->c);
}

/* "v.x /= b": a lane has no address; v is named twice. */
static bool edit_lane_assignment(accel__opencl_emitter *emitter, const accel__division *division)
{
    const accel__node *node = division->node;
    if (has_effects(node->a)) {
        accel__diagnose_error(emitter->diagnostics, emitter->program->unit->files[node->file],
                              node->line,
                              "a lane of an operand with effects cannot be divided in place for "
                              "OpenCL; name the vector first");
        return false;
    }
    const char *name = helper(emitter, node);
    const char *own = type_name(emitter, node->a->type);
    const char *common = type_name(emitter, common_type(node));
    const char *lane = accel__opencl_copy_tokens(emitter, division->begin, division->op);
    emitter->edits[division->op].instead = accel__opencl_text(emitter, "= (%s)%s((%s)(%s), (%s)(",
                                                              own, name, common, lane, common);
    accel__opencl_put_after(emitter, division->end, "))");
    return true;
}

/* What a compiler divides itself, now or at run time, without harm. */
static bool is_safe(const accel__node *node)
{
    int64_t divisor = 0;
    int64_t whole = 0;
    if (!accel__constant_integer(node->b, &divisor) || divisor == 0)
        return false;
    return divisor != -1 ||
           (node->kind == ACCEL__NODE_BINARY && accel__constant_integer(node, &whole));
}

bool accel__opencl_edit_divisions(accel__opencl_emitter *emitter)
{
    bool done = true;
    for (const accel__division *at = emitter->program->first_division; at != NULL; at = at->next) {
        if (is_safe(at->node))
            continue;
        if (at->node->kind == ACCEL__NODE_BINARY)
            edit_binary(emitter, at);
        else if (at->node->a->kind == ACCEL__NODE_SWIZZLE)
            done = edit_lane_assignment(emitter, at) && done;
        else
            edit_assignment(emitter, at);
    }
    return done;
}

/* ---- helpers ---- */

/* Where d is 1 the quotient of a and d is taken; it is right but where b is 0 or -1. */
static void emit_signed(const char *prefix, bool is_mod, const char *type,
                        const char *unsigned_type, accel__text *out)
{
    accel__text_format(out,
                       "static %s %s%s_%s(%s a, %s b) { const %s d = b == (%s)(0) || b == ", type,
                       prefix, is_mod ? "mod" : "div", type, type, type, type, type);
    accel__text_format(out, "(%s)(-1) ? (%s)(1) : b; ", type, type);
    if (is_mod)
        accel__text_append_string(out, "return a % d; }\n");
    else
        accel__text_format(out,
                           "return b == (%s)(0) ? (%s)(0) : b == (%s)(-1) ? as_%s((%s)(0) - "
                           "as_%s(a)) : a / d; }\n",
                           type, type, type, type, unsigned_type, unsigned_type);
}

static void emit_unsigned(const char *prefix, bool is_mod, const char *type, accel__text *out)
{
    accel__text_format(out, "static %s %s%s_%s(%s a, %s b) { const %s d = b == (%s)(0) ? (%s)(1) ",
                       type, prefix, is_mod ? "mod" : "div", type, type, type, type, type, type);
    if (is_mod)
        accel__text_append_string(out, ": b; return a % d; }\n");
    else
        accel__text_format(out, ": b; return b == (%s)(0) ? (%s)(0) : a / d; }\n", type, type);
}

static void emit_helper(const char *prefix, bool is_mod, int kind, int width, accel__text *out)
{
    char type[16];
    char unsigned_type[16];
    char lanes[4] = "";
    if (width != 0)
        snprintf(lanes, sizeof lanes, "%u", widths[width]);
    snprintf(type, sizeof type, "%s%s", scalar_names[kind], lanes);
    snprintf(unsigned_type, sizeof unsigned_type, "%s%s", scalar_names[kind | 1], lanes);
    if (kind % 2 == 0)
        emit_signed(prefix, is_mod, type, unsigned_type, out);
    else
        emit_unsigned(prefix, is_mod, type, out);
}

void accel__opencl_emit_divisions(const accel__opencl_emitter *emitter, accel__text *out_text)
{
    for (int is_mod = 0; is_mod < 2; is_mod++)
        for (int kind = 0; kind < ACCEL__OPENCL_KINDS; kind++)
            for (int width = 0; width < ACCEL__OPENCL_WIDTHS; width++)
                if (emitter->divides[is_mod][kind][width])
                    emit_helper(emitter->prefix, is_mod != 0, kind, width, out_text);
}
