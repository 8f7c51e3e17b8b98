/* kernel_files.c: modules by file and device, and the copies around a launch. */
#include "support/kernel_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { MOST_MODULES = 64, MOST_ARGS = 16 };

typedef struct loaded {
    accel_device device;
    bool checks;
    const char *file;
    accel_module *module;
} loaded;

static loaded modules[MOST_MODULES];
static unsigned module_count;

char *test_kernel_text(const char *file, size_t *out_size)
{
    enum { MOST = 1 << 20 };
    char path[1024];
    const char *root = getenv("SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/kernels/%s", root != NULL ? root : ".", file);
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL)
        fail_msg("cannot open %s", path);
    char *text = malloc(MOST);
    assert_non_null(text);
    *out_size = fread(text, 1, MOST - 1, stream);
    text[*out_size] = '\0';
    fclose(stream);
    return text;
}

accel_module *test_kernel_file(accel_device device, bool checks, const char *file)
{
    for (unsigned i = 0; i < module_count; i++)
        if (modules[i].device.backend == device.backend &&
            modules[i].device.index == device.index && modules[i].checks == checks &&
            strcmp(modules[i].file, file) == 0)
            return modules[i].module;
    assert_true(module_count < MOST_MODULES);
    size_t size = 0;
    char *text = test_kernel_text(file, &size);
    accel_module_options options = {0};
    options.struct_size = sizeof options;
    options.check_barriers = checks;
    options.file_name = file;
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(device, text, size, &options,
                                                                &module);
    free(text);
    if (status == ACCEL_ERROR_NO_COMPILER) {
        accel_module_release(module);
        skip();
    }
    if (status != ACCEL_OK) {
        print_error("%s\n", module != NULL ? accel_module_build_log(module) : "no log");
        fail_msg("%s: %s", file, accel_last_error_message());
    }
    modules[module_count++] = (loaded){device, checks, file, module};
    return module;
}

static void copy_args(accel_stream *stream, const test_arg *args, uint32_t count, void **memory,
                      bool back)
{
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind != ACCEL_KERNEL_ARG_KIND_POINTER || args[i].data == NULL)
            continue;
        if (back)
            OK(accel_copy((void *)args[i].data, memory[i], args[i].size, stream));
        else
            OK(accel_copy(memory[i], args[i].data, args[i].size, stream));
    }
}

void test_run_kernel(accel_device device, bool checks, const char *file, const char *name,
                     const accel_launch_shape *shape, const test_arg *args, uint32_t arg_count)
{
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *memory[MOST_ARGS] = {NULL};
    accel_kernel_arg given[MOST_ARGS];
    assert_true(arg_count <= MOST_ARGS);
    OK(accel_module_get_kernel(test_kernel_file(device, checks, file), name, &kernel));
    OK(accel_stream_default(device, &stream));
    for (uint32_t i = 0; i < arg_count; i++) {
        const bool pointer = args[i].kind == ACCEL_KERNEL_ARG_KIND_POINTER;
        const bool same = pointer && args[i].data == NULL;
        if (pointer && !same)
            OK(accel_memory_alloc(stream, args[i].size, NULL, &memory[i]));
        if (same) {
            given[i] = given[i - 1];
            continue;
        }
        given[i] = (accel_kernel_arg){args[i].kind, args[i].size,
                                      pointer ? memory[i] : args[i].data};
    }
    copy_args(stream, args, arg_count, memory, false);
    OK(accel_kernel_launch(kernel, stream, shape, given, arg_count));
    copy_args(stream, args, arg_count, memory, true);
    OK(accel_stream_synchronize(stream));
    for (uint32_t i = 0; i < arg_count; i++)
        OK(accel_memory_free(memory[i]));
}

/* Prints the reason, too. */
static bool is_excepted(const char *name, uint32_t backend)
{
    char line[512], wanted[128];
    const char *path = getenv("TEST_EXCEPTIONS");
    const char *driver = getenv("TEST_DRIVER");
    FILE *file = path != NULL && driver != NULL ? fopen(path, "re") : NULL;
    bool found = false;
    snprintf(wanted, sizeof wanted, "%s/%s kernels/%s ", accel_backend_name(backend),
             driver != NULL ? driver : "", name);
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, wanted, strlen(wanted)) == 0;
    if (file != NULL)
        fclose(file);
    if (found)
        print_message("exception: %s", line + strlen(wanted));
    return found;
}

bool test_has_doubles(accel_device device)
{
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(device, &capability));
    return capability.fp64;
}

void test_each_device(const char *name, void (*test)(accel_device device, bool checks))
{
    const accel_backend cpu = test_cpu();
    unsigned tested = 0;
    for (uint32_t backend = 1; backend <= accel_backend_count(); backend++) {
        int32_t count = 0;
        if (accel_device_count(backend, &count) != ACCEL_OK || is_excepted(name, backend))
            continue;
        for (int32_t i = 0; i < count; i++) {
            const accel_device device = {backend, i};
            test(device, false);
            tested++;
            if (backend == cpu)
                test(device, true);
        }
    }
    assert_true(tested > 0);
}

uint32_t test_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    return x;
}

int test_release_kernel_files(void **state)
{
    (void)state;
    for (unsigned i = 0; i < module_count; i++)
        accel_module_release(modules[i].module);
    module_count = 0;
    return 0;
}
