/* memory_parts_fork_test.c: what a forked child has of its parent's pools, wrapped, guarded and pinned memory
 * on cpu, which survives a fork. */
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

static accel_device device;

/* ---- pools ---- */

/* A child with an open scope allocates from the pool, which is empty there. */
static int allocate_in_child(void *user)
{
    accel_memory_pool *pool = user;
    accel_memory_pool_scope scope;
    void *memory = NULL;
    uint32_t uses = 0;
    CHECK_QUIET(accel_memory_pool_scope_begin(pool, &scope) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, 5000, NULL, &memory) == ACCEL_OK);
    memset(memory, 5, 5000);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_memory_pool_scope_end(&scope);
    CHECK_QUIET(accel_memory_pool_trim(pool, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_get_use_count(pool, &uses) == ACCEL_OK && uses == 1);
    CHECK_QUIET(accel_memory_pool_release(pool) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_retain(pool) == ACCEL_ERROR_INVALID_ARGUMENT);
    return 0;
}

static void test_pool_and_fork(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    OK(accel_memory_pool_create(device, NULL, &pool));
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    unsigned char *memory = NULL;
    OK(accel_memory_alloc(NULL, 5000, &options, (void **)&memory));
    memset(memory, 1, 5000);
    assert_int_equal(test_in_child(allocate_in_child, pool, 20), 0);
    assert_int_equal(memory[4999], 1);
    OK(accel_memory_free(memory));
    OK(accel_memory_pool_release(pool));
}

/* ---- wrapped memory ---- */

static _Atomic(int) inherited_calls;

static void count_call(void *pointer, size_t size, void *user)
{
    (void)pointer, (void)size, (void)user;
    inherited_calls++;
}

static int free_inherited(void *user)
{
    unsigned char *memory = user;
    CHECK_QUIET(memory[7] == 9);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK_QUIET(inherited_calls == 0);
    CHECK_QUIET(accel_memory_wrap(ACCEL_DEVICE(test_cpu(), 0), memory, 100, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

static void test_wrap_and_fork(void **state)
{
    (void)state;
    static unsigned char memory[100];
    const accel_memory_wrap_options options = {.struct_size = sizeof options,
                                               .release = count_call};
    memory[7] = 9;
    OK(accel_memory_wrap(device, memory, sizeof memory, &options));
    assert_int_equal(test_in_child(free_inherited, memory, 20), 0);
    OK(accel_memory_free(memory));
    assert_int_equal(inherited_calls, 1);
}

/* ---- guarded memory ---- */

static int free_in_child(void *user)
{
    unsigned char *memory = user;
    void *own = NULL;
    CHECK_QUIET(memory[3] == 4);
    memory[1000] = 1; /* the child's copy: nobody looks at it */
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, 1000, NULL, &own) == ACCEL_OK);
    CHECK_QUIET(accel_synchronize(ACCEL_DEVICE(test_cpu(), 0)) == ACCEL_OK);
    ((unsigned char *)own)[1000] = 1;
    CHECK_QUIET(accel_memory_free(own) == ACCEL_ERROR_CORRUPTED);
    return 0;
}

static void test_guard_and_fork(void **state)
{
    (void)state;
    unsigned char *memory = NULL;
    OK(accel_allocator_set_config("guard:True"));
    OK(accel_memory_alloc(NULL, 1000, NULL, (void **)&memory));
    OK(accel_synchronize(device));
    memory[3] = 4;
    assert_int_equal(test_in_child(free_in_child, memory, 20), 0);
    OK(accel_memory_free(memory));
    OK(accel_allocator_set_config(""));
}

/* ---- pinned memory ---- */

static int use_pinned_in_child(void *user)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_host_memory_statistics figures = {.struct_size = sizeof figures};
    unsigned char *inherited = user;
    void *own = NULL;
    CHECK_QUIET(inherited[4999] == 3);
    CHECK_QUIET(accel_host_memory_stats(device, &figures) == ACCEL_OK);
    CHECK_QUIET(figures.active_requests.current == 0 && figures.reserved_bytes.peak == 0);
    CHECK_QUIET(accel_memory_alloc(NULL, 5000, &options, &own) == ACCEL_OK);
    CHECK_QUIET(own != inherited);
    memset(own, 4, 5000);
    CHECK_QUIET(accel_memory_free(inherited) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(inherited) == ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK_QUIET(accel_memory_free(own) == ACCEL_OK);
    CHECK_QUIET(accel_empty_host_cache() == ACCEL_OK);
    CHECK_QUIET(accel_host_memory_stats(device, &figures) == ACCEL_OK);
    CHECK_QUIET(figures.reserved_bytes.current == 0 && figures.active_requests.freed == 1);
    return 0;
}

static void test_pinned_and_fork(void **state)
{
    (void)state;
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_host_memory_statistics figures = {.struct_size = sizeof figures};
    void *cached = NULL;
    void *memory = NULL;
    OK(accel_memory_alloc(NULL, 5000, &options, &cached));
    OK(accel_memory_alloc(NULL, 5000, &options, &memory));
    OK(accel_memory_free(cached)); /* the child must not take it */
    memset(memory, 3, 5000);
    assert_int_equal(test_in_child(use_pinned_in_child, memory, 20), 0);
    assert_int_equal(((unsigned char *)memory)[0], 3);
    OK(accel_host_memory_stats(device, &figures));
    assert_int_equal(figures.active_requests.current, 1);
    OK(accel_memory_free(memory));
}

/* ---- settings ---- */

static int read_settings(void *user)
{
    char text[64];
    (void)user;
    CHECK_QUIET(accel_allocator_get_config(text, sizeof text, NULL) == ACCEL_OK);
    CHECK_QUIET(strcmp(text, "exact_peaks:True") == 0);
    CHECK_QUIET(accel_allocator_set_config("") == ACCEL_OK);
    return 0;
}

static void test_settings_and_fork(void **state)
{
    (void)state;
    char text[64];
    OK(accel_allocator_set_config("exact_peaks:True"));
    assert_int_equal(test_in_child(read_settings, NULL, 20), 0);
    OK(accel_allocator_get_config(text, sizeof text, NULL));
    assert_string_equal(text, "exact_peaks:True");
    OK(accel_allocator_set_config(""));
}

int main(void)
{
    test_environment(1);
    unsetenv("ACCEL_ALLOC_CONF");
    device = test_cpu_device(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_and_fork),     cmocka_unit_test(test_wrap_and_fork),
        cmocka_unit_test(test_guard_and_fork),    cmocka_unit_test(test_pinned_and_fork),
        cmocka_unit_test(test_settings_and_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
