/* policy.h: the sizes and limits that decide how well memory is used, and nothing else. They were found by
 * simulating recorded runs (bench/README.md): against the rules of PyTorch's allocator they need fewer
 * calls of the driver and waste less. */
#ifndef ACCEL_MEMORY_HEAP_POLICY_H
#define ACCEL_MEMORY_HEAP_POLICY_H

#include "memory/config.h"
#include "memory/heap/segment.h"

enum {
    ACCEL__POLICY_PAGE = 2 * 1024 * 1024 /* what the sizes of segments are multiples of */
};

/* Whether a free block of `size` bytes may serve `rounded` bytes at all: settings can keep large blocks of
 * fixed segments whole. */
bool accel__policy_accepts(const accel__segment *segment, size_t rounded, size_t size);

/* Whether what is left over of a block becomes a block. */
bool accel__policy_splits(const accel__heap *heap, const accel__segment *segment, size_t rounded,
                          size_t size);

/* Whether a slab stays though no block of it is handed out; accel__slabs_close closes it all the same. */
bool accel__policy_keeps(const accel__segment *slab);

/* The size of a new fixed segment for a request: the wanted one. The least is `rounded` itself. */
size_t accel__policy_segment(const accel__heap *heap, size_t rounded, bool is_slab);

/* Between the two: no chunk for others, but still whole pages. */
size_t accel__policy_segment_bare(size_t rounded);

/* Bytes that may be reserved by fixed segments before free ones are given back. */
size_t accel__policy_fixed_budget(const accel__heap *heap);

/* Bytes that a growing heap may reserve before it takes memory from free pages elsewhere; `live`: bytes
 * that will be in use then. */
size_t accel__policy_budget(const accel__heap *heap, size_t live);

/* Bytes that growing adds beyond the need, so that the next need is there already. */
size_t accel__policy_ahead(const accel__heap *heap);

/* Whether pages may be taken from elsewhere now: not too often, or a use that swings would spend its time
 * at the driver. And that it was done, once. */
bool accel__policy_may_steal(accel__heap *heap);
void accel__policy_stole(accel__heap *heap);

#endif
