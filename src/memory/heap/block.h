/* block.h: a piece of a segment, the unit in which device memory is handed out.
 *
 * Every byte of a segment that has memory behind it belongs to exactly one block, and every block is in
 * the map of addresses (core/pointers.h) from its making to its end, whatever its state: free in a
 * lane's bins, cached in a thread's magazine, live, or waiting for streams. The map is changed by splits
 * and merges alone. A block begins at a multiple of 512 and its size is one.
 *
 * The memory of the structures is never given back while the process lives and never becomes anything
 * else, so that a reader of the map may look at a block that another thread ends at that moment: it
 * sees a block that is not live.
 *
 * Who may touch what: while a block is in the bins, all of it is the heap's, under its lock. Handed out,
 * `size`, `lane` and `segment` are constant, `before`, `after` stay the heap's, and all else is the
 * caller's (a magazine, the program's allocation, the list of those that wait). */
#ifndef ACCEL_MEMORY_HEAP_BLOCK_H
#define ACCEL_MEMORY_HEAP_BLOCK_H

#include <stddef.h>

#include "core/pointers.h"

enum {
    ACCEL__BLOCK_UNIT = 512,         /* bytes: what begins and sizes are multiples of */
    ACCEL__SMALL_SIZE = 1024 * 1024, /* rounded sizes up to this are of the small kind */
    ACCEL__SLAB_SIZE = 1024 *
                       1024 /* pieces of the large kind that blocks of the small one lie in */
};

typedef enum accel__block_kind { ACCEL__BLOCK_SMALL = 0, ACCEL__BLOCK_LARGE = 1 } accel__block_kind;

struct accel__lane;
struct accel__segment;
struct accel__mark;

/* Two cache lines, side by side: of neighbours the heap needs the second when it cuts and merges. */
typedef struct accel__block {
    /* First: the map hands it back. begin; size as asked while it is live. */
    _Alignas(128) accel__range range;
    uint64_t stamp; /* of the lane's epochs, that in which it was last used (lane.c) */

    size_t size; /* all of it */
    struct accel__lane *lane;
    struct accel__segment *segment;
    struct accel__block *before; /* its neighbours in the segment, by address */
    struct accel__block *after;
    struct accel__block *bin_after; /* links of the list that it is in: a bin, a magazine, … */
    union {
        struct accel__block *bin_before; /* in the bins */
        struct accel__mark *uses;        /* handed out: recorded streams; NULL nearly always */
        struct accel__segment *slab;     /* is_slab: the one whose memory this block is */
    };
    _Atomic(uint32_t) history; /* id of the recorded stack; 0: none. Snapshots read it meanwhile */
    bool is_oversize;          /* counted as such, by the settings when it was handed out */
    bool is_free;              /* in the bins; this and the rest are the heap's */
    /* It has memory behind it; false only inside growable segments, and then it is in no map and no bin. */
    bool is_mapped : 1;
    bool is_claimed : 1; /* a thread is at the driver with it: nobody else may use it or merge it */
    bool is_slab : 1;    /* never free, and not in the map: the slab's blocks are, in its place */
} accel__block;

_Static_assert(sizeof(accel__block) == 128 && offsetof(accel__block, size) == 64, "two lines");

/* Where blocks come from; the heap's lock guards its own store. */
typedef struct accel__block_store {
    accel__block *spare; /* linked by bin_after */
    size_t count;
} accel__block_store;

bool accel__block_reserve_slow(accel__block_store *store, size_t count);

/* Makes sure that `count` blocks can be drawn. False: no host memory, nothing changed. */
static inline bool accel__block_reserve(accel__block_store *store, size_t count)
{
    return __builtin_expect(store->count >= count, true) || accel__block_reserve_slow(store, count);
}

/* One of those, zeroed but for what readers of the map may still look at. */
static inline accel__block *accel__block_draw(accel__block_store *store)
{
    accel__block *block = store->spare;
    store->spare = block->bin_after;
    store->count--;
    block->before = block->after = block->bin_after = NULL;
    block->uses = NULL;
    atomic_store_explicit(&block->history, 0, memory_order_relaxed);
    block->is_free = block->is_mapped = block->is_claimed = block->is_slab = false;
    return block;
}

/* Back to the store. It is in no map and no list. */
static inline void accel__block_recycle(accel__block_store *store, accel__block *block)
{
    block->bin_after = store->spare;
    store->spare = block;
    store->count++;
}

/* All spare blocks to the process's common store: the heap ends. */
void accel__block_store_close(accel__block_store *store);

static inline accel__block_kind accel__block_kind_of_size(size_t rounded)
{
    return rounded <= ACCEL__SMALL_SIZE ? ACCEL__BLOCK_SMALL : ACCEL__BLOCK_LARGE;
}

#endif
