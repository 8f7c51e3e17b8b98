/* hostile_fork_test.c: OpenCL drivers that crash, hang, exit, print or lie, at every place where they
 * are asked, each beside PoCL where that is installed. The program that asks learns what is wrong with
 * which driver, and works on: on the cpu and on PoCL. Case B22. Each case is a process of its own. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

static char folder[] = "/tmp/accel_test_hostile-XXXXXX";
static bool have_pocl;

typedef struct hostile_case {
    const char *name; /* PLACE-ACT: hostile.c */
    accel_reason reason;
    const char *detail;
    bool launch; /* also launch, on the cpu and on PoCL */
} hostile_case;

#define AT(place, launch)                                                                          \
    {place "-null", ACCEL_REASON_CRASHED, "signal 11", launch},                                    \
        {place "-abort", ACCEL_REASON_CRASHED, "signal 6", false},                                 \
        {place "-hang", ACCEL_REASON_HUNG, "stopped after", launch},                               \
        {place "-exit-0", ACCEL_REASON_EXITED, "exit status 0", false},                            \
        {place "-exit-3", ACCEL_REASON_EXITED, "exit status 3", launch},                           \
        {place "-exit-now", ACCEL_REASON_EXITED, "exit status 0", false},                          \
        {place "-print", ACCEL_REASON_NONE, "", false},                                            \
        {place "-garbage", ACCEL_REASON_NONE, "", false},                                          \
        {place "-threads", ACCEL_REASON_NONE, "", false},                                          \
    {                                                                                              \
        place "-fork", ACCEL_REASON_NONE, "", false                                                \
    }

static const hostile_case cases[] = {
    {"healthy-", ACCEL_REASON_NONE, "", false},
    AT("load", true),
    AT("entry", true),
    AT("platform", false),
    AT("devices", true),
    AT("device", false),
    {"entry-nonsense-count", ACCEL_REASON_BAD_ANSWER, "2147483648 platforms", true},
    {"entry-nonsense-null", ACCEL_REASON_BAD_ANSWER, "NULL", false},
    {"entry-nonsense-table", ACCEL_REASON_BAD_ANSWER, "no functions", false},
    {"platform-nonsense-size", ACCEL_REASON_BAD_ANSWER, "bytes", false},
    {"platform-nonsense-version", ACCEL_REASON_NO_DEVICE, "", false}, /* none new enough */
    {"devices-nonsense-count", ACCEL_REASON_BAD_ANSWER, "2147483648 devices", false},
    {"devices-nonsense-null", ACCEL_REASON_BAD_ANSWER, "NULL", false},
    {"device-nonsense-text", ACCEL_REASON_NONE, "", false},
};

/* ---- the drivers of a case ---- */

static void write_icd(const char *name, const char *library)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.icd", folder, name);
    unlink(path);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\n", library);
    fclose(file);
}

static void remove_file(const char *name)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static void install(const char *name)
{
    char target[4096];
    char library[160];
    snprintf(target, sizeof target, "%s/tests/drivers/libhostile.so", getenv("BUILD_DIR"));
    snprintf(library, sizeof library, "%s/%s.so", folder, name);
    if (symlink(target, library) != 0)
        fail_msg("no link %s", library);
    write_icd("a-hostile", library);
}

static void uninstall(const char *name)
{
    char library[96];
    snprintf(library, sizeof library, "%s.so", name);
    remove_file(library);
    remove_file("a-hostile.icd");
}

/* ---- what a program does beside them ---- */

static const char source[] = "__kernel void add(__global int *data, int value)\n"
                             "{\n"
                             "    data[get_global_id(0)] += value;\n"
                             "}\n";

