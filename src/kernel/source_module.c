/* source_module.c: the public functions that make modules and native objects from portable source.
 * Whatever happens, the build's log reaches the caller: in a module without kernels where the build
 * failed. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "base/log.h"
#include "core/lifecycle.h"
#include "kernel/source_build.h"

/* ---- the caller's options ---- */

static accel_status bad_option(const char *function, const char *what, uint32_t index,
                               const char *fault)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%s[%u] %s", what, index,
                       fault);
}

static bool is_identifier(const char *name)
{
    if (name[0] >= '0' && name[0] <= '9')
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return false;
    return name[0] != '\0';
}

static accel_status check_options(const accel_module_options *options, const char *function)
{
    if ((options->define_count != 0 && options->defines == NULL) ||
        (options->include_path_count != 0 && options->include_paths == NULL))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "there is a count of defines or include paths, but no array of them");
    if (options->check_barriers > 1)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "check_barriers is %u: 0 or 1", options->check_barriers);
    for (uint32_t i = 0; i < options->define_count; i++) {
        const accel_define *define = &options->defines[i];
        if (define->name == NULL || !is_identifier(define->name))
            return bad_option(function, "defines", i, "has no name that a macro can have");
        if (define->value != NULL && strpbrk(define->value, "\r\n") != NULL)
            return bad_option(function, "defines", i, "has a value of more than one line");
    }
    for (uint32_t i = 0; i < options->include_path_count; i++)
        if (options->include_paths[i] == NULL || options->include_paths[i][0] == '\0')
            return bad_option(function, "include_paths", i, "is empty");
    return ACCEL_OK;
}

static accel_status check_source(const char *source, size_t size, const char *function)
{
    if (source == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the source is NULL");
    const char *zero = memchr(source, '\0', size);
    if (zero != NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "byte %td of the source is a NUL byte", zero - source);
    return ACCEL_OK;
}

/* ---- what every build does ---- */

static accel_status check_and_use(accel__source_build *build, accel_device device,
                                  const accel_module_options *options)
{
    const char *function = build->function;
    accel_status status = accel__check_callback(function);
    if (status == ACCEL_OK)
        status = check_source(build->source, build->size, function);
    if (status == ACCEL_OK)
        status = accel__options_read(options, &build->options, sizeof build->options, function);
    if (status == ACCEL_OK)
        status = check_options(&build->options, function);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, function, &build->device);
    if (status == ACCEL_OK)
        status = accel__device_use(build->device, function);
    if (status == ACCEL_OK && build->options.check_barriers != 0 &&
        accel__source_dialect(build) != ACCEL_DIALECT_CPU_C)
        status = accel__fail(ACCEL_ERROR_UNSUPPORTED, build->device->backend->table.name, function,
                             "check_barriers works on the cpu backend only");
    return status;
}

/* Checks what was given, takes the device into use, and makes the module that will hold the log. NULL:
 * *out_status says why. */
static accel_module *begin(accel__source_build *build, accel_device device,
                           const accel_module_options *options, accel_status *out_status)
{
    *out_status = check_and_use(build, device, options);
    if (*out_status != ACCEL_OK)
        return NULL;
    accel_module *module = accel__module_make(build->device, build->function);
    if (module == NULL)
        *out_status = ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    return module;
}

/* A backend records its failures under the function that it knows; the caller's was this one. The
 * vendor's code stays. `text`: the message, NULL for the backend's own. */
static accel_status claim_failure(accel_status status, const accel__source_build *build,
                                  const char *text, int size)
{
    accel_error error = {.struct_size = sizeof error};
    char vendor_message[192];
    accel_last_error(&error);
    snprintf(vendor_message, sizeof vendor_message, "%s", error.vendor_message);
    return accel__fail_vendor(status, build->device->backend->table.name, build->function,
                              error.vendor_code, vendor_message, "%.*s",
                              text != NULL ? size : INT_MAX, text != NULL ? text : error.message);
}

/* The first line that is an error; its length goes to *out_size, 0 where there is none. */
static const char *first_error(const char *log, size_t *out_size)
{
    const char *line = strstr(log, "error: ");
    *out_size = 0;
    if (line == NULL)
        return log;
    while (line > log && line[-1] != '\n')
        line--;
    *out_size = strcspn(line, "\n");
    return line;
}

/* Puts the log into the module, and the log's first error into the record. */
static accel_status report(accel_status status, accel__source_build *build, accel_module *module)
{
    accel__source_take_log(build, &module->log);
    if (status == ACCEL_ERROR_NO_COMPILER)
        accel__text_format(&module->log, "accel: error: %s\n", accel_last_error_message());
    if (module->log.failed)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, build->device->backend->table.name,
                           build->function, "no memory for the build log");
    if (status == ACCEL_OK)
        return ACCEL_OK;
    size_t size = 0;
    const char *line = first_error(accel__text_string(&module->log), &size);
    if (status == ACCEL_ERROR_BUILD_FAILED && size != 0)
        return claim_failure(status, build, line, size > 4096 ? 4096 : (int)size);
    return claim_failure(status, build, NULL, 0);
}

/* ---- loading ---- */

