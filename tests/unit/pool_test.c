/* pool_test.c: pools (memory/pool.c): who holds one, what it takes from a source and gives back, which one a
 * thread's allocations go to. Blocks are taken from the heaps directly. */
#include "memory/pool.h"

#include <accel/allocator.h>
#include <pthread.h>
#include <stdlib.h>

#include "doubles/mock_backend.h"
#include "support/check.h"
#include "unit/fault_sweep.h"

enum { MIB = 1024 * 1024 };

static accel_backend mock_number;
static accel_device device;
static accel_stream *stream;

/* ---- a source ---- */

typedef struct source {
    _Atomic(int) segments; /* given and not taken back */
    _Atomic(size_t) bytes;
    _Atomic(int) released;
    bool is_empty;      /* gives nothing */
    bool is_misaligned; /* gives what is no multiple of the alignment */
    accel_memory_pool *pool;
} source;

static accel_status source_alloc(void *user, accel_device from, size_t size, size_t alignment,
                                 void **out_pointer)
{
    source *self = user;
    size_t freed = 0;
    assert_int_equal(from.index, device.index);
    assert_true(size % ACCEL_MEMORY_ALIGNMENT == 0 && alignment >= ACCEL_MEMORY_ALIGNMENT);
    if (self->pool != NULL) /* no lock is held: the pool may be asked */
        (void)accel_memory_pool_trim(self->pool, &freed);
    if (self->is_empty)
        return ACCEL_OK;
    unsigned char *memory = aligned_alloc(alignment, size + alignment);
    assert_non_null(memory);
    self->segments++;
    self->bytes += size;
    *out_pointer = memory + (self->is_misaligned ? 256 : 0);
    return ACCEL_OK;
}

static void source_free(void *user, accel_device from, void *pointer, size_t size)
{
    source *self = user;
    (void)from;
    self->segments--;
    self->bytes -= size;
    free((unsigned char *)pointer - (self->is_misaligned ? 256 : 0));
}

static void source_release(void *user)
{
    source *self = user;
    assert_int_equal(self->segments, 0);
    self->released++;
}

static accel_memory_pool *pool_of(source *from)
{
    accel_memory_pool *pool = NULL;
    accel_memory_pool_options options = {.struct_size = sizeof options};
    if (from != NULL)
        options.source = (accel_memory_source){
            .alloc = source_alloc, .free = source_free, .release = source_release, .user = from};
    OK(accel_memory_pool_create(device, &options, &pool));
    assert_non_null(pool);
    return pool;
}

/* ---- blocks ---- */

static accel_status take(accel_memory_pool *pool, size_t size, accel__block **out_block)
{
    accel__heap *heap = NULL;
    accel__lane *lane = NULL;
    *out_block = NULL;
    accel_status status = accel__pool_heap(pool, "accel_memory_alloc", &heap);
    if (status == ACCEL_OK)
        status = accel__lane_of(heap, stream, &lane);
    if (status == ACCEL_OK)
        status = accel__heap_take_or_grow(lane, size, (size + 511) & ~(size_t)511,
                                          ACCEL_MEMORY_ALIGNMENT, false, out_block);
    return status;
}

static void give(accel__block *block)
{
    accel__heap_put(block);
    accel__pool_settle(NULL);
}

