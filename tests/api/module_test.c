/* module_test.c: modules from portable source and from native objects, through the public API: what is
 * refused, what the log and the record say (cases B111 to B114), what a release leaves. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

static accel_device device;
static char root[] = "/tmp/accel_module-XXXXXX";
static unsigned compiled;   /* kernels that the compiler made */
static unsigned from_cache; /* kernels that it was spared */

static void listen(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)backend;
    (void)user;
    compiled += strstr(text, ": compiled") != NULL;
    from_cache += strstr(text, ": from the cache") != NULL;
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static accel_module *build(const char *source, const accel_module_options *options)
{
    accel_module *module = NULL;
    OK(accel_module_create_from_source(device, source, strlen(source), options, &module));
    assert_non_null(module);
    return module;
}

/* Launches the kernel `name` (global int *out) with one work-item and returns what it wrote. */
static int run_named(accel_module *module, const char *name)
{
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    int value = -1;
    OK(accel_module_get_kernel(module, name, &kernel));
    OK(accel_stream_default(device, &stream));
    OK(accel_memory_alloc(stream, sizeof value, NULL, &memory));
    const accel_launch_shape one = {{1, 1, 1}, {1, 1, 1}};
    const accel_kernel_arg argument = ACCEL_ARG_POINTER(memory);
    OK(accel_kernel_launch(kernel, stream, &one, &argument, 1));
    OK(accel_copy(&value, memory, sizeof value, stream));
    OK(accel_stream_synchronize(stream));
    OK(accel_memory_free(memory));
    return value;
}

static int run(accel_module *module)
{
    const int value = run_named(module, "k");
    accel_module_release(module);
    return value;
}

#define KERNEL_OF(value) "__kernel void k(__global int *out) { out[0] = " value "; }\n"

/* The build must fail with `status`; the record and the log must say `part`. */
static void expect_failure(const char *source, const accel_module_options *options,
                           accel_status status, const char *part)
{
    accel_module *module = NULL;
    FAILS(accel_module_create_from_source(device, source, strlen(source), options, &module), status,
          "accel_module_create_from_source");
    assert_non_null(module);
    assert_int_equal(accel_module_kernel_count(module), 0);
    if (strstr(accel_module_build_log(module), part) == NULL)
        fail_msg("\"%s\" is not in the log: %s", part, accel_module_build_log(module));
    if (strstr(accel_last_error_message(), part) == NULL)
        fail_msg("\"%s\" is not in the record: %s", part, accel_last_error_message());
    accel_kernel *kernel = NULL;
    EXPECT(accel_module_get_kernel(module, "k", &kernel), ACCEL_ERROR_NOT_FOUND);
    assert_null(kernel);
    accel_module_release(module);
}

/* ---- making ---- */

