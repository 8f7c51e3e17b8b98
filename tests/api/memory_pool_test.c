/* memory_pool_test.c: pools and wrapped memory (memory_pool.h), through accel_memory_alloc. Two cpu devices. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"

enum { MIB = 1024 * 1024 };

static test_kernels kernels;
static accel_device device;

static void *take_from(accel_memory_pool *pool, accel_stream *stream, size_t size)
{
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    void *memory = NULL;
    OK(accel_memory_alloc(stream, size, &options, &memory));
    assert_non_null(memory);
    memset(memory, 1, size);
    return memory;
}

static accel_memory_pool *plain_pool(void)
{
    accel_memory_pool *pool = NULL;
    OK(accel_memory_pool_create(device, NULL, &pool));
    return pool;
}

static accel_pointer_information ask(const void *pointer)
{
    accel_pointer_information information = {.struct_size = sizeof information};
    OK(accel_pointer_info(pointer, &information));
    return information;
}

/* ---- in callbacks ---- */

typedef struct trim {
    accel_memory_pool *pool;
    accel_status status;
} trim;

static void trim_inside(accel_stream *stream, accel_status status, void *user)
{
    trim *of = user;
    (void)stream, (void)status;
    of->status = accel_memory_pool_trim(of->pool, NULL);
}

/* A driver cannot take memory back then. */
static void test_in_callback(void **state)
{
    (void)state;
    trim inside = {plain_pool(), ACCEL_OK};
    size_t size = 0;
    OK(accel_memory_free(take_from(inside.pool, NULL, 5 * MIB)));
    OK(accel_stream_add_callback(NULL, trim_inside, &inside));
    OK(accel_synchronize(device));
    assert_int_equal(inside.status, ACCEL_ERROR_IN_CALLBACK);
    OK(accel_memory_pool_trim(inside.pool, &size));
    assert_true(size >= 5 * MIB);
    OK(accel_memory_pool_release(inside.pool));
}

/* ---- which pool ---- */

static size_t reserved(void)
{
    size_t size = 0;
    OK(accel_memory_reserved(device, &size));
    return size;
}

/* What a pool keeps for its next small block is in the way of no large one, of no stream's end, and of no trim. */
static void test_small_blocks_one_at_a_time(void **state)
{
    (void)state;
    accel_memory_pool *pool = plain_pool();
    const size_t before = reserved();
    accel_stream *stream = NULL;
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_memory_free(take_from(pool, stream, 6 * MIB)));
    const size_t most = reserved();
    void *small = take_from(pool, stream, 4096);
    OK(accel_memory_free(small));
    for (int i = 0; i < 100; i++) {
        void *again = take_from(pool, stream, 4096);
        assert_ptr_equal(again, small);
        OK(accel_memory_free(again));
    }
    OK(accel_memory_free(take_from(pool, stream, 6 * MIB)));
    assert_int_equal(reserved(), most);
    OK(accel_memory_free(take_from(pool, stream, 4096)));
    OK(accel_stream_synchronize(stream));
    accel_stream_release(stream);
    OK(accel_memory_free(take_from(pool, NULL, 6 * MIB)));
    assert_int_equal(reserved(), most);
    OK(accel_memory_free(take_from(pool, NULL, 4096)));
    size_t size = 0;
    OK(accel_memory_pool_trim(pool, &size));
    assert_int_equal(size, most - before);
    assert_int_equal(reserved(), before);
    OK(accel_memory_pool_release(pool));
}

static void test_pool_of_options(void **state)
{
    (void)state;
    accel_memory_pool *pool = plain_pool();
    unsigned char *memory = take_from(pool, NULL, 5 * MIB);
    assert_int_equal(ask(memory + 100).offset, 100);
    OK(accel_memory_free(memory));
    unsigned char *again = take_from(pool, NULL, 5 * MIB);
    assert_ptr_equal(again, memory);
    void *other = NULL;
    OK(accel_memory_free(again));
    OK(accel_memory_alloc(NULL, 5 * MIB, NULL, &other));
    assert_ptr_not_equal(other, memory); /* cached in the pool alone */
    OK(accel_memory_free(other));
    OK(accel_memory_pool_release(pool));
}

static void test_scope(void **state)
{
    (void)state;
    accel_memory_pool *pool = plain_pool();
    accel_memory_pool_scope scope;
    unsigned char *mine = take_from(pool, NULL, 300000);
    OK(accel_memory_free(mine));
    OK(accel_memory_pool_scope_begin(pool, &scope));
    void *inside = NULL;
    OK(accel_memory_alloc(NULL, 300000, NULL, &inside));
    assert_ptr_equal(inside, mine);
    accel_memory_pool_scope_end(&scope);
    void *outside = NULL;
    OK(accel_memory_free(inside));
    OK(accel_memory_alloc(NULL, 300000, NULL, &outside));
    assert_ptr_not_equal(outside, mine);
    OK(accel_memory_free(outside));
    OK(accel_memory_pool_release(pool));
}

