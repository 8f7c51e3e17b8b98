/* cpu_compile_test.c: the building half of the cpu backend: which compiler is taken, what is said when
 * it fails in each way it can, what is refused on loading. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cpu/device.h"
#include "backends/cpu/module/features.h"
#include "backends/cpu/module/module.h"
#include "platform/library.h"
#include "platform/process.h"
#include "platform/scratch.h"
#include "support/check.h"
#include "support/process.h"
#include "unit/fault_sweep.h"

const accel_backend_table *accel__backend_cpu(void);

static accel_native_device *device; /* modules are unloaded from it */

static const char good_source[] =
    "#include <stddef.h>\n#include <stdint.h>\n"
    "typedef struct param { const char *name; int kind; int type; uint32_t lanes, read_only;\n"
    "    size_t size; } param;\n"
    "typedef struct kernel { const char *name; const char *(*function)(const void *, uint64_t,\n"
    "    uint64_t); const param *params; uint32_t param_count; uint32_t block[3];\n"
    "    size_t scratch_fixed, scratch_per_item; } kernel;\n"
    "typedef struct module { uint32_t abi, count; const kernel *kernels; } module;\n"
    "static const char *run(const void *l, uint64_t a, uint64_t b)\n"
    "{ (void)l; return a == b ? NULL : \"ran\"; }\n"
    "static const param params[] = {{\"n\", 1, 0, 1, 0, 4}, {\"out\", 2, 0, 1, 0, 4},\n"
    "    {\"v\", 1, 0, 4, 0, 16}, {\"l\", 3, 0, 1, 0, 4}};\n"
    "static const kernel kernels[] = {{\"one\", run, params, 4, {0}, 0, 0},\n"
    "    {\"two\", run, NULL, 0, {8, 1, 1}, 0, 0}};\n"
    "extern const module accel_cpu_module __attribute__((visibility(\"default\")));\n"
    "const module accel_cpu_module = {1, 2, kernels};\n";

/* ---- the core's end of a build ---- */

typedef struct made {
    accel_status status;
    accel__text object;
    accel__text log;
    unsigned objects;
} made;

static void take_object(void *user, const void *data, size_t size)
{
    made *taken = user;
    taken->objects++;
    accel__text_append(&taken->object, data, size);
}

static void take_log(void *user, const char *text, size_t size)
{
    accel__text_append(&((made *)user)->log, text, size);
}

static made build_text(const char *text)
{
    made result = {0};
    const accel_backend_build build = {.user = &result, .object = take_object, .log = take_log};
    result.status = accel__cpu_compile(device, text, strlen(text), &build);
    return result;
}

static void release(made *result)
{
    accel__text_release(&result->object);
    accel__text_release(&result->log);
}

/* Builds, expects the status, and a log (where `part` is not NULL) and record that say `part`. */
static void expect_build(const char *text, accel_status wanted, const char *part)
{
    const unsigned descriptors = count_descriptors();
    made result = build_text(text);
    test_expect(result.status, wanted, "accel__cpu_compile", __FILE__, __LINE__);
    assert_int_equal(result.objects, wanted == ACCEL_OK ? 1 : 0);
    if (part != NULL && strstr(accel__text_string(&result.log), part) == NULL)
        fail_msg("\"%s\" is not in the log: %s", part, accel__text_string(&result.log));
    release(&result);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_left(), 0);
}

static const char *own_file(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/../accel_tools-%d-%s", own_directory, (int)getpid(), name);
    return path;
}

/* A compiler that is a script, in use as ACCEL_CC until drop_script(). */
static void use_script(const char *name, const char *script)
{
    const char *path = own_file(name);
    unlink(path);
    assert_int_equal(accel__write_file(path, 0700, script, strlen(script)), 0);
    setenv("ACCEL_CC", path, 1);
}

static void drop_script(void)
{
    unlink(getenv("ACCEL_CC"));
    unsetenv("ACCEL_CC");
}

/* ---- compiling ---- */

