/* memory_threads_test.c: threads that allocate and free at once: whose memory is whose, what is counted, and
 * what is left when they are gone. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/check.h"

enum { THREADS = 4, MIB = 1024 * 1024 };

static accel_stream *stream;

static accel_device device(void)
{
    return test_cpu_device(0);
}

static accel_memory_statistics read(void)
{
    accel_memory_statistics all = {.struct_size = sizeof all};
    OK(accel_memory_stats(device(), &all));
    return all;
}

static int start_over(void **state)
{
    (void)state;
    OK(accel_allocator_set_config(""));
    OK(accel_synchronize(device()));
    OK(accel_empty_cache());
    OK(accel_reset_accumulated_memory_stats(device()));
    OK(accel_reset_peak_memory_stats(device()));
    return 0;
}

static void run(int count, void *(*body)(void *user), void *users, size_t user_size)
{
    pthread_t threads[16];
    for (int i = 0; i < count; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, body, (char *)users + (size_t)i * user_size), 0);
    for (int i = 0; i < count; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void expect_nothing_left(void)
{
    OK(accel_synchronize(device()));
    OK(accel_empty_cache());
    const accel_memory_statistics now = read();
    assert_int_equal(now.allocation[0].current, 0);
    assert_int_equal(now.allocated_bytes[0].current, 0);
    assert_int_equal(now.active_bytes[0].current, 0);
    assert_int_equal(now.requested_bytes[0].current, 0);
    assert_int_equal(now.reserved_bytes[0].current, 0);
    for (int pool = 0; pool < 3; pool++) {
        assert_int_equal(now.allocation[pool].allocated, now.allocation[pool].freed);
        assert_int_equal(now.requested_bytes[pool].allocated, now.requested_bytes[pool].freed);
        assert_true(now.allocated_bytes[pool].peak >= 0);
    }
}

/* ---- each thread by itself ---- */

enum { HELD = 40, STEPS = 4000 };

typedef struct churn {
    unsigned seed;
    int64_t allocations;
} churn;

static bool is_whole(const unsigned char *memory, size_t size, int tag)
{
    return memory[0] == tag && memory[size - 1] == 255 - tag;
}

