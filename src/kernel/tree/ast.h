/* ast.h: the typed tree of a program of portable source.
 * Made by parse*.c, read by emit_cpu*.c. Everything lives in the program's arena. Every expression
 * has a type; implicit conversions are those of C and are not nodes of their own. */
#ifndef ACCEL_KERNEL_AST_H
#define ACCEL_KERNEL_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/check/builtins.h"
#include "kernel/lex/arena.h"
#include "kernel/tree/program.h"

typedef enum accel__space {
    ACCEL__SPACE_PRIVATE = 0,
    ACCEL__SPACE_GLOBAL,
    ACCEL__SPACE_CONSTANT,
    ACCEL__SPACE_LOCAL
} accel__space;

typedef enum accel__type_kind {
    ACCEL__TYPE_VOID = 0,
    ACCEL__TYPE_BOOL, /* from here to DOUBLE: scalars, integers in order of rank */
    ACCEL__TYPE_CHAR,
    ACCEL__TYPE_UCHAR,
    ACCEL__TYPE_SHORT,
    ACCEL__TYPE_USHORT,
    ACCEL__TYPE_INT,
    ACCEL__TYPE_UINT,
    ACCEL__TYPE_LONG,
    ACCEL__TYPE_ULONG,
    ACCEL__TYPE_HALF, /* only behind pointers */
    ACCEL__TYPE_FLOAT,
    ACCEL__TYPE_DOUBLE,
    ACCEL__TYPE_VECTOR,
    ACCEL__TYPE_POINTER,
    ACCEL__TYPE_ARRAY,
    ACCEL__TYPE_RECORD
} accel__type_kind;

enum { ACCEL__QUALIFIER_CONST = 1, ACCEL__QUALIFIER_VOLATILE = 2, ACCEL__QUALIFIER_RESTRICT = 4 };

typedef struct accel__type accel__type;
typedef struct accel__record accel__record;
typedef struct accel__symbol accel__symbol;
typedef struct accel__node accel__node;

/* Immutable. A variable's type carries the space it lives in; a pointer's base that of the pointee. */
struct accel__type {
    uint8_t kind;
    uint8_t qualifiers;
    uint8_t space;
    uint8_t depth;           /* of `base` below this one */
    uint64_t count;          /* lanes of a vector, elements of an array (0: unknown) */
    const accel__type *base; /* of vectors, pointers, arrays */
    accel__record *record;
};

typedef struct accel__field {
    const char *name;
    const accel__type *type;
    struct accel__field *next;
} accel__field;

struct accel__record {
    const char *tag; /* NULL: none */
    uint32_t id;
    bool is_union;
    bool complete;
    size_t size;
    size_t alignment;
    accel__field *fields;
    accel__record *next; /* all records of the program, in order */
};

typedef enum accel__symbol_kind {
    ACCEL__SYMBOL_VARIABLE = 1,
    ACCEL__SYMBOL_PARAM,
    ACCEL__SYMBOL_FUNCTION,
    ACCEL__SYMBOL_TYPEDEF,
    ACCEL__SYMBOL_ENUMERATOR
} accel__symbol_kind;

/* How a variable of a kernel lives when its body runs in regions (emit_cpu/plan.h). */
typedef enum accel__storage {
    ACCEL__STORAGE_REGION = 0, /* a C variable inside one region */
    ACCEL__STORAGE_UNIFORM,    /* one scalar for the whole block */
    ACCEL__STORAGE_PURE,       /* recomputed in each region */
    ACCEL__STORAGE_ITEMS,      /* an array over work-items */
    ACCEL__STORAGE_BLOCK       /* local memory */
} accel__storage;

