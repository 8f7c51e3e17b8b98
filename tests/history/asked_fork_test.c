/* What the history answers before anything was allocated, and in forked children. */
#include <accel/allocator.h>

#include <unistd.h>

#include "support/process.h"
#include "written.h"

static bool count(const accel_memory_leak *leak, void *user)
{
    (void)leak;
    ++*(size_t *)user;
    return true;
}

/* Case B49: nothing starts, and the answer is empty. */
static void test_before_anything_the_answer_is_empty(void **state)
{
    const unsigned threads = test_thread_count();
    const uint64_t descriptors = test_descriptor_digest();
    size_t leaks = 0;
    accel_fork_report fork_state = {.struct_size = sizeof fork_state};
    (void)state;
    json_t *snapshot = written_now(NULL);
    assert_int_equal(json_array_size(written_get(snapshot, "segments")), 0);
    assert_int_equal(json_array_size(written_get(snapshot, "device_traces")), 0);
    json_decref(snapshot);
    OK(accel_memory_record_history(NULL));
    accel_memory_clear_history();
    json_decref(written_now(NULL));
    OK(accel_memory_leaks_visit(count, &leaks));
    accel_memory_leaks_log();
    assert_int_equal(leaks, 0);
    assert_int_equal(test_thread_count(), threads);
    assert_int_equal(test_descriptor_digest(), descriptors);
    OK(accel_fork_state(&fork_state));
    assert_int_equal(fork_state.verdict, ACCEL_FORK_VERDICT_CLEAN);
}

static int look_in_child(void *user)
{
    void *memory = user;
    size_t leaks = 0;
    accel_memory_snapshot *snapshot = NULL;
    char path[] = "/tmp/accel-child-XXXXXX.json";
    const int descriptor = mkstemps(path, 5);
    CHECK_QUIET(descriptor >= 0);
    close(descriptor);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK); /* the parent's */
    CHECK_QUIET(accel_memory_leaks_visit(count, &leaks) == ACCEL_OK);
    CHECK_QUIET(leaks == 0);
    CHECK_QUIET(accel_memory_snapshot_create(NULL, &snapshot) == ACCEL_OK);
    CHECK_QUIET(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON) ==
                ACCEL_OK);
    accel_memory_snapshot_release(snapshot);
    json_t *read = json_load_file(path, 0, NULL);
    unlink(path);
    CHECK_QUIET(read != NULL);
    for (size_t i = 0; i < json_array_size(json_object_get(read, "segments")); i++) {
        const json_t *segment = json_array_get(json_object_get(read, "segments"), i);
        CHECK_QUIET(json_integer_value(json_object_get(segment, "active_size")) == 0);
    }
    for (size_t i = 0; i < json_array_size(json_object_get(read, "device_traces")); i++)
        CHECK_QUIET(json_array_size(json_array_get(json_object_get(read, "device_traces"), i)) ==
                    0);
    json_decref(read);
    return 0;
}

/* The child's own history begins when the child says so. */
static int record_in_child(void *user)
{
    void *memory = NULL;
    size_t leaks = 0;
    (void)user;
    CHECK_QUIET(accel_memory_record_history(NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, 1000, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_leaks_visit(count, &leaks) == ACCEL_OK);
    CHECK_QUIET(leaks == 1);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

/* Without a word in between, the first note of the child finds the parent's history off. */
static int allocate_in_child(void *user)
{
    void *memory = NULL;
    CHECK_QUIET(accel_memory_alloc(NULL, 1000, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return look_in_child(user);
}

static void test_a_child_has_no_history(void **state)
{
    void *memory = NULL;
    size_t leaks = 0;
    (void)state;
    OK(accel_memory_record_history(NULL));
    OK(accel_memory_alloc(NULL, 1000, NULL, &memory));
    assert_int_equal(test_in_child(look_in_child, memory, 20), 0);
    assert_int_equal(test_in_child(allocate_in_child, memory, 20), 0);
    assert_int_equal(test_in_child(record_in_child, memory, 20), 0);
    OK(accel_memory_leaks_visit(count, &leaks));
    assert_int_equal(leaks, 1);
    json_t *snapshot = written_now(NULL);
    assert_non_null(written_block(snapshot, 0, memory));
    assert_true(json_array_size(written_events(snapshot, 0)) != 0);
    json_decref(snapshot);
    OK(accel_memory_free(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_anything_the_answer_is_empty),
        cmocka_unit_test(test_a_child_has_no_history),
    };
    test_environment(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
