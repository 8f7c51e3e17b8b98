/* module.c: from an object to kernels that can be launched. */
#include "backends/opencl/module/module.h"

#include <string.h>

#include "base/error.h"

static const char function[] = "accel_module_create_from_native";

enum { KEY_SIZE = 2048 };

/* ---- the object ---- */

static accel_status refuse(const accel__opencl_device *device, const char *fault)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "opencl", function,
                       "this object cannot be loaded on '%s': %s", device->found->info.name, fault);
}

/* A text can be built by anybody; a driver's object is for that driver and device only. */
static accel_status check_maker(accel__opencl_device *device, const accel__opencl_object *object)
{
    char key[KEY_SIZE] = "";
    if (object->dialect != accel__opencl_dialect((accel_native_device *)device))
        return refuse(device, "it was made for a device that takes pointers in another way");
    if (object->form == ACCEL__OPENCL_FORM_TEXT)
        return ACCEL_OK;
    const accel_status status = accel__opencl_maker(device, key, sizeof key);
    if (status != ACCEL_OK)
        return status;
    if (strlen(key) == object->maker_size && memcmp(key, object->maker, object->maker_size) == 0)
        return ACCEL_OK;
    return refuse(device, "it was made for another device or by another version of the driver");
}

/* Also of a text: it was built when the object was made, so that what fails now is no fault of it. */
static cl_program build(accel__opencl_device *device, const accel__opencl_object *object,
                        accel_status *out_status)
{
    cl_program failed = NULL;
    cl_int code = CL_SUCCESS;
    const char *call = NULL;
    cl_program program = object->form == ACCEL__OPENCL_FORM_TEXT
                             ? accel__opencl_build_text(device, object->payload,
                                                        object->payload_size, &failed, &code, &call)
                             : accel__opencl_build_binary(device, object->payload,
                                                          object->payload_size, &code, &call);
    if (failed != NULL)
        device->api->clReleaseProgram(failed);
    if (program == NULL)
        *out_status = accel__opencl_fail(code, call);
    return program;
}

/* ---- the module ---- */

/* PoCL runs the items of a block in loops between barriers, and does not keep account of those that have
 * left: the answers are wrong. Some jumps past a barrier end the process when it compiles the kernel. */
static const char *find_fault(const accel__opencl_device *device, uint32_t notes)
{
    static const char pocl[] = "Portable Computing Language";
    if (strncmp(device->found->info.driver, pocl, sizeof pocl - 1) != 0)
        return NULL;
    if ((notes & ACCEL__OPENCL_JUMPS) != 0)
        return "jumps past a barrier by a switch or a function's return, over which PoCL may end "
               "the "
               "process: write if and else";
    if ((notes & ACCEL__OPENCL_LEAVES) != 0)
        return "returns from some work-items before a barrier of the others, which PoCL computes "
               "wrongly: let all reach it";
    return NULL;
}

/* Kernels of devices with unified shared memory may find pointers in memory. */
static cl_int allow_indirect(const accel__opencl_device *device, cl_kernel kernel)
{
    const cl_bool yes = CL_TRUE;
    if (device->pointers != ACCEL__OPENCL_USM || device->api->clSetKernelExecInfo == NULL)
        return CL_SUCCESS;
    return device->api->clSetKernelExecInfo(
        kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof yes, &yes);
}

static accel_status create_kernels(accel__opencl_device *device, accel__opencl_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        accel__opencl_function *made = &module->functions[i];
        cl_int code = CL_SUCCESS;
        made->device = device;
        made->set_pointer = device->pointers == ACCEL__OPENCL_USM
                                ? device->api->clSetKernelArgMemPointerINTEL
                            : device->pointers == ACCEL__OPENCL_SVM
                                ? device->api->clSetKernelArgSVMPointer
                                : NULL;
        made->fault = find_fault(device, made->notes);
        made->facts.function = (accel_native_function *)made;
        made->kernel = device->api->clCreateKernel(module->program, made->facts.name, &code);
        if (made->kernel == NULL)
            return accel__opencl_fail(code, "clCreateKernel");
        code = allow_indirect(device, made->kernel);
        if (code != CL_SUCCESS)
            return accel__opencl_fail(code, "clSetKernelExecInfo");
    }
    return ACCEL_OK;
}

accel_status accel__opencl_load(accel_native_device *native, const void *bytes, size_t size,
                                accel_native_module **out_module)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    accel__opencl_object object;
    const char *fault = NULL;
    if (!accel__opencl_object_read(bytes, size, &object, &fault))
        return refuse(device, fault);
    accel_status status = check_maker(device, &object);
    if (status != ACCEL_OK)
        return status;
    accel__opencl_module *module = NULL;
    status = accel__opencl_facts_read(object.facts, object.facts_size, &module);
    if (status != ACCEL_OK)
        return status;
    module->api = device->api;
    module->program = build(device, &object, &status);
    if (module->program != NULL)
        status = create_kernels(device, module);
    if (status == ACCEL_OK)
        *out_module = (accel_native_module *)module;
    else
        accel__opencl_unload((accel_native_module *)module);
    return status;
}

/* Queued launches hold on to their kernel, and that to its program. */
void accel__opencl_unload(accel_native_module *native)
{
    accel__opencl_module *module = (accel__opencl_module *)native;
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].kernel != NULL)
            module->api->clReleaseKernel(module->functions[i].kernel);
    if (module->program != NULL)
        module->api->clReleaseProgram(module->program);
    accel__opencl_facts_release(module);
}

uint32_t accel__opencl_function_count(accel_native_module *native)
{
    return ((accel__opencl_module *)native)->function_count;
}

accel_status accel__opencl_function_get(accel_native_module *native, uint32_t index,
                                        accel_backend_function *out_function)
{
    *out_function = ((accel__opencl_module *)native)->functions[index].facts;
    return ACCEL_OK;
}