static void kernels_have_names_and_signatures(void **state)
{
    (void)state;
    accel_module *module = build(
        "__kernel void first(__global const float *in, __local int *room, const double scale,\n"
        "                    __global uchar *out, short n)\n"
        "{ out[0] = (uchar)(in[0] * scale + room[0] + n); }\n"
        "static int helper(int a) { return a + 1; }\n"
        "__kernel void second(__global int *out) { out[0] = helper(41); }\n",
        NULL);
    assert_string_equal(accel_module_build_log(module), "");
    assert_int_equal(accel_module_kernel_count(module), 2);
    accel_kernel *kernel = NULL;
    OK(accel_module_get_kernel_at(module, 0, &kernel));
    assert_string_equal(accel_kernel_name(kernel), "first");
    assert_true(accel_kernel_has_signature(kernel));
    assert_int_equal(accel_kernel_param_count(kernel), 5);
    static const struct {
        const char *name;
        accel_param_kind kind;
        accel_data_type type;
        uint32_t read_only;
        size_t size;
    } expected[] = {
        {"in", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_F32, 1, 4},
        {"room", ACCEL_PARAM_KIND_LOCAL, ACCEL_DATA_TYPE_I32, 0, 4},
        {"scale", ACCEL_PARAM_KIND_VALUE, ACCEL_DATA_TYPE_F64, 0, 8},
        {"out", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_U8, 0, 1},
        {"n", ACCEL_PARAM_KIND_VALUE, ACCEL_DATA_TYPE_I16, 0, 2},
    };
    for (uint32_t i = 0; i < 5; i++) {
        accel_param param;
        OK(accel_kernel_get_param(kernel, i, &param));
        assert_string_equal(param.name, expected[i].name);
        assert_int_equal(param.kind, expected[i].kind);
        assert_int_equal(param.type, expected[i].type);
        assert_int_equal(param.size, expected[i].size);
        if (param.kind == ACCEL_PARAM_KIND_POINTER)
            assert_int_equal(param.read_only, expected[i].read_only);
    }
    assert_int_equal(run_named(module, "second"), 42);
    accel_kernel *none = kernel;
    EXPECT(accel_module_get_kernel(module, "third", &none), ACCEL_ERROR_NOT_FOUND);
    assert_null(none);
    assert_non_null(strstr(accel_last_error_message(), "first, second"));
    accel_module_release(module);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static const char good[] = KERNEL_OF("1");
    static const char function[] = "accel_module_create_from_source";
    accel_module *module = (accel_module *)&device;
    FAILS(accel_module_create_from_source(device, good, strlen(good), NULL, NULL),
          ACCEL_ERROR_INVALID_ARGUMENT, function);
    FAILS(accel_module_create_from_source(device, NULL, 4, NULL, &module),
          ACCEL_ERROR_INVALID_ARGUMENT, function);
    assert_null(module);
    FAILS(accel_module_create_from_source(device, good, sizeof good, NULL, &module),
          ACCEL_ERROR_INVALID_ARGUMENT, function); /* its NUL */
    FAILS(accel_module_create_from_source(ACCEL_DEVICE(device.backend, 7), good, strlen(good), NULL,
                                          &module),
          ACCEL_ERROR_OUT_OF_RANGE, function);
    const accel_define defines[] = {{"A", "1"},  {NULL, "1"},  {"", "1"},
                                    {"1x", "1"}, {"a b", "1"}, {"A", "1\n#error"}};
    const char *const paths[] = {NULL, ""};
#define OPTIONS(...)                                                                               \
    {                                                                                              \
        .struct_size = sizeof(accel_module_options), __VA_ARGS__                                   \
    }
    const accel_module_options bad[] = {
        {.struct_size = 1},
        OPTIONS(.define_count = 1),
        OPTIONS(.defines = &defines[1], .define_count = 1),
        OPTIONS(.defines = &defines[2], .define_count = 1),
        OPTIONS(.defines = &defines[3], .define_count = 1),
        OPTIONS(.defines = &defines[4], .define_count = 1),
        OPTIONS(.defines = &defines[5], .define_count = 1),
        OPTIONS(.include_path_count = 1),
        OPTIONS(.include_paths = &paths[0], .include_path_count = 1),
        OPTIONS(.include_paths = &paths[1], .include_path_count = 1),
        OPTIONS(.check_barriers = 2),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        module = (accel_module *)&device;
        FAILS(accel_module_create_from_source(device, good, strlen(good), &bad[i], &module),
              ACCEL_ERROR_INVALID_ARGUMENT, function);
        assert_null(module);
    }
    struct {
        accel_module_options known;
        uint64_t tail;
    } longer = {OPTIONS(.defines = defines, .define_count = 1), 0};
    longer.known.struct_size = sizeof longer;
    assert_int_equal(run(build(good, &longer.known)), 1);
    longer.tail = 1;
    FAILS(accel_module_create_from_source(device, good, strlen(good), &longer.known, &module),
          ACCEL_ERROR_INVALID_ARGUMENT, function);
}

static void options_reach_the_source(void **state)
{
    (void)state;
    const accel_define defines[] = {{"VALUE", "40 + ONE"}, {"ONE", NULL}};
    const accel_module_options options = OPTIONS(.defines = defines, .define_count = 2);
    assert_int_equal(run(build(KERNEL_OF("VALUE"), &options)), 41);
    const accel_module_options checked = OPTIONS(.check_barriers = 1);
    assert_int_equal(run(build(KERNEL_OF("5"), &checked)), 5);
}

