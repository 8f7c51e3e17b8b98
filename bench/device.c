/* SPDX-License-Identifier: MIT
 * device.c: the accel side of the benchmarks.
 */
#include "device.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

accel_device bench_device(void)
{
    accel_backend backend = ACCEL_BACKEND_NONE;
    bench_ok(accel_backend_find("cpu", &backend));
    return ACCEL_DEVICE(backend, 0);
}

bool bench_ok(accel_status status)
{
    if (status != ACCEL_OK)
        bench_failed("%s: %s", accel_status_name(status), accel_last_error_message());
    return status == ACCEL_OK;
}

bool bench_stream(accel_stream **out_stream)
{
    return bench_ok(accel_stream_default(bench_device(), out_stream));
}

bool bench_alloc(size_t size, void **out_pointer)
{
    accel_stream *stream = NULL;
    return bench_stream(&stream) && bench_ok(accel_memory_alloc(stream, size, NULL, out_pointer));
}

static char *read_all(FILE *file)
{
    enum { CAPACITY = 1 << 16 };
    char *text = malloc(CAPACITY);
    if (text != NULL) {
        size_t size = fread(text, 1, CAPACITY - 1, file);
        text[size] = '\0';
    }
    return text;
}

char *bench_kernel_source(const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.cl", BENCH_KERNEL_DIR, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        bench_failed("cannot open %s", path);
        return NULL;
    }
    char *text = read_all(file);
    fclose(file);
    return text;
}

bool bench_kernel_load(const char *name, accel_module **out_module, accel_kernel **out_kernel)
{
    char *source = bench_kernel_source(name);
    if (source == NULL)
        return false;
    accel_status status = accel_module_create_from_source(bench_device(), source, strlen(source),
                                                          NULL, out_module);
    free(source);
    return bench_ok(status) && bench_ok(accel_module_get_kernel(*out_module, name, out_kernel));
}

static const char *empty_function(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return NULL;
}

bool bench_kernel_empty(accel_module **out_module, accel_kernel **out_kernel)
{
    static const accel_cpu_kernel kernel = {.name = "empty", .function = empty_function};
    return bench_ok(accel_module_create_from_functions(bench_device(), &kernel, 1, out_module)) &&
           bench_ok(accel_module_get_kernel(*out_module, "empty", out_kernel));
}
