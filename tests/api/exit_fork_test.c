/* exit_fork_test.c: case B44: a process may end in any way and at any moment, with every kind of object
 * alive and work pending: the exit status is the one asked for, nothing hangs, nothing crashes. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels kernels;
static test_gate gate;

static void slow_callback(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    (void)user;
    test_nap_ms(2);
}

/* With a replay of it under way, and what it draws and allocates in its own pool. */
static int leave_a_graph_alive(accel_stream *stream)
{
    accel_graph *graph = NULL;
    accel_graph_scope scope;
    void *memory = NULL;
    CHECK_QUIET(accel_graph_create(test_cpu_device(0), NULL, &graph) == ACCEL_OK);
    CHECK_QUIET(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope) ==
                ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 4096, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 1024, NULL, stream) == ACCEL_OK);
    CHECK_QUIET(test_launch_sleep(&kernels, stream, 1) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_graph_scope_end(&scope) == ACCEL_OK);
    for (int i = 0; i < 20; i++)
        CHECK_QUIET(accel_graph_replay(graph, stream) == ACCEL_OK);
    return 0;
}

/* One of each, with work on three streams that goes on while the process ends. */
static int leave_all_alive(void)
{
    accel_stream *streams[3] = {NULL};
    accel_event *event = NULL;
    void *memory = NULL;
    void *pinned = NULL;
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    CHECK_QUIET(test_kernels_load(test_cpu_device(0), &kernels) == ACCEL_OK);
    for (int i = 1; i < 3; i++)
        CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &streams[i]) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(test_cpu_device(0), NULL, &event) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(streams[1], 4096, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(streams[1], 4096, &options, &pinned) == ACCEL_OK);
    CHECK_QUIET(accel_set_stream(streams[1]) == ACCEL_OK);
    CHECK_QUIET(test_launch_gate(&kernels, streams[2], &gate) == ACCEL_OK);
    for (int i = 0; i < 50; i++) {
        CHECK_QUIET(test_launch_sleep(&kernels, streams[1], 1) == ACCEL_OK);
        CHECK_QUIET(accel_stream_add_callback(streams[1], slow_callback, NULL) == ACCEL_OK);
    }
    CHECK_QUIET(accel_event_record(event, streams[1]) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK); /* still waiting for its stream */
    return leave_a_graph_alive(streams[1]);
}

typedef struct ending {
    const char *name;
    void (*end)(void);
} ending;

static void by_exit(void)
{
    exit(42);
}

static void by_quick_exit(void)
{
    quick_exit(42);
}

static void by_immediate_exit(void)
{
    _exit(42);
}

static void *exit_here(void *user)
{
    (void)user;
    exit(42);
}

static void by_exit_in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, NULL);
    pthread_join(thread, NULL);
}

static void by_shutdown_and_exit(void)
{
    test_gate_open(&gate);
    if (accel_shutdown() == ACCEL_OK)
        exit(42);
    exit(1);
}

static void late_handler(void)
{
    accel_stream *stream = NULL;
    accel_stream_create(test_cpu_device(0), NULL, &stream);
    accel_stream_release(stream);
}

static void with_a_handler_that_uses_accel(void)
{
    atexit(late_handler);
    exit(42);
}

/* The main thread ends first; the last one ends the process. */
static void *end_later(void *user)
{
    (void)user;
    test_nap_ms(20);
    exit(42);
}

static void after_the_main_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end_later, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}

static const ending endings[] = {
    {"exit", by_exit},
    {"quick_exit", by_quick_exit},
    {"_exit", by_immediate_exit},
    {"exit in a thread", by_exit_in_a_thread},
    {"accel_shutdown", by_shutdown_and_exit},
    {"a handler that uses accel", with_a_handler_that_uses_accel},
    {"pthread_exit of the main thread", after_the_main_thread},
};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

static int end(void *user)
{
    const ending *way = user;
    if (leave_all_alive() != 0)
        return 1;
    way->end();
    return 2;
}

static void test_every_way_to_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENDINGS; i++) {
        const int result = test_in_child(end, (void *)(uintptr_t)&endings[i], 30);
        if (result != 42)
            print_error("ending by %s\n", endings[i].name);
        assert_int_equal(result, 42);
    }
}

/* The same in the child of a process that has used the device. */
static int end_below(void *user)
{
    if (leave_all_alive() != 0)
        return 1;
    return test_in_child(end, user, 20);
}

static void test_every_way_to_end_in_a_child(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENDINGS; i++) {
        const int result = test_in_child(end_below, (void *)(uintptr_t)&endings[i], 40);
        if (result != 42)
            print_error("ending a child by %s\n", endings[i].name);
        assert_int_equal(result, 42);
    }
}

static int return_from_main(void *user)
{
    (void)user;
    /* What main's return does, with the handlers of the C library. */
    if (leave_all_alive() != 0)
        return 1;
    exit(7);
}

static void test_return(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(return_from_main, NULL, 20), 7);
}

/* The processes here leave everything alive on purpose: a leak check at their end would have its say
 * instead of the exit status. It can only be turned off before a program starts. */
static void without_leak_check(char **arguments)
{
    const char *options = getenv("ASAN_OPTIONS");
    if (options == NULL || strstr(options, "detect_leaks=1") == NULL)
        return;
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    execv("/proc/self/exe", arguments);
}

int main(int count, char **arguments)
{
    (void)count;
    without_leak_check(arguments);
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_to_end),
        cmocka_unit_test(test_every_way_to_end_in_a_child),
        cmocka_unit_test(test_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