/* ---- a source ---- */

enum { ARENA_SIZE = 64 * MIB };

typedef struct arena {
    unsigned char *memory;
    size_t used;
    int segments;
    int released;
} arena;

/* Never gives a place twice. */
static accel_status arena_alloc(void *user, accel_device of, size_t size, size_t alignment,
                                void **out_pointer)
{
    arena *self = user;
    const size_t begin = (self->used + alignment - 1) & ~(alignment - 1);
    assert_int_equal(of.index, 0);
    if (begin + size > ARENA_SIZE)
        return ACCEL_ERROR_OUT_OF_MEMORY;
    self->used = begin + size;
    self->segments++;
    *out_pointer = self->memory + begin;
    return ACCEL_OK;
}

static void arena_free(void *user, accel_device of, void *pointer, size_t size)
{
    arena *self = user;
    assert_int_equal(of.index, 0);
    memset(pointer, 0xee, size);
    self->segments--;
}

static void arena_release(void *user)
{
    ((arena *)user)->released++;
}

static void test_source(void **state)
{
    (void)state;
    arena self = {.memory = aligned_alloc(2 * MIB, ARENA_SIZE)};
    const accel_memory_pool_options options = {
        .struct_size = sizeof options,
        .source = {
            .alloc = arena_alloc, .free = arena_free, .release = arena_release, .user = &self}};
    accel_memory_pool *pool = NULL;
    void *memory[20];
    OK(accel_memory_pool_create(device, &options, &pool));
    for (size_t i = 0; i < 20; i++) {
        memory[i] = take_from(pool, NULL, (size_t)1 << i);
        const ptrdiff_t offset = (unsigned char *)memory[i] - self.memory;
        assert_true(offset >= 0 && offset < ARENA_SIZE);
    }
    const accel_memory_options too_much = {.struct_size = sizeof too_much, .pool = pool};
    void *none = &none;
    FAILS(accel_memory_alloc(NULL, 100 * MIB, &too_much, &none), ACCEL_ERROR_OUT_OF_MEMORY,
          "accel_memory_alloc");
    for (size_t i = 0; i < 10; i++)
        OK(accel_memory_free(memory[i]));
    OK(accel_memory_pool_release(pool));
    assert_true(self.segments > 0);
    for (size_t i = 10; i < 20; i++) {
        assert_int_equal(((unsigned char *)memory[i])[1023], 1);
        OK(accel_memory_free(memory[i]));
    }
    assert_int_equal(self.segments, 0);
    assert_int_equal(self.released, 1);
    free(self.memory);
}

/* Replays use memory that was freed in the capture: it stays, whatever is emptied or trimmed. */
static void test_a_pool_that_a_graph_has(void **state)
{
    (void)state;
    arena self = {.memory = aligned_alloc(2 * MIB, ARENA_SIZE)};
    const accel_memory_pool_options options = {
        .struct_size = sizeof options,
        .source = {
            .alloc = arena_alloc, .free = arena_free, .release = arena_release, .user = &self}};
    accel_memory_pool *pool = NULL;
    accel_graph *graph = NULL;
    accel_stream *stream = NULL;
    unsigned char *memory = NULL;
    size_t trimmed = 1;
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_memory_pool_create(device, &options, &pool));
    const accel_graph_options with_pool = {.struct_size = sizeof with_pool, .pool = pool};
    OK(accel_graph_create(device, &with_pool, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_memory_alloc(stream, 3 * MIB, NULL, (void **)&memory));
    assert_true(memory >= self.memory && memory < self.memory + ARENA_SIZE);
    const uint32_t pattern = 0x07070707;
    OK(accel_fill(memory, &pattern, 4, 3 * MIB, stream));
    OK(accel_memory_free(memory));
    OK(accel_graph_capture_end(graph, stream));
    const int segments = self.segments;
    assert_true(segments > 0);
    OK(accel_empty_cache());
    OK(accel_memory_pool_trim(pool, &trimmed));
    assert_int_equal(trimmed, 0);
    assert_int_equal(self.segments, segments);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(memory[3 * MIB - 1], 7);
    accel_graph_release(graph);
    OK(accel_synchronize(device));
    OK(accel_empty_cache());
    assert_int_equal(self.segments, 0);
    OK(accel_memory_pool_release(pool));
    assert_int_equal(self.released, 1);
    accel_stream_release(stream);
    free(self.memory);
}

