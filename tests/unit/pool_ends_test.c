/* pool_ends_test.c: pools that end while other threads are on their way through all heaps: what such a thread
 * has taken out of a pool goes back to the pool's source before that is told that the pool is gone, and what
 * it looks at stays there until it has passed. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "unit/heap_support.h"

#include <accel/memory_pool.h>

#include "base/allocate.h"
#include "memory/pool.h"

/* ---- a source whose `free` stands still when it is told to ---- */

typedef struct source {
    _Atomic(int) segments; /* given and not taken back */
    _Atomic(int) released;
    _Atomic(int) left_at_release; /* segments, when it was told that the pool is gone */
    bool stands;                  /* in `free`, until `go` */
    sem_t standing;
    sem_t go;
} source;

static accel_status source_alloc(void *user, accel_device device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    source *self = user;
    (void)device;
    *out_pointer = aligned_alloc(alignment, size);
    self->segments++;
    return ACCEL_OK;
}

static void source_free(void *user, accel_device device, void *pointer, size_t size)
{
    source *self = user;
    (void)device, (void)size;
    if (self->stands) {
        self->stands = false;
        sem_post(&self->standing);
        sem_wait(&self->go);
    }
    free(pointer);
    self->segments--;
}

static void source_release(void *user)
{
    source *self = user;
    self->left_at_release = atomic_load(&self->segments);
    self->released++;
}

static void *empty(void *unused)
{
    (void)unused;
    (void)accel_empty_cache();
    return NULL;
}

/* Another thread empties all caches and stands in the source's `free`; the pool is released meanwhile. */
static void released_while_leaving(void **state)
{
    const accel_device device = ACCEL_DEVICE(*(accel_backend *)*state, 0);
    source from = {.segments = 0};
    const accel_memory_pool_options options = {
        .struct_size = sizeof options,
        .source = {source_alloc, source_free, source_release, &from}};
    accel_memory_pool *pool = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    pthread_t thread;
    sem_init(&from.standing, 0, 0);
    sem_init(&from.go, 0, 0);
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_memory_pool_create(device, &options, &pool));
    const accel_memory_options of_pool = {.struct_size = sizeof of_pool, .pool = pool};
    OK(accel_memory_alloc(stream, 3 * MIB, &of_pool, &memory));
    OK(accel_memory_free(memory));
    from.stands = true;
    assert_int_equal(pthread_create(&thread, NULL, empty, NULL), 0);
    sem_wait(&from.standing);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(from.released, 0); /* a segment is still on its way */
    sem_post(&from.go);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(from.released, 1);
    assert_int_equal(from.left_at_release, 0);
    assert_int_equal(ledger.mistakes, 0); /* nothing of the source's was given to the driver */
    accel_stream_release(stream);
    sem_destroy(&from.standing);
    sem_destroy(&from.go);
}

/* ---- pools that come and go ---- */

enum { ROUNDS = 150 };

static _Atomic(bool) is_over;
static accel_device busy_device;

static void *empty_always(void *unused)
{
    while (!is_over)
        (void)empty(unused);
    return NULL;
}