/* ---- B112, B113: logs ---- */

static void failures_name_file_and_line(void **state)
{
    (void)state;
    const accel_module_options named = OPTIONS(.file_name = path_of("waves.cl"));
    expect_failure("\n\n__kernel void k(__global int *out) { out[0] = undeclared; }\n", &named,
                   ACCEL_ERROR_BUILD_FAILED, "waves.cl:3: error: ");
    expect_failure("__kernel void k(__global int *out) { out[0] = undeclared; }\n", NULL,
                   ACCEL_ERROR_BUILD_FAILED, "source:1: error: ");
    write_file("broken.h", "int fine;\n#error this header is broken\n", 0600);
    expect_failure("/* comment */\n#include \"broken.h\"\n" KERNEL_OF("1"), &named,
                   ACCEL_ERROR_BUILD_FAILED, "broken.h:2: error: ");
    expect_failure("#include \"missing.h\"\n", &named, ACCEL_ERROR_BUILD_FAILED, "missing.h");
    write_file("broken.h", "", 0600);
}

static void warnings_are_kept_after_success(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) { /* the second time out of the cache */
        accel_module *module = build("#warning mind the gap\n" KERNEL_OF("1"), NULL);
        assert_non_null(strstr(accel_module_build_log(module), "mind the gap"));
        assert_int_equal(run(module), 1);
    }
}

static void use_compiler(const char *script)
{
    static unsigned number;
    char name[32];
    snprintf(name, sizeof name, "cc-%u", number++);
    write_file(name, script, 0700);
    setenv("ACCEL_CC", path_of(name), 1);
}

#define ANSWERS_VERSION "#!/bin/sh\n[ \"$1\" != --version ] || { echo test 1; exit 0; }\n"

static void compiler_failures_are_told(void **state)
{
    (void)state;
    use_compiler(ANSWERS_VERSION "echo about to crash; kill -SEGV $$\n");
    expect_failure(KERNEL_OF("101"), NULL, ACCEL_ERROR_BUILD_FAILED, "ended by signal 11");
    use_compiler(ANSWERS_VERSION
                 "i=0; while [ $i -lt 2000 ]; do\n"
                 "echo \"line $i of a long message, one of two thousand\"; i=$((i+1))\n"
                 "done; echo 'source:1: error: the real one'; exit 1\n");
    accel_module *module = NULL;
    static const char source[] = KERNEL_OF("102");
    FAILS(accel_module_create_from_source(device, source, strlen(source), NULL, &module),
          ACCEL_ERROR_BUILD_FAILED, "accel_module_create_from_source");
    const char *log = accel_module_build_log(module);
    assert_true(strlen(log) > 90000);
    assert_non_null(strstr(log, "line 0 of"));
    assert_non_null(strstr(log, "line 1999 of"));
    assert_string_equal(accel_last_error_message(), "source:1: error: the real one");
    accel_module_release(module);
    setenv("ACCEL_CC_TIMEOUT_MS", "500", 1);
    use_compiler(ANSWERS_VERSION "sleep 60\n");
    expect_failure(KERNEL_OF("103"), NULL, ACCEL_ERROR_BUILD_FAILED, "stopped after 500 ms");
    unsetenv("ACCEL_CC_TIMEOUT_MS");
    setenv("ACCEL_CC", "/no/such/compiler", 1);
    expect_failure(KERNEL_OF("104"), NULL, ACCEL_ERROR_NO_COMPILER, "/no/such/compiler");
    void *object = NULL;
    size_t size = 1;
    module = NULL;
    FAILS(accel_module_build_native(device, source, strlen(source), NULL, &object, &size, &module),
          ACCEL_ERROR_NO_COMPILER, "accel_module_build_native");
    assert_null(object);
    assert_int_equal(size, 0);
    assert_non_null(module);
    accel_module_release(module);
    unsetenv("ACCEL_CC");
    assert_int_equal(run(build(KERNEL_OF("101"), NULL)), 101); /* failures are not cached */
}

/* ---- B111: what is included belongs to the key ---- */