static void test_wrong_uses(void **state)
{
    (void)state;
    accel_memory_pool *pool = plain_pool();
    accel_stream *elsewhere = NULL;
    void *memory = &memory;
    accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    OK(accel_stream_default(test_cpu_device(1), &elsewhere));
    FAILS(accel_memory_alloc(elsewhere, 64, &options, &memory), ACCEL_ERROR_MISMATCH,
          "accel_memory_alloc");
    assert_null(memory);
    options.kind = ACCEL_MEMORY_KIND_PINNED;
    FAILS(accel_memory_alloc(NULL, 64, &options, &memory), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_alloc");
    options.kind = ACCEL_MEMORY_KIND_DEVICE;
    OK(accel_memory_pool_release(pool));
    FAILS(accel_memory_alloc(NULL, 64, &options, &memory), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_alloc");
    assert_non_null(strstr(accel_last_error_message(), "was released"));
}

/* ---- wrapped memory ---- */

typedef struct owner {
    _Atomic(int) calls;
    void *pointer;
    size_t size;
    accel_status alloc_inside;
} owner;

static void take_back(void *pointer, size_t size, void *user)
{
    owner *self = user;
    void *memory = NULL;
    self->pointer = pointer;
    self->size = size;
    self->alloc_inside = accel_memory_alloc(NULL, 64, NULL, &memory);
    self->calls++;
}

static accel_memory_wrap_options options_of(owner *self)
{
    return (accel_memory_wrap_options){
        .struct_size = sizeof(accel_memory_wrap_options), .release = take_back, .user = self};
}

static void test_wrap(void **state)
{
    (void)state;
    owner self = {0};
    unsigned char *memory = malloc(10000);
    const accel_memory_wrap_options options = options_of(&self);
    OK(accel_memory_wrap(device, memory + 8, 5000, &options));
    const accel_pointer_information about = ask(memory + 8 + 4999);
    assert_int_equal(about.kind, ACCEL_MEMORY_KIND_DEVICE);
    assert_ptr_equal(about.base, memory + 8);
    assert_int_equal(about.size, 5000);
    assert_int_equal(about.offset, 4999);
    assert_int_equal(about.device.index, 0);
    assert_int_equal(ask(memory + 7).kind, ACCEL_MEMORY_KIND_UNKNOWN);
    assert_int_equal(ask(memory + 5008).kind, ACCEL_MEMORY_KIND_UNKNOWN);
    const uint32_t pattern = 0x01020304;
    OK(accel_fill(memory + 8, &pattern, 4, 5000, NULL));
    FAILS(accel_fill(memory + 8, &pattern, 4, 5004, NULL), ACCEL_ERROR_OUT_OF_RANGE, "accel_fill");
    OK(accel_synchronize(device));
    assert_int_equal(memory[8 + 4999], 1);
    assert_int_equal(self.calls, 0);
    OK(accel_memory_free(memory + 8));
    assert_int_equal(self.calls, 1);
    assert_ptr_equal(self.pointer, memory + 8);
    assert_int_equal(self.size, 5000);
    assert_int_equal(self.alloc_inside, ACCEL_ERROR_IN_CALLBACK);
    assert_int_equal(ask(memory + 8).kind, ACCEL_MEMORY_KIND_UNKNOWN);
    FAILS(accel_memory_free(memory + 8), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    free(memory);
}

static void test_wrap_waits_for_streams(void **state)
{
    (void)state;
    accel_stream *streams[2];
    owner self = {0};
    uint32_t *memory = calloc(256, 4);
    accel_memory_wrap_options options = options_of(&self);
    test_gate gate = {0};
    for (int i = 0; i < 2; i++)
        OK(accel_stream_create(device, NULL, &streams[i]));
    options.stream = streams[0];
    OK(accel_memory_wrap(device, memory, 1024, &options));
    assert_ptr_equal(ask(memory).home_stream, streams[0]);
    OK(test_launch_gate(&kernels, streams[1], &gate));
    OK(test_launch_add(&kernels, streams[1], memory, 256, 3));
    OK(accel_record_stream(memory + 5, streams[1]));
    OK(accel_record_stream(memory, streams[1]));
    OK(accel_memory_free(memory));
    assert_int_equal(self.calls, 0);
    FAILS(accel_record_stream(memory, streams[1]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_record_stream");
    /* It may be wrapped again meanwhile: two owners, one after the other. */
    OK(accel_memory_wrap(device, memory, 512, NULL));
    OK(accel_memory_free(memory));
    test_gate_open(&gate);
    OK(accel_synchronize(device));
    assert_int_equal(self.calls, 1);
    assert_int_equal(memory[255], 3);
    for (int i = 0; i < 2; i++)
        accel_stream_release(streams[i]);
    free(memory);
}

static void test_wrap_refuses(void **state)
{
    (void)state;
    static unsigned char memory[4096];
    accel_memory_wrap_options options = {.struct_size = sizeof options};
    const struct {
        void *pointer;
        size_t size;
    } wrong[] = {{NULL, 100}, {memory, 0}, {memory, SIZE_MAX}, {(void *)-8, 100}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(accel_memory_wrap(device, wrong[i].pointer, wrong[i].size, NULL),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_wrap");
    options.kind = (accel_memory_kind)9;
    FAILS(accel_memory_wrap(device, memory, 100, &options), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_wrap");
    options.kind = ACCEL_MEMORY_KIND_PINNED;
    OK(accel_stream_default(test_cpu_device(1), &options.stream));
    FAILS(accel_memory_wrap(device, memory, 100, &options), ACCEL_ERROR_MISMATCH,
          "accel_memory_wrap");
    options.stream = NULL;
    OK(accel_memory_wrap(device, memory + 1000, 100, &options));
    assert_int_equal(ask(memory + 1000).kind, ACCEL_MEMORY_KIND_PINNED);
    static const size_t overlapping[][2] = {{0, 4096}, {1000, 100}, {999, 2},
                                            {1099, 1}, {1050, 10},  {900, 101}};
    for (size_t i = 0; i < sizeof overlapping / sizeof overlapping[0]; i++)
        FAILS(accel_memory_wrap(device, memory + overlapping[i][0], overlapping[i][1], NULL),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_wrap");
    /* Up to the end of all addresses: everything that lies there is in it. */
    FAILS(accel_memory_wrap(device, memory, SIZE_MAX - (uintptr_t)memory, NULL),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_wrap");
    OK(accel_memory_wrap(device, memory + 900, 100, NULL));
    OK(accel_memory_wrap(device, memory + 1100, 1, NULL));
    OK(accel_memory_free(memory + 1000));
    OK(accel_memory_free(memory + 900));
    OK(accel_memory_free(memory + 1100));
}

/* Memory of accel's own, whatever becomes of it: inside, behind what was asked for, and once it is free. */
static void test_wrap_refuses_own_memory(void **state)
{
    (void)state;
    static const accel_memory_kind kinds[] = {ACCEL_MEMORY_KIND_DEVICE, ACCEL_MEMORY_KIND_PINNED};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const accel_memory_options options = {.struct_size = sizeof options, .kind = kinds[i]};
        void *own = NULL;
        OK(accel_memory_alloc(NULL, 100, &options, &own));
        for (int is_free = 0; is_free < 2; is_free++) {
            static const size_t offsets[] = {0, 50, 99, 100, 511};
            for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++)
                FAILS(accel_memory_wrap(device, (char *)own + offsets[k], 1, NULL),
                      ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_wrap");
            OK(is_free == 0 ? accel_memory_free(own) : ACCEL_OK);
        }
    }
}

enum { THREADS = 4, ROUNDS = 500 };

static int wrap_often(void)
{
    static _Thread_local unsigned char memory[3000];
    owner self = {0};
    const accel_memory_wrap_options options = options_of(&self);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char *begin = memory + i % 1000;
        CHECK_QUIET(accel_memory_wrap(device, begin, 1500, &options) == ACCEL_OK);
        CHECK_QUIET(accel_record_stream(begin + 3, NULL) == ACCEL_OK);
        CHECK_QUIET(accel_memory_free(begin) == ACCEL_OK);
        while (self.calls != i + 1)
            CHECK_QUIET(accel_synchronize(device) == ACCEL_OK);
    }
    return 0;
}

static void *wrap_body(void *user)
{
    (void)user;
    return (void *)(intptr_t)wrap_often();
}

static void test_wrap_in_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wrap_body, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

static int load(void **state)
{
    (void)state;
    device = test_cpu_device(0);
    return test_kernels_load(device, &kernels) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_callback),
        cmocka_unit_test(test_small_blocks_one_at_a_time),
        cmocka_unit_test(test_pool_of_options),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_a_pool_that_a_graph_has),
        cmocka_unit_test(test_wrong_uses),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_wrap_waits_for_streams),
        cmocka_unit_test(test_wrap_refuses),
        cmocka_unit_test(test_wrap_refuses_own_memory),
        cmocka_unit_test(test_wrap_in_threads),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