struct accel__symbol {
    uint8_t kind;
    bool is_kernel;
    bool is_defined;
    bool is_program_scope;
    bool is_inner;    /* see accel__inner */
    bool uses_items;  /* functions: calls a work-item function, also through others */
    bool has_barrier; /* functions: likewise */
    bool has_atomics; /* functions: likewise; fences too */
    bool visiting;    /* search for recursion */
    bool visited;
    const char *name;
    const accel__type *type; /* of a function: what it returns */
    uint32_t id;             /* unique in the program */
    uint32_t file, line;
    int64_t value;         /* of an enumerator */
    accel__node *init;     /* of a variable, NULL: none */
    accel__symbol *params; /* of a function; linked by next_param */
    uint32_t param_count;
    accel__symbol *next_param;
    accel__node *body;
    uint32_t required_block[3];
    accel__symbol *next; /* functions and program-scope variables in order of definition */
    accel__symbol *copy; /* while a function is inlined: its variable in the copy */

    /* the plan of a kernel (emit_cpu/plan.h) */
    uint8_t storage;
    bool varies;         /* may differ between the items of a block */
    bool escapes;        /* its address outlives the expression that takes it */
    bool odd_assignment; /* assigned inside a larger expression, or in part */
    bool address_taken;
    bool is_spread;       /* named in several regions, or in the skeleton */
    bool is_hoisted;      /* declared where its one region begins */
    bool needed;          /* while a region is written */
    uint32_t assignments; /* the initialiser not counted */
    uint32_t used_in;     /* the one region that names it */
    uint32_t used_loop;   /* and the innermost skeleton loop around that */
    uint32_t declared_in, declared_loop;
    uint32_t scope_begin, scope_end;
};

typedef enum accel__node_kind {
    /* expressions */
    ACCEL__NODE_INTEGER = 1, /* value */
    ACCEL__NODE_FLOAT,       /* text: a C spelling */
    ACCEL__NODE_NAME,        /* symbol */
    ACCEL__NODE_UNARY,       /* op a */
    ACCEL__NODE_STEP,        /* ++ and --; postfix where flag is set */
    ACCEL__NODE_BINARY,      /* a op b */
    ACCEL__NODE_ASSIGN,      /* a op= b; op 0: plain */
    ACCEL__NODE_CONDITION,   /* a ? b : c */
    ACCEL__NODE_COMMA,       /* a, b */
    ACCEL__NODE_INDEX,       /* a[b] */
    ACCEL__NODE_MEMBER,      /* a.field, a->field where flag is set */
    ACCEL__NODE_SWIZZLE,     /* a.xyzw: lanes in `lanes`, count in value */
    ACCEL__NODE_CAST,        /* (type)a */
    ACCEL__NODE_VECTOR,      /* (float4)(list a) */
    ACCEL__NODE_CALL,        /* symbol(list a) */
    ACCEL__NODE_BUILTIN,     /* builtin(list a) */
    ACCEL__NODE_LIST,        /* { list a } as an initialiser */
    /* statements */
    ACCEL__NODE_BLOCK,      /* list a */
    ACCEL__NODE_DECLARE,    /* symbol, with its init */
    ACCEL__NODE_EXPRESSION, /* a */
    ACCEL__NODE_IF,         /* a ? b : c */
    ACCEL__NODE_FOR,        /* a: statement, b: condition, c: step, d: body */
    ACCEL__NODE_WHILE,      /* b: condition, d: body */
    ACCEL__NODE_DO,         /* d: body, b: condition */
    ACCEL__NODE_SWITCH,     /* b: condition, d: body */
    ACCEL__NODE_CASE,       /* value; no statement of its own */
    ACCEL__NODE_DEFAULT,
    ACCEL__NODE_BREAK, /* target after planning */
    ACCEL__NODE_CONTINUE,
    ACCEL__NODE_RETURN, /* a, may be NULL */
    ACCEL__NODE_BARRIER,
    ACCEL__NODE_GUARD, /* items for which a (negated where flag is set) is false take no part */
    ACCEL__NODE_INLINE /* an inlined function: body d, result symbol (NULL: void) */
} accel__node_kind;

