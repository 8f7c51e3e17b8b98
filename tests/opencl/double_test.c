/* double_test.c: the kernel half of the opencl backend against a driver that fails on demand (double/): each
 * call, each code of a failed build, logs of odd sizes, drivers without binaries, damaged objects, and lack
 * of memory everywhere. Nothing may leak, in the library or in the driver. */
#include <dlfcn.h>
#include <stdlib.h>

#include "backends/opencl/driver/symbols.h"
#include "support/check.h"

#include "unit/fault_sweep.h"

static const char source[] = "__kernel void scale(__global float *data, __local float *room,\n"
                             "                    const float by)\n"
                             "{\n"
                             "    data[get_global_id(0)] *= by;\n"
                             "    room[0] = by;\n"
                             "}\n";

static accel_device device;
static int (*count_alive)(void);

/* What the driver shall do from now on. */
static void want(const char *words)
{
    setenv("OPENCL_DOUBLE", words, 1);
}

static accel_status build(accel_module **out_module)
{
    return accel_module_create_from_source(device, source, sizeof source - 1, NULL, out_module);
}

static accel_error last_error(void)
{
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    return error;
}

static accel_status launch(accel_module *module)
{
    static const accel_launch_shape shape = {{4, 1, 1}, {2, 1, 1}};
    const float by = 2;
    accel_kernel *kernel = NULL;
    void *memory = NULL;
    accel_stream *stream = NULL;
    OK(accel_module_get_kernel(module, "scale", &kernel));
    OK(accel_stream_default(device, &stream));
    OK(accel_memory_alloc(stream, 64, NULL, &memory));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_LOCAL(4),
                                     ACCEL_ARG_VALUE(by)};
    const accel_status status = accel_kernel_launch(kernel, stream, &shape, args, 3);
    accel_memory_free(memory);
    return status;
}

/* A whole use that must work: what a failure left behind would show here, or in the driver's count. */
static void use(void)
{
    accel_module *module = NULL;
    want("");
    OK(build(&module));
    OK(launch(module));
    OK(accel_synchronize(device));
    accel_module_release(module);
}

static int alive_after_use(void)
{
    use();
    return count_alive();
}

/* ---- logs ---- */

static const struct {
    const char *name;
    cl_int code;
} codes[] = {
#define CODE(name, number) {#name, number},
    ACCEL__OPENCL_CODES(CODE)
#undef CODE
};

/* B118: whatever code the build gives, there is a log, and the first error stays. */
static void test_each_code_keeps_its_log(void **state)
{
    (void)state;
    char words[64];
    const int alive = alive_after_use();
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == CL_SUCCESS)
            continue;
        accel_module *module = NULL;
        snprintf(words, sizeof words, "clBuildProgram=%d log=200", codes[i].code);
        want(words);
        FAILS(build(&module), ACCEL_ERROR_BUILD_FAILED, "accel_module_create_from_source");
        assert_int_equal(last_error().vendor_code, codes[i].code);
        assert_string_equal(last_error().vendor_message, codes[i].name);
        assert_non_null(strstr(last_error().message, "source:3: error: at the end"));
        const char *log = accel_module_build_log(module);
        assert_non_null(strstr(log, "source:3: error: at the end\n"));
        assert_non_null(strstr(log, codes[i].name));
        assert_non_null(strstr(log, "-cl-std=CL1.2"));
        assert_int_equal(accel_module_kernel_count(module), 0);
        accel_module_release(module);
    }
    assert_int_equal(alive_after_use(), alive);
}

/* B112: without a log, or with one that cannot be had, the build's own failure is what is told. */
static void test_no_log_hides_no_error(void **state)
{
    (void)state;
    static const char *const logs[] = {"log=0", "log=1", "log-code=-5", "log-code=-6",
                                       "log=2000000000"};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        accel_module *module = NULL;
        char words[64];
        snprintf(words, sizeof words, "clBuildProgram=-11 %s", logs[i]);
        want(words);
        FAILS(build(&module), ACCEL_ERROR_BUILD_FAILED, "accel_module_create_from_source");
        assert_int_equal(last_error().vendor_code, CL_BUILD_PROGRAM_FAILURE);
        assert_non_null(strstr(accel_module_build_log(module),
                               "clBuildProgram returned CL_BUILD_PROGRAM_FAILURE (-11) for "
                               "'double' with options"));
        accel_module_release(module);
    }
}

