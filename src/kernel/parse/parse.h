/* parse.h: the parser of portable source, shared by parse*.c and check*.c.
 * A recursive descent over the unit's tokens that types each expression as it is built. The first
 * error of a declaration leaves it (longjmp to the loop over declarations, which goes on behind it);
 * all memory is in the program's arena, so nothing is lost that way. */
#ifndef ACCEL_KERNEL_PARSE_H
#define ACCEL_KERNEL_PARSE_H

#include <setjmp.h>

#include "kernel/tree/ast.h"

typedef struct accel__binding accel__binding;

typedef struct accel__parser {
    const accel__unit *unit;
    size_t at;
    accel__program *program;
    accel__diagnostics *diagnostics;
    jmp_buf bail;
    accel__binding *names; /* newest first */
    accel__binding *tags;
    accel__binding *names_before; /* the declaration being parsed at program scope */
    size_t start;                 /* its first token */
    size_t body;                  /* the '{' of the function being parsed */
    bool declares_inner;          /* the declaration being parsed: see accel__inner */
    accel__symbol *function;      /* being parsed; NULL outside */
    uint32_t loops;               /* around the statement */
    uint32_t switches;
    uint32_t depth;              /* of the recursion */
    uint32_t level;              /* of scopes */
    const accel__token *barrier; /* seen in the statement being parsed, not yet in its place */
} accel__parser;

/* What stands before a declarator. */
typedef struct accel__specifiers {
    const accel__type *type;
    bool is_typedef, is_kernel, is_static, is_inline;
    bool has_space;
    bool
        by_size_t; /* the type was written size_t or the like, whose size differs between devices */
    uint32_t required_block[3];
    const accel__token *token;
} accel__specifiers;

typedef struct accel__declarator {
    const accel__type *type;
    const accel__token *name; /* NULL: none */
} accel__declarator;

/* ---- parse/parse.c: tokens, errors, memory, names ---- */

const accel__token *accel__parse_peek(accel__parser *parser);
const accel__token *accel__parse_peek_second(accel__parser *parser);
const accel__token *accel__parse_next(accel__parser *parser);
bool accel__parse_at(accel__parser *parser, const char *text);
bool accel__parse_accept(accel__parser *parser, const char *text);
const accel__token *accel__parse_expect(accel__parser *parser, const char *text);
const accel__token *accel__parse_identifier(accel__parser *parser, const char *what);
bool accel__token_has(const accel__token *token, const char *text);

