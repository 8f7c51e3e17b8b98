/* memory_limit_threads_test.c: memory that is there is not denied because another thread asks for memory that it
 * does not get in the end. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/check.h"
#include "support/process.h"

enum { MIB = 1 << 20 };

static _Atomic(bool) is_asking;
static accel_memory_pool *pool;

/* A source that thinks for a while, and has nothing. */
static accel_status have_nothing(void *user, accel_device device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    (void)user;
    (void)device;
    (void)size;
    (void)alignment;
    *out_pointer = NULL;
    atomic_store(&is_asking, true);
    test_nap_ms(50);
    return ACCEL_OK;
}

static void take_back(void *user, accel_device device, void *pointer, size_t size)
{
    (void)user;
    (void)device;
    (void)pointer;
    (void)size;
}

static void *ask_for_much(void *user)
{
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    void *memory = NULL;
    *(accel_status *)user = accel_memory_alloc(NULL, (size_t)150 * MIB, &options, &memory);
    return NULL;
}

static void test_who_gets_nothing_denies_nothing(void **state)
{
    const accel_memory_pool_options options = {
        .struct_size = sizeof options, .source = {.alloc = have_nothing, .free = take_back}};
    accel_status status = ACCEL_OK;
    void *memory = NULL;
    pthread_t thread;
    (void)state;
    OK(accel_memory_pool_create(test_cpu_device(0), &options, &pool));
    OK(accel_allocator_set_memory_limit(test_cpu_device(0), (size_t)200 * MIB));
    assert_int_equal(pthread_create(&thread, NULL, ask_for_much, &status), 0);
    while (!atomic_load(&is_asking))
        test_nap_ms(1);
    OK(accel_memory_alloc(NULL, (size_t)100 * MIB, NULL, &memory));
    pthread_join(thread, NULL);
    assert_int_equal(status, ACCEL_ERROR_OUT_OF_MEMORY);
    EXPECT(accel_memory_alloc(NULL, (size_t)150 * MIB, NULL, &(void *){NULL}),
           ACCEL_ERROR_OUT_OF_MEMORY); /* the limit holds all the same */
    OK(accel_memory_free(memory));
    OK(accel_memory_pool_release(pool));
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_gets_nothing_denies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
