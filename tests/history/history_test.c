/* Recording: which events, with which stacks, in which period. Case B69: what one user of the history set
 * up or left behind does not show in the next one's. */
#include <accel/allocator.h>

#include "support/kernels.h"
#include "support/process.h"
#include "written.h"

static const accel_memory_history_options off = {.struct_size = sizeof off,
                                                 .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
static volatile int sink; /* keeps calls from becoming jumps */

static int begin(void **state)
{
    (void)state;
    OK(accel_memory_record_history(NULL));
    return 0;
}

static int end(void **state)
{
    (void)state;
    OK(accel_memory_record_history(&off));
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_empty_cache());
    return 0;
}

__attribute__((noinline)) static void *allocate_by_a_name(size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(NULL, size, NULL, &memory));
    sink++;
    return memory;
}

__attribute__((noinline)) static void free_by_a_name(void *memory)
{
    OK(accel_memory_free(memory));
    sink++;
}

static void start(accel_memory_history_context context, size_t max_entries, uint32_t skip)
{
    const accel_memory_history_options options = {
        .struct_size = sizeof options,
        .context = context,
        .max_entries = max_entries,
        .skip_actions = skip,
    };
    OK(accel_memory_record_history(&options));
}

/* The n-th event from the end, 0 the last. */
static const json_t *event_from_end(const json_t *snapshot, size_t n)
{
    const json_t *events = written_events(snapshot, written_device(snapshot, "cpu:0"));
    const size_t count = json_array_size(events);
    assert_true(count > n);
    return json_array_get(events, count - 1 - n);
}

/* ---- events ---- */

static void check_event(const json_t *event, const char *action, const void *memory, size_t size)
{
    assert_string_equal(written_string(event, "action"), action);
    assert_int_equal(written_integer(event, "addr"), (uintptr_t)memory);
    assert_int_equal(written_integer(event, "size"), size);
    assert_int_equal(written_integer(event, "stream"), 0);
    assert_int_equal(json_integer_value(json_array_get(written_get(event, "pool_id"), 0)), 0);
    assert_int_equal(json_integer_value(json_array_get(written_get(event, "pool_id"), 1)), 0);
}

static void test_an_allocation_is_three_events(void **state)
{
    (void)state;
    void *memory = allocate_by_a_name(1000);
    free_by_a_name(memory);
    json_t *snapshot = written_now(NULL);
    check_event(event_from_end(snapshot, 2), "alloc", memory, 1000);
    check_event(event_from_end(snapshot, 1), "free_requested", memory, 1000);
    check_event(event_from_end(snapshot, 0), "free_completed", memory, 1000);
    assert_true(written_has_frame(written_get(event_from_end(snapshot, 2), "frames"),
                                  "allocate_by_a_name"));
    assert_true(
        written_has_frame(written_get(event_from_end(snapshot, 1), "frames"), "free_by_a_name"));
    json_decref(snapshot);
}

static void test_a_snapshot_is_an_event_of_the_next(void **state)
{
    (void)state;
    void *memory = allocate_by_a_name(5000);
    json_decref(written_now(NULL));
    json_t *snapshot = written_now(NULL);
    assert_string_equal(written_string(event_from_end(snapshot, 0), "action"), "snapshot");
    assert_true(written_integer(event_from_end(snapshot, 0), "size") >= 5000);
    json_decref(snapshot);
    free_by_a_name(memory);
}

static void test_segments_come_and_go_in_events(void **state)
{
    char letters[64];
    (void)state;
    OK(accel_empty_cache());
    accel_memory_clear_history();
    void *memory = allocate_by_a_name(30 << 20);
    free_by_a_name(memory);
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_empty_cache());
    json_t *snapshot = written_now(NULL);
    written_letters(snapshot, written_device(snapshot, "cpu:0"), letters, sizeof letters);
    assert_true(strcmp(letters, "SarcF") == 0 || strcmp(letters, "MarcU") == 0);
    assert_true(written_integer(event_from_end(snapshot, 0), "size") >= 30 << 20);
    assert_null(written_block(snapshot, 0, memory));
    json_decref(snapshot);
}