static int one_pool(void)
{
    accel_memory_pool *pool = NULL;
    accel_stream *stream = NULL;
    void *memory[3] = {NULL};
    CHECK_QUIET(accel_stream_create(busy_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_create(busy_device, NULL, &pool) == ACCEL_OK);
    const accel_memory_options of_pool = {.struct_size = sizeof of_pool, .pool = pool};
    for (int i = 0; i < 3; i++) {
        CHECK_QUIET(accel_memory_alloc(stream, 5000, &of_pool, &memory[i]) == ACCEL_OK);
        heap_hold(stream);
    }
    for (int i = 0; i < 3; i++)
        CHECK_QUIET(accel_memory_free(memory[i]) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_release(pool) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static void *make_pools(void *user)
{
    int *wrong = user;
    for (int i = 0; i < ROUNDS && *wrong == 0; i++)
        *wrong = one_pool();
    return NULL;
}

static void pools_come_and_go(void **state)
{
    pthread_t makers[2];
    pthread_t others[2];
    int wrong[2] = {0, 0};
    busy_device = ACCEL_DEVICE(*(accel_backend *)*state, 1);
    is_over = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&makers[i], NULL, make_pools, &wrong[i]), 0);
        assert_int_equal(pthread_create(&others[i], NULL, empty_always, NULL), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(makers[i], NULL), 0);
    is_over = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(others[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
    OK(accel_synchronize(busy_device));
    OK(accel_empty_cache());
    assert_int_equal(ledger.used, 0);
    assert_int_equal(ledger.reserved, 0);
    assert_int_equal(ledger.mistakes, 0);
}

/* Who looks for memory that a pool lends may have found the heap just before it ended: a lane that was opened in it
 * then held its stream for ever. */
static void no_lane_behind_the_end(void **state)
{
    const accel_device device = ACCEL_DEVICE(*(accel_backend *)*state, 2);
    const accel_memory_pool_options lends = {.struct_size = sizeof lends, .use_on_oom = true};
    accel_memory_pool *pool = NULL;
    accel_stream *stream = NULL;
    accel_stream *late = NULL;
    accel__heap *heap = NULL;
    accel__lane *lane = NULL;
    void *memory = NULL;
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_stream_create(device, NULL, &late));
    OK(accel_memory_pool_create(device, &lends, &pool));
    const accel_memory_options of_pool = {.struct_size = sizeof of_pool, .pool = pool};
    OK(accel_memory_alloc(stream, 3 * MIB, &of_pool, &memory));
    OK(accel__pool_heap(pool, __func__, &heap));
    OK(accel_memory_free(memory));
    OK(accel_memory_pool_release(pool));
    assert_true(heap->is_gone);
    const uint32_t held = late->held;
    assert_int_equal(accel__lane_of(heap, late, &lane), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_null(lane);
    assert_int_equal(late->held, held);
    /* The structure serves the next pool as it should. */
    OK(accel_memory_pool_create(device, &lends, &pool));
    const accel_memory_options of_next = {.struct_size = sizeof of_next, .pool = pool};
    OK(accel_memory_alloc(late, 3 * MIB, &of_next, &memory));
    OK(accel_memory_free(memory));
    OK(accel_memory_pool_release(pool));
    accel_stream_release(late);
    accel_stream_release(stream);
}

/* ---- structures ---- */

static _Atomic(unsigned) requests;

static bool count_request(void)
{
    requests++;
    return false;
}

/* Heaps that follow each other, two at a time, use the same structures again and again. */
static void structures_are_used_again(void **state)
{
    (void)state;
    accel__block_store stores[2] = {0};
    accel__allocate_fault = count_request;
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 2; k++)
            assert_true(accel__block_reserve(&stores[k], 4));
        for (int k = 0; k < 2; k++)
            accel__block_store_close(&stores[k]);
    }
    accel__allocate_fault = NULL;
    assert_true(requests <= 2);
}

int main(void)
{
    ledger.capacity = 512 * MIB;
    accel_backend fixed = heap_backend(false);
    accel_backend growable = heap_backend(true);
    const struct CMUnitTest tests[] = {
        {"structures are used again", structures_are_used_again, NULL, NULL, NULL},
        {"no lane behind the end, fixed segments", no_lane_behind_the_end, NULL, NULL, &fixed},
        {"no lane behind the end, growable segments", no_lane_behind_the_end, NULL, NULL,
         &growable},
        {"released while leaving", released_while_leaving, NULL, NULL, &fixed},
        {"pools come and go, fixed segments", pools_come_and_go, NULL, NULL, &fixed},
        {"pools come and go, growable segments", pools_come_and_go, NULL, NULL, &growable},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
