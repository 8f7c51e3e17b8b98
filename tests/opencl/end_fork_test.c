/* end_fork_test.c: the ends of processes, threads and accel's work beside a driver that has an exit handler and
 * something to do at the end of each thread (double/): the driver stays mapped, is usable again after
 * accel_shutdown, and is not called any more once its handler has run (B44, B45). Each case in a child. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

enum { SIZE = 4096, STATUS = 42, SECONDS = 60 };

static accel_device device;

/* ---- use ---- */

static const char source[] = "__kernel void nothing(void)\n{\n}\n";

static int use_graph(accel_stream *stream, void *memory)
{
    accel_graph *graph = NULL;
    accel_graph_scope scope;
    CHECK_QUIET(accel_graph_create(device, NULL, &graph) == ACCEL_OK);
    CHECK_QUIET(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope) ==
                ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, "abcd", 4, SIZE, stream) == ACCEL_OK);
    CHECK_QUIET(accel_graph_scope_end(&scope) == ACCEL_OK);
    CHECK_QUIET(accel_graph_replay(graph, stream) == ACCEL_OK);
    return 0;
}

static void pass(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    (void)user;
}

/* One of everything, which nobody gives back. */
static int use(void *user)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    accel_module *module = NULL;
    void *memory = NULL;
    void *pinned = NULL;
    void *cached = NULL;
    (void)user;
    CHECK_QUIET(accel_stream_create(device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(device, NULL, &event) == ACCEL_OK);
    CHECK_QUIET(accel_module_create_from_source(device, source, sizeof source - 1, NULL, &module) ==
                ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, SIZE, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, SIZE, NULL, &cached) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, SIZE, &options, &pinned) == ACCEL_OK);
    CHECK_QUIET(accel_copy(memory, pinned, SIZE, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_add_callback(stream, pass, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(event, stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(cached) == ACCEL_OK);
    if (use_graph(stream, memory) != 0)
        return 1;
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    return 0;
}

static void *use_in_thread(void *user)
{
    *(int *)user = use(NULL);
    return NULL;
}

static int use_in_another_thread(void)
{
    pthread_t thread;
    int result = 1;
    CHECK_QUIET(pthread_create(&thread, NULL, use_in_thread, &result) == 0);
    CHECK_QUIET(pthread_join(thread, NULL) == 0);
    return result;
}

/* ---- ends ---- */

static void by_exit(void)
{
    exit(STATUS);
}

static void by_quick_exit(void)
{
    quick_exit(STATUS);
}

static void *exit_here(void *user)
{
    (void)user;
    exit(STATUS);
}

static void by_exit_in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, NULL);
    pthread_join(thread, NULL);
}

static void by_shutdown_and_exit(void)
{
    exit(accel_shutdown() == ACCEL_OK ? STATUS : 1);
}

static void (*const endings[])(void) = {by_exit, by_quick_exit, by_exit_in_a_thread,
                                        by_shutdown_and_exit};

static int use_and_end(void *user)
{
    if (use(NULL) != 0 || use_in_another_thread() != 0)
        return 1;
    (*(void (*const *)(void))user)();
    return 2;
}

static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const int result = test_in_child(use_and_end, (void *)(uintptr_t)&endings[i], SECONDS);
        if (result != STATUS)
            print_error("ending %zu\n", i);
        assert_int_equal(result, STATUS);
    }
}

static void call_the_driver(void)
{
    int (*ask)(unsigned, void *, unsigned *) = NULL;
    void *library = dlopen(DOUBLE_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *found = library != NULL ? dlsym(library, "clIcdGetPlatformIDsKHR") : NULL;
    if (found == NULL)
        return;
    memcpy(&ask, &found, sizeof found);
    ask(0, NULL, NULL);
}

/* The handler is there, and sees late calls: else the test above shows nothing. */
static int call_in_time(void *user)
{
    (void)user;
    if (use(NULL) != 0)
        return 1;
    call_the_driver();
    exit(STATUS);
}

/* A handler that is older than the driver's runs after it. */
static int call_late(void *user)
{
    atexit(call_the_driver);
    return call_in_time(user);
}

static void test_late_calls_are_seen(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(call_in_time, NULL, SECONDS), STATUS);
    assert_int_equal(test_in_child(call_late, NULL, SECONDS), 99);
}

/* ---- staying mapped ---- */

static int threads_ended(void)
{
    void *library = dlopen(DOUBLE_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *found = library != NULL ? dlsym(library, "opencl_double_threads_ended") : NULL;
    int (*count)(void) = NULL;
    if (found == NULL)
        return -1;
    memcpy(&count, &found, sizeof found);
    const int ended = count();
    dlclose(library); /* the count of dlopen is again accel's own */
    return ended;
}

static int live_twice(void *user)
{
    (void)user;
    if (use_in_another_thread() != 0)
        return 1;
    CHECK_QUIET(threads_ended() >= 1);
    CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    CHECK_QUIET(threads_ended() >= 1); /* still mapped */
    const int before = threads_ended();
    if (use_in_another_thread() != 0 || use(NULL) != 0)
        return 2;
    CHECK_QUIET(threads_ended() > before);
    exit(STATUS);
}

/* A start that fails once the driver is loaded, with a thread that ends afterwards. */
static void *start_in_thread(void *user)
{
    *(accel_status *)user = accel_initialize(device.backend);
    return NULL;
}

static int start_in_vain(void *user)
{
    static const char *const words[] = {"clGetDeviceIDs=-1", "clGetDeviceInfo=-5",
                                        "clCreateContext=-5"};
    int32_t known = 0;
    (void)user;
    CHECK_QUIET(accel_device_count(device.backend, &known) == ACCEL_OK && known == 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        pthread_t thread;
        accel_status status = ACCEL_OK;
        setenv("DOUBLE_UNSEEN", words[i], 1); /* healthy in the helper, broken now */
        CHECK_QUIET(pthread_create(&thread, NULL, start_in_thread, &status) == 0);
        CHECK_QUIET(pthread_join(thread, NULL) == 0);
        CHECK_QUIET(status != ACCEL_OK);
        CHECK_QUIET(threads_ended() == (int)i + 1); /* mapped, and its own end of the thread ran */
        unsetenv("DOUBLE_UNSEEN");
    }
    return use_and_end((void *)(uintptr_t)&endings[0]);
}

static void test_stays_mapped(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(live_twice, NULL, SECONDS), STATUS);
    assert_int_equal(test_in_child(start_in_vain, NULL, SECONDS), STATUS);
}

/* ---- the program ---- */

static int begin(void **state)
{
    char helper[4096];
    const char *folder = getenv("BUILD_DIR");
    (void)state;
    snprintf(helper, sizeof helper, "%s/bin/accel-probe", folder != NULL ? folder : ".");
    setenv("ACCEL_PROBE", helper, 1);
    setenv("OCL_ICD_VENDORS", DOUBLE_LIBRARY, 1);
    setenv("ACCEL_BACKENDS", "opencl", 1);
    setenv("OPENCL_DOUBLE", "exit-handler", 1);
    unsetenv("ACCEL_BACKEND");
    return accel_backend_find("opencl", &device.backend) == ACCEL_OK ? 0 : 1;
}

/* The processes here leave everything alive on purpose. */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_late_calls_are_seen),
        cmocka_unit_test(test_stays_mapped),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
