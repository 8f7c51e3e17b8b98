/* use_fork_test.c: the promises about asking and forking, on a real OpenCL driver, which survives neither:
 * asking leaves no trace in the process, so a child can use the device; after use a child gets one clear
 * error at once, and its parent goes on. Each test in a child of its own, so that it begins clean. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

enum { COUNT = 1000, SECONDS = 60 };

static const char source[] = "__kernel void add(__global uint *data, uint value)\n"
                             "{\n"
                             "    data[get_global_id(0)] += value;\n"
                             "}\n";

static accel_device device;
static accel_stream *stream;
static accel_module *module;
static accel_event *event;
static void *memory;

/* ---- use ---- */

static int launch(accel_stream *on, void *data)
{
    accel_kernel *add = NULL;
    const uint32_t value = 3;
    const accel_launch_shape shape = {.grid = {COUNT / 10, 1, 1}, .block = {10, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value)};
    CHECK_QUIET(accel_module_get_kernel(module, "add", &add) == ACCEL_OK);
    CHECK_QUIET(accel_kernel_launch(add, on, &shape, args, 2) == ACCEL_OK);
    return 0;
}

static int use(void *user)
{
    static uint32_t host[COUNT];
    const uint32_t start = 4;
    (void)user;
    CHECK_QUIET(accel_stream_create(device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_module_create_from_source(device, source, sizeof source - 1, NULL, &module) ==
                ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof host, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(device, NULL, &event) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &start, 4, sizeof host, stream) == ACCEL_OK);
    if (launch(stream, memory) != 0)
        return 1;
    CHECK_QUIET(accel_event_record(event, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, memory, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK_QUIET(host[i] == 7);
    return 0;
}

/* ---- what asking leaves behind ---- */

/* Whether a mapped file has one of these in its name. */
static bool is_mapped(const char *const parts[], size_t count)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        for (size_t i = 0; i < count; i++)
            found |= strstr(line, parts[i]) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static bool is_traceless(void)
{
    static const char *const parts[] = {"OpenCL",  "libpocl", "Rusticl", "oclgrind",
                                        "libLLVM", "libMesa", "/dev/dri"};
    return test_thread_count() == 1 && !is_mapped(parts, sizeof parts / sizeof parts[0]);
}

static int ask_all(void *user)
{
    const uint64_t descriptors = test_descriptor_digest();
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_backend_report report = {.struct_size = sizeof report};
    accel_driver_report driver = {.struct_size = sizeof driver};
    int32_t count = 0;
    bool flag = false;
    (void)user;
    CHECK_QUIET(accel_device_count(device.backend, &count) == ACCEL_OK && count > 0);
    CHECK_QUIET(accel_is_available(device.backend, &flag) == ACCEL_OK && flag);
    CHECK_QUIET(accel_device_describe(device, &info) == ACCEL_OK && info.name[0] != '\0');
    CHECK_QUIET(info.uuid[0] != '\0' && info.driver[0] != '\0' && info.total_memory != 0);
    CHECK_QUIET(accel_get_device_capability(device, &capability) == ACCEL_OK);
    CHECK_QUIET(capability.compute_units != 0 && !capability.survives_fork);
    CHECK_QUIET(accel_backend_get_report(device.backend, &report) == ACCEL_OK);
    CHECK_QUIET(report.driver_count != 0 && report.device_count == count);
    CHECK_QUIET(accel_backend_get_driver_report(device.backend, 0, &driver) == ACCEL_OK);
    CHECK_QUIET(accel_set_device_index(device) == ACCEL_OK);
    CHECK_QUIET(accel_synchronize(device) == ACCEL_OK);
    CHECK_QUIET(accel_is_initialized(device.backend, &flag) == ACCEL_OK && !flag);
    CHECK_QUIET(is_traceless());
    CHECK_QUIET(test_descriptor_digest() == descriptors);
    return 0;
}

/* Asking, then a child that uses the device, then one of its own that may not. */
static int ask_then_child_uses(void *user)
{
    if (ask_all(user) != 0)
        return 1;
    CHECK_QUIET(test_in_child(use, NULL, SECONDS) == 0);
    CHECK_QUIET(is_traceless());
    CHECK_QUIET(test_in_child(use, NULL, SECONDS) == 0);
    return use(NULL);
}

/* ---- after use ---- */

static int is_forked(accel_status status)
{
    CHECK_QUIET(status == ACCEL_ERROR_FORKED);
    CHECK_QUIET(strstr(accel_last_error_message(), "fork before the first use") != NULL);
    return 0;
}

/* Every way to use what was inherited, and new objects. */
static int use_inherited(void *user)
{
    static uint32_t host[COUNT];
    accel_stream *made = NULL;
    void *block = NULL;
    bool done = false;
    int32_t count = 0;
    (void)user;
    const uint64_t begin = test_now_ns();
    int bad = is_forked(accel_stream_synchronize(stream));
    CHECK_QUIET(test_now_ns() - begin < 1000000u || getenv("ASAN_OPTIONS") != NULL);
    bad |= is_forked(accel_stream_query(stream, &done));
    bad |= is_forked(accel_fill(memory, host, 4, sizeof host, stream));
    bad |= is_forked(accel_copy(host, memory, sizeof host, stream));
    bad |= is_forked(accel_event_synchronize(event));
    bad |= is_forked(accel_stream_create(device, NULL, &made));
    bad |= is_forked(accel_memory_alloc(stream, 64, NULL, &block));
    bad |= is_forked(accel_initialize(device.backend));
    CHECK_QUIET(accel_device_count(device.backend, &count) == ACCEL_OK && count > 0);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK); /* quiet no-ops */
    accel_event_release(event);
    accel_stream_release(stream);
    accel_module_release(module);
    CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    return bad;
}

/* The cpu backend goes on in the child of a process that an OpenCL driver spoilt. */
static int use_cpu(void *user)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    accel_stream *other = NULL;
    void *block = NULL;
    const uint32_t value = 9;
    uint32_t got = 0;
    (void)user;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 0), NULL, &other) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(other, 64, NULL, &block) == ACCEL_OK);
    CHECK_QUIET(accel_fill(block, &value, 4, 64, other) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&got, block, 4, other) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(other) == ACCEL_OK && got == 9);
    return 0;
}

static int use_then_children(void *user)
{
    if (use(user) != 0)
        return 1;
    CHECK_QUIET(test_in_child(use_inherited, NULL, SECONDS) == 0);
    CHECK_QUIET(test_in_child(use_cpu, NULL, SECONDS) == 0);
    if (launch(stream, memory) != 0) /* the parent goes on */
        return 1;
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    return 0;
}

/* ---- tests ---- */

static void asking_leaves_no_trace(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(ask_all, NULL, SECONDS), 0);
}

static void a_child_uses_what_its_parent_asked_about(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(ask_then_child_uses, NULL, 3 * SECONDS), 0);
}

static void a_child_of_a_user_gets_one_clear_error(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(use_then_children, NULL, 3 * SECONDS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_leaves_no_trace),
        cmocka_unit_test(a_child_uses_what_its_parent_asked_about),
        cmocka_unit_test(a_child_of_a_user_gets_one_clear_error),
    };
    int32_t count = 0;
    test_environment(1);
    if (accel_backend_find("opencl", &device.backend) != ACCEL_OK ||
        accel_device_count(device.backend, &count) != ACCEL_OK || count == 0)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
