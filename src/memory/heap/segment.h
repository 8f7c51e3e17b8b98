/* segment.h: what heaps are made of. Heap, lane and segment are here for the files of the heap and for
 * those that walk it with its lock held (snapshots); all others use heap.h.
 *
 *   heap      the memory of one device for one pool, in one generation of the process
 *   segment   a fixed one is one allocation of the backend's, a growable one a reserved range of addresses
 *             of which parts have memory behind them; their blocks are of the large kind. A slab is a
 *             segment inside of one of those blocks, and its blocks are of the small kind: only the large
 *             kind asks the backend for memory
 *   lane      the free blocks of one heap that one stream may use at once
 *   block     a piece of a segment; blocks of several lanes may lie in one segment */
#ifndef ACCEL_MEMORY_HEAP_SEGMENT_H
#define ACCEL_MEMORY_HEAP_SEGMENT_H

#include "memory/heap/bins.h"
#include "platform/spin.h"

struct accel_memory_pool;
struct accel__statistics;
typedef struct accel__heap accel__heap;

typedef struct accel__segment {
    /* First the line that is touched with every block. */
    _Alignas(64) accel__heap *heap;
    accel__block_kind kind; /* SMALL: it is a slab */
    bool is_growable;
    bool has_splits;     /* what is free of it is a split for the statistics: its memory is fixed */
    bool is_oversize;    /* counted as such, by the settings at its making */
    bool is_uncached;    /* given back once it is free and passed */
    accel__block *host;  /* the block that a slab lies in; else NULL */
    size_t size;         /* from `begin`; of a growable one the addresses */
    size_t busy_count;   /* blocks that are not free */
    uint64_t idle_since; /* where there are none: the heap's count of searches at that */
    size_t block_count;  /* blocks that have memory */
    uint64_t number;     /* how many the heap had made before, and this one; a slab's: its host's */

    struct accel__segment *next; /* in the heap's list */
    struct accel__segment *previous;
    uintptr_t begin;     /* the backend's pointer, or where the reserved range begins */
    size_t mapped;       /* bytes with memory behind them; all of a fixed one */
    size_t granularity;  /* growable: memory comes and goes in multiples of this; else 0 */
    accel__block *first; /* lowest; of a growable one also those without memory are in the chain */
    accel__block *holes; /* growable: those, by address, but for claimed ones (by bin_after) */
    uint64_t stream;     /* id of the stream it was made for */
    uint32_t history;    /* id of the stack at its making, or last growth */
} accel__segment;

typedef struct accel__lane {
    accel__heap *heap;
    _Atomic(accel_stream *) stream; /* held; NULL once the lane is retired */
    _Atomic(uint64_t) id;           /* of the stream: no other stream of the process ever has it */
    uint64_t key;                   /* no other use of a lane, this one or another, ever has it */
    size_t place;                   /* of the stream */
    struct accel__lane *next;       /* in the heap's list, which only grows */
    bool is_closing;                /* the program gave the stream up */
    size_t busy_count;              /* blocks of it that are not in the bins */

    /* Adoption: blocks whose stamp is below `passed` have been passed by the stream. */
    uint64_t epoch;
    uint64_t passed;
    uint64_t marked; /* what `passed` becomes once `mark` is done; 0: no mark is pending */
    accel_native_event *mark;
    bool is_marking; /* a thread is at the driver with `mark` */

    accel__bins bins[2]; /* by kind */
} accel__lane;

static inline bool accel__lane_has_free(const accel__lane *lane)
{
    return !accel__bins_are_empty(&lane->bins[0]) || !accel__bins_are_empty(&lane->bins[1]);
}

/* What a pool asks for, and where its memory comes from. */
typedef struct accel__heap_options {
    struct accel_memory_pool *pool; /* NULL: the device's default heap */
    bool no_split;                  /* a block is handed out whole */
    bool use_on_oom;                /* others may take from its free blocks before they fail */
    bool never_grow;                /* fixed segments, whatever the settings say */
    /* The user's own allocator; NULL: the backend. Called without locks. */
    accel_status (*source_alloc)(void *user, size_t size, size_t alignment, void **out_pointer);
    void (*source_free)(void *user, void *pointer, size_t size);
    void *source_user;
    uint64_t id[2]; /* of the pool, as snapshots show it; 0, 0: the default */
} accel__heap_options;

typedef struct accel__heap_kind {
    accel__segment *segments; /* newest first */
    size_t reserved;          /* bytes, of all segments; those of slabs lie in the other kind's */
    size_t free_bytes;        /* in the bins of all lanes */
    size_t split_count;       /* free blocks of fixed segments that are not all of their segment */
    size_t split_bytes;
    bool is_untold;    /* the statistics do not know of these two: */
    size_t told_count; /* but that they were this */
    size_t told_bytes;
} accel__heap_kind;

struct accel__heap {
    accel__device *device;
    accel__heap *next; /* in the list of all heaps of the device, which only grows */
    _Atomic(uint32_t) generation;
    _Atomic(bool) is_gone; /* destroyed; waits to be used again */
    accel__heap_options options;
    /* Guards everything below and all segments, lanes and free blocks. No call of a driver or of the
     * program is made while it is held. Order: after the mutexes of pools and of the device's memory;
     * before those of the address map, the statistics and the block store. */
    accel__spin spin;
    _Atomic(accel__lane *) lanes; /* walked without the lock; made under it */
    bool is_closed;               /* it ends, or has ended: no lane is opened any more */
    accel__heap_kind kinds[2];
    accel__block_store blocks;
    struct accel__statistics *statistics; /* of the device: there are some before there is a heap */
    uint64_t searches;
    uint64_t looks;          /* at it, in the invariants preset */
    uint64_t segment_number; /* the newest segment's */
    size_t busy_count;       /* blocks that are not in the bins */
    size_t leaving;          /* segments and pages on their way to the source, without the lock */
    size_t peak_live;        /* bytes that were not in the bins */
    size_t peak_reserved;
    uint64_t steals_at; /* `searches` when the tokens were counted last (policy.c) */
    uint64_t steal_spent;
};

/* Bytes that came from the source, and of those the ones that are not in the bins. With the lock held. */
static inline size_t accel__heap_reserved(const accel__heap *heap)
{
    return heap->kinds[ACCEL__BLOCK_LARGE].reserved;
}

static inline size_t accel__heap_live(const accel__heap *heap)
{
    return accel__heap_reserved(heap) - heap->kinds[0].free_bytes - heap->kinds[1].free_bytes;
}

/* ---- walking a segment that is no slab: its blocks, and those of slabs in place of the block that such a
 * one lies in. With the lock held. ---- */

static inline const accel__block *accel__piece_of(const accel__block *block)
{
    return block != NULL && block->is_slab ? block->slab->first : block;
}

static inline const accel__block *accel__piece_first(const accel__segment *segment)
{
    return accel__piece_of(segment->first);
}

static inline const accel__block *accel__piece_after(const accel__block *piece)
{
    if (piece->after == NULL && piece->segment->host != NULL)
        piece = piece->segment->host;
    return accel__piece_of(piece->after);
}

#endif