/* B113: all of a large log, its end too; nothing but the log; also of a good build. */
static void test_whole_log(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        size_t size;
    } logs[] = {
        {"log=102400", 102399}, {"log=102400 unterminated", 102400}, {"log=20 unterminated", 20}};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        accel_module *module = NULL;
        want(logs[i].words);
        OK(build(&module));
        const char *log = accel_module_build_log(module);
        const size_t size = strlen(log);
        assert_in_range(size, logs[i].size, logs[i].size + 1); /* and a line's end */
        assert_memory_equal(log, "source:1: warning: ", 19);
        assert_int_equal(log[size - 1], '\n');
        if (size > 100)
            assert_non_null(strstr(log, "source:3: error: at the end"));
        accel_module_release(module);
    }
}

/* ---- codes without a log ---- */

static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        accel_status status;
        cl_int code;
    } cases[] = {
        {"clBuildProgram=-3 log=0", ACCEL_ERROR_NO_COMPILER, -3},
        {"clBuildProgram=-6 log=0", ACCEL_ERROR_OUT_OF_HOST_MEMORY, -6},
        {"clBuildProgram=-5 log=0", ACCEL_ERROR_BUILD_FAILED, -5},
        {"clCreateProgramWithSource=-6", ACCEL_ERROR_OUT_OF_HOST_MEMORY, -6},
        {"clCreateProgramWithSource=-5", ACCEL_ERROR_BUILD_FAILED, -5},
        {"clCreateKernel=-5", ACCEL_ERROR_DEVICE_FAILED, -5},
        {"clCreateKernel=-6", ACCEL_ERROR_OUT_OF_HOST_MEMORY, -6},
        {"clGetDeviceInfo=-5", ACCEL_ERROR_DEVICE_FAILED, -5},
    };
    const int alive = alive_after_use();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        accel_module *module = NULL;
        want(cases[i].words);
        FAILS(build(&module), cases[i].status, "accel_module_create_from_source");
        assert_int_equal(last_error().vendor_code, cases[i].code);
        accel_module_release(module);
    }
    assert_int_equal(alive_after_use(), alive);
}

/* ---- objects ---- */

/* Drivers that give no binaries, or do not take them back: the object is the text again. */
static void test_without_binaries(void **state)
{
    (void)state;
    static const char *const ways[] = {"",
                                       "no-binary",
                                       "one-way",
                                       "clGetProgramInfo=-30",
                                       "clCreateProgramWithBinary=-5",
                                       "clCreateKernelsInProgram=-45"};
    const int alive = alive_after_use();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        void *object = NULL;
        size_t size = 0;
        accel_module *module = NULL;
        want(ways[i]);
        OK(accel_module_build_native(device, source, sizeof source - 1, NULL, &object, &size,
                                     NULL));
        OK(accel_module_create_from_native(device, object, size, &module));
        accel_kernel *kernel = NULL;
        accel_param param;
        OK(accel_module_get_kernel(module, "scale", &kernel));
        assert_true(accel_kernel_has_signature(kernel));
        assert_int_equal(accel_kernel_param_count(kernel), 3);
        OK(accel_kernel_get_param(kernel, 2, &param));
        assert_string_equal(param.name, "by");
        assert_int_equal(param.type, ACCEL_DATA_TYPE_F32);
        OK(launch(module));
        accel_module_release(module);
        accel_module_free_native(object);
    }
    assert_int_equal(alive_after_use(), alive);
}

static void expect_refused(const void *object, size_t size)
{
    accel_module *module = NULL;
    assert_int_equal(accel_module_create_from_native(device, object, size, &module),
                     ACCEL_ERROR_INVALID_ARGUMENT);
    assert_null(module);
}

/* Cut anywhere, or with any byte changed, it reaches no driver. */
static void test_damaged_objects(void **state)
{
    (void)state;
    void *object = NULL;
    size_t size = 0;
    want("");
    OK(accel_module_build_native(device, source, sizeof source - 1, NULL, &object, &size, NULL));
    for (size_t i = 1; i < size; i += i < 600 ? 1 : 97)
        expect_refused(object, i);
    for (size_t i = 0; i < size; i += i < 600 ? 1 : 97) {
        ((char *)object)[i] ^= 4;
        expect_refused(object, size);
        ((char *)object)[i] ^= 4;
    }
    expect_refused("__kernel void source(void) {}", 29);
    accel_module *module = NULL;
    want("clGetDeviceInfo=-5"); /* whose it is cannot be told */
    EXPECT(accel_module_create_from_native(device, object, size, &module),
           ACCEL_ERROR_DEVICE_FAILED);
    accel_module_free_native(object);
}