static int launch_on(accel_device device)
{
    accel_stream *stream = NULL;
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    int32_t data[64] = {0};
    int32_t value = 5;
    void *memory = NULL;
    CHECK_QUIET(accel_stream_create(device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_module_create_from_source(device, source, sizeof source - 1, NULL, &module) ==
                ACCEL_OK);
    CHECK_QUIET(accel_module_get_kernel_at(module, 0, &kernel) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof data, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_copy(memory, data, sizeof data, stream) == ACCEL_OK);
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(value)};
    const accel_launch_shape shape = {.grid = {4, 1, 1}, .block = {16, 1, 1}};
    CHECK_QUIET(accel_kernel_launch(kernel, stream, &shape, args, 2) == ACCEL_OK);
    CHECK_QUIET(accel_copy(data, memory, sizeof data, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(data[0] == 5 && data[63] == 5);
    accel_memory_free(memory);
    accel_module_release(module);
    accel_stream_release(stream);
    return 0;
}

/* PoCL's device, after those of a hostile driver that answered. */
static int launch_on_pocl(accel_backend opencl, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        accel_device_info info = {.struct_size = sizeof info};
        CHECK_QUIET(accel_device_describe(ACCEL_DEVICE(opencl, i), &info) == ACCEL_OK);
        if (strstr(info.driver, "Portable Computing Language") != NULL)
            return launch_on(ACCEL_DEVICE(opencl, i));
    }
    print_error("PoCL is not listed\n");
    return 1;
}

static int beside(void *user)
{
    const hostile_case *wanted = user;
    accel_backend opencl = ACCEL_BACKEND_NONE;
    accel_driver_report hostile = {.struct_size = sizeof hostile};
    int32_t count = -1;
    const unsigned threads = test_thread_count();
    const uint64_t descriptors = test_descriptor_digest();
    const bool healthy = wanted->reason == ACCEL_REASON_NONE;
    const bool certain = healthy || wanted->reason == ACCEL_REASON_NO_DEVICE ||
                         wanted->reason == ACCEL_REASON_LIBRARY_MISSING;
    CHECK_QUIET(accel_backend_find("opencl", &opencl) == ACCEL_OK);
    const accel_status status = accel_device_count(opencl, &count);
    CHECK_QUIET(accel_backend_get_driver_report(opencl, 0, &hostile) == ACCEL_OK);
    if (hostile.reason != wanted->reason || strstr(hostile.detail, wanted->detail) == NULL) {
        print_error("%s: %s: %s\n", wanted->name, accel_reason_name(hostile.reason),
                    hostile.detail);
        return 1;
    }
    CHECK_QUIET(status == (certain ? ACCEL_OK : ACCEL_ERROR_CANNOT_TELL));
    CHECK_QUIET(count == (int32_t)healthy + (int32_t)have_pocl);
    CHECK_QUIET(test_thread_count() == threads);
    CHECK_QUIET(test_descriptor_digest() == descriptors);
    CHECK_QUIET(waitpid(-1, NULL, WNOHANG) == -1);
    if (!wanted->launch)
        return 0;
    accel_backend cpu = ACCEL_BACKEND_NONE;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    const int result = launch_on(ACCEL_DEVICE(cpu, 0));
    return result == 0 && have_pocl ? launch_on_pocl(opencl, count) : result;
}

/* PoCL has to answer while another one hangs; where none does, everything may take its time. */
static void set_limit(accel_reason reason)
{
    setenv("ACCEL_PROBE_TIMEOUT_MS", reason == ACCEL_REASON_HUNG ? "3000" : "20000", 1);
}

static void run(const hostile_case *wanted)
{
    set_limit(wanted->reason);
    const int result = test_in_child(beside, (void *)(uintptr_t)wanted, 60);
    if (result != 0)
        fail_msg("%s: %d", wanted->name, result);
}

static void test_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        install(cases[i].name);
        run(&cases[i]);
        uninstall(cases[i].name);
    }
}

/* ---- the command ---- */

