/* record.c: struct, union and enum. Their layout is the C compiler's. */
#include <string.h>

#include "kernel/parse/parse.h"

static accel__record *add_record(accel__parser *parser, bool is_union)
{
    accel__record *record = accel__parse_take(parser, sizeof *record);
    record->is_union = is_union;
    record->id = ++parser->program->next_id;
    record->alignment = 1;
    return record;
}

/* Complete ones are listed in the order in which C must see them: inner ones first. */
static void complete_record(accel__program *program, accel__record *record)
{
    record->size = (record->size + record->alignment - 1) / record->alignment * record->alignment;
    record->complete = true;
    if (program->last_record != NULL)
        program->last_record->next = record;
    else
        program->first_record = record;
    program->last_record = record;
}

static bool has_pointer(const accel__type *type)
{
    while (type->kind == ACCEL__TYPE_ARRAY)
        type = type->base;
    return type->kind == ACCEL__TYPE_POINTER;
}

static void add_field(accel__parser *parser, accel__record *record, const accel__declarator *from)
{
    const accel__token *name = from->name;
    const size_t size = accel__type_size(from->type);
    if (size == 0)
        accel__parse_fail_at(parser, name, "the field '%.*s' has no known size", (int)name->size,
                             name->text);
    if (has_pointer(from->type))
        accel__parse_fail_at(parser, name,
                             "pointers inside of a struct are not part of the kernel language");
    accel__field **end = &record->fields;
    for (; *end != NULL; end = &(*end)->next)
        if (strlen((*end)->name) == name->size && memcmp((*end)->name, name->text, name->size) == 0)
            accel__parse_fail_at(parser, name, "two fields named '%s'", (*end)->name);
    accel__field *field = accel__parse_take(parser, sizeof *field);
    field->name = accel__parse_copy(parser, name->text, name->size);
    field->type = from->type;
    *end = field;
    const size_t alignment = accel__type_alignment(from->type);
    if (alignment > record->alignment)
        record->alignment = alignment;
    if (record->is_union)
        record->size = record->size > size ? record->size : size;
    else
        record->size = (record->size + alignment - 1) / alignment * alignment + size;
    if (record->size > INT32_MAX)
        accel__parse_fail_at(parser, name, "this struct is too large");
}

static void parse_fields(accel__parser *parser, accel__record *record)
{
    while (!accel__parse_accept(parser, "}")) {
        accel__specifiers specifiers;
        accel__parse_specifiers(parser, &specifiers);
        if (specifiers.is_typedef || specifiers.is_kernel || specifiers.is_static ||
            specifiers.has_space)
            accel__parse_fail_at(parser, specifiers.token, "expected the type of a field");
        do {
            accel__declarator declarator;
            accel__parse_declarator(parser, specifiers.type, &declarator);
            const accel__token *token = accel__parse_peek(parser);
            if (accel__token_has(token, ":"))
                accel__parse_fail_at(parser, token,
                                     "bit-fields are not part of the kernel language");
            if (declarator.name == NULL)
                accel__parse_fail_at(parser, token, "expected the name of a field");
            add_field(parser, record, &declarator);
        } while (accel__parse_accept(parser, ","));
        accel__parse_expect(parser, ";");
    }
}

const accel__type *accel__parse_record(accel__parser *parser, bool is_union)
{
    accel__specifiers ignored = {0};
    accel__parse_attributes(parser, &ignored);
    const accel__token *token = accel__parse_peek(parser);
    const accel__token *tag = NULL;
    if (!accel__token_has(token, "{"))
        tag = accel__parse_identifier(parser, "the name of a struct");
    accel__record *record = tag == NULL ? NULL : accel__parse_find_record(parser, tag);
    if (record != NULL && record->is_union != is_union)
        accel__parse_fail_at(parser, tag, "'%s' is both a struct and a union", record->tag);
    if (record == NULL) {
        if (!accel__parse_at(parser, "{"))
            accel__parse_fail_at(parser, tag, "unknown struct '%.*s'", (int)tag->size, tag->text);
        record = add_record(parser, is_union);
        if (tag != NULL)
            accel__parse_bind_record(parser, tag, record);
    }
    if (accel__parse_accept(parser, "{")) {
        if (record->complete || record->fields != NULL)
            accel__parse_fail_at(parser, token, "a struct defined twice");
        accel__parse_enter(parser);
        parse_fields(parser, record);
        accel__parse_leave(parser);
        if (record->fields == NULL)
            accel__parse_fail_at(parser, token, "a struct without fields");
        complete_record(parser->program, record);
        accel__parse_attributes(parser, &ignored);
    }
    accel__type *type = accel__parse_type(parser, ACCEL__TYPE_RECORD, NULL);
    type->record = record;
    return type;
}

const accel__type *accel__parse_enum(accel__parser *parser)
{
    if (!accel__parse_at(parser, "{"))
        accel__parse_identifier(parser, "the name of an enum");
    if (accel__parse_accept(parser, "{")) {
        int64_t value = 0;
        do {
            if (accel__parse_at(parser, "}"))
                break;
            const accel__token *name = accel__parse_identifier(parser, "the name of a constant");
            if (accel__parse_accept(parser, "="))
                value = accel__parse_integer_constant(parser, "the value of an enum constant");
            if (value < INT32_MIN || value > INT32_MAX)
                accel__parse_fail_at(parser, name, "the value of '%.*s' does not fit an int",
                                     (int)name->size, name->text);
            accel__symbol *symbol = accel__parse_symbol(parser, ACCEL__SYMBOL_ENUMERATOR, name,
                                                        accel__type_scalar(ACCEL__TYPE_INT));
            symbol->value = value++;
            accel__parse_bind(parser, symbol);
        } while (accel__parse_accept(parser, ","));
        accel__parse_expect(parser, "}");
    }
    return accel__type_scalar(ACCEL__TYPE_INT);
}
