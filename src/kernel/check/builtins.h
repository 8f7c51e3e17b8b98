/* builtins.h: the one table of the functions that portable source may call, and of the constants it
 * may name. A function that is not here, and that the source does not define, is an error. */
#ifndef ACCEL_KERNEL_BUILTINS_H
#define ACCEL_KERNEL_BUILTINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function takes and gives. T is the type the arguments share (they must not differ). */
typedef enum accel__builtin_rule {
    ACCEL__RULE_REFUSED = 0,    /* known, outside of version 1; c_name says why */
    ACCEL__RULE_ITEM,           /* size_t (uint dimension) */
    ACCEL__RULE_DIMENSIONS,     /* uint (void) */
    ACCEL__RULE_BARRIER,        /* void (flags) */
    ACCEL__RULE_FENCE,          /* void (flags) */
    ACCEL__RULE_FLOAT,          /* T (T, …), T floating */
    ACCEL__RULE_FLOAT_INT,      /* T (T, int) */
    ACCEL__RULE_FLOAT_TO_INT,   /* int (T) */
    ACCEL__RULE_FLOAT_OUT,      /* T (T, T *) */
    ACCEL__RULE_FLOAT_OUT_INT,  /* T (T, int *) */
    ACCEL__RULE_FLOAT2_OUT_INT, /* T (T, T, int *) */
    ACCEL__RULE_NAN,            /* float (uint), double (ulong) */
    ACCEL__RULE_TEST,           /* int (T, …), T floating */
    ACCEL__RULE_INTEGER,        /* T (T, …), T integer */
    ACCEL__RULE_ABSOLUTE,       /* unsigned T (T, …), T integer */
    ACCEL__RULE_NUMBER,         /* T (T, …), T any number */
    ACCEL__RULE_INT24,          /* T (T, …), T int or uint */
    ACCEL__RULE_UPSAMPLE,       /* wider T (T, unsigned T) */
    ACCEL__RULE_SELECT,         /* T (T, T, integer of T's size) */
    ACCEL__RULE_TRUTH,          /* int (T), T signed integer */
    ACCEL__RULE_ATOMIC,         /* T (volatile T *, T), T int or uint */
    ACCEL__RULE_ATOMIC_FLOAT,   /* the same, or float */
    ACCEL__RULE_ATOMIC_ONE,     /* T (volatile T *) */
    ACCEL__RULE_ATOMIC_TWO,     /* T (volatile T *, T, T) */
    ACCEL__RULE_DOT,            /* element of T (T, …), T floating */
    ACCEL__RULE_CROSS,          /* T (T, T), three or four lanes */
    ACCEL__RULE_VLOAD,          /* vector of value lanes (size_t, const T *) */
    ACCEL__RULE_VSTORE,         /* void (vector, size_t, T *) */
    ACCEL__RULE_LOAD_HALF,      /* float (size_t, const half *) */
    ACCEL__RULE_STORE_HALF,     /* void (float, size_t, half *) */
    ACCEL__RULE_CONVERT,        /* the named type (any number); not in the table */
    ACCEL__RULE_AS              /* the named type (same size); not in the table */
} accel__builtin_rule;

typedef struct accel__builtin {
    const char *name;
    uint8_t rule;
    uint8_t arg_count;
    uint8_t value; /* lanes of vload and vstore; which of the work-item functions */
    const char
        *c_name; /* compiler builtin without its type suffix; NULL: a function of our prelude */
} accel__builtin;

/* Which work-item function: the value of ACCEL__RULE_ITEM. */
enum {
    ACCEL__ITEM_GLOBAL_ID = 0,
    ACCEL__ITEM_LOCAL_ID,
    ACCEL__ITEM_GROUP_ID,
    ACCEL__ITEM_GLOBAL_SIZE,
    ACCEL__ITEM_LOCAL_SIZE,
    ACCEL__ITEM_NUM_GROUPS,
    ACCEL__ITEM_GLOBAL_OFFSET
};

typedef struct accel__constant {
    const char *name;
    const char *spelling; /* in C; NULL: an integer of `value` */
    uint8_t type;         /* accel__type_kind; VOID: the null pointer */
    uint64_t value;
} accel__constant;

/* NULL where there is none. `name` need not end with NUL. */
const accel__builtin *accel__builtin_find(const char *name, size_t size);
const accel__constant *accel__constant_find(const char *name, size_t size);

/* No effect but its result, which depends on nothing but its arguments (and the work-item). */
bool accel__builtin_is_pure(const accel__builtin *builtin);
bool accel__builtin_is_atomic(const accel__builtin *builtin);

#endif