static bool params_agree(const accel_param *a, const accel_param *b)
{
    return a->kind == b->kind && (a->kind == ACCEL_PARAM_KIND_POINTER || a->size == b->size);
}

/* What the object says of its kernels must be what the source says: else one of the two, or the cache,
 * is at fault, and launches would pass wrong arguments. */
static accel_status check_kernels(const accel__source_build *build, const accel_module *module)
{
    const char *name = build->device->backend->table.name;
    const uint32_t count = accel__program_kernel_count(build->program);
    if (module->kernel_count != count)
        return accel__fail(ACCEL_ERROR_INTERNAL, name, build->function,
                           "the source has %u kernels, the object %u", count, module->kernel_count);
    for (uint32_t i = 0; i < count; i++) {
        const accel__signature *said = accel__program_kernel(build->program, i);
        const accel_backend_function *found = &module->kernels[i].facts;
        bool agree = strcmp(said->name, found->name) == 0 &&
                     (!found->has_signature || said->param_count == found->param_count);
        for (uint32_t j = 0; agree && found->has_signature && j < said->param_count; j++)
            agree = params_agree(&said->params[j], &found->params[j]);
        if (!agree)
            return accel__fail(ACCEL_ERROR_INTERNAL, name, build->function,
                               "kernel '%s' of the source is not kernel '%s' of the object",
                               said->name, found->name);
    }
    return ACCEL_OK;
}

static accel_status load(accel__source_build *build, accel_module *module)
{
    accel_status status = accel__module_load(module, accel__text_string(&build->object),
                                             build->object.size, build->function);
    if (status == ACCEL_ERROR_INVALID_ARGUMENT) { /* the caller's arguments were in order */
        accel__text_format(&build->compiler_log, "accel: error: %s\n", accel_last_error_message());
        status = ACCEL_ERROR_BUILD_FAILED;
    }
    return status;
}

static accel_status compile_and_load(accel__source_build *build, accel_module *module)
{
    accel_status status = accel__source_compile(build, false);
    if (status == ACCEL_OK)
        status = load(build, module);
    if (status == ACCEL_ERROR_BUILD_FAILED && build->from_cache) {
        accel__log(ACCEL_LOG_LEVEL_WARNING, build->device->backend->table.name,
                   "a cached kernel could not be loaded and is compiled again: %s",
                   accel_last_error_message());
        status = accel__source_compile(build, true);
        if (status == ACCEL_OK)
            status = load(build, module);
    }
    if (status == ACCEL_OK)
        accel__source_keep(build);
    return status;
}

/* ---- the public functions ---- */

static bool leaves_a_log(accel_status status)
{
    return status == ACCEL_ERROR_BUILD_FAILED || status == ACCEL_ERROR_NO_COMPILER;
}

accel_status accel_module_create_from_source(accel_device device, const char *source, size_t size,
                                             const accel_module_options *options,
                                             accel_module **out_module)
{
    if (out_module == NULL)
        return accel__fail_null(__func__, "out_module");
    *out_module = NULL;
    accel__source_build build = {.function = __func__, .source = source, .size = size};
    accel_status status;
    accel_module *module = begin(&build, device, options, &status);
    if (module == NULL)
        return status;
    status = accel__source_translate(&build);
    if (status == ACCEL_OK)
        status = compile_and_load(&build, module);
    if (status == ACCEL_OK)
        status = check_kernels(&build, module);
    status = report(status, &build, module);
    accel__source_release(&build);
    if (status == ACCEL_OK || leaves_a_log(status))
        *out_module = module;
    else
        accel_module_release(module);
    return status;
}

static accel_status copy_object(const accel__source_build *build, void **out_object,
                                size_t *out_size)
{
    if (build->object.size == 0)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, build->device->backend->table.name,
                           build->function, "this device has no native objects");
    *out_object = accel__allocate(build->object.size);
    if (*out_object == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, build->device->backend->table.name,
                           build->function, "no memory for an object of %zu bytes",
                           build->object.size);
    memcpy(*out_object, build->object.data, build->object.size);
    *out_size = build->object.size;
    return ACCEL_OK;
}

accel_status accel_module_build_native(accel_device device, const char *source, size_t size,
                                       const accel_module_options *options, void **out_object,
                                       size_t *out_size, accel_module **out_log)
{
    if (out_log != NULL)
        *out_log = NULL;
    if (out_object == NULL || out_size == NULL)
        return accel__fail_null(__func__, out_object == NULL ? "out_object" : "out_size");
    *out_object = NULL;
    *out_size = 0;
    accel__source_build build = {.function = __func__, .source = source, .size = size};
    accel_status status;
    accel_module *module = begin(&build, device, options, &status);
    if (module == NULL)
        return status;
    status = accel__source_translate(&build);
    if (status == ACCEL_OK)
        status = accel__source_compile(&build, false);
    if (status == ACCEL_OK)
        accel__source_keep(&build);
    status = report(status, &build, module);
    if (status == ACCEL_OK)
        status = copy_object(&build, out_object, out_size);
    accel__source_release(&build);
    if (leaves_a_log(status) && out_log != NULL)
        *out_log = module;
    else
        accel_module_release(module);
    return status;
}

void accel_module_free_native(void *object)
{
    accel__deallocate(object);
}
