/* unwind.h: how to step from a function to its caller at each place in the code, by the unwind
 * tables that every program on x86-64 has. What the tables say of a place is read once and
 * remembered, so that a step costs a few nanoseconds. Called by stack.c. */
#ifndef ACCEL_MEMORY_HISTORY_UNWIND_H
#define ACCEL_MEMORY_HISTORY_UNWIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

/* Where the caller's frame begins (the canonical frame address, CFA: the return address lies 8
 * bytes below it, and it is the caller's stack pointer). */
typedef enum accel__unwind_kind {
    ACCEL__UNWIND_UNKNOWN = 0, /* no table, or one that says more than this file reads */
    ACCEL__UNWIND_BY_STACK,    /* CFA = rsp + offset */
    ACCEL__UNWIND_BY_FRAME,    /* CFA = rbp + offset */
    ACCEL__UNWIND_REALIGNED,   /* CFA = what lies at rbp - offset; the caller's rbp lies at rbp */
    ACCEL__UNWIND_END          /* there is no caller */
} accel__unwind_kind;

/* One word: 35 bits that tell the place from others, kind (3), offset / 8 (14), and, where the
 * caller's rbp was saved, how far below the CFA / 8 (12), else 0. */
typedef uint64_t accel__unwind_row;

static inline accel__unwind_kind accel__unwind_kind_of(accel__unwind_row row)
{
    return (accel__unwind_kind)(row >> 26 & 7u);
}

static inline uintptr_t accel__unwind_offset(accel__unwind_row row)
{
    return (row >> 12 & 0x3fffu) * 8;
}

static inline uintptr_t accel__unwind_saved(accel__unwind_row row)
{
    return (row & 0xfffu) * 8;
}

enum { ACCEL__UNWIND_BITS = 12 }; /* of the number of remembered places */

extern _Atomic(accel__unwind_row) accel__unwind_rows[1 << ACCEL__UNWIND_BITS];

/* Reads the tables. Takes a lock of the loader. */
accel__unwind_row accel__unwind_read(uintptr_t place);

/* The row for a place in the code; for a caller that is its return address less 1. */
static inline accel__unwind_row accel__unwind_at(uintptr_t place)
{
    const accel__unwind_row row = atomic_load_explicit(
        &accel__unwind_rows[place & ((1u << ACCEL__UNWIND_BITS) - 1)], memory_order_relaxed);
    return __builtin_expect(row >> 29 == place >> ACCEL__UNWIND_BITS, true)
               ? row
               : accel__unwind_read(place);
}

/* Forgets everything: libraries may have been unloaded, and others be in their place. */
void accel__unwind_forget(void);

#endif

#endif