static void test_a_use_on_another_stream_completes_later(void **state)
{
    test_kernels kernels;
    test_gate gate = {0};
    accel_stream *stream = NULL;
    char letters[64];
    (void)state;
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    void *memory = allocate_by_a_name(7000);
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_record_stream(memory, stream));
    free_by_a_name(memory);

    json_t *snapshot = written_now(NULL);
    const int device = written_device(snapshot, "cpu:0");
    const json_t *block = written_block(snapshot, device, memory);
    assert_non_null(block);
    assert_string_equal(written_string(block, "state"), "active_pending_free");
    assert_int_equal(written_integer(block, "requested_size"), 7000);
    check_event(event_from_end(snapshot, 0), "free_requested", memory, 7000);
    json_decref(snapshot);

    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    OK(accel_synchronize(test_cpu_device(0)));
    snapshot = written_now(NULL);
    written_letters(snapshot, device, letters, sizeof letters);
    assert_string_equal(letters + strlen(letters) - 2, "sc");
    check_event(event_from_end(snapshot, 0), "free_completed", memory, 7000);
    block = written_block(snapshot, device, memory);
    assert_true(block == NULL || strcmp(written_string(block, "state"), "inactive") == 0);
    json_decref(snapshot);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
}

static void test_running_out_of_memory_is_an_event(void **state)
{
    void *memory = NULL;
    (void)state;
    EXPECT(accel_memory_alloc(NULL, (size_t)1 << 46, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
    json_t *snapshot = written_now(NULL);
    const json_t *event = event_from_end(snapshot, 0);
    assert_string_equal(written_string(event, "action"), "oom");
    assert_true(written_integer(event, "size") >= (json_int_t)1 << 46);
    written_integer(event, "device_free");
    json_decref(snapshot);
}

static void test_streams_are_told_apart(void **state)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint64_t id = 0;
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_stream_get_id(stream, &id));
    OK(accel_memory_alloc(stream, 512, NULL, &memory));
    json_t *snapshot = written_now(NULL);
    assert_int_equal(written_integer(event_from_end(snapshot, 0), "stream"), id);
    json_decref(snapshot);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

/* ---- stacks ---- */

static bool has_frames(const json_t *event)
{
    return json_array_size(json_object_get(event, "frames")) != 0;
}

static void test_contexts(void **state)
{
    (void)state;
    for (int context = ACCEL_MEMORY_HISTORY_CONTEXT_NEVER;
         context <= ACCEL_MEMORY_HISTORY_CONTEXT_ALL; context++) {
        start((accel_memory_history_context)context, 0, 0);
        void *kept = allocate_by_a_name(100);
        free_by_a_name(allocate_by_a_name(200));
        json_t *snapshot = written_now(NULL);
        const json_t *block = written_block(snapshot, 0, kept);
        assert_int_equal(has_frames(block), context >= ACCEL_MEMORY_HISTORY_CONTEXT_STATE);
        assert_int_equal(has_frames(event_from_end(snapshot, 2)),
                         context >= ACCEL_MEMORY_HISTORY_CONTEXT_ALLOC);
        assert_int_equal(has_frames(event_from_end(snapshot, 1)),
                         context >= ACCEL_MEMORY_HISTORY_CONTEXT_ALL);
        assert_int_equal(has_frames(event_from_end(snapshot, 0)),
                         context >= ACCEL_MEMORY_HISTORY_CONTEXT_ALL);
        json_decref(snapshot);
        free_by_a_name(kept);
    }
}

static void test_state_keeps_stacks_and_no_events(void **state)
{
    const accel_memory_history_options options = {.struct_size = sizeof options,
                                                  .mode = ACCEL_MEMORY_HISTORY_MODE_STATE};
    (void)state;
    OK(accel_memory_record_history(&options));
    void *memory = allocate_by_a_name(100);
    json_t *snapshot = written_now(NULL);
    assert_true(written_has_frame(written_get(written_block(snapshot, 0, memory), "frames"),
                                  "allocate_by_a_name"));
    assert_int_equal(json_array_size(written_events(snapshot, 0)), 0);
    json_decref(snapshot);
    free_by_a_name(memory);
}

static void test_frames_are_the_innermost_of_the_program(void **state)
{
    accel_memory_history_options options = {.struct_size = sizeof options, .max_frames = 1};
    (void)state;
    OK(accel_memory_record_history(&options));
    void *memory = allocate_by_a_name(100);
    json_t *snapshot = written_now(NULL);
    const json_t *frames = written_get(written_block(snapshot, 0, memory), "frames");
    assert_int_equal(json_array_size(frames), 1);
    assert_true(written_has_frame(frames, "allocate_by_a_name"));
    json_decref(snapshot);
    free_by_a_name(memory);

    options.max_frames = ACCEL_MEMORY_HISTORY_FRAMES_MAX;
    OK(accel_memory_record_history(&options));
    memory = allocate_by_a_name(100);
    snapshot = written_now(NULL);
    frames = written_get(written_block(snapshot, 0, memory), "frames");
    assert_true(json_array_size(frames) > 3);
    assert_true(written_has_frame(frames, "test_frames_are_the_innermost_of_the_program"));
    assert_true(written_has_frame(frames, "main"));
    json_decref(snapshot);
    free_by_a_name(memory);
}

static void test_frame_pointers_know_the_caller(void **state)
{
    const accel_memory_history_options options = {
        .struct_size = sizeof options,
        .unwinder = ACCEL_MEMORY_HISTORY_UNWINDER_FRAME_POINTERS,
    };
    (void)state;
    OK(accel_memory_record_history(&options));
    void *memory = allocate_by_a_name(100);
    json_t *snapshot = written_now(NULL);
    assert_true(written_has_frame(written_get(written_block(snapshot, 0, memory), "frames"),
                                  "allocate_by_a_name"));
    json_decref(snapshot);
    free_by_a_name(memory);
}

static void test_stacks_stay_with_live_allocations(void **state)
{
    (void)state;
    void *before = allocate_by_a_name(100);
    OK(accel_memory_record_history(&off));
    void *after = allocate_by_a_name(100);
    json_t *snapshot = written_now(NULL);
    assert_true(has_frames(written_block(snapshot, 0, before)));
    assert_false(has_frames(written_block(snapshot, 0, after)));
    assert_int_equal(json_array_size(written_events(snapshot, 0)), 0);
    json_decref(snapshot);
    free_by_a_name(before);
    free_by_a_name(after);
    after = allocate_by_a_name(100); /* the block that had a stack */
    snapshot = written_now(NULL);
    assert_false(has_frames(written_block(snapshot, 0, after)));
    json_decref(snapshot);
    free_by_a_name(after);
}

/* ---- periods: B69 ---- */

static void test_a_period_has_its_own_events(void **state)
{
    char letters[64];
    (void)state;
    start(ACCEL_MEMORY_HISTORY_CONTEXT_ALL, 3, 0);
    for (int i = 0; i < 10; i++)
        free_by_a_name(allocate_by_a_name(3000));
    json_t *snapshot = written_now(NULL);
    const json_t *ours = written_get(snapshot, "accel");
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "arc");
    assert_true(json_is_true(written_get(ours, "overflow")));
    assert_true(json_integer_value(json_array_get(written_get(ours, "events"), 0)) >= 30);
    assert_int_equal(json_integer_value(json_array_get(written_get(ours, "events"), 0)) -
                         json_integer_value(json_array_get(written_get(ours, "events_lost"), 0)),
                     3);
    json_decref(snapshot);

    OK(accel_memory_record_history(&off));
    free_by_a_name(allocate_by_a_name(3000));
    start(ACCEL_MEMORY_HISTORY_CONTEXT_NEVER, 100, 0);
    void *memory = allocate_by_a_name(4000);
    free_by_a_name(memory);
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_empty_cache());
    snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_int_equal(strncmp(letters, "arc", 3), 0);
    assert_true(strlen(letters) > 3); /* emptying the cache */
    for (const char *letter = letters + 3; *letter != '\0'; letter++)
        assert_true(*letter == 'F' || *letter == 'U');
    check_event(json_array_get(written_events(snapshot, 0), 0), "alloc", memory, 4000);
    assert_true(json_is_false(written_get(written_get(snapshot, "accel"), "overflow")));
    json_decref(snapshot);
}

