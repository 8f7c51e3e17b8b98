/* host_model_test.c: pinned memory beside a slow and obviously right account of it, over random
 * operations; and from several threads at once. */
#include <pthread.h>

#include "unit/host_support.h"

#include "memory/host/host_class.h"

enum { MIB = 1024 * 1024, SLOTS = 200, STREAMS = 3, STEPS = 12000 };

static accel_device device;
static uint32_t seed = 12345;

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*state >> 1) * below >> 31);
}

/* From one byte to a few MiB, small ones as often as large ones. */
static size_t draw_size(uint32_t *state)
{
    const unsigned log2 = draw(state, 22);
    return ((size_t)1 << log2) + draw(state, 1u << log2);
}

/* ---- the account ---- */

typedef struct account {
    size_t current;
    size_t peak;
    size_t allocated;
    size_t freed;
} account;

static account requests;
static account bytes;
static account asked;

static void add(account *sums, size_t amount)
{
    sums->current += amount;
    sums->allocated += amount;
    if (sums->peak < sums->current)
        sums->peak = sums->current;
}

static void take(account *sums, size_t amount)
{
    sums->current -= amount;
    sums->freed += amount;
}

static void compare(const accel_memory_stat *stat, const account *sums)
{
    assert_int_equal(stat->current, sums->current);
    assert_int_equal(stat->peak, sums->peak);
    assert_int_equal(stat->allocated, sums->allocated);
    assert_int_equal(stat->freed, sums->freed);
}

static void compare_all(void)
{
    const accel_host_memory_statistics figures = pinned_figures(device);
    compare(&figures.active_requests, &requests);
    compare(&figures.active_bytes, &bytes);
    compare(&figures.requested_bytes, &asked);
    assert_int_equal(figures.reserved_bytes.current, pinned_bytes);
    assert_true(figures.allocated_bytes.current >= figures.active_bytes.current);
    assert_true(figures.reserved_bytes.current >= figures.allocated_bytes.current);
    assert_int_equal(figures.num_host_alloc, pinned_calls);
    assert_int_equal(figures.num_host_alloc - figures.num_host_free, figures.segments.current);
    assert_int_equal(figures.host_alloc_time.count, figures.num_host_alloc);
    assert_int_equal(figures.host_free_time.count, figures.num_host_free);
}

/* ---- random operations ---- */

typedef struct slot {
    unsigned char *pointer;
    size_t size;
    size_t given; /* what the cache says that the block has */
    unsigned char pattern;
} slot;

static slot slots[SLOTS];
static accel_stream *streams[STREAMS];

static size_t block_size(size_t before)
{
    return (size_t)pinned_figures(device).active_bytes.current - before;
}

static void fill_slot(slot *at)
{
    at->size = draw_size(&seed);
    at->pattern = (unsigned char)draw(&seed, 256);
    const size_t before = (size_t)pinned_figures(device).active_bytes.current;
    at->pointer = pinned_take(streams[draw(&seed, STREAMS)], at->size);
    at->given = block_size(before);
    assert_true(at->given >= at->size);
    assert_true(at->given - at->size < 512 ||
                at->given <= accel__host_class_most(accel__host_class_round(at->size)));
    memset(at->pointer, at->pattern, at->size);
    add(&requests, 1);
    add(&bytes, at->given);
    add(&asked, at->size);
}

static void empty_slot(slot *at)
{
    for (size_t i = 0; i < at->size; i += at->size / 16 + 1)
        assert_int_equal(at->pointer[i], at->pattern);
    assert_int_equal(at->pointer[at->size - 1], at->pattern);
    EXPECT(pinned_give(at->pointer), ACCEL_OK);
    at->pointer = NULL;
    take(&requests, 1);
    take(&bytes, at->given);
    take(&asked, at->size);
}

static void reset_account(account *sums, bool peak)
{
    if (peak)
        sums->peak = sums->current;
    else
        sums->allocated = sums->freed = 0;
}

static void do_something_else(uint32_t what)
{
    if (what == 0)
        OK(accel_empty_host_cache());
    if (what == 1) {
        OK(accel_reset_peak_host_memory_stats(device));
        reset_account(&requests, true);
        reset_account(&bytes, true);
        reset_account(&asked, true);
    }
}

static void test_random_operations(void **state)
{
    (void)state;
    for (int i = 0; i < STREAMS; i++)
        streams[i] = pinned_stream(device, false);
    for (int step = 0; step < STEPS; step++) {
        slot *at = &slots[draw(&seed, SLOTS)];
        if (at->pointer == NULL)
            fill_slot(at);
        else
            empty_slot(at);
        do_something_else(draw(&seed, 1000));
        if (step % 16 == 0)
            compare_all();
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].pointer != NULL)
            empty_slot(&slots[i]);
    OK(accel_empty_host_cache());
    compare_all();
    assert_int_equal(pinned_bytes, 0);
    for (int i = 0; i < STREAMS; i++)
        accel_stream_release(streams[i]);
}

/* ---- threads ---- */

enum { THREADS = 4, THREAD_STEPS = 3000, THREAD_SLOTS = 20 };

static accel_stream *shared_stream;

static int work(uint32_t number)
{
    slot own[THREAD_SLOTS] = {0};
    uint32_t state = number * 7919u + 1;
    for (int step = 0; step < THREAD_STEPS; step++) {
        slot *at = &own[draw(&state, THREAD_SLOTS)];
        if (at->pointer == NULL) {
            at->size = draw_size(&state) / 16 + 1;
            void *pointer = NULL;
            CHECK_QUIET(accel__host_alloc(shared_stream, at->size, 512, "f", &pointer) == ACCEL_OK);
            at->pointer = pointer;
            memset(at->pointer, (int)number, at->size);
        } else {
            for (size_t i = 0; i < at->size; i += at->size / 16 + 1)
                CHECK_QUIET(at->pointer[i] == number);
            CHECK_QUIET(pinned_give(at->pointer) == ACCEL_OK);
            at->pointer = NULL;
        }
        if (draw(&state, 500) == 0)
            CHECK_QUIET(accel_empty_host_cache() == ACCEL_OK);
    }
    for (int i = 0; i < THREAD_SLOTS; i++)
        if (own[i].pointer != NULL)
            CHECK_QUIET(pinned_give(own[i].pointer) == ACCEL_OK);
    return 0;
}

static void *thread_body(void *user)
{
    return (void *)(intptr_t)work((uint32_t)(uintptr_t)user);
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    shared_stream = pinned_stream(device, false);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_body, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    OK(accel_empty_host_cache());
    const accel_host_memory_statistics figures = pinned_figures(device);
    assert_int_equal(figures.active_requests.current, 0);
    assert_int_equal(figures.allocated_bytes.current, 0);
    assert_int_equal(figures.reserved_bytes.current, 0);
    assert_int_equal(pinned_bytes, 0);
    accel_stream_release(shared_stream);
}

int main(void)
{
    device = pinned_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
