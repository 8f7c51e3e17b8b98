/* type.c: questions about types of portable source. Sizes are those of OpenCL C: long has 64 bits,
 * a vector of three takes the room of four. */
#include <string.h>

#include "kernel/tree/ast.h"

static const accel__type scalars[] = {
    {.kind = ACCEL__TYPE_VOID},   {.kind = ACCEL__TYPE_BOOL},  {.kind = ACCEL__TYPE_CHAR},
    {.kind = ACCEL__TYPE_UCHAR},  {.kind = ACCEL__TYPE_SHORT}, {.kind = ACCEL__TYPE_USHORT},
    {.kind = ACCEL__TYPE_INT},    {.kind = ACCEL__TYPE_UINT},  {.kind = ACCEL__TYPE_LONG},
    {.kind = ACCEL__TYPE_ULONG},  {.kind = ACCEL__TYPE_HALF},  {.kind = ACCEL__TYPE_FLOAT},
    {.kind = ACCEL__TYPE_DOUBLE},
};

static const struct {
    const char *name;
    uint8_t size;
    accel_data_type data_type;
} facts[] = {
    {"void", 0, ACCEL_DATA_TYPE_NONE},  {"bool", 1, ACCEL_DATA_TYPE_BOOL},
    {"char", 1, ACCEL_DATA_TYPE_I8},    {"uchar", 1, ACCEL_DATA_TYPE_U8},
    {"short", 2, ACCEL_DATA_TYPE_I16},  {"ushort", 2, ACCEL_DATA_TYPE_U16},
    {"int", 4, ACCEL_DATA_TYPE_I32},    {"uint", 4, ACCEL_DATA_TYPE_U32},
    {"long", 8, ACCEL_DATA_TYPE_I64},   {"ulong", 8, ACCEL_DATA_TYPE_U64},
    {"half", 2, ACCEL_DATA_TYPE_F16},   {"float", 4, ACCEL_DATA_TYPE_F32},
    {"double", 8, ACCEL_DATA_TYPE_F64},
};

const accel__type *accel__type_scalar(accel__type_kind kind)
{
    return &scalars[kind <= ACCEL__TYPE_DOUBLE ? kind : ACCEL__TYPE_VOID];
}

bool accel__type_is_integer(const accel__type *type)
{
    return type->kind >= ACCEL__TYPE_BOOL && type->kind <= ACCEL__TYPE_ULONG;
}

bool accel__type_is_floating(const accel__type *type)
{
    return type->kind == ACCEL__TYPE_FLOAT || type->kind == ACCEL__TYPE_DOUBLE;
}

bool accel__type_is_arithmetic(const accel__type *type)
{
    return accel__type_is_integer(type) || accel__type_is_floating(type);
}

bool accel__type_is_scalar(const accel__type *type)
{
    return accel__type_is_arithmetic(type) || type->kind == ACCEL__TYPE_POINTER;
}

bool accel__type_is_signed(const accel__type *type)
{
    switch (type->kind) {
    case ACCEL__TYPE_CHAR:
    case ACCEL__TYPE_SHORT:
    case ACCEL__TYPE_INT:
    case ACCEL__TYPE_LONG:
        return true;
    default:
        return false;
    }
}

bool accel__type_same(const accel__type *a, const accel__type *b)
{
    while (a->kind == b->kind) {
        if (a->kind == ACCEL__TYPE_RECORD)
            return a->record == b->record;
        if (a->base == NULL)
            return true;
        if (a->kind != ACCEL__TYPE_POINTER && a->count != b->count)
            return false;
        if (a->kind == ACCEL__TYPE_POINTER && a->base->space != b->base->space)
            return false;
        a = a->base;
        b = b->base;
    }
    return false;
}

size_t accel__type_size(const accel__type *type)
{
    switch (type->kind) {
    case ACCEL__TYPE_VECTOR:
        return (size_t)(type->count == 3 ? 4 : type->count) * facts[type->base->kind].size;
    case ACCEL__TYPE_POINTER:
        return 8;
    case ACCEL__TYPE_ARRAY:
        return (size_t)type->count * accel__type_size(type->base);
    case ACCEL__TYPE_RECORD:
        return type->record->complete ? type->record->size : 0;
    default:
        return facts[type->kind].size;
    }
}

size_t accel__type_alignment(const accel__type *type)
{
    if (type->kind == ACCEL__TYPE_ARRAY)
        return accel__type_alignment(type->base);
    if (type->kind == ACCEL__TYPE_RECORD)
        return type->record->alignment;
    return accel__type_size(type);
}

accel_data_type accel__type_data_type(const accel__type *type)
{
    if (type->kind == ACCEL__TYPE_VECTOR)
        type = type->base;
    return type->kind <= ACCEL__TYPE_DOUBLE ? facts[type->kind].data_type : ACCEL_DATA_TYPE_NONE;
}

accel__type_kind accel__type_promoted(accel__type_kind kind)
{
    return kind < ACCEL__TYPE_INT ? ACCEL__TYPE_INT : kind;
}

accel__type_kind accel__type_common(accel__type_kind a, accel__type_kind b)
{
    a = accel__type_promoted(a);
    b = accel__type_promoted(b);
    return a > b ? a : b; /* the order of the enum is that of the conversion ranks */
}

void accel__type_describe(const accel__type *type, accel__text *out_text)
{
    static const char *const spaces[] = {"", "__global ", "__constant ", "__local "};
    if (type->kind == ACCEL__TYPE_POINTER) {
        accel__type_describe(type->base, out_text);
        accel__text_append_string(out_text, " *");
        return;
    }
    if (type->kind == ACCEL__TYPE_ARRAY) {
        accel__type_describe(type->base, out_text);
        accel__text_format(out_text, "[%llu]", (unsigned long long)type->count);
        return;
    }
    accel__text_append_string(out_text, spaces[type->space & 3]);
    if ((type->qualifiers & ACCEL__QUALIFIER_CONST) && type->space != ACCEL__SPACE_CONSTANT)
        accel__text_append_string(out_text, "const ");
    if (type->kind == ACCEL__TYPE_VECTOR)
        accel__text_format(out_text, "%s%u", facts[type->base->kind].name, (unsigned)type->count);
    else if (type->kind == ACCEL__TYPE_RECORD)
        accel__text_format(out_text, "%s %s", type->record->is_union ? "union" : "struct",
                           type->record->tag != NULL ? type->record->tag : "(unnamed)");
    else
        accel__text_append_string(out_text, facts[type->kind].name);
}
