/* plan.h: how the body of a kernel runs over the work-items of a block.
 *
 * The body (a copy, with functions that hold barriers inlined) is cut at its barriers: what must run
 * once for the block is the skeleton, everything between runs in regions, each a loop over the
 * work-items. Variables used in one region stay C variables in it; those that all items agree on
 * become one scalar; functions of the work-item's ids are computed anew in each region; the others
 * become arrays over work-items.
 *
 * Flat kernels (no barriers) run over rows of work-items, across blocks where nothing names the
 * block; loops that all items run alike become skeleton there too, so that the loop over work-items
 * is the inner one and turns into vector code.
 *
 * Where items may leave a loop, a function or the kernel one by one, a state byte per item says who
 * takes part (masks). */
#ifndef ACCEL_KERNEL_EMIT_CPU_PLAN_H
#define ACCEL_KERNEL_EMIT_CPU_PLAN_H

#include "kernel/emit_cpu/emit_cpu.h"

#define ACCEL__STRIP 256    /* items of a row that share arrays on the stack */
#define ACCEL__RETURNED 255 /* the state of an item that has left the kernel */
#define ACCEL__MOST_STATES 250

typedef struct accel__assignment {
    accel__symbol *symbol;
    uint32_t position;
    struct accel__assignment *next;
} accel__assignment;

struct accel__plan {
    accel__symbol *kernel;
    accel__node *body;
    accel__symbol **variables; /* of the copy, in order of declaration */
    uint32_t variable_count;
    uint32_t variable_capacity;
    accel__assignment *assignments;
    uint32_t regions;  /* numbered from 1 */
    uint32_t position; /* while numbering */
    uint32_t labels;
    bool flat;
    bool has_barrier;
    bool has_atomics;   /* or fences: items may communicate, no loop is called independent */
    bool names_block;   /* asks for local or group ids, or has local memory */
    bool some_return;   /* some items return before others */
    bool names_rows;    /* asks for something of a dimension other than the first */
    bool return_mask;   /* and there are regions behind: their state says so */
    bool full_mask;     /* some items leave a loop or skip a branch before others */
    bool loads_uniform; /* a load from one address gives all items the same */
    bool strips;        /* flat, and some variables are arrays over a strip of items */
    bool changed;       /* during a search for a fixed point */
    uint32_t loops;     /* numbers skeleton loops */
    size_t item_bytes;  /* of arrays over work-items */
    uint32_t item_arrays;
    bool loops_inside_out;                  /* accel__plan_loops found some */
    size_t scratch_fixed, scratch_per_item; /* what a launch must provide */
};

/* Makes the plan of a kernel; leaves with an error where its barriers cannot be honoured. */
accel__plan *accel__plan_create(accel__emitter *emitter, accel__symbol *kernel);

/* emit_cpu/copy.c: copies the kernel's body, inlines functions with barriers, sets the targets of
 * jumps, lists the variables. */
void accel__plan_copy(accel__emitter *emitter, accel__plan *plan);

/* emit_cpu/guard.c: turns `if (id >= n) return;` at the head of the kernel into bounds of the box of
 * work-items. */
void accel__plan_guards(accel__emitter *emitter, accel__plan *plan);
void accel__emit_guard(accel__emitter *emitter, const accel__node *node);
/* Emits the bounds that `condition` puts on a region that consists of one `if`; false where it is
 * not of that form, nothing emitted. */
bool accel__emit_region_bounds(accel__emitter *emitter, const accel__node *condition);

/* emit_cpu/facts.c */
void accel__plan_facts(accel__emitter *emitter, accel__plan *plan);
/* The variable that an lvalue is, or is a part of; NULL: memory behind a pointer. */
accel__symbol *accel__plan_root(const accel__node *node);

/* emit_cpu/uniform.c */
void accel__plan_uniformity(accel__plan *plan);
bool accel__plan_varies(const accel__plan *plan, const accel__node *expression);
bool accel__plan_loads(const accel__node *expression);
bool accel__plan_is_plain(const accel__node *expression); /* no effect, no call of the user's */

/* emit_cpu/loop.c: marks the loops without barriers that are worth running as skeleton. */
void accel__plan_loops(accel__plan *plan);

/* emit_cpu/region.c: numbers the regions and decides where each variable lives. */
void accel__plan_regions(accel__plan *plan);
/* The id of a work-item that `init` is, behind casts; NULL: it is something else. */
const accel__node *accel__plan_id_of(const accel__node *init);

/* emit_cpu/index.c: neighbouring items use neighbouring elements, or all the same one. */
bool accel__emit_is_along_row(const accel__node *index);

/* emit_cpu/independent.c: for the statements of `region` in the list from `first` to `last`. */
bool accel__emit_is_independent(accel__node *first, accel__node *last, uint32_t region);

/* emit_cpu/skeleton.c */
void accel__emit_skeleton(accel__emitter *emitter, accel__node *list);
/* A jump inside of a region that leaves it; false: a plain C jump does. */
bool accel__emit_exit(accel__emitter *emitter, const accel__node *node);

#endif
