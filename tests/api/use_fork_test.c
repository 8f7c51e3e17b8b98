/* use_fork_test.c: promise 4 on the cpu backend: children of parents that asked, that used the device,
 * whose other threads use it all the time; a hundred at once; grandchildren. Nothing hangs. Case B36:
 * no lock stays locked in a child. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels kernels;
static accel_stream *stream;
static accel_event *passed_event;
static uint32_t *memory;

/* Launches, copies and waits on `on` with new memory; the answer is checked. */
static int work_on(accel_stream *on, const test_kernels *with)
{
    uint32_t host[64];
    const uint32_t start = 5;
    void *block = NULL;
    CHECK_QUIET(accel_memory_alloc(on, sizeof host, NULL, &block) == ACCEL_OK);
    CHECK_QUIET(accel_fill(block, &start, 4, sizeof host, on) == ACCEL_OK);
    for (int i = 0; i < 10; i++)
        CHECK_QUIET(test_launch_add(with, on, block, 64, 1) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, block, sizeof host, on) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(on) == ACCEL_OK);
    for (int i = 0; i < 64; i++)
        CHECK_QUIET(host[i] == 15);
    CHECK_QUIET(accel_memory_free(block) == ACCEL_OK);
    return 0;
}

/* All that a child may want: inherited objects, new objects, then the default stream. */
static int use_everything(void *user)
{
    (void)user;
    test_kernels own;
    accel_stream *made = NULL;
    accel_stream *plain = NULL;
    if (work_on(stream, &kernels) != 0)
        return 1;
    CHECK_QUIET(test_kernels_load(test_cpu_device(0), &own) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &made) == ACCEL_OK);
    CHECK_QUIET(accel_stream_default(test_cpu_device(0), &plain) == ACCEL_OK);
    if (work_on(made, &own) != 0 || work_on(plain, &kernels) != 0)
        return 1;
    accel_stream_release(made);
    test_kernels_unload(&own);
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    return 0;
}

static int first_use(void *user)
{
    (void)user;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(test_kernels_load(test_cpu_device(0), &kernels) == ACCEL_OK);
    return use_everything(NULL);
}

static void test_list_fork_launch(void **state)
{
    (void)state;
    int32_t count = 0;
    accel_device_info info = {.struct_size = sizeof info};
    OK(accel_device_count(test_cpu(), &count));
    OK(accel_device_describe(test_cpu_device(0), &info));
    for (int i = 0; i < 5; i++)
        assert_int_equal(test_in_child(first_use, NULL, 20), 0);
    assert_int_equal(test_thread_count(), 1);
}

/* From here on the parent has used the device. */
static void test_launch_fork_launch(void **state)
{
    (void)state;
    assert_int_equal(first_use(NULL), 0);
    OK(accel_event_create(test_cpu_device(0), NULL, &passed_event));
    OK(accel_event_record(passed_event, stream));
    OK(accel_event_synchronize(passed_event));
    OK(accel_memory_alloc(stream, 4 * 64, NULL, (void **)&memory));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(test_in_child(use_everything, NULL, 20), 0);
        assert_int_equal(use_everything(NULL), 0);
    }
}

static int look_around(void *user)
{
    (void)user;
    bool initialized = true;
    int32_t count = 0;
    bool done = false;
    /* The questions work and start nothing. */
    CHECK_QUIET(accel_is_initialized(test_cpu(), &initialized) == ACCEL_OK && !initialized);
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 1);
    accel_device_capability capability = {.struct_size = sizeof capability};
    CHECK_QUIET(accel_get_device_capability(test_cpu_device(0), &capability) == ACCEL_OK);
    CHECK_QUIET(capability.survives_fork);
    size_t free_bytes = 0;
    size_t total = 0;
    CHECK_QUIET(accel_get_memory_info(test_cpu_device(0), &free_bytes, &total) == ACCEL_OK);
    accel_pointer_information information = {.struct_size = sizeof information};
    CHECK_QUIET(accel_pointer_info(memory + 3, &information) == ACCEL_OK);
    CHECK_QUIET(information.base == memory && information.offset == 12);
    CHECK_QUIET(accel_stream_query(stream, &done) == ACCEL_OK && done);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    CHECK_QUIET(accel_event_query(passed_event, &done) == ACCEL_OK && done);
    CHECK_QUIET(accel_event_synchronize(passed_event) == ACCEL_OK);
    CHECK_QUIET(test_thread_count() == 1);
    CHECK_QUIET(accel_is_initialized(test_cpu(), &initialized) == ACCEL_OK && !initialized);
    return 0;
}

static void test_questions_in_the_child(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(look_around, NULL, 20), 0);
}

