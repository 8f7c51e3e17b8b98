/* memory_cache_fork_test.c: what a forked child finds of its parent's memory, and what it makes of its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

enum { MIB = 1024 * 1024, BLOCKS = 32 };

static accel_stream *stream;
static unsigned char *inherited[BLOCKS];

static size_t size_of(int i)
{
    return (size_t)(i % 4 == 3 ? 2 * MIB : 100 + i * 1000);
}

static accel_status allocate_all(unsigned char *memory[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        const accel_status status = accel_memory_alloc(stream, size_of(i), NULL,
                                                       (void **)&memory[i]);
        if (status != ACCEL_OK)
            return status;
        memset(memory[i], i, size_of(i));
    }
    return ACCEL_OK;
}

static accel_status free_all(unsigned char *memory[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        const accel_status status = accel_memory_free(memory[i]);
        if (status != ACCEL_OK)
            return status;
    }
    return ACCEL_OK;
}

static bool is_intact(unsigned char *const memory[BLOCKS], int first)
{
    for (int i = first; i < BLOCKS; i++)
        if (memory[i][0] != i || memory[i][size_of(i) - 1] != i)
            return false;
    return true;
}

static int64_t figure(const char *key)
{
    int64_t value = -1;
    return accel_memory_stats_get(test_cpu_device(0), key, &value) == ACCEL_OK ? value : -1;
}

/* ---- children ---- */

static int use_memory(void *user)
{
    unsigned char *own[BLOCKS];
    const int depth = *(const int *)user;
    CHECK_QUIET(figure("allocation.all.current") == 0);
    CHECK_QUIET(figure("allocation.all.allocated") == 0);
    CHECK_QUIET(figure("reserved_bytes.all.current") == 0);
    CHECK_QUIET(is_intact(inherited, 0));
    for (int round = 0; round < 3; round++) {
        CHECK_QUIET(allocate_all(own) == ACCEL_OK);
        CHECK_QUIET(figure("allocation.all.current") == BLOCKS);
        CHECK_QUIET(is_intact(own, 0) && is_intact(inherited, 0));
        CHECK_QUIET(free_all(own) == ACCEL_OK);
    }
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    CHECK_QUIET(accel_empty_cache() == ACCEL_OK);
    CHECK_QUIET(figure("reserved_bytes.all.current") == 0);
    int next = depth - 1;
    return next > 0 ? test_in_child(use_memory, &next, 30) : 0;
}

/* Freeing what the parent allocated does nothing but make the pointer unknown; twice is an error. */
static int free_inherited(void *user)
{
    (void)user;
    accel_pointer_information known = {.struct_size = sizeof known};
    for (int round = 0; round < 2; round++) {
        CHECK_QUIET(accel_pointer_info(inherited[5] + 17, &known) == ACCEL_OK);
        CHECK_QUIET(known.base == (round == 0 ? inherited[5] : NULL));
        CHECK_QUIET(accel_memory_free(inherited[5]) ==
                    (round == 0 ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT));
    }
    CHECK_QUIET(figure("allocation.all.current") == 0);
    CHECK_QUIET(figure("allocation.all.freed") == 0);
    CHECK_QUIET(inherited[5][0] == 5);
    void *memory = NULL;
    CHECK_QUIET(accel_memory_alloc(stream, size_of(5), NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(memory != inherited[5]); /* it is not handed out again */
    for (int i = 6; i < BLOCKS; i++)
        CHECK_QUIET(accel_memory_free(inherited[i]) == ACCEL_OK);
    CHECK_QUIET(is_intact(inherited, 6)); /* it stays readable */
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

/* ---- */

static void test_a_child_has_its_own(void **state)
{
    (void)state;
    int depth = 3;
    assert_int_equal(test_in_child(use_memory, &depth, 60), 0);
    assert_int_equal(figure("allocation.all.current"), BLOCKS);
    assert_true(is_intact(inherited, 0));
}

static void test_freeing_what_is_inherited(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(free_inherited, NULL, 30), 0);
    assert_int_equal(figure("allocation.all.current"), BLOCKS);
}

static _Atomic(bool) is_over;

static void *churn(void *user)
{
    unsigned seed = 1;
    (void)user;
    while (!is_over) {
        void *memory[8];
        for (int i = 0; i < 8; i++)
            if (accel_memory_alloc(stream, (size_t)(1 + rand_r(&seed) % (3 * MIB)), NULL,
                                   &memory[i]) != ACCEL_OK)
                return user;
        for (int i = 0; i < 8; i++)
            if (accel_memory_free(memory[i]) != ACCEL_OK)
                return user;
    }
    return NULL;
}

/* Whatever other threads of the parent are at: in a lock of a heap, in their caches, in the map. */
static void test_forks_while_threads_allocate(void **state)
{
    (void)state;
    pthread_t threads[2];
    int depth = 1;
    is_over = false;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, inherited), 0);
    for (int i = 0; i < 25; i++) {
        assert_int_equal(test_in_child(use_memory, &depth, 30), 0);
        test_nap_ms(1);
    }
    is_over = true;
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static int first_of_all(void *user)
{
    (void)user;
    unsigned char *own[BLOCKS];
    CHECK_QUIET(accel_stream_default(test_cpu_device(0), &stream) == ACCEL_OK);
    CHECK_QUIET(figure("allocation.all.current") == 0);
    CHECK_QUIET(allocate_all(own) == ACCEL_OK && free_all(own) == ACCEL_OK);
    return 0;
}

static void test_a_child_of_a_clean_parent(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(first_of_all, NULL, 30), 0);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest before[] = {cmocka_unit_test(test_a_child_of_a_clean_parent)};
    const int failed = cmocka_run_group_tests_name("memory_cache_fork, before", before, NULL, NULL);
    if (accel_stream_default(test_cpu_device(0), &stream) != ACCEL_OK ||
        allocate_all(inherited) != ACCEL_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_has_its_own),
        cmocka_unit_test(test_freeing_what_is_inherited),
        cmocka_unit_test(test_forks_while_threads_allocate),
    };
    const int more = cmocka_run_group_tests_name("memory_cache_fork", tests, NULL, NULL);
    return failed + more + (free_all(inherited) != ACCEL_OK);
}
