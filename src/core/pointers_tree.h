/* pointers_tree.h: the nodes of the address map, for pointers.c and for the one look-up that is made so often that
 * it is compiled into its caller. */
#ifndef ACCEL_CORE_POINTERS_TREE_H
#define ACCEL_CORE_POINTERS_TREE_H

#include "core/pointers.h"

enum {
    ACCEL__TREE_CELL_BITS = 9, /* ACCEL_MEMORY_ALIGNMENT */
    ACCEL__TREE_LEAF_BITS = 11,
    ACCEL__TREE_BRANCH_BITS = 13,
    ACCEL__TREE_ROOT_BITS = 15,
    ACCEL__TREE_WORD = 64
};

typedef _Atomic(uint64_t) accel__tree_word;

/* A set of numbers below 1 << bits: `words`, and in `summary` a bit for each of them that is not 0. */
#define ACCEL__TREE_SET(bits)                                                                      \
    struct {                                                                                       \
        accel__tree_word words[(1u << (bits)) / ACCEL__TREE_WORD];                                 \
        accel__tree_word summary[((1u << (bits)) / ACCEL__TREE_WORD + 63) / ACCEL__TREE_WORD];     \
    }

typedef struct accel__tree_leaf {
    _Atomic(accel__range *) cells[1u << ACCEL__TREE_LEAF_BITS];
    ACCEL__TREE_SET(ACCEL__TREE_LEAF_BITS) set;
} accel__tree_leaf;

typedef struct accel__tree_branch {
    _Atomic(accel__tree_leaf *) leaves[1u << ACCEL__TREE_BRANCH_BITS];
    ACCEL__TREE_SET(ACCEL__TREE_BRANCH_BITS) set;
} accel__tree_branch;

typedef struct accel__tree_root {
    _Atomic(accel__tree_branch *) branches[1u << ACCEL__TREE_ROOT_BITS];
    ACCEL__TREE_SET(ACCEL__TREE_ROOT_BITS) set;
} accel__tree_root;

extern accel__tree_root accel__tree __attribute__((visibility("hidden")));

static inline size_t accel__tree_in_leaf(uintptr_t address)
{
    return address >> ACCEL__TREE_CELL_BITS & ((1u << ACCEL__TREE_LEAF_BITS) - 1);
}

static inline size_t accel__tree_in_branch(uintptr_t address)
{
    return address >> (ACCEL__TREE_CELL_BITS + ACCEL__TREE_LEAF_BITS) &
           ((1u << ACCEL__TREE_BRANCH_BITS) - 1);
}

/* Addresses beyond 2^48 share the places of those below: they are never entered. */
static inline size_t accel__tree_in_root(uintptr_t address)
{
    return address >> (ACCEL__TREE_CELL_BITS + ACCEL__TREE_LEAF_BITS + ACCEL__TREE_BRANCH_BITS) &
           ((1u << ACCEL__TREE_ROOT_BITS) - 1);
}

/* NULL: nothing is entered near the address. */
static inline accel__tree_leaf *accel__tree_leaf_of(uintptr_t address)
{
    accel__tree_branch *above = atomic_load_explicit(
        &accel__tree.branches[accel__tree_in_root(address)], memory_order_acquire);
    return __builtin_expect(above != NULL, true)
               ? atomic_load_explicit(&above->leaves[accel__tree_in_branch(address)],
                                      memory_order_acquire)
               : NULL;
}

/* The range that begins at `begin`; NULL: there is none, or it takes a longer look to find it
 * (accel__pointers_at). */
static inline accel__range *accel__pointers_at_once(const void *begin)
{
    const uintptr_t address = (uintptr_t)begin;
    accel__tree_leaf *leaf = accel__tree_leaf_of(address);
    if (__builtin_expect(leaf == NULL, false))
        return NULL;
    accel__range *range = atomic_load_explicit(&leaf->cells[accel__tree_in_leaf(address)],
                                               memory_order_acquire);
    return __builtin_expect(range != NULL && accel__range_begin(range) == address, true) ? range
                                                                                         : NULL;
}

#endif