_Noreturn void accel__parse_fail(accel__parser *parser, uint32_t file, uint32_t line,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));
_Noreturn void accel__parse_fail_at(accel__parser *parser, const accel__token *token,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));
void accel__parse_warn(accel__parser *parser, uint32_t file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void *accel__parse_take(accel__parser *parser, size_t size); /* never NULL: leaves instead */
const char *accel__parse_copy(accel__parser *parser, const char *text, size_t size);
void accel__parse_enter(accel__parser *parser); /* one level of recursion deeper */
void accel__parse_leave(accel__parser *parser);

accel__node *accel__parse_node(accel__parser *parser, accel__node_kind kind,
                               const accel__token *token);
accel__symbol *accel__parse_symbol(accel__parser *parser, accel__symbol_kind kind,
                                   const accel__token *name, const accel__type *type);
void accel__parse_bind(accel__parser *parser, accel__symbol *symbol);
accel__symbol *accel__parse_find(accel__parser *parser, const accel__token *name);
accel__binding *accel__parse_open_scope(accel__parser *parser);
void accel__parse_close_scope(accel__parser *parser, accel__binding *scope);
accel__record *accel__parse_find_record(accel__parser *parser, const accel__token *name);
void accel__parse_bind_record(accel__parser *parser, const accel__token *name,
                              accel__record *record);
void accel__parse_append(accel__program *program, accel__symbol *symbol);

/* ---- parse/type.c ---- */

bool accel__parse_starts_type(accel__parser *parser, const accel__token *token);
bool accel__parse_is_reserved(const accel__token *token);
void accel__parse_specifiers(accel__parser *parser, accel__specifiers *out);
void accel__parse_attributes(accel__parser *parser, accel__specifiers *specifiers);
void accel__parse_declarator(accel__parser *parser, const accel__type *base,
                             accel__declarator *out);
const accel__type *accel__parse_type_name(accel__parser *parser);
/* The type with that name ("int", "float4", …); NULL: none. */
const accel__type *accel__parse_named_type(accel__parser *parser, const char *name, size_t size);
accel__type *accel__parse_type(accel__parser *parser, accel__type_kind kind,
                               const accel__type *base);
const accel__type *accel__parse_pointer_to(accel__parser *parser, const accel__type *base);
const accel__type *accel__parse_qualified(accel__parser *parser, const accel__type *type,
                                          uint8_t qualifiers, accel__space space);

/* ---- parse/record.c ---- */

const accel__type *accel__parse_record(accel__parser *parser, bool is_union);
const accel__type *accel__parse_enum(accel__parser *parser);

/* ---- parse/expression.c, parse/primary.c ---- */

accel__node *accel__parse_expression(accel__parser *parser);
accel__node *accel__parse_assignment(accel__parser *parser);
accel__node *accel__parse_postfix(accel__parser *parser);
int64_t accel__parse_integer_constant(accel__parser *parser, const char *what);

/* ---- parse/statement.c, parse/declaration.c ---- */

/* Notes that the token names the symbol, where a dialect needs that. */
void accel__parse_note_name(accel__parser *parser, const accel__symbol *symbol,
                            const accel__token *token);

accel__node *accel__parse_block(accel__parser *parser);
accel__node *accel__parse_declaration(accel__parser *parser);
void accel__parse_external(accel__parser *parser);

/* ---- check/check.c: builds typed operators, or leaves with an error ---- */

accel__node *accel__check_unary(accel__parser *parser, const accel__token *op, accel__node *a);
accel__node *accel__check_step(accel__parser *parser, const accel__token *op, accel__node *a,
                               bool postfix);
accel__node *accel__check_binary(accel__parser *parser, const accel__token *op, accel__node *a,
                                 accel__node *b);
accel__node *accel__check_assign(accel__parser *parser, const accel__token *op, accel__node *a,
                                 accel__node *b);
accel__node *accel__check_condition(accel__parser *parser, const accel__token *op, accel__node *a,
                                    accel__node *b, accel__node *c);
accel__node *accel__check_index(accel__parser *parser, const accel__token *op, accel__node *a,
                                accel__node *b);
accel__node *accel__check_cast(accel__parser *parser, const accel__token *op,
                               const accel__type *type, accel__node *a);
/* Leaves with an error unless `node` may be stored in `type`; `what` names the place. */
void accel__check_convertible(accel__parser *parser, const accel__type *type,
                              const accel__node *node, const char *what);
void accel__check_truth(accel__parser *parser, const accel__node *node);
const accel__type *accel__check_decay(accel__parser *parser, const accel__type *type);
/* Without qualifiers and space, as the type of a value. */
const accel__type *accel__check_value_type(accel__parser *parser, const accel__type *type);
/* A description that lives as long as the program. */
const char *accel__check_describe(accel__parser *parser, const accel__type *type);

/* ---- check/call.c, check/builtin.c, check/program.c ---- */

accel__node *accel__check_call(accel__parser *parser, const accel__token *name, accel__node *args);
accel__node *accel__check_builtin(accel__parser *parser, const accel__builtin *builtin,
                                  const accel__token *name, accel__node *args);

/* Finds recursion and undefined functions, and marks what uses work-items and barriers. False where
 * it diagnosed an error. */
bool accel__check_program(accel__parser *parser);

/* ---- tree/constant.c ---- */

/* True where a C compiler takes it as the initialiser of a static object. */
bool accel__constant_is(const accel__node *node);

#endif
