/* module.c: modules: loading, counting, and the questions about them and their kernels. */
#include "core/module.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"

static accel_status check(const accel_module *module, const char *function)
{
    if (accel__handle_is_live(module, ACCEL__HANDLE_MODULE))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       module == NULL ? "the module is NULL" : "the module was released");
}

/* ---- making ---- */

accel_module *accel__module_make(accel__device *device, const char *function)
{
    accel_module *module = accel__allocate(sizeof *module);
    if (module == NULL) {
        accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name, function,
                    "no memory for a module");
        return NULL;
    }
    accel__handle_open(&module->handle, ACCEL__HANDLE_MODULE);
    module->references = 1;
    module->device = device;
    return module;
}

/* Lists the kernels of a native module, which the module then owns. */
static accel_status adopt(accel_module *module, accel_native_module *native, const char *function)
{
    const accel_backend_kernel *table = &module->device->backend->table.kernel;
    const uint32_t count = table->function_count(native);
    struct accel_kernel *kernels = accel__allocate_array(count, sizeof *kernels);
    if (kernels == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, module->device->backend->table.name,
                           function, "no memory for %u kernels", count);
    for (uint32_t i = 0; i < count; i++) {
        const accel_status status = table->function(native, i, &kernels[i].facts);
        if (status != ACCEL_OK) {
            accel__deallocate(kernels);
            return status;
        }
        kernels[i].module = module;
        kernels[i].device = module->device;
        kernels[i].backend = module->device->backend;
    }
    for (uint32_t i = 0; i < count; i++)
        accel__handle_open(&kernels[i].handle, ACCEL__HANDLE_KERNEL);
    module->kernels = kernels;
    module->kernel_count = count;
    module->native = native;
    return ACCEL_OK;
}

accel_status accel__module_adopt(accel_module *module, accel_native_module *native,
                                 const char *function)
{
    const accel_status status = adopt(module, native, function);
    if (status != ACCEL_OK)
        module->device->backend->table.kernel.unload(native);
    return status;
}

accel_status accel__module_load(accel_module *module, const void *object, size_t size,
                                const char *function)
{
    accel__device *device = module->device;
    accel_native_module *native = NULL;
    const accel_status status = device->backend->table.kernel.load(device->native, object, size,
                                                                   &native);
    return status == ACCEL_OK ? accel__module_adopt(module, native, function) : status;
}

/* Resolves, starts and opens the device, and makes an empty module for it. */
static accel_status begin(accel_device device, const char *function, accel_module **out_module)
{
    accel__device *found = NULL;
    accel_status status = accel__check_callback(function);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, function, &found);
    if (status == ACCEL_OK)
        status = accel__device_use(found, function);
    if (status != ACCEL_OK)
        return status;
    *out_module = accel__module_make(found, function);
    return *out_module != NULL ? ACCEL_OK : ACCEL_ERROR_OUT_OF_HOST_MEMORY;
}

static accel_status finish(accel_status status, accel_module *made, accel_module **out_module)
{
    if (status == ACCEL_OK)
        *out_module = made;
    else
        accel_module_release(made);
    return status;
}

accel_status accel_module_create_from_native(accel_device device, const void *object, size_t size,
                                             accel_module **out_module)
{
    if (out_module == NULL)
        return accel__fail_null(__func__, "out_module");
    *out_module = NULL;
    if (object == NULL)
        return accel__fail_null(__func__, "object");
    if (size == 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__, "the object is empty");
    accel_module *made = NULL;
    accel_status status = begin(device, __func__, &made);
    if (status == ACCEL_OK)
        status = accel__error_met_by(accel__module_load(made, object, size, __func__), __func__);
    return finish(status, made, out_module);
}

/* Before anything is started. */
static accel_status check_takes_functions(accel_device device, const char *function)
{
    accel__backend *backend = NULL;
    const accel_status status = accel__backend_resolve(device.backend, function, &backend);
    if (status != ACCEL_OK || accel__backend_owns(backend, ACCEL__GROUP_FUNCTIONS))
        return status;
    return accel__fail(ACCEL_ERROR_UNSUPPORTED, backend->table.name, function,
                       "'%s' takes no kernels in C functions", backend->table.name);
}

accel_status accel_module_create_from_functions(accel_device device,
                                                const accel_cpu_kernel *kernels,
                                                uint32_t kernel_count, accel_module **out_module)
{
    if (out_module == NULL)
        return accel__fail_null(__func__, "out_module");
    *out_module = NULL;
    if (kernels == NULL || kernel_count == 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__, "there are no kernels");
    accel_module *made = NULL;
    accel_native_module *native = NULL;
    accel_status status = check_takes_functions(device, __func__);
    if (status == ACCEL_OK)
        status = begin(device, __func__, &made);
    if (status == ACCEL_OK)
        status = made->device->backend->table.functions.load(made->device->native, kernels,
                                                             kernel_count, &native);
    if (status == ACCEL_OK)
        status = accel__module_adopt(made, native, __func__);
    return finish(status, made, out_module);
}