/* Sizes of all kinds; what is written stays, so no two have the same memory. */
static void *churn_memory(void *user)
{
    churn *of = user;
    unsigned char *held[HELD] = {NULL};
    size_t sizes[HELD] = {0};
    intptr_t wrong = 0;
    for (int i = 0; i < STEPS + HELD; i++) {
        const int at = i < STEPS ? rand_r(&of->seed) % HELD : i - STEPS;
        if (held[at] != NULL) {
            wrong += !is_whole(held[at], sizes[at], at);
            wrong += accel_memory_free(held[at]) != ACCEL_OK;
            held[at] = NULL;
        }
        if (i >= STEPS)
            continue;
        sizes[at] = 2 + ((size_t)rand_r(&of->seed) & (((size_t)1 << rand_r(&of->seed) % 22) - 1));
        if (accel_memory_alloc(stream, sizes[at], NULL, (void **)&held[at]) != ACCEL_OK)
            return (void *)(intptr_t)1; // NOLINT(performance-no-int-to-ptr)
        of->allocations++;
        held[at][0] = (unsigned char)at;
        held[at][sizes[at] - 1] = (unsigned char)(255 - at);
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_threads_by_themselves(void **state)
{
    (void)state;
    churn users[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        users[i] = (churn){.seed = i * 7919u + 1u};
    run(THREADS, churn_memory, users, sizeof users[0]);
    int64_t allocations = 0;
    for (int i = 0; i < THREADS; i++)
        allocations += users[i].allocations;
    assert_int_equal(read().allocation[0].allocated, allocations);
    expect_nothing_left();
}

/* ---- one thread's memory is freed by another ---- */

enum { SLOTS = 64, PASSED = 20000 };

static _Atomic(void *) slots[SLOTS];
static _Atomic(int) passed_on;

static void *pass_on(void *user)
{
    unsigned seed = *(unsigned *)user;
    intptr_t wrong = 0;
    while (atomic_fetch_add(&passed_on, 1) < PASSED) {
        void *memory = NULL;
        const size_t size = (size_t)(rand_r(&seed) % 5 == 0 ? 2 * MIB : 1 + rand_r(&seed) % 9000);
        wrong += accel_memory_alloc(stream, size, NULL, &memory) != ACCEL_OK;
        void *other = atomic_exchange(&slots[rand_r(&seed) % SLOTS], memory);
        wrong += accel_memory_free(other) != ACCEL_OK;
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_memory_freed_elsewhere(void **state)
{
    (void)state;
    unsigned seeds[THREADS] = {1, 2, 3, 4};
    passed_on = 0;
    run(THREADS, pass_on, seeds, sizeof seeds[0]);
    for (int i = 0; i < SLOTS; i++)
        OK(accel_memory_free(atomic_exchange(&slots[i], NULL)));
    expect_nothing_left();
}

/* ---- of two that free the same pointer at once one succeeds ---- */

enum { ROUNDS = 3000 };

static pthread_barrier_t barrier;
static void *contested;
static _Atomic(int) successes;

static void *free_contested(void *user)
{
    void *own = NULL;
    intptr_t wrong = accel_memory_alloc(stream, 512, NULL, &own) != ACCEL_OK;
    for (int i = 0; i < ROUNDS; i++) {
        if (user == (void *)slots) { /* the first thread */
            wrong += accel_memory_alloc(stream, i % 8 == 0 ? 2 * MIB : 4096, NULL, &contested) !=
                     ACCEL_OK;
            atomic_store(&successes, 0);
        }
        pthread_barrier_wait(&barrier);
        if (accel_memory_free(contested) == ACCEL_OK)
            atomic_fetch_add(&successes, 1);
        pthread_barrier_wait(&barrier);
        wrong += successes != 1;
        pthread_barrier_wait(&barrier);
    }
    wrong += accel_memory_free(own) != ACCEL_OK;
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_one_of_two_frees(void **state)
{
    (void)state;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    run(2, free_contested, (void *)slots, sizeof slots[0]);
    pthread_barrier_destroy(&barrier);
    expect_nothing_left();
}

/* ---- B73: peaks are not lost ---- */

enum { MEETING = 4 };

static _Atomic(bool) is_over;

static void *meet(void *user)
{
    const size_t size = *(const size_t *)user;
    intptr_t wrong = 0;
    while (!is_over) {
        void *memory = NULL;
        wrong += accel_memory_alloc(stream, size, NULL, &memory) != ACCEL_OK;
        pthread_barrier_wait(&barrier); /* all have one */
        wrong += accel_memory_free(memory) != ACCEL_OK;
        pthread_barrier_wait(&barrier); /* all have given it up */
        pthread_barrier_wait(&barrier); /* the figures were looked at */
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void expect_peaks(size_t size, int rounds, int64_t slack_count, int64_t slack_bytes)
{
    pthread_t threads[MEETING];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, MEETING + 1), 0);
    is_over = false;
    for (int i = 0; i < MEETING; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, meet, &size), 0);
    bool right = true;
    for (int i = 0; i < rounds; i++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        const accel_memory_statistics now = read();
        right = right && now.allocation[0].current == 0 && now.allocation[0].peak >= MEETING &&
                now.allocation[0].peak <= MEETING + slack_count &&
                now.allocated_bytes[0].peak >= MEETING * (int64_t)size &&
                now.allocated_bytes[0].peak <= MEETING * (int64_t)size + slack_bytes;
        OK(accel_reset_peak_memory_stats(device()));
        is_over = i == rounds - 1;
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < MEETING; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    pthread_barrier_destroy(&barrier);
    assert_true(right);
}

static void test_exact_peaks(void **state)
{
    (void)state;
    OK(accel_allocator_set_config("exact_peaks:True"));
    expect_peaks(4096, 1500, 0, 0);
    expect_peaks(2 * MIB, 300, 0, 0);
    OK(accel_allocator_set_config(""));
    expect_nothing_left();
}

static void test_peaks_within_their_bound(void **state)
{
    (void)state;
    expect_peaks(4096, 300, MEETING * 32, MEETING * (int64_t)MIB);
    expect_peaks(MIB, 300, MEETING * 32, MEETING * (int64_t)MIB);
    expect_peaks(2 * MIB, 300, 0, 0); /* large blocks are always counted exactly */
    expect_nothing_left();
}

/* No reading has a current above its peak, whatever is under way. */
static void *read_on(void *user)
{
    (void)user;
    intptr_t wrong = 0;
    for (int i = 0; !is_over; i++) {
        accel_memory_statistics now = {.struct_size = sizeof now};
        wrong += accel_memory_stats(device(), &now) != ACCEL_OK;
        for (int pool = 0; pool < 3; pool++)
            wrong += now.allocated_bytes[pool].current > now.allocated_bytes[pool].peak ||
                     now.active[pool].current > now.active[pool].peak;
        if (i % 16 == 0)
            wrong += accel_reset_peak_memory_stats(device()) != ACCEL_OK;
        if (i % 64 == 0)
            wrong += accel_empty_cache() != ACCEL_OK;
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_reading_meanwhile(void **state)
{
    (void)state;
    pthread_t reader;
    churn users[2] = {{.seed = 5}, {.seed = 6}};
    is_over = false;
    assert_int_equal(pthread_create(&reader, NULL, read_on, NULL), 0);
    run(2, churn_memory, users, sizeof users[0]);
    is_over = true;
    void *wrong = NULL;
    pthread_join(reader, &wrong);
    assert_null(wrong);
    expect_nothing_left();
}

/* ---- settings that change under threads at work ---- */

static void *change_settings(void *user)
{
    static const char *const texts[] = {"", "caching:False", "exact_peaks:True",
                                        "thread_cache_kb:0", "roundup_power2_divisions:4"};
    intptr_t wrong = 0;
    (void)user;
    for (size_t i = 0; !is_over; i++)
        wrong += accel_allocator_set_config(texts[i % (sizeof texts / sizeof texts[0])]) !=
                 ACCEL_OK;
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_settings_change_meanwhile(void **state)
{
    (void)state;
    pthread_t changer;
    churn users[2] = {{.seed = 8}, {.seed = 9}};
    is_over = false;
    assert_int_equal(pthread_create(&changer, NULL, change_settings, NULL), 0);
    run(2, churn_memory, users, sizeof users[0]);
    is_over = true;
    void *wrong = NULL;
    pthread_join(changer, &wrong);
    assert_null(wrong);
    OK(accel_allocator_set_config(""));
    expect_nothing_left();
}

/* ---- threads come and go ---- */

static void *allocate_and_end(void *user)
{
    intptr_t wrong = 0;
    (void)user;
    for (int i = 0; i < 20; i++) {
        void *memory = NULL;
        wrong += accel_memory_alloc(stream, 1000 * (size_t)(i + 1), NULL, &memory) != ACCEL_OK;
        wrong += accel_memory_free(memory) != ACCEL_OK;
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

/* What an ended thread had at hand is there for others, and with one thread left peaks are exact again. */
static void test_threads_come_and_go(void **state)
{
    (void)state;
    char users[8];
    for (int i = 0; i < 10; i++)
        run(8, allocate_and_end, users, 1);
    assert_int_equal(read().allocation[0].allocated, 10 * 8 * 20);
    expect_nothing_left();
    OK(accel_reset_peak_memory_stats(device()));
    void *memory[3];
    for (int i = 0; i < 3; i++)
        OK(accel_memory_alloc(stream, 700, NULL, &memory[i]));
    assert_int_equal(read().allocation[0].peak, 3);
    assert_int_equal(read().requested_bytes[0].peak, 2100);
    for (int i = 0; i < 3; i++)
        OK(accel_memory_free(memory[i]));
}

/* ---- one thread, more streams than it keeps drawers for ---- */

static void test_many_streams(void **state)
{
    (void)state;
    accel_stream *streams[40];
    void *memory[40];
    for (int i = 0; i < 40; i++)
        OK(accel_stream_create(device(), NULL, &streams[i]));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 40; i++) {
            OK(accel_memory_alloc(streams[i], 4096, NULL, &memory[i]));
            accel_pointer_information known = {.struct_size = sizeof known};
            OK(accel_pointer_info(memory[i], &known));
            assert_ptr_equal(known.home_stream, streams[i]);
        }
        for (int i = 0; i < 40; i++)
            OK(accel_memory_free(memory[i]));
    }
    /* New streams may lie where released ones lay: they must not be taken for those. */
    for (int round = 0; round < 40; round++) {
        accel_stream_release(streams[round]);
        OK(accel_stream_create(device(), NULL, &streams[round]));
        OK(accel_memory_alloc(streams[round], 4096, NULL, &memory[0]));
        accel_pointer_information known = {.struct_size = sizeof known};
        OK(accel_pointer_info(memory[0], &known));
        assert_ptr_equal(known.home_stream, streams[round]);
        OK(accel_memory_free(memory[0]));
    }
    for (int i = 0; i < 40; i++)
        accel_stream_release(streams[i]);
    expect_nothing_left();
}

int main(void)
{
    test_environment(1);
    if (accel_stream_default(device(), &stream) != ACCEL_OK)
        return 1;
#define FRESH(name) cmocka_unit_test_setup(name, start_over)
    const struct CMUnitTest tests[] = {
        FRESH(test_threads_by_themselves),
        FRESH(test_memory_freed_elsewhere),
        FRESH(test_one_of_two_frees),
        FRESH(test_exact_peaks),
        FRESH(test_peaks_within_their_bound),
        FRESH(test_reading_meanwhile),
        FRESH(test_settings_change_meanwhile),
        FRESH(test_threads_come_and_go),
        FRESH(test_many_streams),
    };
    return cmocka_run_group_tests_name("memory_threads", tests, NULL, NULL);
}