static int build_and_run(const char *const *paths, uint32_t count, bool expect_compiler)
{
    const unsigned before = compiled;
    const accel_module_options options = OPTIONS(.include_paths = paths,
                                                 .include_path_count = count);
    const int value = run(build("#include \"a.h\"\n" KERNEL_OF("VALUE"), &options));
    assert_int_equal(compiled - before, expect_compiler ? 1 : 0);
    return value;
}

static void included_files_are_part_of_the_key(void **state)
{
    (void)state;
    char first[512];
    char second[512];
    char third[512];
    snprintf(first, sizeof first, "%s", path_of("first"));
    snprintf(second, sizeof second, "%s", path_of("second"));
    snprintf(third, sizeof third, "%s", path_of("third"));
    mkdir(first, 0700);
    mkdir(second, 0700);
    mkdir(third, 0700);
    write_file("first/a.h", "#include <b.h>\n", 0600);
    write_file("second/b.h", "#define VALUE 301\n", 0600);
    const char *paths[] = {first, second, third};
    assert_int_equal(build_and_run(paths, 3, true), 301);
    assert_int_equal(build_and_run(paths, 3, false), 301);
    write_file("second/b.h", "#define VALUE 302\n", 0600); /* same size, same second */
    assert_int_equal(build_and_run(paths, 3, true), 302);
    write_file("second/b.h", "#define VALUE 301\n", 0600);
    assert_int_equal(build_and_run(paths, 3, false), 301);
    write_file("third/b.h", "#define VALUE 303\n", 0600);
    assert_int_equal(build_and_run(paths, 3, false), 301);
    const char *swapped[] = {first, third, second};
    assert_int_equal(build_and_run(swapped, 3, true), 303);
    write_file("first/b.h", "#define VALUE 304\n", 0600); /* shadows the others */
    assert_int_equal(build_and_run(paths, 3, true), 304);
    assert_int_equal(build_and_run(swapped, 3, false), 304);
    assert_int_equal(unlink(path_of("first/b.h")), 0);
    assert_int_equal(build_and_run(paths, 3, false), 301);
}

/* ---- B114: UTF-8, whatever the locale ---- */