static void test_a_period_begins_without_an_end_before(void **state)
{
    char letters[64];
    (void)state;
    start(ACCEL_MEMORY_HISTORY_CONTEXT_ALL, 2, 0);
    for (int i = 0; i < 10; i++)
        free_by_a_name(allocate_by_a_name(3000));
    start(ACCEL_MEMORY_HISTORY_CONTEXT_ALL, 2, 0);
    void *memory = allocate_by_a_name(3000);
    json_t *snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "a");
    assert_true(json_is_false(written_get(written_get(snapshot, "accel"), "overflow")));
    json_decref(snapshot);
    accel_memory_clear_history();
    free_by_a_name(memory);
    snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "rc");
    json_decref(snapshot);
}

static void test_one_entry_is_enough(void **state)
{
    char letters[64];
    (void)state;
    start(ACCEL_MEMORY_HISTORY_CONTEXT_ALL, 1, 0);
    void *memory = allocate_by_a_name(3000);
    json_t *snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "a");
    json_decref(snapshot);
    free_by_a_name(memory);
    snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "c");
    json_decref(snapshot);
}

static void test_actions_can_be_skipped(void **state)
{
    char letters[64];
    (void)state;
    start(ACCEL_MEMORY_HISTORY_CONTEXT_ALL, 0,
          ACCEL_MEMORY_ACTION_BIT(ACCEL_MEMORY_ACTION_FREE_REQUESTED) |
              ACCEL_MEMORY_ACTION_BIT(ACCEL_MEMORY_ACTION_SNAPSHOT));
    free_by_a_name(allocate_by_a_name(3000));
    json_decref(written_now(NULL));
    json_t *snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters + strlen(letters) - 2, "ac");
    json_decref(snapshot);
}

