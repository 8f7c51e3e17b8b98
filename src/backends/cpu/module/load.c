/* load.c: modules of native code: from shared objects, and from tables of the program's own functions.
 * Both are an array of accel_cpu_kernel and are checked in the same way. */
#include <errno.h>
#include <string.h>

#include "backends/cpu/module/features.h"
#include "backends/cpu/module/module.h"
#include "backends/cpu/queue/retire.h"
#include "base/allocate.h"
#include "base/error.h"
#include "platform/library.h"

enum { POINTER_SIZE = 8, MAX_ALIGNMENT = 64, MAX_PARAMS = 1024, REASON_SIZE = 384 };

struct accel__cpu_native_module {
    accel__cpu_retirement retirement; /* for unload */
    accel_native_device *device;
    void *library; /* NULL: the program's functions */
    uint32_t count;
    accel__cpu_native_function *functions;
    uint32_t *offsets; /* of all functions, one behind the other */
};

/* ---- checking ---- */

static accel_status bad_kernel(const char *function, uint32_t index, const char *name,
                               const char *fault)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function, "kernel %u (%s) %s", index,
                       name != NULL && name[0] != '\0' ? name : "no name", fault);
}

static const char *param_fault(const accel_param *param)
{
    if (param->kind < ACCEL_PARAM_KIND_VALUE || param->kind > ACCEL_PARAM_KIND_LOCAL)
        return "has a parameter without kind";
    if (param->kind == ACCEL_PARAM_KIND_VALUE && param->size == 0)
        return "has a value parameter without size";
    if (param->kind == ACCEL_PARAM_KIND_VALUE && param->size > ACCEL_KERNEL_ARGS_SIZE_MAX)
        return "has more than 4096 bytes of arguments";
    return NULL;
}

static const char *kernel_fault(const accel_cpu_kernel *kernel)
{
    if (kernel->name == NULL || kernel->name[0] == '\0')
        return "has no name";
    if (kernel->function == NULL)
        return "has no function";
    if (kernel->param_count != 0 && kernel->params == NULL)
        return "has a count of parameters but no parameters";
    if (kernel->param_count > MAX_PARAMS)
        return "has more than 1024 parameters";
    const uint32_t *block = kernel->required_block;
    if ((block[0] == 0) != (block[1] == 0) || (block[0] == 0) != (block[2] == 0))
        return "has a required block that is 0 in one dimension only";
    size_t bytes = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const accel_param *param = &kernel->params[i];
        const char *fault = param_fault(param);
        if (fault != NULL)
            return fault;
        if (param->kind != ACCEL_PARAM_KIND_LOCAL)
            bytes += param->kind == ACCEL_PARAM_KIND_VALUE ? param->size : POINTER_SIZE;
    }
    return bytes > ACCEL_KERNEL_ARGS_SIZE_MAX ? "has more than 4096 bytes of arguments" : NULL;
}

static accel_status check_kernels(const char *function, const accel_cpu_kernel *kernels,
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *fault = kernel_fault(&kernels[i]);
        for (uint32_t j = 0; j < i && fault == NULL; j++)
            if (strcmp(kernels[i].name, kernels[j].name) == 0)
                fault = "has the name of an earlier one";
        if (fault != NULL)
            return bad_kernel(function, i, kernels[i].name, fault);
    }
    return ACCEL_OK;
}

/* ---- making ---- */

static uint32_t alignment_of(const accel_param *param)
{
    uint32_t alignment = 1;
    if (param->kind != ACCEL_PARAM_KIND_VALUE)
        return POINTER_SIZE;
    while (alignment < param->size && alignment < MAX_ALIGNMENT)
        alignment *= 2;
    return alignment;
}

/* Where each argument lies: see module.h. The sizes were checked: nothing here overflows. */
static void lay_out(accel__cpu_native_function *made, uint32_t *offsets)
{
    const accel_cpu_kernel *kernel = made->kernel;
    uint32_t used = 0;
    made->alignment = POINTER_SIZE;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const accel_param *param = &kernel->params[i];
        const uint32_t alignment = alignment_of(param);
        used = (used + alignment - 1) & ~(alignment - 1);
        offsets[i] = used;
        used += param->kind == ACCEL_PARAM_KIND_VALUE ? (uint32_t)param->size
                                                      : (uint32_t)POINTER_SIZE;
        if (alignment > made->alignment)
            made->alignment = alignment;
        made->local_count += param->kind == ACCEL_PARAM_KIND_LOCAL;
    }
    made->offsets = offsets;
    made->packed_size = (used + POINTER_SIZE - 1) & ~(uint32_t)(POINTER_SIZE - 1);
}

static void destroy(void *user)
{
    accel__cpu_native_module *module = user;
    if (module->library != NULL)
        accel__library_unload(module->library);
    accel__deallocate(module->offsets);
    accel__deallocate(module->functions);
    accel__deallocate(module);
}