/* ---- launches ---- */

/* A launch that is refused sticks to nothing; one that fails later does. */
static void test_launches(void **state)
{
    (void)state;
    accel_module *module = NULL;
    want("");
    OK(build(&module));
    static const struct {
        const char *words;
        accel_status status;
    } cases[] = {
        {"clEnqueueNDRangeKernel=-5", ACCEL_ERROR_DEVICE_FAILED},
        {"clEnqueueNDRangeKernel=-54", ACCEL_ERROR_OUT_OF_RANGE},
        {"clEnqueueNDRangeKernel=-52", ACCEL_ERROR_INVALID_ARGUMENT},
        {"clEnqueueNDRangeKernel=-4", ACCEL_ERROR_OUT_OF_MEMORY},
        {"clSetKernelArgSVMPointer=-50", ACCEL_ERROR_INVALID_ARGUMENT},
        {"clSetKernelArg=-51", ACCEL_ERROR_INVALID_ARGUMENT},
        {"clSetKernelArg=-6", ACCEL_ERROR_OUT_OF_HOST_MEMORY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        want(cases[i].words);
        FAILS(launch(module), cases[i].status, "accel_kernel_launch");
        want("");
        OK(launch(module));
        OK(accel_synchronize(device));
    }
    accel_module_release(module);
}

static void test_late_failure(void **state)
{
    (void)state;
    static const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    const float by = 2;
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_LOCAL(4),
                                     ACCEL_ARG_VALUE(by)};
    want("");
    OK(build(&module));
    OK(accel_module_get_kernel(module, "scale", &kernel));
    OK(accel_stream_create(device, NULL, &stream));
    want("late=-5");
    OK(accel_kernel_launch(kernel, stream, &shape, args, 3));
    EXPECT(accel_stream_synchronize(stream), ACCEL_ERROR_DEVICE_FAILED);
    assert_int_equal(last_error().vendor_code, CL_OUT_OF_RESOURCES);
    want("");
    EXPECT(accel_kernel_launch(kernel, stream, &shape, args, 3), ACCEL_ERROR_DEVICE_FAILED);
    accel_stream_release(stream);
    accel_module_release(module);
    use(); /* other streams are none the worse */
}

/* ---- lack of memory ---- */

static accel_status build_and_launch(void)
{
    accel_module *module = NULL;
    accel_status status = build(&module);
    if (status == ACCEL_OK)
        status = launch(module);
    accel_module_release(module);
    return status;
}

static void test_lack_of_memory(void **state)
{
    (void)state;
    static const char *const ways[] = {"log=300", "no-binary"};
    const int alive = alive_after_use();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bool happened = true;
        unsigned number = 1;
        want(ways[i]);
        for (; happened && number < 5000; number++) {
            fault_begin(number);
            accel_module *module = NULL;
            const accel_status status = build(&module);
            accel_module_release(module);
            happened = fault_end();
            if (!happened)
                OK(status);
        }
        assert_false(happened);
        assert_true(number > 20);
        OK(build_and_launch());
        OK(accel_synchronize(device));
    }
    assert_int_equal(alive_after_use(), alive);
}

static int begin(void **state)
{
    (void)state;
    accel_backend backend = 0;
    char helper[4096];
    const char *folder = getenv("BUILD_DIR");
    snprintf(helper, sizeof helper, "%s/bin/accel-probe", folder != NULL ? folder : ".");
    setenv("ACCEL_PROBE", helper, 1);
    setenv("OCL_ICD_VENDORS", DOUBLE_LIBRARY, 1);
    setenv("ACCEL_BACKENDS", "opencl", 1);
    setenv("ACCEL_CACHE", "0", 1);
    unsetenv("ACCEL_OPENCL_POINTERS");
    want("");
    OK(accel_backend_find("opencl", &backend));
    device = (accel_device){backend, 0};
    use();
    void *library = dlopen(DOUBLE_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *found = dlsym(library, "opencl_double_alive");
    memcpy(&count_alive, &found, sizeof found);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_code_keeps_its_log),
        cmocka_unit_test(test_no_log_hides_no_error),
        cmocka_unit_test(test_whole_log),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_without_binaries),
        cmocka_unit_test(test_damaged_objects),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_late_failure),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