static void text_is_utf8_in_each_locale(void **state)
{
    (void)state;
    char include[512];
    snprintf(include, sizeof include, "%s", path_of("m\303\244rz \342\202\254"));
    mkdir(include, 0700);
    write_file("m\303\244rz \342\202\254/\303\274.h", "/* \303\237 */\n#define VALUE 7\n", 0600);
    const char *const paths[] = {include};
    const accel_module_options options = OPTIONS(.include_paths = paths, .include_path_count = 1,
                                                 .file_name = "k\303\266rnel.cl");
    char *before = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
    static const char *const locales[] = {"C", "C.UTF-8"};
    for (size_t i = 0; i < 2; i++) {
        char tag[64];
        setenv("LANG", locales[i], 1);
        setlocale(LC_ALL, "");
        setenv("TMPDIR", i == 0 ? include : "/tmp", 1);
        snprintf(tag, sizeof tag, "VALUE + %zu", i);
        char source[512];
        snprintf(source, sizeof source,
                 "// \303\244\303\266\303\274 \360\237\214\236\n#include \"\303\274.h\"\n"
                 "__kernel void k(__global int *out) { out[0] = %s; }\n",
                 tag);
        assert_int_equal(run(build(source, &options)), 7 + (int)i);
        expect_failure("/* \303\244 */ __kernel void k(__global int *out) { out[0] = nothing; }\n",
                       &options, ACCEL_ERROR_BUILD_FAILED, "k\303\266rnel.cl:1: error: ");
    }
    setlocale(LC_ALL, "C");
    if (before != NULL)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

/* ---- native objects ---- */

static void native_objects_come_back(void **state)
{
    (void)state;
    static const char source[] = KERNEL_OF("1234");
    void *object = NULL;
    size_t size = 0;
    accel_module *module = (accel_module *)&device;
    OK(accel_module_build_native(device, source, strlen(source), NULL, &object, &size, &module));
    assert_non_null(object);
    assert_null(module);
    for (int i = 0; i < 2; i++) { /* also without a compiler */
        OK(accel_module_create_from_native(device, object, size, &module));
        assert_int_equal(run(module), 1234);
        setenv("ACCEL_CC", "/no/such/compiler", 1);
    }
    unsetenv("ACCEL_CC");
    for (size_t cut = 0; cut < size; cut += size / 37) {
        char *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part, object, cut);
        FAILS(accel_module_create_from_native(device, part, cut, &module),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_module_create_from_native");
        assert_null(module);
        free(part);
    }
    accel_module_free_native(object);
    FAILS(accel_module_build_native(device, source, strlen(source), NULL, NULL, &size, NULL),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_module_build_native");
    FAILS(accel_module_build_native(device, "int k(", 6, NULL, &object, &size, NULL),
          ACCEL_ERROR_BUILD_FAILED, "accel_module_build_native");
    assert_null(object);
    accel_module_free_native(NULL);
}

static void the_object_is_the_callers(void **state)
{
    (void)state;
    static const char source[] = KERNEL_OF("77");
    void *object = NULL;
    size_t size = 0;
    OK(accel_module_build_native(device, source, strlen(source), NULL, &object, &size, NULL));
    accel_module *module = NULL;
    OK(accel_module_create_from_native(device, object, size, &module));
    memset(object, 0, size);
    accel_module_free_native(object);
    assert_int_equal(run(module), 77);
}

/* ---- lifetime ---- */

static void pending_launches_keep_the_code(void **state)
{
    (void)state;
    accel_module *module = build(
        "__kernel void spin(__global uint *out, uint rounds)\n"
        "{ uint x = out[0]; for (uint i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;\n"
        "  out[0] = x; }\n",
        NULL);
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint32_t value = 1;
    OK(accel_module_get_kernel(module, "spin", &kernel));
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_memory_alloc(stream, sizeof value, NULL, &memory));
    OK(accel_copy(memory, &value, sizeof value, stream));
    const uint32_t rounds = 20000000;
    const accel_launch_shape one = {{1, 1, 1}, {1, 1, 1}};
    const accel_kernel_arg arguments[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(rounds)};
    enum { LAUNCHES = 5 };
    for (int i = 0; i < LAUNCHES; i++)
        OK(accel_kernel_launch(kernel, stream, &one, arguments, 2));
    accel_module_retain(module);
    accel_module_release(module);
    assert_string_equal(accel_kernel_name(kernel), "spin");
    accel_module_release(module); /* the last one: the launches are still under way */
    uint32_t got = 0;
    OK(accel_copy(&got, memory, sizeof got, stream));
    OK(accel_stream_synchronize(stream));
    for (uint32_t i = 0; i < LAUNCHES * rounds; i++)
        value = value * 1664525u + 1013904223u;
    assert_int_equal(got, value);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
    accel_module_release(NULL);
}

static int build_in_child(void *user)
{
    (void)user;
    accel_module *module = NULL;
    static const char source[] = KERNEL_OF("31 + 11");
    CHECK_QUIET(accel_module_create_from_source(device, source, strlen(source), NULL, &module) ==
                ACCEL_OK);
    CHECK_QUIET(accel_module_kernel_count(module) == 1);
    accel_module_release(module);
    return 0;
}

static void children_build_too(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(build_in_child, NULL, 60), 0);
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    unsetenv("ACCEL_CC");
    if (mkdtemp(root) == NULL)
        return 1;
    setenv("ACCEL_CACHE_DIR", path_of("cache"), 1);
    accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, listen, NULL);
    device = test_cpu_device(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_names_and_signatures),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(options_reach_the_source),
        cmocka_unit_test(failures_name_file_and_line),
        cmocka_unit_test(warnings_are_kept_after_success),
        cmocka_unit_test(compiler_failures_are_told),
        cmocka_unit_test(included_files_are_part_of_the_key),
        cmocka_unit_test(text_is_utf8_in_each_locale),
        cmocka_unit_test(native_objects_come_back),
        cmocka_unit_test(the_object_is_the_callers),
        cmocka_unit_test(pending_launches_keep_the_code),
        cmocka_unit_test(children_build_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
