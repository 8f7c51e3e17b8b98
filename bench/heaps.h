/* SPDX-License-Identifier: MIT
 * heaps.h: what is done to an allocator in the rows of memory.c, the same for every one of them. Also in
 * heap_child.c, for allocators that want a process of their own.
 */
#ifndef BENCH_HEAPS_H
#define BENCH_HEAPS_H

#include <stddef.h>

typedef struct bench_heap {
    void *(*take)(size_t size); /* NULL: none is left */
    void (*give)(void *memory);
} bench_heap;

#define BENCH_HEAP_THREADS_MAX 2

/* Nanoseconds for taking and giving back one piece of `size` bytes, on each of `threads` threads at
 * once. NAN: the heap gave none. */
double bench_heap_pairs(const bench_heap *heap, size_t size, unsigned threads);

/* Nanoseconds for giving back one of 1000 pieces and taking another for it; sizes between 512 bytes and
 * 16 MiB, evenly over their logarithm. */
double bench_heap_replace(const bench_heap *heap);

#endif
