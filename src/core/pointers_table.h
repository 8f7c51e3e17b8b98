/* pointers_table.h: the table by which a range is found from the address where it begins, for pointers.c and for the
 * one look-up that is made so often that it is compiled into its caller. */
#ifndef ACCEL_CORE_POINTERS_TABLE_H
#define ACCEL_CORE_POINTERS_TABLE_H

#include "core/pointers.h"

enum {
    ACCEL__RANGES_CELL_BITS = 9,    /* ACCEL_MEMORY_ALIGNMENT */
    ACCEL__RANGES_GRANULE_BITS = 15 /* the chains of its 64 cells lie side by side */
};

/* Chains of ranges by the cell of 512 bytes that they begin in. */
typedef struct accel__range_table {
    size_t mask;
    int link; /* the one of a range's two links that the chains of this table go by */
    _Atomic(accel__range *) *heads;
    const struct accel__range_table *before; /* the one that it followed */
} accel__range_table;

/* The table that holds now. One that a larger one followed stays readable. */
extern _Atomic(const accel__range_table *) accel__ranges __attribute__((visibility("hidden")));

static inline _Atomic(accel__range *) *accel__ranges_head(const accel__range_table *table,
                                                          uintptr_t address)
{
    const uint64_t mixed = (uint64_t)(address >> ACCEL__RANGES_GRANULE_BITS) *
                           UINT64_C(0x9e3779b97f4a7c15);
    return &table->heads[(mixed >> 32 ^ address >> ACCEL__RANGES_CELL_BITS) & table->mask];
}

/* The range that begins at `begin`; NULL: there is none, or it takes another look to find it
 * (accel__pointers_at). */
static inline accel__range *accel__pointers_at_once(const void *begin)
{
    const accel__range_table *table = atomic_load_explicit(&accel__ranges, memory_order_acquire);
    accel__range *range = atomic_load_explicit(accel__ranges_head(table, (uintptr_t)begin),
                                               memory_order_acquire);
    while (range != NULL && __builtin_expect(accel__range_begin(range) != (uintptr_t)begin, false))
        range = atomic_load_explicit(&range->next[table->link], memory_order_acquire);
    return range;
}

#endif