struct accel__node {
    uint8_t kind;
    bool flag;
    char op[4]; /* as written: "+", "<<", "&&" */
    uint16_t depth;
    uint32_t file, line;
    const accel__type *type;
    accel__symbol *symbol;
    const accel__builtin *builtin;
    const accel__field *field;
    const char *text;
    uint64_t value;
    uint8_t lanes[16];
    accel__node *a, *b, *c, *d;
    accel__node *next; /* in the list this node is part of */

    /* the plan of a kernel */
    bool masked_continue;      /* loop: continued by some items before others */
    bool flush;                /* statement: what was gathered before it must run before it */
    bool once;                 /* statement: assigns a uniform variable, once for the block */
    bool silent;               /* statement: a declaration that needs no code where it stands */
    bool skeleton;             /* statement: runs once for the block, its parts in regions */
    bool uniform_exit;         /* break, continue, return: all items take it */
    bool diverges;             /* statement with a condition that items may not share */
    bool masked_exits;         /* loop, inlined function: left by some items before others */
    uint32_t entry_depth;      /* loops, inlined functions: see emit_cpu/uniform.c */
    uint32_t region;           /* leaf statement: the region it is part of */
    uint32_t condition_region; /* of loops and branches; 0: uniform */
    uint32_t label;            /* loops, inlined functions: names of their jump targets */
    uint32_t position;
    accel__node *target; /* break, continue, return: what it leaves */
};

/* A division of integers, with the places of its tokens, for dialects that keep the source's text. */
typedef struct accel__division {
    const accel__node *node;      /* BINARY or ASSIGN */
    size_t begin, op, end;        /* the first token, the operator, the last token */
    struct accel__division *next; /* inner ones come before outer ones */
} accel__division;

/* A declaration that OpenCL C has further out only: of __local variables in a block of a kernel, of
 * __constant ones in a function. Its tokens, `;` the last, and where it may stand: behind the token
 * `place` (local), or before it. */
typedef struct accel__inner {
    size_t begin, end, place;
    bool is_local;
    struct accel__inner *next;
} accel__inner;

/* A token that names a variable of such a declaration. */
typedef struct accel__inner_name {
    size_t token;
    uint32_t id; /* the variable's */
    struct accel__inner_name *next;
} accel__inner_name;

struct accel__program {
    accel__arena arena;
    const accel__unit *unit;
    accel__symbol *first, *last; /* functions and program-scope variables */
    accel__record *first_record, *last_record;
    accel__division *first_division, *last_division;
    accel__inner *inner; /* the last one first; so with the names */
    accel__inner_name *inner_names;
    accel__signature *kernels;
    accel__symbol **kernel_symbols;
    uint32_t kernel_count;
    uint32_t next_id;
    bool uses_double;
};

/* Calls `visit` on each child of `node` that is there, in order of evaluation as far as C fixes it
 * (tree/walk.c). A list is visited element by element; a DECLARE's child is its initialiser. */
void accel__walk_children(accel__node *node, void (*visit)(accel__node *child, void *context),
                          void *context);

/* True where `node` is an integer constant expression; its value as that of its type (tree/constant.c). */
bool accel__constant_integer(const accel__node *node, int64_t *out_value);

/* ---- types (tree/type.c) ---- */

const accel__type *accel__type_scalar(accel__type_kind kind);
bool accel__type_is_integer(const accel__type *type);
bool accel__type_is_floating(const accel__type *type);
bool accel__type_is_arithmetic(const accel__type *type); /* a scalar */
bool accel__type_is_scalar(const accel__type *type);     /* arithmetic or pointer */
bool accel__type_is_signed(const accel__type *type);
bool accel__type_same(const accel__type *a, const accel__type *b); /* but for outer qualifiers */
size_t accel__type_size(const accel__type *type);                  /* 0: void or incomplete */
size_t accel__type_alignment(const accel__type *type);
accel_data_type accel__type_data_type(const accel__type *type);
accel__type_kind accel__type_promoted(accel__type_kind kind);
accel__type_kind accel__type_common(accel__type_kind a, accel__type_kind b);
/* As a user writes it: "__global const float *". */
void accel__type_describe(const accel__type *type, accel__text *out_text);

#endif