static int memory_as_at_the_fork(void *user)
{
    (void)user;
    uint32_t host[64] = {0};
    for (int i = 0; i < 64; i++)
        CHECK_QUIET(memory[i] == 7); /* readable by the host, as the capability says */
    CHECK_QUIET(accel_copy(host, memory, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&kernels, stream, memory, 64, 1) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(host[63] == 7 && memory[63] == 8);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

static void test_inherited_memory(void **state)
{
    (void)state;
    const uint32_t seven = 7;
    OK(accel_fill(memory, &seven, 4, 4 * 64, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(test_in_child(memory_as_at_the_fork, NULL, 20), 0);
    for (int i = 0; i < 64; i++)
        assert_int_equal(memory[i], 7);
}

static accel_event *pending_event;
static test_log log_of_stream;

static int pending_is_forked(void *user)
{
    (void)user;
    bool done = true;
    /* Inherited streams are empty; what was pending on them never runs here. */
    CHECK_QUIET(accel_stream_query(stream, &done) == ACCEL_OK && done);
    CHECK_QUIET(accel_event_query(pending_event, &done) == ACCEL_ERROR_FORKED);
    CHECK_QUIET(!done);
    CHECK_QUIET(accel_event_synchronize(pending_event) == ACCEL_ERROR_FORKED);
    accel_error error = {.struct_size = sizeof error};
    CHECK_QUIET(accel_last_error(&error) == ACCEL_OK);
    CHECK_QUIET(error.status == ACCEL_ERROR_FORKED &&
                strcmp(error.function, "accel_event_synchronize") == 0);
    CHECK_QUIET(accel_event_query(passed_event, &done) == ACCEL_OK && done);
    if (use_everything(NULL) != 0)
        return 1;
    CHECK_QUIET(log_of_stream.count == 0);
    /* Recorded anew it is as good as any. */
    CHECK_QUIET(accel_event_record(pending_event, stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_synchronize(pending_event) == ACCEL_OK);
    CHECK_QUIET(accel_event_query(pending_event, &done) == ACCEL_OK && done);
    return 0;
}

static void test_an_event_pending_at_the_fork(void **state)
{
    (void)state;
    test_gate gate = {0};
    OK(accel_event_create(test_cpu_device(0), NULL, &pending_event));
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(test_launch_append(&kernels, stream, &log_of_stream, 1));
    OK(accel_event_record(pending_event, stream));
    const int result = test_in_child(pending_is_forked, NULL, 20);
    bool done = true;
    OK(accel_event_query(pending_event, &done));
    assert_false(done); /* the parent's goes on as if nothing had been */
    test_gate_open(&gate);
    OK(accel_event_synchronize(pending_event));
    assert_int_equal(log_of_stream.count, 1);
    assert_int_equal(result, 0);
}

static int wait_for_a_lost_mark(void *user)
{
    (void)user;
    accel_stream *made = NULL;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &made) == ACCEL_OK);
    const accel_status status = accel_stream_wait_event(made, pending_event);
    CHECK_QUIET(status == ACCEL_ERROR_FORKED);
    CHECK_QUIET(accel_stream_synchronize(made) == ACCEL_OK); /* and nothing sticks or hangs */
    return work_on(made, &kernels);
}

static void test_a_wait_for_a_lost_mark(void **state)
{
    (void)state;
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_event_record(pending_event, stream));
    const int result = test_in_child(wait_for_a_lost_mark, NULL, 20);
    test_gate_open(&gate);
    OK(accel_event_synchronize(pending_event));
    assert_int_equal(result, 0);
}

static _Atomic(uint32_t) callback_calls;

static void count_call(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    (void)user;
    atomic_fetch_add(&callback_calls, 1);
}

static int callbacks_in_child(void *user)
{
    (void)user;
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_add_callback(stream, count_call, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(callback_calls == 1); /* its own; the inherited one is dropped */
    return use_everything(NULL);
}

static void test_callbacks_pending_at_the_fork_are_dropped(void **state)
{
    (void)state;
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_stream_add_callback(stream, count_call, NULL));
    const int result = test_in_child(callbacks_in_child, NULL, 20);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(callback_calls, 1);
    assert_int_equal(result, 0);
}

static int release_all(void *user)
{
    (void)user;
    char before[64];
    accel_device device;
    CHECK_QUIET(accel_device_parse("nosuch", &device) == ACCEL_ERROR_NOT_FOUND);
    snprintf(before, sizeof before, "%s", accel_last_error_message());
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_event_release(passed_event);
    accel_event_release(pending_event);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    CHECK_QUIET(strncmp(before, accel_last_error_message(), sizeof before - 1) == 0);
    CHECK_QUIET(test_thread_count() == 1);
    return 0;
}

static int release_then_use(void *user)
{
    return release_all(user) != 0 || first_use(user) != 0;
}

static void test_releasing_inherited_objects_is_quiet(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(release_all, NULL, 20), 0);
    assert_int_equal(test_in_child(release_then_use, NULL, 20), 0);
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_event_record(pending_event, stream));
    const int result = test_in_child(release_then_use, NULL, 20);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(result, 0);
    assert_int_equal(use_everything(NULL), 0);
}

