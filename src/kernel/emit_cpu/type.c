/* type.c: types and names in C. */
#include "kernel/emit_cpu/emit_cpu.h"

static const char *const scalar_names[] = {
    "void",     "_Bool", "signed char",   "unsigned char",  "short", "unsigned short", "int",
    "unsigned", "long",  "unsigned long", "unsigned short", "float", "double",
};

static const char *const suffixes[] = {
    "void", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64",
};

const char *accel__emit_suffix(const accel__type *type)
{
    return suffixes[type->kind <= ACCEL__TYPE_DOUBLE ? type->kind : 0];
}

static void emit_base(accel__emitter *emitter, const accel__type *type)
{
    if (type->kind == ACCEL__TYPE_VECTOR) {
        emitter->prelude |= ACCEL__PRELUDE_VECTOR;
        accel__emit(emitter, "accel_%sx%u", accel__emit_suffix(type->base), (unsigned)type->count);
    } else if (type->kind == ACCEL__TYPE_RECORD) {
        accel__emit(emitter, "%s s_%u", type->record->is_union ? "union" : "struct",
                    type->record->id);
    } else {
        accel__emit(emitter, "%s", scalar_names[type->kind]);
    }
}

static void emit_left(accel__emitter *emitter, const accel__type *type, bool outermost)
{
    if (type->kind == ACCEL__TYPE_POINTER) {
        emit_left(emitter, type->base, false);
        accel__emit(emitter, "%s*", type->base->kind == ACCEL__TYPE_ARRAY ? "(" : "");
        if (type->qualifiers & ACCEL__QUALIFIER_RESTRICT)
            accel__emit(emitter, "restrict ");
    } else if (type->kind == ACCEL__TYPE_ARRAY) {
        emit_left(emitter, type->base, outermost);
        return;
    } else {
        if (!outermost && (type->qualifiers & ACCEL__QUALIFIER_CONST))
            accel__emit(emitter, "const ");
        if (type->qualifiers & ACCEL__QUALIFIER_VOLATILE)
            accel__emit(emitter, "volatile ");
        emit_base(emitter, type);
        accel__emit(emitter, " ");
        return;
    }
    if (!outermost && (type->qualifiers & ACCEL__QUALIFIER_CONST))
        accel__emit(emitter, "const ");
    if (type->qualifiers & ACCEL__QUALIFIER_VOLATILE)
        accel__emit(emitter, "volatile ");
}

static void emit_right(accel__emitter *emitter, const accel__type *type)
{
    for (; type->kind == ACCEL__TYPE_POINTER || type->kind == ACCEL__TYPE_ARRAY;
         type = type->base) {
        if (type->kind == ACCEL__TYPE_ARRAY)
            accel__emit(emitter, "[%llu]", (unsigned long long)type->count);
        else if (type->base->kind == ACCEL__TYPE_ARRAY)
            accel__emit(emitter, ")");
    }
}

void accel__emit_type(accel__emitter *emitter, const accel__type *type)
{
    emit_left(emitter, type, true);
    emit_right(emitter, type);
}

void accel__emit_declarator(accel__emitter *emitter, const accel__type *type, const char *prefix,
                            const accel__symbol *symbol, const char *suffix)
{
    emit_left(emitter, type, true);
    accel__emit(emitter, "%su_%s_%u%s", prefix, symbol->name, symbol->id, suffix);
    emit_right(emitter, type);
}

void accel__emit_variable(accel__emitter *emitter, const accel__symbol *symbol)
{
    accel__emit_declarator(emitter, symbol->type, "", symbol, "");
}

void accel__emit_records(accel__emitter *emitter)
{
    for (const accel__record *at = emitter->program->first_record; at != NULL; at = at->next) {
        if (!at->complete)
            continue;
        accel__emit(emitter, "%s s_%u {\n", at->is_union ? "union" : "struct", at->id);
        for (const accel__field *field = at->fields; field != NULL; field = field->next) {
            accel__emit(emitter, "    ");
            emit_left(emitter, field->type, true);
            accel__emit(emitter, "m_%s", field->name);
            emit_right(emitter, field->type);
            accel__emit(emitter, ";\n");
        }
        accel__emit(emitter, "};\n_Static_assert(sizeof(%s s_%u) == %zu, \"layout\");\n",
                    at->is_union ? "union" : "struct", at->id, at->size);
    }
}

void accel__emit_declared_pointer(accel__emitter *emitter, const accel__type *type)
{
    const accel__type pointer = {.kind = ACCEL__TYPE_POINTER, .base = type};
    accel__emit_type(emitter, &pointer);
}