static void expect_released(accel_memory_pool *pool)
{
    accel_memory_pool_id id;
    accel_memory_pool_scope scope;
    accel_device of;
    accel__heap *heap = NULL;
    uint32_t uses = 7;
    FAILS(accel_memory_pool_retain(pool), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_pool_retain");
    assert_non_null(strstr(accel_last_error_message(), "was released"));
    FAILS(accel_memory_pool_release(pool), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_release");
    FAILS(accel_memory_pool_get_id(pool, &id), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_get_id");
    FAILS(accel_memory_pool_get_device(pool, &of), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_get_device");
    FAILS(accel_memory_pool_scope_begin(pool, &scope), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_scope_begin");
    FAILS(accel_memory_pool_trim(pool, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_trim");
    FAILS(accel__pool_heap(pool, "accel_memory_alloc", &heap), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_alloc");
    OK(accel_memory_pool_get_use_count(pool, &uses));
    assert_int_equal(uses, 0);
}

/* ---- uses ---- */

static void test_uses(void **state)
{
    (void)state;
    uint32_t uses = 0;
    accel_memory_pool *pool = pool_of(NULL);
    OK(accel_memory_pool_get_use_count(pool, &uses));
    assert_int_equal(uses, 1);
    OK(accel_memory_pool_retain(pool));
    OK(accel_memory_pool_get_use_count(pool, &uses));
    assert_int_equal(uses, 2);
    OK(accel_memory_pool_release(pool));
    OK(accel_memory_pool_release(pool));
    OK(accel_memory_pool_release(NULL));
    expect_released(pool);
}

static void test_stale_handles(void **state)
{
    (void)state;
    accel_memory_pool *pool = pool_of(NULL);
    OK(accel_memory_pool_release(pool));
    for (int i = 0; i < 256; i++) {
        accel_memory_pool *other = pool_of(NULL);
        assert_ptr_not_equal(other, pool);
        OK(accel_memory_pool_release(other));
    }
    expect_released(pool);
}

static void test_ids(void **state)
{
    (void)state;
    accel_memory_pool *pools[3] = {pool_of(NULL), pool_of(NULL), NULL};
    accel_memory_pool_id ids[3];
    accel__device *found = NULL;
    OK(accel__device_resolve(device, "f", &found));
    OK(accel__pool_create_for_graph(found, "f", &pools[2]));
    for (int i = 0; i < 3; i++) {
        OK(accel_memory_pool_get_id(pools[i], &ids[i]));
        OK(accel_memory_pool_release(pools[i]));
    }
    assert_true(ids[0].first == 0 && ids[0].second != 0 && ids[1].first == 0);
    assert_int_not_equal(ids[0].second, ids[1].second);
    assert_true(ids[2].first != 0 && ids[2].second == 0);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    accel_memory_pool *pool = (accel_memory_pool *)&device;
    accel_memory_pool_options options = {.struct_size = sizeof options,
                                         .source = {.alloc = source_alloc}};
    FAILS(accel_memory_pool_create(device, &options, &pool), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_create");
    assert_null(pool);
    options.source = (accel_memory_source){.free = source_free};
    FAILS(accel_memory_pool_create(device, &options, &pool), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_create");
    FAILS(accel_memory_pool_create(device, NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_create");
    FAILS(accel_memory_pool_create(ACCEL_DEVICE(mock_number, 2), NULL, &pool),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_memory_pool_create");
    FAILS(accel_memory_pool_retain(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_pool_retain");
    FAILS(accel_memory_pool_scope_begin(NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_pool_scope_begin");
}

static void test_create_touches_no_driver(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    const unsigned starts = mock.calls[MOCK_START];
    const unsigned opens = mock.calls[MOCK_OPEN];
    OK(accel_memory_pool_create(ACCEL_DEVICE(mock_number, 1), NULL, &pool));
    OK(accel_memory_pool_trim(pool, NULL));
    OK(accel_memory_pool_release(pool));
    assert_int_equal(mock.calls[MOCK_START], starts);
    assert_int_equal(mock.calls[MOCK_OPEN], opens);
}

/* ---- memory ---- */

static void test_memory_is_kept_apart(void **state)
{
    (void)state;
    accel_memory_pool *pools[2] = {pool_of(NULL), pool_of(NULL)};
    accel__block *blocks[3];
    OK(take(pools[0], 4 * MIB, &blocks[0]));
    const uintptr_t begin = accel__range_begin(&blocks[0]->range);
    give(blocks[0]);
    OK(take(pools[1], 4 * MIB, &blocks[1]));
    assert_true(accel__range_begin(&blocks[1]->range) != begin);
    OK(take(pools[0], 4 * MIB, &blocks[2]));
    assert_true(accel__range_begin(&blocks[2]->range) == begin);
    give(blocks[1]);
    give(blocks[2]);
    const int objects = mock.objects;
    size_t size = 0;
    OK(accel_memory_pool_trim(pools[0], &size));
    assert_true(size >= 4 * MIB && mock.objects < objects);
    OK(accel_memory_pool_trim(pools[0], &size));
    assert_int_equal(size, 0);
    OK(accel_memory_pool_release(pools[0]));
    OK(accel_memory_pool_release(pools[1]));
}

static void test_release_gives_back(void **state)
{
    (void)state;
    source from = {0};
    accel_memory_pool *pool = pool_of(&from);
    accel__block *blocks[2];
    OK(take(pool, 3 * MIB, &blocks[0]));
    OK(take(pool, 100, &blocks[1]));
    assert_true(from.segments > 0 && from.bytes >= 3 * MIB + 512);
    give(blocks[0]);
    give(blocks[1]);
    assert_true(from.segments > 0);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(from.segments, 0);
    assert_int_equal(from.released, 1);
    expect_released(pool);
}

static void test_release_while_blocks_live(void **state)
{
    (void)state;
    source from = {0};
    accel_memory_pool *pool = pool_of(&from);
    accel__block *blocks[2];
    OK(take(pool, 3 * MIB, &blocks[0]));
    OK(take(pool, 100, &blocks[1]));
    from.pool = pool;
    OK(accel_memory_pool_release(pool));
    expect_released(pool);
    memset((void *)accel__range_begin(&blocks[0]->range), 1, 3 * MIB);
    give(blocks[0]);
    assert_int_equal(from.released, 0);
    assert_true(from.segments > 0);
    give(blocks[1]);
    assert_int_equal(from.segments, 0);
    assert_int_equal(from.released, 1);
    expect_released(pool);
    accel__pool_settle(NULL);
    assert_int_equal(from.released, 1);
}

static void test_a_source_that_fails(void **state)
{
    (void)state;
    source from = {.is_empty = true};
    accel_memory_pool *pool = pool_of(&from);
    accel__block *block = NULL;
    EXPECT(take(pool, MIB, &block), ACCEL_ERROR_OUT_OF_MEMORY);
    assert_null(block);
    from.is_empty = false;
    from.is_misaligned = true;
    EXPECT(take(pool, MIB, &block), ACCEL_ERROR_INVALID_STATE);
    assert_non_null(strstr(accel_last_error_message(), "not aligned"));
    assert_int_equal(from.segments, 0);
    from.is_misaligned = false;
    OK(take(pool, MIB, &block));
    give(block);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(from.released, 1);
}

static void test_what_is_kept(void **state)
{
    (void)state;
    source from = {0};
    accel_memory_pool *pool = pool_of(&from);
    accel__block *block = NULL;
    size_t size = 7;
    accel__pool_keep(pool);
    OK(take(pool, 30 * MIB, &block));
    give(block);
    const int segments = from.segments;
    OK(accel_memory_pool_trim(pool, &size));
    assert_int_equal(size, 0);
    OK(accel_empty_cache());
    assert_int_equal(from.segments, segments);
    accel__pool_unkeep(pool);
    OK(accel_empty_cache());
    assert_int_equal(from.segments, 0);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(from.released, 1);
}

static void test_pools_of_graphs_are_kept(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    accel__block *block = NULL;
    accel__device *found = NULL;
    OK(accel_empty_cache());
    const int objects = mock.objects;
    OK(accel__device_resolve(device, "f", &found));
    OK(accel__pool_create_for_graph(found, "f", &pool));
    OK(take(pool, 30 * MIB, &block));
    const int more = mock.objects;
    give(block);
    OK(accel_empty_cache());
    assert_int_equal(mock.objects, more);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(mock.objects, objects);
}

/* ---- scopes ---- */

static accel_memory_pool *routed(int32_t index)
{
    accel__device *found = NULL;
    OK(accel__device_resolve(ACCEL_DEVICE(mock_number, index), "f", &found));
    return accel__pool_routed(found);
}

static void *other_thread(void *user)
{
    (void)user;
    return accel__pool_scope;
}

static void test_scopes(void **state)
{
    (void)state;
    accel_memory_pool *first = pool_of(NULL);
    accel_memory_pool *second = pool_of(NULL);
    accel_memory_pool *elsewhere = NULL;
    accel_memory_pool_scope scopes[4] = {0};
    OK(accel_memory_pool_create(ACCEL_DEVICE(mock_number, 1), NULL, &elsewhere));
    accel_memory_pool_scope_end(&scopes[0]);
    accel_memory_pool_scope_end(NULL);
    assert_null(routed(0));
    OK(accel_memory_pool_scope_begin(first, &scopes[0]));
    assert_ptr_equal(routed(0), first);
    assert_null(routed(1));
    OK(accel_memory_pool_scope_begin(elsewhere, &scopes[1]));
    assert_ptr_equal(routed(0), first);
    assert_ptr_equal(routed(1), elsewhere);
    OK(accel_memory_pool_scope_begin(second, &scopes[2]));
    assert_ptr_equal(routed(0), second);
    OK(accel_memory_pool_scope_begin(second, &scopes[3]));
    accel_memory_pool_scope_end(&scopes[3]);
    assert_ptr_equal(routed(0), second);
    pthread_t thread;
    void *seen = &thread;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, &seen);
    assert_null(seen);
    accel_memory_pool_scope_end(&scopes[1]); /* not the innermost: that one ends, too */
    assert_ptr_equal(routed(0), first);
    assert_null(routed(1));
    accel_memory_pool_scope_end(&scopes[2]);
    accel_memory_pool_scope_end(&scopes[1]);
    assert_ptr_equal(routed(0), first);
    /* The scope holds it. */
    OK(accel_memory_pool_release(first));
    assert_ptr_equal(routed(0), first);
    accel_memory_pool_scope_end(&scopes[0]);
    assert_null(routed(0));
    expect_released(first);
    OK(accel_memory_pool_release(second));
    OK(accel_memory_pool_release(elsewhere));
}

/* ---- want of memory, threads ---- */

static void test_faults(void **state)
{
    (void)state;
    const int objects = mock.objects;
    bool happened = true;
    for (unsigned n = 1; happened; n++) {
        accel_memory_pool *pool = NULL;
        accel__block *block = NULL;
        fault_begin(n);
        const accel_status created = accel_memory_pool_create(device, NULL, &pool);
        const accel_status taken = created == ACCEL_OK ? take(pool, MIB, &block) : created;
        happened = fault_end();
        assert_int_equal(created == ACCEL_OK, pool != NULL);
        assert_int_equal(taken == ACCEL_OK, block != NULL);
        if (block != NULL)
            give(block);
        OK(accel_memory_pool_release(pool));
        assert_int_equal(mock.objects, objects);
    }
}

enum { THREADS = 4, ROUNDS = 40 };

static source shared_source;
static accel_memory_pool *shared_pool;

static int use_pools(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        source own = {0};
        accel_memory_pool_options options = {.struct_size = sizeof options,
                                             .source = {.alloc = source_alloc,
                                                        .free = source_free,
                                                        .release = source_release,
                                                        .user = &own}};
        accel_memory_pool *pool = NULL;
        accel__block *blocks[2];
        CHECK_QUIET(accel_memory_pool_create(device, &options, &pool) == ACCEL_OK);
        CHECK_QUIET(accel_memory_pool_retain(shared_pool) == ACCEL_OK);
        CHECK_QUIET(take(pool, 2 * MIB, &blocks[0]) == ACCEL_OK);
        CHECK_QUIET(take(shared_pool, 5000, &blocks[1]) == ACCEL_OK);
        CHECK_QUIET(accel_memory_pool_release(pool) == ACCEL_OK);
        CHECK_QUIET(accel_memory_pool_release(shared_pool) == ACCEL_OK);
        accel__heap_put(blocks[0]);
        accel__heap_put(blocks[1]);
        while (own.released == 0) /* another thread may be at it */
            accel__pool_settle(NULL);
        CHECK_QUIET(own.segments == 0 && own.released == 1);
    }
    return 0;
}

static void *thread_body(void *user)
{
    (void)user;
    return (void *)(intptr_t)use_pools();
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    shared_pool = pool_of(&shared_source);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_body, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(shared_source.released, 0);
    OK(accel_memory_pool_release(shared_pool));
    assert_int_equal(shared_source.released, 1);
}

static int open_stream(void **state)
{
    (void)state;
    return accel_stream_create(device, NULL, &stream) != ACCEL_OK;
}

static int close_stream(void **state)
{
    (void)state;
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    const accel_backend_table table = mock_table();
    setenv("ACCEL_BACKENDS", "cpu, mock", 1);
    unsetenv("ACCEL_ALLOC_CONF");
    mock.device_count = 2;
    if (accel__registry_add(&table, &mock_number) != ACCEL_OK)
        return 1;
    device = ACCEL_DEVICE(mock_number, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_stale_handles),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_create_touches_no_driver),
        cmocka_unit_test(test_memory_is_kept_apart),
        cmocka_unit_test(test_release_gives_back),
        cmocka_unit_test(test_release_while_blocks_live),
        cmocka_unit_test(test_a_source_that_fails),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_pools_of_graphs_are_kept),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, open_stream, close_stream);
}