static void test_devices_are_apart(void **state)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    char letters[64];
    (void)state;
    OK(accel_stream_default(test_cpu_device(1), &stream));
    void *first = allocate_by_a_name(100);
    OK(accel_memory_alloc(stream, 200, NULL, &memory));
    json_t *snapshot = written_now(NULL);
    assert_int_equal(written_device(snapshot, "cpu:0"), 0);
    assert_int_equal(written_device(snapshot, "cpu:1"), 1);
    assert_non_null(written_block(snapshot, 0, first));
    assert_null(written_block(snapshot, 0, memory));
    assert_non_null(written_block(snapshot, 1, memory));
    written_letters(snapshot, 1, letters, sizeof letters);
    assert_int_equal(letters[strlen(letters) - 1], 'a');
    check_event(json_array_get(written_events(snapshot, 1),
                               json_array_size(written_events(snapshot, 1)) - 1),
                "alloc", memory, 200);
    json_decref(snapshot);
    OK(accel_memory_free(memory));
    free_by_a_name(first);
}

static void test_events_can_be_left_out(void **state)
{
    const accel_memory_snapshot_options options = {
        .struct_size = sizeof options, .backend = test_cpu(), .without_events = true};
    (void)state;
    void *memory = allocate_by_a_name(100);
    json_t *snapshot = written_now(&options);
    assert_non_null(written_block(snapshot, 0, memory));
    assert_int_equal(json_array_size(written_events(snapshot, 0)), 0);
    json_decref(snapshot);
    free_by_a_name(memory);
}

/* ---- refusals ---- */

static void test_wrong_options_change_nothing(void **state)
{
    static const char function[] = "accel_memory_record_history";
    const accel_memory_history_options good = {.struct_size = sizeof good};
    accel_memory_history_options bad = good;
    char letters[8];
    (void)state;
    void *memory = allocate_by_a_name(100);
    accel_memory_clear_history();
    free_by_a_name(memory);
    bad.mode = (accel_memory_history_mode)4;
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    bad = good;
    bad.context = (accel_memory_history_context)5;
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    bad = good;
    bad.unwinder = (accel_memory_history_unwinder)3;
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    bad = good;
    bad.max_frames = ACCEL_MEMORY_HISTORY_FRAMES_MAX + 1;
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    bad = good;
    bad.skip_actions = ACCEL_MEMORY_ACTION_BIT(9);
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    bad = good;
    bad.max_entries = SIZE_MAX;
    FAILS(accel_memory_record_history(&bad), ACCEL_ERROR_INVALID_ARGUMENT, function);
    json_t *snapshot = written_now(NULL);
    written_letters(snapshot, 0, letters, sizeof letters);
    assert_string_equal(letters, "rc"); /* still the same period */
    json_decref(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_allocation_is_three_events, begin, end),
        cmocka_unit_test_setup_teardown(test_a_snapshot_is_an_event_of_the_next, begin, end),
        cmocka_unit_test_setup_teardown(test_segments_come_and_go_in_events, begin, end),
        cmocka_unit_test_setup_teardown(test_a_use_on_another_stream_completes_later, begin, end),
        cmocka_unit_test_setup_teardown(test_running_out_of_memory_is_an_event, begin, end),
        cmocka_unit_test_setup_teardown(test_streams_are_told_apart, begin, end),
        cmocka_unit_test_setup_teardown(test_contexts, begin, end),
        cmocka_unit_test_setup_teardown(test_state_keeps_stacks_and_no_events, begin, end),
        cmocka_unit_test_setup_teardown(test_frames_are_the_innermost_of_the_program, begin, end),
        cmocka_unit_test_setup_teardown(test_frame_pointers_know_the_caller, begin, end),
        cmocka_unit_test_setup_teardown(test_stacks_stay_with_live_allocations, begin, end),
        cmocka_unit_test_setup_teardown(test_a_period_has_its_own_events, begin, end),
        cmocka_unit_test_setup_teardown(test_a_period_begins_without_an_end_before, begin, end),
        cmocka_unit_test_setup_teardown(test_one_entry_is_enough, begin, end),
        cmocka_unit_test_setup_teardown(test_actions_can_be_skipped, begin, end),
        cmocka_unit_test_setup_teardown(test_devices_are_apart, begin, end),
        cmocka_unit_test_setup_teardown(test_events_can_be_left_out, begin, end),
        cmocka_unit_test_setup_teardown(test_wrong_options_change_nothing, begin, end),
    };
    test_environment(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
