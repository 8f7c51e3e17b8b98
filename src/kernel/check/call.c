/* call.c: calls of the source's own functions, and the names convert_… and as_…. */
#include <string.h>

#include "kernel/parse/parse.h"

static uint16_t depth_of(accel__parser *parser, const accel__token *name, const accel__node *args)
{
    unsigned depth = 0;
    for (; args != NULL; args = args->next)
        depth = args->depth > depth ? args->depth : depth;
    if (depth > 1000)
        accel__parse_fail_at(parser, name, "this expression is too long");
    return (uint16_t)(depth + 1);
}

static accel__node *call_function(accel__parser *parser, accel__symbol *function,
                                  const accel__token *name, accel__node *args)
{
    if (function->is_kernel)
        accel__parse_fail_at(parser, name,
                             "a call of the kernel '%s': kernels are only launched; move what they "
                             "share into a function",
                             function->name);
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_CALL, name);
    node->symbol = function;
    node->type = function->type;
    node->a = args;
    node->depth = depth_of(parser, name, args);
    const accel__symbol *param = function->params;
    uint32_t count = 0;
    for (const accel__node *arg = args; arg != NULL; arg = arg->next, count++) {
        if (param == NULL)
            continue;
        accel__check_convertible(parser, param->type, arg, "the parameter");
        param = param->next_param;
    }
    if (count != function->param_count)
        accel__parse_fail_at(parser, name, "'%s' takes %u arguments, not %u", function->name,
                             (unsigned)function->param_count, (unsigned)count);
    return node;
}

static bool ends_with(const char *name, size_t *size, const char *end)
{
    const size_t length = strlen(end);
    if (*size < length || memcmp(name + *size - length, end, length) != 0)
        return false;
    *size -= length;
    return true;
}

/* convert_TYPE[_sat][_rte|_rtz|_rtp|_rtn] and as_TYPE; NULL: the name is none of them. The value of
 * a conversion: 8 with _sat, plus 1 to 4 for the rounding. */
static const accel__builtin *conversion(accel__parser *parser, const accel__token *name,
                                        const accel__type **out_type)
{
    static const char *const roundings[] = {"_rte", "_rtz", "_rtp", "_rtn"};
    const char *text = name->text;
    size_t size = name->size;
    uint8_t value = 0;
    const bool converts = size > 8 && memcmp(text, "convert_", 8) == 0;
    const size_t prefix = converts ? 8 : 3;
    if (!converts && !(size > 3 && memcmp(text, "as_", 3) == 0))
        return NULL;
    if (converts) {
        for (uint8_t i = 0; i < 4; i++)
            if (ends_with(text, &size, roundings[i]))
                value = (uint8_t)(i + 1);
        if (ends_with(text, &size, "_sat"))
            value |= 8;
    }
    *out_type = size <= prefix ? NULL
                               : accel__parse_named_type(parser, text + prefix, size - prefix);
    if (*out_type == NULL || (*out_type)->kind == ACCEL__TYPE_VOID ||
        (*out_type)->kind == ACCEL__TYPE_BOOL || (*out_type)->kind == ACCEL__TYPE_HALF)
        return NULL;
    accel__builtin *builtin = accel__parse_take(parser, sizeof *builtin);
    builtin->name = accel__parse_copy(parser, name->text, name->size);
    builtin->rule = converts ? ACCEL__RULE_CONVERT : ACCEL__RULE_AS;
    builtin->arg_count = 1;
    builtin->value = value;
    return builtin;
}

static void set_conversion_type(accel__parser *parser, accel__node *node, const accel__token *name,
                                const accel__type *type)
{
    const accel__type *from = node->a->type;
    const uint64_t lanes = type->kind == ACCEL__TYPE_VECTOR ? type->count : 1;
    const uint64_t given = from->kind == ACCEL__TYPE_VECTOR ? from->count : 1;
    const bool fits = node->builtin->rule == ACCEL__RULE_AS
                          ? accel__type_size(type) == accel__type_size(from)
                          : lanes == given;
    if (!fits)
        accel__parse_fail_at(parser, name, "'%s' does not take %s", node->builtin->name,
                             accel__check_describe(parser, from));
    node->type = type;
    const accel__type *element = type->kind == ACCEL__TYPE_VECTOR ? type->base : type;
    if (element->kind == ACCEL__TYPE_DOUBLE)
        parser->program->uses_double = true;
}

accel__node *accel__check_call(accel__parser *parser, const accel__token *name, accel__node *args)
{
    accel__symbol *symbol = accel__parse_find(parser, name);
    if (symbol != NULL && symbol->kind != ACCEL__SYMBOL_FUNCTION)
        accel__parse_fail_at(parser, name, "'%s' is called but is no function", symbol->name);
    if (symbol != NULL)
        return call_function(parser, symbol, name, args);
    const accel__type *type = NULL;
    const accel__builtin *builtin = conversion(parser, name, &type);
    if (builtin == NULL)
        builtin = accel__builtin_find(name->text, name->size);
    if (builtin == NULL)
        accel__parse_fail_at(parser, name, "unknown function '%.*s'", (int)name->size, name->text);
    if (builtin->rule == ACCEL__RULE_REFUSED)
        accel__parse_fail_at(parser, name, "'%s': %s", builtin->name, builtin->c_name);
    accel__node *node = accel__check_builtin(parser, builtin, name, args);
    node->depth = depth_of(parser, name, args);
    if (type != NULL)
        set_conversion_type(parser, node, name, type);
    return node;
}