static void test_a_hundred_children_at_once(void **state)
{
    (void)state;
    pid_t children[100];
    for (int i = 0; i < 100; i++)
        children[i] = test_child_start(use_everything, NULL);
    int bad = use_everything(NULL);
    for (int i = 0; i < 100; i++)
        bad += children[i] < 0 || test_child_wait(children[i], 60) != 0;
    assert_int_equal(bad, 0);
}

static int generations(void *user)
{
    if (use_everything(NULL) != 0)
        return 1;
    uint32_t left = *(const uint32_t *)user;
    if (left-- == 0)
        return 0;
    const int below = test_in_child(generations, &left, 20);
    CHECK_QUIET(below == 0);
    return use_everything(NULL);
}

static void test_children_of_children(void **state)
{
    (void)state;
    uint32_t depth = 4;
    assert_int_equal(test_in_child(generations, &depth, 60), 0);
}

/* Set aside in the middle: a generation that only asks, then one that uses. */
static int ask_then_child(void *user)
{
    if (look_around(user) != 0)
        return 1;
    const int below = test_in_child(use_everything, NULL, 20);
    CHECK_QUIET(below == 0);
    return 0;
}

static void test_a_grandchild_of_a_child_that_only_asked(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(ask_then_child, NULL, 30), 0);
}

/* ---- threads and forks in odd places ---- */

static void *work_in_a_thread(void *user)
{
    accel_stream *own = NULL;
    int *result = user;
    *result = 1;
    if (accel_stream_create(test_cpu_device(0), NULL, &own) != ACCEL_OK)
        return NULL;
    *result = work_on(own, &kernels) != 0 || work_on(stream, &kernels) != 0;
    accel_stream_release(own);
    return NULL;
}

static int many_threads(void *user)
{
    (void)user;
    pthread_t threads[8];
    int results[8];
    for (int i = 0; i < 8; i++)
        CHECK_QUIET(pthread_create(&threads[i], NULL, work_in_a_thread, &results[i]) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        CHECK_QUIET(results[i] == 0);
    return 0;
}

static void test_many_threads_are_first_in_the_child(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(test_in_child(many_threads, NULL, 20), 0);
    assert_int_equal(many_threads(NULL), 0);
}

static void *fork_in_a_thread(void *user)
{
    *(int *)user = test_in_child(use_everything, NULL, 20);
    return NULL;
}

static void test_a_fork_in_another_thread(void **state)
{
    (void)state;
    int result = -1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fork_in_a_thread, &result), 0);
    pthread_join(thread, NULL);
    assert_int_equal(result, 0);
}

static int look_from_a_callback(void *user)
{
    (void)user;
    int32_t count = 0;
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 1);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_ERROR_IN_CALLBACK);
    return 0;
}

static void fork_in_a_callback(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    *(int *)user = test_in_child(look_from_a_callback, NULL, 20);
}

static void test_a_fork_in_a_callback(void **state)
{
    (void)state;
    int result = -1;
    OK(accel_stream_add_callback(stream, fork_in_a_callback, &result));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(result, 0);
    assert_int_equal(use_everything(NULL), 0);
}

/* ---- while others work ---- */

static _Atomic(bool) stop;

static void *work_all_the_time(void *user)
{
    (void)user;
    accel_stream *own = NULL;
    accel_event *mark = NULL;
    accel_memory_snapshot *snapshot = NULL;
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    uint32_t rounds = 0;
    accel_stream_create(test_cpu_device(0), NULL, &own);
    accel_event_create(test_cpu_device(0), NULL, &mark);
    while (!atomic_load(&stop)) {
        void *block = NULL;
        accel_event *short_lived = NULL;
        accel_device device;
        accel_memory_alloc(own, 4 * 16, NULL, &block);
        test_launch_add(&kernels, own, block, 16, 1);
        test_launch_nothing(&kernels, stream); /* shared with everybody, the children too */
        accel_event_record(mark, own);
        accel_event_create(test_cpu_device(0), NULL, &short_lived);
        accel_event_record(short_lived, stream);
        accel_event_release(short_lived);
        accel_memory_free(block);
        accel_device_parse("nosuch", &device); /* writes the error record */
        accel_event_synchronize(mark);
        accel_memory_stats(test_cpu_device(0), &figures);
        accel_manual_seed(9);
        if (++rounds % 64 == 0 && accel_memory_snapshot_create(NULL, &snapshot) == ACCEL_OK)
            accel_memory_snapshot_release(snapshot);
    }
    accel_stream_synchronize(own);
    accel_event_release(mark);
    accel_stream_release(own);
    return NULL;
}