/* Runs it; the output's length in *out_size. */
static int run_command(const char *arguments, char *output, size_t capacity)
{
    char line[8192];
    snprintf(line, sizeof line, "%s %s 2>&1", getenv("ACCEL"), arguments);
    FILE *pipe = popen(line, "r");
    const size_t size = fread(output, 1, capacity - 1, pipe);
    output[size] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void test_commands_beside_some(void **state)
{
    (void)state;
    static const char *const names[] = {"load-abort", "entry-hang", "devices-exit-0",
                                        "devices-print", "load-garbage"};
    char output[16384];
    if (getenv("ACCEL") == NULL)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        install(names[i]);
        set_limit(i == 1 ? ACCEL_REASON_HUNG : ACCEL_REASON_NONE);
        assert_int_equal(run_command("list", output, sizeof output), 0);
        assert_non_null(strstr(output, "cpu:0"));
        assert_null(strstr(output, "a driver speaks"));
        assert_null(strstr(output, "and complains"));
        assert_true((strstr(output, "Portable Computing") != NULL) == have_pocl);
        assert_true((strstr(output, "driver a-hostile") != NULL) == (i < 3));
        const int problem = i % 2 != 0 ? run_command("doctor", output, sizeof output) : 1;
        uninstall(names[i]);
        /* Also the one that answers: its device is none that anything could run on. */
        assert_int_equal(problem, 1);
        assert_true(i % 2 == 0 || strstr(output, "driver a-hostile") != NULL);
        assert_null(strstr(output, "a driver speaks"));
    }
}

/* ---- files that name nothing usable ---- */

static void test_files_without_driver(void **state)
{
    (void)state;
    char library[4096];
    snprintf(library, sizeof library, "%s/tests/drivers/libnot_a_driver.so", getenv("BUILD_DIR"));
    const struct {
        const char *library;
        hostile_case wanted;
    } files[] = {
        {"/nowhere/libdriver.so", {"a missing path", ACCEL_REASON_LIBRARY_MISSING, "", true}},
        {"libnosuchdriver.so.9", {"a missing name", ACCEL_REASON_LIBRARY_MISSING, "", false}},
        {"relative/libdriver.so", {"a relative path", ACCEL_REASON_LIBRARY_UNUSABLE, "", false}},
        {library, {"no driver", ACCEL_REASON_LIBRARY_UNUSABLE, "clIcdGetPlatformIDsKHR", false}},
        {"/etc/passwd", {"no library", ACCEL_REASON_LIBRARY_UNUSABLE, "", false}},
        {"", {"an empty file", ACCEL_REASON_LIBRARY_MISSING, "names no library", false}},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_icd("a-hostile", files[i].library);
        run(&files[i].wanted);
        remove_file("a-hostile.icd");
    }
}

static int without_drivers(void *user)
{
    accel_backend opencl = ACCEL_BACKEND_NONE;
    accel_backend_report report = {.struct_size = sizeof report};
    int32_t count = -1;
    setenv("OCL_ICD_VENDORS", user, 1);
    CHECK_QUIET(accel_backend_find("opencl", &opencl) == ACCEL_OK);
    CHECK_QUIET(accel_device_count(opencl, &count) == ACCEL_OK && count == 0);
    CHECK_QUIET(accel_backend_get_report(opencl, &report) == ACCEL_OK);
    CHECK_QUIET(report.reason == ACCEL_REASON_NO_DRIVER && !report.cannot_tell);
    CHECK_QUIET(report.driver_count == 0);
    accel_device found;
    CHECK_QUIET(accel_current_accelerator(true, &found) == ACCEL_OK);
    CHECK_QUIET(strcmp(accel_backend_name(found.backend), "cpu") == 0);
    return 0;
}

/* No driver at all, whether there is a loader or not: none, and no helper is even started. */
static void test_no_driver(void **state)
{
    (void)state;
    char empty[] = "/tmp/accel_test_empty-XXXXXX";
    assert_non_null(mkdtemp(empty));
    setenv("ACCEL_PROBE", "/nowhere/accel-probe", 1);
    assert_int_equal(test_in_child(without_drivers, empty, 20), 0);
    assert_int_equal(test_in_child(without_drivers, (void *)(uintptr_t) "/nowhere/at/all", 20), 0);
    unsetenv("ACCEL_PROBE");
    rmdir(empty);
}

