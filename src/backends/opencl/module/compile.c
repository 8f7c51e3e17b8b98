/* compile.c: from text to an object. Whatever code a failed build gives, what the compiler said reaches
 * the caller, and a failure to get that never hides the build's own. */
#include <stdio.h>
#include <string.h>

#include "backends/opencl/driver/library.h"
#include "backends/opencl/module/module.h"
#include "base/allocate.h"
#include "base/error.h"

enum { KEY_SIZE = 2048 };

static const char function[] = "accel_module_create_from_source";

static accel_dialect dialect_of(const accel__opencl_device *device)
{
    return device->pointers == ACCEL__OPENCL_TRANSLATE ? ACCEL_DIALECT_OPENCL_C_OFFSETS
                                                       : ACCEL_DIALECT_OPENCL_C;
}

accel_dialect accel__opencl_dialect(accel_native_device *device)
{
    return dialect_of((const accel__opencl_device *)device);
}

accel_status accel__opencl_maker(const accel__opencl_device *device, char *buffer, size_t capacity)
{
    static const cl_uint asked[] = {CL_DEVICE_VENDOR, CL_DEVICE_NAME, CL_DEVICE_VERSION,
                                    CL_DRIVER_VERSION, CL_DEVICE_OPENCL_C_VERSION};
    int used = snprintf(buffer, capacity, "opencl object 1; %s",
                        accel__opencl_build_options(device));
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char text[256];
        const accel_status status = accel__opencl_read_text(device->api, device->id, asked[i], text,
                                                            sizeof text);
        if (status != ACCEL_OK)
            return status;
        if (used >= 0 && (size_t)used < capacity)
            used += snprintf(buffer + used, capacity - (size_t)used, "; %s", text);
    }
    return ACCEL_OK;
}

accel_status accel__opencl_compiler_key(accel_native_device *native, char *buffer, size_t capacity)
{
    const accel__opencl_device *device = (const accel__opencl_device *)native;
    if (device->found->capability.kernels_from_source)
        return accel__opencl_maker(device, buffer, capacity);
    return accel__fail(ACCEL_ERROR_NO_COMPILER, "opencl", function,
                       "the driver of '%s' has no compiler; accel build makes objects on a machine "
                       "that has one",
                       device->found->info.name);
}

/* ---- failure ---- */

static accel_status status_of_build(cl_int code)
{
    switch (code) {
    case CL_COMPILER_NOT_AVAILABLE:
        return ACCEL_ERROR_NO_COMPILER;
    case CL_OUT_OF_HOST_MEMORY:
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    default:
        return ACCEL_ERROR_BUILD_FAILED;
    }
}

/* Hands over the log; true: there was one. */
static bool hand_over_log(const accel__opencl_device *device, cl_program program,
                          const accel_backend_build *taker)
{
    char *log = accel__opencl_build_log(device, program);
    if (log == NULL)
        return false;
    const size_t size = strlen(log);
    taker->log(taker->user, log, size);
    if (log[size - 1] != '\n')
        taker->log(taker->user, "\n", 1);
    accel__deallocate(log);
    return true;
}

/* A failure with a log is a failed build, whatever the code: only that keeps a log. */
static accel_status fail_build(const accel__opencl_device *device, cl_program failed, cl_int code,
                               const char *call, const accel_backend_build *taker)
{
    char text[512];
    const char *name = accel__opencl_code_name(code);
    const bool has_log = failed != NULL && hand_over_log(device, failed, taker);
    const accel_status status = has_log ? ACCEL_ERROR_BUILD_FAILED : status_of_build(code);
    const int size = snprintf(
        text, sizeof text, "accel: error: %s returned %s (%d) for '%s' with options '%s'\n", call,
        name, code, device->found->info.name, accel__opencl_build_options(device));
    if (status == ACCEL_ERROR_BUILD_FAILED && size > 0)
        taker->log(taker->user, text, strlen(text));
    if (failed != NULL)
        device->api->clReleaseProgram(failed);
    return accel__fail_vendor(status, "opencl", function, code, name, "%s returned %s (%d)", call,
                              name, code);
}

/* ---- objects ---- */

/* Whether the driver takes its own object back: not each that gives one does. */
static bool is_taken_back(const accel__opencl_device *device, const void *binary, size_t size)
{
    cl_int code = CL_SUCCESS;
    const char *call = NULL;
    cl_uint count = 0;
    cl_program again = accel__opencl_build_binary(device, binary, size, &code, &call);
    if (again == NULL)
        return false;
    code = device->api->clCreateKernelsInProgram(again, 0, NULL, &count);
    device->api->clReleaseProgram(again);
    return code == CL_SUCCESS;
}

static accel_status hand_over(const accel__opencl_object *object, const accel_backend_build *taker)
{
    accel__text bytes = {0};
    accel__opencl_object_write(object, &bytes);
    if (!bytes.failed)
        taker->object(taker->user, bytes.data, bytes.size);
    const bool failed = bytes.failed;
    accel__text_release(&bytes);
    return failed ? accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                                "no memory for a compiled object")
                  : ACCEL_OK;
}

static accel_status make_object(const accel__opencl_device *device, cl_program program,
                                const char *text, size_t size, const accel_backend_build *taker)
{
    char maker[KEY_SIZE] = "";
    void *binary = NULL;
    accel__opencl_object object = {.form = ACCEL__OPENCL_FORM_TEXT,
                                   .dialect = dialect_of(device),
                                   .maker = maker,
                                   .facts = text,
                                   .facts_size = accel__opencl_facts_size(text, size),
                                   .payload = text,
                                   .payload_size = size};
    accel_status status = accel__opencl_maker(device, maker, sizeof maker);
    if (status != ACCEL_OK)
        return status;
    object.maker_size = strlen(maker);
    if (accel__opencl_get_binary(device, program, &binary, &object.payload_size) &&
        is_taken_back(device, binary, object.payload_size)) {
        object.form = ACCEL__OPENCL_FORM_BINARY;
        object.payload = binary;
    } else {
        object.payload_size = size;
    }
    status = hand_over(&object, taker);
    accel__deallocate(binary);
    return status;
}

accel_status accel__opencl_compile(accel_native_device *native, const char *text, size_t size,
                                   const accel_backend_build *taker)
{
    const accel__opencl_device *device = (const accel__opencl_device *)native;
    cl_program failed = NULL;
    cl_int code = CL_SUCCESS;
    const char *call = NULL;
    cl_program program = accel__opencl_build_text(device, text, size, &failed, &code, &call);
    if (program == NULL)
        return fail_build(device, failed, code, call, taker);
    hand_over_log(device, program, taker);
    const accel_status status = make_object(device, program, text, size, taker);
    device->api->clReleaseProgram(program);
    return status;
}