static int quick_look(void *user) /* B36 */
{
    (void)user;
    int32_t count = 0;
    bool done = false;
    size_t free_bytes = 0;
    size_t total = 0;
    uint64_t seed = 0;
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 1);
    CHECK_QUIET(accel_memory_stats(test_cpu_device(0), &figures) == ACCEL_OK);
    CHECK_QUIET(accel_manual_seed(5) == ACCEL_OK);
    CHECK_QUIET(accel_initial_seed(&seed) == ACCEL_OK && seed == 5);
    CHECK_QUIET(accel_get_memory_info(test_cpu_device(0), &free_bytes, &total) == ACCEL_OK);
    CHECK_QUIET(accel_stream_query(stream, &done) == ACCEL_OK && done);
    accel_pointer_information information = {.struct_size = sizeof information};
    CHECK_QUIET(accel_pointer_info(memory, &information) == ACCEL_OK);
    CHECK_QUIET(information.size == 4 * 64);
    CHECK_QUIET(accel_last_error_message() != NULL);
    return 0;
}

static void test_forks_while_others_work(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    const char *wanted = getenv("TEST_FORKS"); /* the long run: 1000 */
    const int forks = wanted != NULL ? atoi(wanted) : 100;
    int bad = 0;
    stop = false;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_all_the_time, NULL), 0);
    for (int i = 0; i < forks; i++)
        bad += test_in_child(quick_look, NULL, 20) != 0;
    for (int i = 0; i < forks / 2; i++)
        bad += test_in_child(use_everything, NULL, 20) != 0;
    stop = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(bad, 0);
    assert_int_equal(use_everything(NULL), 0);
}

static int current_is_kept(void *user)
{
    (void)user;
    accel_stream *current = NULL;
    CHECK_QUIET(accel_current_stream(ACCEL_DEVICE_CURRENT, &current) == ACCEL_OK);
    CHECK_QUIET(current == stream);
    CHECK_QUIET(strstr(accel_last_error_message(), "nosuch") != NULL);
    return work_on(NULL, &kernels);
}

static void test_the_childs_thread_keeps_what_is_current(void **state)
{
    (void)state;
    accel_device device;
    accel_stream *plain = NULL;
    OK(accel_stream_default(test_cpu_device(0), &plain));
    OK(accel_set_stream(stream));
    EXPECT(accel_device_parse("nosuch", &device), ACCEL_ERROR_NOT_FOUND);
    assert_int_equal(test_in_child(current_is_kept, NULL, 20), 0);
    OK(accel_set_stream(plain));
}

static int fail_in_parent(void *user)
{
    (void)user;
    bool done = true;
    /* A stream that had failed at the fork stays failed. */
    CHECK_QUIET(accel_stream_query(stream, &done) != ACCEL_OK);
    return 0;
}

static void test_a_failed_stream_stays_failed(void **state)
{
    (void)state;
    accel_stream *const good = stream;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(test_launch_fail(&kernels, stream));
    assert_int_not_equal(accel_stream_synchronize(stream), ACCEL_OK);
    const int result = test_in_child(fail_in_parent, NULL, 20);
    accel_stream_release(stream);
    stream = good;
    assert_int_equal(result, 0);
}

static int unload(void **state)
{
    (void)state;
    accel_memory_free(memory);
    accel_event_release(passed_event);
    accel_event_release(pending_event);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_fork_launch),
        cmocka_unit_test(test_launch_fork_launch),
        cmocka_unit_test(test_questions_in_the_child),
        cmocka_unit_test(test_inherited_memory),
        cmocka_unit_test(test_an_event_pending_at_the_fork),
        cmocka_unit_test(test_a_wait_for_a_lost_mark),
        cmocka_unit_test(test_callbacks_pending_at_the_fork_are_dropped),
        cmocka_unit_test(test_releasing_inherited_objects_is_quiet),
        cmocka_unit_test(test_a_hundred_children_at_once),
        cmocka_unit_test(test_children_of_children),
        cmocka_unit_test(test_a_grandchild_of_a_child_that_only_asked),
        cmocka_unit_test(test_many_threads_are_first_in_the_child),
        cmocka_unit_test(test_a_fork_in_another_thread),
        cmocka_unit_test(test_a_fork_in_a_callback),
        cmocka_unit_test(test_forks_while_others_work),
        cmocka_unit_test(test_the_childs_thread_keeps_what_is_current),
        cmocka_unit_test(test_a_failed_stream_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, unload);
}