/* Case B29: that there is no driver is no news: nothing but the cpu is listed, and nothing is said. */
static void test_silence_without_driver(void **state)
{
    (void)state;
    char output[16384];
    if (getenv("ACCEL") == NULL)
        skip();
    setenv("OCL_ICD_VENDORS", "/nowhere/at/all", 1);
    const int result = run_command("list", output, sizeof output);
    setenv("OCL_ICD_VENDORS", folder, 1);
    assert_int_equal(result, 0);
    assert_memory_equal(output, "DEVICE", 6);
    const char *end = strchr(output, '\n');
    assert_memory_equal(end, "\ncpu:0", 6);
    assert_string_equal(strchr(end + 1, '\n'), "\n");
}

/* Case B24: what may not be read is no proof of absence. */
static int ask_without_right(void *user)
{
    const bool whole_folder = *(bool *)user;
    accel_backend opencl = ACCEL_BACKEND_NONE;
    accel_backend_report report = {.struct_size = sizeof report};
    accel_driver_report driver = {.struct_size = sizeof driver};
    int32_t count = -1;
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 77;
    CHECK_QUIET(accel_backend_find("opencl", &opencl) == ACCEL_OK);
    CHECK_QUIET(accel_device_count(opencl, &count) == ACCEL_ERROR_CANNOT_TELL);
    CHECK_QUIET(count == 0);
    CHECK_QUIET(strstr(accel_last_error_message(), "Permission denied") != NULL);
    CHECK_QUIET(accel_backend_get_report(opencl, &report) == ACCEL_OK);
    CHECK_QUIET(report.cannot_tell && report.reason == ACCEL_REASON_PERMISSION);
    if (whole_folder)
        return 0;
    CHECK_QUIET(accel_backend_get_driver_report(opencl, 0, &driver) == ACCEL_OK);
    CHECK_QUIET(driver.reason == ACCEL_REASON_PERMISSION);
    CHECK_QUIET(strstr(driver.source, "unreadable.icd") != NULL);
    return 0;
}

static void test_without_rights(void **state)
{
    (void)state;
    char there[] = "/tmp/accel_test_rights-XXXXXX";
    char file[64];
    assert_non_null(mkdtemp(there));
    snprintf(file, sizeof file, "%s/unreadable.icd", there);
    fclose(fopen(file, "w"));
    chmod(file, 0);
    setenv("OCL_ICD_VENDORS", there, 1);
    chmod(there, 0755);
    bool whole_folder = false;
    const int first = test_in_child(ask_without_right, &whole_folder, 20);
    chmod(there, 0);
    whole_folder = true;
    const int second = test_in_child(ask_without_right, &whole_folder, 20);
    setenv("OCL_ICD_VENDORS", folder, 1);
    chmod(there, 0700);
    unlink(file);
    rmdir(there);
    if (first == 77)
        skip();
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
}

/* Without argument: the library's calls; with one: the command. */
int main(int argument_count, char **arguments)
{
    (void)arguments;
    test_environment(1);
    setenv("ASAN_OPTIONS", "handle_segv=0:detect_leaks=0", 1);
    unsetenv("OCL_ICD_FILENAMES");
    unsetenv("OPENCL_VENDOR_PATH");
    if (mkdtemp(folder) == NULL || getenv("BUILD_DIR") == NULL)
        return 1;
    setenv("OCL_ICD_VENDORS", folder, 1);
    char pocl[128];
    snprintf(pocl, sizeof pocl, "%s/b-pocl.icd", folder);
    have_pocl = access("/etc/OpenCL/vendors/pocl.icd", R_OK) == 0 &&
                symlink("/etc/OpenCL/vendors/pocl.icd", pocl) == 0;
    const struct CMUnitTest calls[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_files_without_driver),
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_without_rights),
    };
    const struct CMUnitTest commands[] = {
        cmocka_unit_test(test_commands_beside_some),
        cmocka_unit_test(test_silence_without_driver),
    };
    const int failed = argument_count > 1 ? cmocka_run_group_tests(commands, NULL, NULL)
                                          : cmocka_run_group_tests(calls, NULL, NULL);
    unlink(pocl);
    rmdir(folder);
    return failed;
}
