/* SPDX-License-Identifier: MIT */
#include "heaps.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 50000, LIVE = 1000, SIZES = 4096 };

/* Replacing takes longer than the system lets a process run while others wait: it is measured in parts, of which the
 * median counts. */
enum { PARTS = 25, REPLACEMENTS = 2000 /* of a part */ };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- pairs ---- */

typedef struct pairs {
    const bench_heap *heap;
    size_t size;
    pthread_barrier_t *barrier;
    double elapsed; /* NAN: the heap gave none */
} pairs;

static bool do_pairs(const pairs *of, int count)
{
    const bench_heap heap = *of->heap;
    for (int i = 0; i < count; i++) {
        void *memory = heap.take(of->size);
        if (memory == NULL)
            return false;
        heap.give(memory);
    }
    return true;
}

static void *run_pairs(void *user)
{
    pairs *of = user;
    bool good = do_pairs(of, PAIRS / 10);
    pthread_barrier_wait(of->barrier);
    const double begin = now();
    good = good && do_pairs(of, PAIRS);
    of->elapsed = good ? now() - begin : (double)NAN;
    pthread_barrier_wait(of->barrier); /* none ends while another is measured */
    return NULL;
}

double bench_heap_pairs(const bench_heap *heap, size_t size, unsigned threads)
{
    pthread_t started[BENCH_HEAP_THREADS_MAX];
    pairs each[BENCH_HEAP_THREADS_MAX];
    pthread_barrier_t barrier;
    double sum = 0;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        each[i] = (pairs){.heap = heap, .size = size, .barrier = &barrier};
    for (unsigned i = 1; i < threads; i++)
        if (pthread_create(&started[i], NULL, run_pairs, &each[i]) != 0)
            return (double)NAN; /* what has begun waits for ever: the row has failed anyway */
    run_pairs(&each[0]);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(started[i], NULL);
    for (unsigned i = 0; i < threads; i++)
        sum += each[i].elapsed;
    pthread_barrier_destroy(&barrier);
    return sum / threads / PAIRS;
}

/* ---- replacing ---- */

static uint32_t draw(uint32_t *from)
{
    *from ^= *from << 13;
    *from ^= *from >> 17;
    *from ^= *from << 5;
    return *from;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool replace(const bench_heap *heap, void **live, const size_t *sizes, uint32_t *random,
                    int count)
{
    for (int i = 0; i < count; i++) {
        void **place = &live[draw(random) % LIVE];
        heap->give(*place);
        *place = heap->take(sizes[draw(random) % SIZES]);
        if (*place == NULL)
            return false;
    }
    return true;
}

double bench_heap_replace(const bench_heap *heap)
{
    static size_t sizes[SIZES];
    static void *live[LIVE];
    double parts[PARTS];
    const bench_heap with = *heap;
    uint32_t random = 2463534242u;
    bool good = true;
    for (int i = 0; i < SIZES; i++)
        sizes[i] = (size_t)exp2(9 + 15.0 * (draw(&random) % 65536) / 65536);
    for (int i = 0; i < LIVE; i++)
        good = (live[i] = with.take(sizes[i])) != NULL && good;
    good = good && replace(&with, live, sizes, &random, PARTS * REPLACEMENTS / 2);
    for (int i = 0; i < PARTS; i++) {
        const double begin = now();
        good = good && replace(&with, live, sizes, &random, REPLACEMENTS);
        parts[i] = now() - begin;
    }
    for (int i = 0; i < LIVE; i++)
        with.give(live[i]);
    qsort(parts, PARTS, sizeof parts[0], compare);
    return good ? parts[PARTS / 2] / REPLACEMENTS : (double)NAN;
}
