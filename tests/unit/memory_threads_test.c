/* memory_threads_test.c: the allocator under several threads at once: each allocates, frees, hands memory to
 * the next, records uses, empties caches, resets and reads figures, and runs out of memory. Between the
 * rounds, when no call is under way, every figure must be what the blocks and the driver's books say. */
#include <pthread.h>

#include "unit/memory_model.h"

enum { THREADS = 4, ROUNDS = 12, STEPS = 1500, OWN = 60, SHARED = 32 };

/* A place where threads leave memory for others. */
static _Atomic(void *) shared[SHARED];

typedef struct worker {
    pthread_t thread;
    accel_device device;
    accel_stream *streams[2];
    uint64_t random;
    void *own[OWN];
    int wrong;
} worker;

static uint32_t draw(worker *of, uint32_t below)
{
    of->random = of->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((of->random >> 33) % below);
}

static int free_one(void *pointer)
{
    CHECK_QUIET(accel_memory_free(pointer) == ACCEL_OK);
    return 0;
}

static int allocate(worker *of, void **place)
{
    const unsigned octave = draw(of, 100) < 85 ? draw(of, 12) : 12 + draw(of, 4);
    const size_t size = 1 + draw(of, 512u << octave);
    const accel_status status = accel_memory_alloc(of->streams[draw(of, 2)], size, NULL, place);
    CHECK_QUIET(status == ACCEL_OK || (status == ACCEL_ERROR_OUT_OF_MEMORY && *place == NULL));
    return 0;
}

static int step(worker *of)
{
    void **place = &of->own[draw(of, OWN)];
    const unsigned what = draw(of, 1000);
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    if (what < 850) {
        void *old = *place;
        *place = NULL;
        return old != NULL ? free_one(old) : allocate(of, place);
    }
    if (what < 920) { /* what is left there is freed by whoever finds it */
        *place = atomic_exchange(&shared[draw(of, SHARED)], *place);
        return 0;
    }
    if (what < 980 && *place != NULL)
        CHECK_QUIET(accel_record_stream(*place, of->streams[draw(of, 2)]) == ACCEL_OK);
    else if (what < 990)
        CHECK_QUIET(accel_memory_stats(of->device, &figures) == ACCEL_OK);
    else if (what < 993)
        CHECK_QUIET(accel_empty_cache() == ACCEL_OK);
    else if (what < 996)
        CHECK_QUIET(accel_reset_peak_memory_stats(of->device) == ACCEL_OK);
    CHECK_QUIET(figures.allocation[0].peak >= figures.allocation[0].current);
    return 0;
}

static void *work(void *user)
{
    worker *of = user;
    for (int i = 0; i < STEPS && of->wrong == 0; i++)
        of->wrong = step(of);
    return NULL;
}

/* A round on new threads, which end: their caches go with them. */
static void run_round(worker *workers)
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static void compare(accel_device device, accel__device *core)
{
    const model known = {.core = core};
    model_count count;
    accel_memory_statistics got = {.struct_size = sizeof got};
    OK(accel_synchronize(device));
    model_recount(&known, &count);
    OK(accel_memory_stats(device, &got));
    for (int pool = 0; pool < 3; pool++) {
        assert_int_equal(got.allocation[pool].current, count.allocation[pool]);
        assert_int_equal(got.allocated_bytes[pool].current, count.allocated_bytes[pool]);
        assert_int_equal(got.active_bytes[pool].current, count.active_bytes[pool]);
        assert_int_equal(got.requested_bytes[pool].current, count.requested_bytes[pool]);
        assert_int_equal(got.inactive_split_bytes[pool].current, count.split_bytes[pool]);
        assert_int_equal(got.allocation[pool].allocated - got.allocation[pool].freed,
                         got.allocation[pool].current);
        assert_true(got.allocated_bytes[pool].peak >= got.allocated_bytes[pool].current);
    }
    assert_int_equal(got.reserved_bytes[0].current, ledger.used);
    assert_int_equal(got.segment[0].current, ledger.allocations);
    assert_int_equal(ledger.mistakes, 0);
}

static void set_workers_up(worker *workers, accel_device device)
{
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.device = device, .random = 77 + (uint64_t)i};
        for (int k = 0; k < 2; k++)
            OK(accel_stream_create(device, NULL, &workers[i].streams[k]));
    }
}

static void tear_workers_down(worker *workers)
{
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < OWN; k++)
            OK(accel_memory_free(workers[i].own[k]));
        for (int k = 0; k < 2; k++)
            accel_stream_release(workers[i].streams[k]);
    }
    for (int i = 0; i < SHARED; i++)
        OK(accel_memory_free(atomic_exchange(&shared[i], NULL)));
}

static void run(accel_device device, size_t capacity)
{
    static worker workers[THREADS];
    ledger.capacity = capacity;
    set_workers_up(workers, device);
    accel__device *core = workers[0].streams[0]->device;
    for (int round = 0; round < ROUNDS; round++) {
        run_round(workers);
        compare(device, core);
    }
    tear_workers_down(workers);
    OK(accel_empty_cache());
    compare(device, core);
    assert_int_equal(ledger.used, 0);
    assert_int_equal(ledger.reserved, 0);
}

static void test_fixed(void **state)
{
    (void)state;
    run(ACCEL_DEVICE(heap_number(false), 0), 2048 * MIB);
}

static void test_growable(void **state)
{
    (void)state;
    run(ACCEL_DEVICE(heap_number(true), 0), 2048 * MIB);
}

static void test_short_of_memory(void **state)
{
    (void)state;
    run(ACCEL_DEVICE(heap_number(false), 1), 150 * MIB);
    run(ACCEL_DEVICE(heap_number(true), 1), 150 * MIB);
}

static void test_limited(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const accel_device device = ACCEL_DEVICE(heap_number(i), 2);
        OK(accel_allocator_set_memory_limit(device, 150 * MIB));
        ledger.peak = 0;
        run(device, 2048 * MIB);
        assert_true(ledger.peak <= 150 * MIB);
        OK(accel_allocator_set_memory_limit(device, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_growable),
        cmocka_unit_test(test_short_of_memory),
        cmocka_unit_test(test_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