/* Takes `library` over where it succeeds. */
static accel_status make(const char *function, accel_native_device *device, void *library,
                         const accel_cpu_kernel *kernels, uint32_t count,
                         accel_native_module **out_module)
{
    const accel_status status = check_kernels(function, kernels, count);
    if (status != ACCEL_OK)
        return status;
    size_t params = 0;
    for (uint32_t i = 0; i < count; i++)
        params += kernels[i].param_count;
    accel__cpu_native_module *module = accel__allocate(sizeof *module);
    if (module != NULL) {
        module->functions = accel__allocate_array(count, sizeof *module->functions);
        module->offsets = accel__allocate_array(params, sizeof *module->offsets);
    }
    if (module == NULL || module->functions == NULL || module->offsets == NULL) {
        if (module != NULL)
            destroy(module);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", function,
                           "no memory for a module of %u kernels", count);
    }
    uint32_t *offsets = module->offsets;
    for (uint32_t i = 0; i < count; i++) {
        module->functions[i].kernel = &kernels[i];
        module->functions[i].owner = module;
        lay_out(&module->functions[i], offsets);
        offsets += kernels[i].param_count;
    }
    module->device = device;
    module->library = library;
    module->count = count;
    *out_module = (accel_native_module *)module;
    return ACCEL_OK;
}

accel_status accel__cpu_load_functions(accel_native_device *device, const accel_cpu_kernel *kernels,
                                       uint32_t kernel_count, accel_native_module **out_module)
{
    static const char function[] = "accel_module_create_from_functions";
    *out_module = NULL;
    if (kernels == NULL || kernel_count == 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function,
                           "the table of kernels is empty");
    return make(function, device, NULL, kernels, kernel_count, out_module);
}

/* The table of a loaded object; NULL where it has none for this library, with the record made. */
static const accel_cpu_object *find_table(const char *function, void *library)
{
    char missing[32];
    const char *needs = accel__library_symbol(library, ACCEL__CPU_NEEDS_SYMBOL);
    const accel_cpu_object *table = accel__library_symbol(library, "accel_cpu_module");
    if (table == NULL)
        accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function,
                    "the object has no kernels of accel: it exports no accel_cpu_module");
    else if (table->abi != ACCEL_CPU_ABI)
        accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function,
                    "the object has kernel ABI %u, this library has %d: build it again", table->abi,
                    ACCEL_CPU_ABI);
    else if (table->kernel_count != 0 && table->kernels == NULL)
        accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function,
                    "the object's accel_cpu_module has no table of kernels");
    else if (needs != NULL && !accel__cpu_features_suffice(needs, missing, sizeof missing))
        accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "cpu", function,
                    "the object was built for a processor with %s, which this machine lacks: "
                    "build it here",
                    missing);
    else
        return table;
    return NULL;
}

accel_status accel__cpu_load(accel_native_device *device, const void *object, size_t size,
                             accel_native_module **out_module)
{
    static const char function[] = "accel_module_create_from_native";
    char reason[REASON_SIZE] = "";
    void *library = NULL;
    *out_module = NULL;
    accel_status status = accel__library_load(object, size, &library, reason, sizeof reason);
    if (status != ACCEL_OK)
        return accel__fail(status, "cpu", function, "the object cannot be loaded: %s", reason);
    const accel_cpu_object *table = find_table(function, library);
    status = table != NULL
                 ? make(function, device, library, table->kernels, table->kernel_count, out_module)
                 : ACCEL_ERROR_INVALID_ARGUMENT;
    if (status != ACCEL_OK)
        accel__library_unload(library);
    return status;
}

/* ---- using ---- */

void accel__cpu_unload(accel_native_module *module)
{
    accel__cpu_native_module *own = (accel__cpu_native_module *)module;
    accel__cpu_retire(own->device, &own->retirement, destroy, own);
}

uint32_t accel__cpu_function_count(accel_native_module *module)
{
    return ((accel__cpu_native_module *)module)->count;
}

accel_status accel__cpu_function(accel_native_module *module, uint32_t index,
                                 accel_backend_function *out_function)
{
    accel__cpu_native_module *own = (accel__cpu_native_module *)module;
    if (index >= own->count)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "cpu", "accel_module_get_kernel_at",
                           "kernel %u of a module with %u", index, own->count);
    accel__cpu_native_function *found = &own->functions[index];
    *out_function = (accel_backend_function){
        .name = found->kernel->name,
        .function = (accel_native_function *)found,
        .has_signature = true,
        .param_count = found->kernel->param_count,
        .params = found->kernel->params,
    };
    memcpy(out_function->required_block, found->kernel->required_block,
           sizeof out_function->required_block);
    return ACCEL_OK;
}