static void objects_are_made_and_loaded(void **state)
{
    (void)state;
    made result = build_text(good_source);
    OK(result.status);
    accel_native_module *module;
    OK(accel__cpu_load(device, result.object.data, result.object.size, &module));
    assert_int_equal(accel__cpu_function_count(module), 2);
    accel_backend_function one;
    accel_backend_function two;
    OK(accel__cpu_function(module, 0, &one));
    OK(accel__cpu_function(module, 1, &two));
    assert_string_equal(one.name, "one");
    assert_true(one.has_signature);
    assert_int_equal(one.param_count, 4);
    assert_int_equal(two.required_block[0], 8);
    const accel__cpu_native_function *own = (const accel__cpu_native_function *)one.function;
    assert_int_equal(own->offsets[0], 0);
    assert_int_equal(own->offsets[1], 8);
    assert_int_equal(own->offsets[2], 16);
    assert_int_equal(own->offsets[3], 32);
    assert_int_equal(own->packed_size, 40);
    assert_int_equal(own->alignment, 16);
    assert_int_equal(own->local_count, 1);
    assert_string_equal(own->kernel->function(NULL, 0, 1), "ran");
    FAILS(accel__cpu_function(module, 2, &one), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_module_get_kernel_at");
    accel__cpu_unload(module);
    release(&result);
    assert_int_equal(count_left(), 0);
}

static void messages_name_the_users_lines(void **state)
{
    (void)state;
    expect_build("#line 7 \"waves.cl\"\nint f(void) { return undeclared_thing; }\n",
                 ACCEL_ERROR_BUILD_FAILED, "waves.cl:7: error: ");
    made result = build_text("#line 9 \"warned.cl\"\n#warning mind the gap\nint f(void);\n");
    OK(result.status);
    assert_non_null(strstr(accel__text_string(&result.log), "warned.cl:9: warning: "));
    release(&result);
    expect_build(
        "#line 1 \"m\303\244rz \342\202\254.cl\"\n/* \303\244 */ const char *f = \"\303\274\"; !\n",
        ACCEL_ERROR_BUILD_FAILED, "m\303\244rz \342\202\254.cl:1: error: ");
}

static void long_logs_are_whole(void **state)
{
    (void)state;
    use_script("loud",
               "#!/bin/sh\n"
               "i=0; while [ $i -lt 2000 ]; do\n"
               "echo \"line $i of a long message, one of two thousand\" >&2; i=$((i+1)); done\n"
               "echo 'source:3: error: the real one' >&2; exit 1\n");
    made result = build_text(good_source);
    drop_script();
    assert_int_equal(result.status, ACCEL_ERROR_BUILD_FAILED);
    assert_true(result.log.size > 90000);
    assert_non_null(strstr(result.log.data, "line 0 of a"));
    assert_non_null(strstr(result.log.data, "line 1999 of a"));
    assert_non_null(strstr(result.log.data, "source:3: error: the real one\naccel: error: "));
    assert_int_equal(result.log.size, strlen(result.log.data));
    release(&result);
}

static void failing_compilers_are_explained(void **state)
{
    (void)state;
    use_script("crash", "#!/bin/sh\necho started; kill -SEGV $$\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED,
                 "started\naccel: error: the compiler was "
                 "ended by signal 11");
    assert_non_null(strstr(accel_last_error_message(), "signal 11"));
    assert_non_null(strstr(accel_last_error_message(), "-O3")); /* the command */
    use_script("silent", "#!/bin/sh\nexit 9\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "failed with status 9");
    use_script("lazy", "#!/bin/sh\nexit 0\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "made no object");
    use_script("liar", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done; echo text > \"$2\"\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "it is no ELF file");
    use_script("litter", "#!/bin/sh\n[ \"$1\" != --version ] || exit 0\nmkdir -p \"$TMPDIR/a/b\"; "
                         ": > \"$TMPDIR/a/b/c\"; exit 1\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "status 1");
    setenv("ACCEL_CC_TIMEOUT_MS", "300", 1);
    use_script("hang",
               "#!/bin/sh\n[ \"$1\" != --version ] || exit 0\n: > \"$TMPDIR/left\"; sleep 60\n");
    const uint64_t start = test_now_ns();
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "stopped after 300 ms");
    assert_true(test_now_ns() - start < 5000000000u);
    use_script("deaf", "#!/bin/sh\nsleep 60\n");
    expect_build(good_source, ACCEL_ERROR_NO_COMPILER, NULL);
    assert_non_null(strstr(accel_last_error_message(), "--version in 300 ms"));
    unsetenv("ACCEL_CC_TIMEOUT_MS");
    setenv("ACCEL_CC_MEMORY_MB", "100", 1);
    use_script("greedy", "#!/bin/sh\n[ \"$1\" != --version ] || exit 0\n"
                         "sleep 0.3; exec dd if=/dev/zero of=/dev/null bs=300M count=1\n");
    expect_build(good_source, ACCEL_ERROR_BUILD_FAILED, "it may have 100 MiB (ACCEL_CC_MEMORY_MB)");
    unsetenv("ACCEL_CC_MEMORY_MB");
    drop_script();
    unlink(own_file("greedy"));
    unlink(own_file("hang"));
    use_script("interpreter", "#!/no/such/shell\n");
    expect_build(good_source, ACCEL_ERROR_NO_COMPILER, NULL);
    assert_non_null(strstr(accel_last_error_message(), "could not be started"));
    drop_script();
    unlink(own_file("crash"));
    unlink(own_file("silent"));
    unlink(own_file("lazy"));
    unlink(own_file("liar"));
    unlink(own_file("litter"));
    expect_build(good_source, ACCEL_OK, NULL);
}

/* ---- choosing ---- */

static void key(char *buffer, size_t capacity)
{
    OK(accel__cpu_compiler_key(device, buffer, capacity));
}

static void the_compiler_is_chosen(void **state)
{
    (void)state;
    char usual[4096];
    char other[4096];
    char *path = strdup(getenv("PATH"));
    char *before = getenv("CC") != NULL ? strdup(getenv("CC")) : NULL;
    unsetenv("CC");
    key(usual, sizeof usual);
    key(other, sizeof other);
    assert_string_equal(usual, other);
    setenv("CC", "no-such-compiler-here", 1); /* passed over */
    key(other, sizeof other);
    assert_string_equal(usual, other);
    setenv("CC", "cc -DACCEL_TEST_OPTION=1", 1);
    key(other, sizeof other);
    assert_string_not_equal(usual, other);
    expect_build("#if ACCEL_TEST_OPTION != 1\n#error none\n#endif\nint f;\n", ACCEL_OK, NULL);
    setenv("CC", "env cc", 1); /* a wrapper */
    expect_build(good_source, ACCEL_OK, NULL);
    setenv("ACCEL_CC", "no-such-compiler-here", 1); /* this one is an order */
    FAILS(accel__cpu_compiler_key(device, other, sizeof other), ACCEL_ERROR_NO_COMPILER,
          "accel_module_create_from_source");
    assert_non_null(strstr(accel_last_error_message(), "no-such-compiler-here"));
    expect_build(good_source, ACCEL_ERROR_NO_COMPILER, NULL);
    unsetenv("ACCEL_CC");
    unsetenv("CC");
    setenv("PATH", "/nowhere", 1);
    expect_build(good_source, ACCEL_ERROR_NO_COMPILER, NULL);
    assert_non_null(strstr(accel_last_error_message(), "accel build"));
    setenv("PATH", path, 1);
    FAILS(accel__cpu_compiler_key(device, other, 40), ACCEL_ERROR_NO_COMPILER,
          "accel_module_create_from_source");
    if (before != NULL)
        setenv("CC", before, 1);
    free(before);
    free(path);
}

static void a_new_version_has_a_new_key(void **state)
{
    (void)state;
    char first[4096];
    char second[4096];
    use_script("versioned", "#!/bin/sh\necho version 1\n");
    key(first, sizeof first);
    use_script("versioned", "#!/bin/sh\necho version two\n");
    key(second, sizeof second);
    drop_script();
    assert_non_null(strstr(first, "version 1"));
    assert_non_null(strstr(second, "version two"));
}

static int with_signal_ignored(void *user)
{
    (void)user;
    signal(SIGCHLD, SIG_IGN);
    made result = build_text(good_source);
    CHECK_QUIET(result.status == ACCEL_OK && result.objects == 1);
    release(&result);
    result = build_text("int f(void) { return undeclared_thing; }\n");
    CHECK_QUIET(result.status == ACCEL_ERROR_BUILD_FAILED);
    CHECK_QUIET(strstr(accel__text_string(&result.log), "undeclared_thing") != NULL);
    release(&result);
    return 0;
}

static int with_small_files(void *user)
{
    const struct rlimit limit = {*(const rlim_t *)user, *(const rlim_t *)user};
    CHECK_QUIET(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    made result = build_text(good_source);
    release(&result);
    return result.status == ACCEL_OK ? 0 : 40 + (int)result.status;
}

static void limits_on_files_end_no_program(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 1, 1000, 3000};
    for (size_t i = 0; i < 4; i++) {
        const int code = test_in_child(with_small_files, (void *)&limits[i], 60);
        assert_true(code == 40 + ACCEL_ERROR_IO || code == 40 + ACCEL_ERROR_SYSTEM ||
                    code == 40 + ACCEL_ERROR_BUILD_FAILED);
        assert_int_equal(count_left(), 0);
    }
}

static void exit_statuses_are_not_needed(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(with_signal_ignored, NULL, 60), 0);
    assert_int_equal(count_left(), 0);
}

static void odd_temporary_directories(void **state)
{
    (void)state;
    static const char *const odd[] = {"/nowhere", "relative", "/proc", NULL};
    for (size_t i = 0; odd[i] != NULL; i++) {
        setenv("TMPDIR", odd[i], 1);
        made result = build_text(good_source);
        OK(result.status);
        release(&result);
    }
    char path[256];
    snprintf(path, sizeof path, "%s/m\303\244rz 'n' \"quotes\" $x", own_directory);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("TMPDIR", path, 1);
    made result = build_text(good_source);
    OK(result.status);
    release(&result);
    assert_int_equal(rmdir(path), 0);
    setenv("TMPDIR", own_directory, 1);
}

/* ---- loading ---- */

static void expect_unloadable(const char *text, const char *part)
{
    made result = build_text(text);
    OK(result.status);
    accel_native_module *module;
    FAILS(accel__cpu_load(device, result.object.data, result.object.size, &module),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_module_create_from_native");
    assert_null(module);
    if (strstr(accel_last_error_message(), part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, accel_last_error_message());
    release(&result);
}

static void foreign_objects_are_refused(void **state)
{
    (void)state;
    accel_native_module *module;
    FAILS(accel__cpu_load(device, "PTX", 3, &module), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_module_create_from_native");
    expect_unloadable("int f;\n", "exports no accel_cpu_module");
    expect_unloadable("extern const struct { unsigned abi, count; const void *kernels; }\n"
                      "accel_cpu_module __attribute__((visibility(\"default\")));\n"
                      "const __typeof__(accel_cpu_module) accel_cpu_module = {77, 0, 0};\n",
                      "kernel ABI 77");
    expect_unloadable("extern const struct { unsigned abi, count; const void *kernels; }\n"
                      "accel_cpu_module __attribute__((visibility(\"default\")));\n"
                      "const __typeof__(accel_cpu_module) accel_cpu_module = {1, 3, 0};\n",
                      "no table of kernels");
    char *twice = strdup(good_source);
    assert_non_null(twice);
    memcpy(strstr(twice, "\"two\""), "\"one\"", 5);
    expect_unloadable(twice, "kernel 1 (one) has the name of an earlier one");
    free(twice);
}

static void features_are_compared(void **state)
{
    (void)state;
    char missing[8] = "";
    assert_true(accel__cpu_features_suffice("", missing, sizeof missing));
    assert_false(accel__cpu_features_suffice(" thinking-machine", missing, sizeof missing));
    assert_string_equal(missing, "thinkin");
    assert_true(accel__cpu_features_hash() == accel__cpu_features_hash());

    made result = build_text(good_source);
    OK(result.status);
    void *library;
    char reason[256];
    OK(accel__library_load(result.object.data, result.object.size, &library, reason,
                           sizeof reason));
    const char *needs = accel__library_symbol(library, ACCEL__CPU_NEEDS_SYMBOL);
    assert_non_null(needs);
    /* An object that needs what no machine has: the last word is spoiled. */
    const size_t size = strlen(needs);
    char *inside = memmem(result.object.data, result.object.size, needs, size + 1);
    if (size != 0) {
        assert_non_null(inside);
        inside[size - 1] = '?';
        accel_native_module *module;
        FAILS(accel__cpu_load(device, result.object.data, result.object.size, &module),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_module_create_from_native");
        assert_non_null(strstr(accel_last_error_message(), "which this machine lacks"));
    }
    accel__library_unload(library);
    release(&result);
}

static const char *nothing(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return NULL;
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static accel_param many[1025];
    for (size_t i = 0; i < 1025; i++)
        many[i] = (accel_param){.kind = ACCEL_PARAM_KIND_POINTER, .lanes = 1};
    const accel_param no_kind = {.size = 4};
    const accel_param no_size = {.kind = ACCEL_PARAM_KIND_VALUE};
    const accel_param huge = {.kind = ACCEL_PARAM_KIND_VALUE, .size = SIZE_MAX};
    const accel_cpu_kernel good = {.name = "good", .function = nothing};
    const struct {
        accel_cpu_kernel kernel;
        const char *part;
    } bad[] = {
        {{.function = nothing}, "has no name"},
        {{.name = "", .function = nothing}, "has no name"},
        {{.name = "k"}, "(k) has no function"},
        {{.name = "k", .function = nothing, .param_count = 1}, "no parameters"},
        {{.name = "k", .function = nothing, .params = &no_kind, .param_count = 1}, "without kind"},
        {{.name = "k", .function = nothing, .params = &no_size, .param_count = 1}, "without size"},
        {{.name = "k", .function = nothing, .params = &huge, .param_count = 1}, "4096 bytes"},
        {{.name = "k", .function = nothing, .params = many, .param_count = 513}, "4096 bytes"},
        {{.name = "k", .function = nothing, .params = many, .param_count = 1025},
         "1024 parameters"},
        {{.name = "k", .function = nothing, .required_block = {4, 0, 1}}, "required block"},
        {{.name = "good", .function = nothing}, "has the name of an earlier one"},
    };
    accel_native_module *module;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const accel_cpu_kernel table[2] = {good, bad[i].kernel};
        FAILS(accel__cpu_load_functions(device, table, 2, &module), ACCEL_ERROR_INVALID_ARGUMENT,
              "accel_module_create_from_functions");
        if (strstr(accel_last_error_message(), bad[i].part) == NULL)
            fail_msg("\"%s\" is not in: %s", bad[i].part, accel_last_error_message());
    }
    FAILS(accel__cpu_load_functions(device, NULL, 1, &module), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_module_create_from_functions");
    FAILS(accel__cpu_load_functions(device, &good, 0, &module), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_module_create_from_functions");
    const accel_cpu_kernel most = {
        .name = "most", .function = nothing, .params = many, .param_count = 512};
    OK(accel__cpu_load_functions(device, &most, 1, &module));
    accel__cpu_unload(module);
}

/* ---- several threads ---- */

static void *build_in_thread(void *user)
{
    char text[4096];
    for (int i = 0; i < 3; i++) {
        accel_native_module *module = NULL;
        made result = build_text(good_source);
        if (result.status != ACCEL_OK ||
            accel__cpu_compiler_key(device, text, sizeof text) != ACCEL_OK ||
            accel__cpu_load(device, result.object.data, result.object.size, &module) != ACCEL_OK ||
            accel__cpu_function_count(module) != 2)
            atomic_fetch_add((atomic_uint *)user, 1);
        if (module != NULL)
            accel__cpu_unload(module);
        release(&result);
    }
    return NULL;
}

static void threads_build_side_by_side(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    atomic_uint failures = 0;
    const unsigned descriptors = count_descriptors();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, build_in_thread, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_left(), 0);
}

/* ---- failures inside ---- */

static void failures_leave_nothing(void **state)
{
    (void)state;
    const unsigned descriptors = count_descriptors();
    unsigned number = 0;
    for (bool faulty = true; faulty;) {
        accel_native_module *module = NULL;
        char text[4096];
        made result = {0};
        const accel_backend_build build = {.user = &result, .object = take_object, .log = take_log};
        fault_begin(++number);
        accel_status status = accel__cpu_compiler_key(device, text, sizeof text);
        if (status == ACCEL_OK)
            status = accel__cpu_compile(device, good_source, strlen(good_source), &build);
        if (status == ACCEL_OK && !result.object.failed)
            status = accel__cpu_load(device, result.object.data, result.object.size, &module);
        faulty = fault_end();
        if (module != NULL)
            accel__cpu_unload(module);
        assert_true(faulty || status == ACCEL_OK);
        assert_int_equal(count_descriptors(), descriptors);
        assert_int_equal(count_left(), 0);
        release(&result);
    }
    assert_true(number > 10);
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("ACCEL_CC");
    const accel_backend_table *table = accel__backend_cpu();
    return own_directory_begin() && table->discovery.start(NULL, 0) == ACCEL_OK &&
                   table->device.open(0, &device) == ACCEL_OK
               ? 0
               : 1;
}

static int tear_down(void **state)
{
    (void)state;
    accel__cpu_device_unreference(device);
    accel__backend_cpu()->discovery.stop();
    return own_directory_end() ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_leave_nothing), /* first: the compiler's version is not known yet */
        cmocka_unit_test(objects_are_made_and_loaded),
        cmocka_unit_test(messages_name_the_users_lines),
        cmocka_unit_test(long_logs_are_whole),
        cmocka_unit_test(failing_compilers_are_explained),
        cmocka_unit_test(the_compiler_is_chosen),
        cmocka_unit_test(a_new_version_has_a_new_key),
        cmocka_unit_test(exit_statuses_are_not_needed),
        cmocka_unit_test(limits_on_files_end_no_program),
        cmocka_unit_test(odd_temporary_directories),
        cmocka_unit_test(foreign_objects_are_refused),
        cmocka_unit_test(features_are_compared),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(threads_build_side_by_side),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