void accel_module_retain(accel_module *module)
{
    if (accel__handle_is_live(module, ACCEL__HANDLE_MODULE))
        atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void accel_module_release(accel_module *module)
{
    if (!accel__handle_is_live(module, ACCEL__HANDLE_MODULE) ||
        atomic_fetch_sub(&module->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < module->kernel_count; i++)
        accel__handle_close(&module->kernels[i].handle);
    if (module->native != NULL && !accel__backend_is_forked(module->device->backend))
        module->device->backend->table.kernel.unload(module->native);
    accel__handle_close(&module->handle);
    accel__text_release(&module->log);
    accel__deallocate(module->kernels);
    accel__deallocate(module);
}

/* ---- questions ---- */

const char *accel_module_build_log(const accel_module *module)
{
    return check(module, __func__) == ACCEL_OK ? accel__text_string(&module->log) : "";
}

uint32_t accel_module_kernel_count(const accel_module *module)
{
    return check(module, __func__) == ACCEL_OK ? module->kernel_count : 0;
}

accel_status accel_module_get_kernel_at(const accel_module *module, uint32_t index,
                                        accel_kernel **out_kernel)
{
    if (out_kernel == NULL)
        return accel__fail_null(__func__, "out_kernel");
    *out_kernel = NULL;
    const accel_status status = check(module, __func__);
    if (status != ACCEL_OK)
        return status;
    if (index >= module->kernel_count)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, __func__,
                           "kernel index %u is out of range: the module has %u kernels", index,
                           module->kernel_count);
    *out_kernel = &module->kernels[index];
    return ACCEL_OK;
}

/* "a, b, c": what a wrong name could have been. */
static void list_names(const accel_module *module, char *buffer, size_t capacity)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < module->kernel_count && used < capacity; i++) {
        const int wrote = snprintf(buffer + used, capacity - used, "%s%s", i != 0 ? ", " : "",
                                   module->kernels[i].facts.name);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

accel_status accel_module_get_kernel(const accel_module *module, const char *name,
                                     accel_kernel **out_kernel)
{
    if (out_kernel == NULL)
        return accel__fail_null(__func__, "out_kernel");
    *out_kernel = NULL;
    const accel_status status = check(module, __func__);
    if (status != ACCEL_OK)
        return status;
    if (name == NULL)
        return accel__fail_null(__func__, "name");
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].facts.name, name) == 0) {
            *out_kernel = &module->kernels[i];
            return ACCEL_OK;
        }
    if (module->kernel_count == 0)
        return accel__fail(ACCEL_ERROR_NOT_FOUND, NULL, __func__,
                           "there is no kernel '%.64s': the module has none (in portable source "
                           "__kernel makes a function one)",
                           name);
    char names[256];
    list_names(module, names, sizeof names);
    return accel__fail(ACCEL_ERROR_NOT_FOUND, NULL, __func__,
                       "there is no kernel '%.64s' in the module; there are: %s", name, names);
}

static bool is_kernel(const accel_kernel *kernel, const char *function)
{
    if (accel__handle_is_live(kernel, ACCEL__HANDLE_KERNEL))
        return true;
    accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                kernel == NULL ? "the kernel is NULL" : "the kernel's module was released");
    return false;
}

const char *accel_kernel_name(const accel_kernel *kernel)
{
    return is_kernel(kernel, __func__) ? kernel->facts.name : "";
}

bool accel_kernel_has_signature(const accel_kernel *kernel)
{
    return is_kernel(kernel, __func__) && kernel->facts.has_signature;
}

uint32_t accel_kernel_param_count(const accel_kernel *kernel)
{
    return is_kernel(kernel, __func__) ? kernel->facts.param_count : 0;
}

accel_status accel_kernel_get_param(const accel_kernel *kernel, uint32_t index,
                                    accel_param *out_param)
{
    if (out_param == NULL)
        return accel__fail_null(__func__, "out_param");
    *out_param = (accel_param){0};
    if (!is_kernel(kernel, __func__))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (index >= kernel->facts.param_count)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, __func__,
                           "parameter %u is out of range: '%s' has %u", index, kernel->facts.name,
                           kernel->facts.param_count);
    *out_param = kernel->facts.params[index];
    return ACCEL_OK;
}
