/* kernel.c: launches, whatever the kernels come from; portable source; native objects; C functions. */
#include "conformance.h"

static const accel_launch_shape one = {{1, 1, 1}, {1, 1, 1}};

/* ---- launches ---- */

static void adds(cf_run *run)
{
    enum { COUNT = 1000 };
    uint32_t back[COUNT];
    uint32_t *memory = NULL;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    OK(accel_memory_alloc(run->stream, sizeof back, NULL, (void **)&memory));
    OK(accel_fill(memory, "\1\0\0", 4, sizeof back, run->stream));
    for (uint32_t i = 0; i < 20; i++)
        OK(cf_launch_add(run, run->stream, memory, i, i % 2 == 0 ? COUNT : COUNT / 2));
    OK(accel_copy(back, memory, sizeof back, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < COUNT; i++)
        CHECK(back[i] == 1u + 90u + (i < COUNT / 2 ? 100u : 0u));
    OK(accel_memory_free(memory));
}

static void signature(cf_run *run)
{
    accel_param param;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    CHECK(strcmp(accel_kernel_name(run->add), "add") == 0);
    if (!accel_kernel_has_signature(run->add))
        SKIP("the driver does not tell signatures");
    CHECK(accel_kernel_param_count(run->add) == 3);
    OK(accel_kernel_get_param(run->add, 0, &param));
    CHECK(param.kind == ACCEL_PARAM_KIND_POINTER && strcmp(param.name, "data") == 0);
    OK(accel_kernel_get_param(run->add, 1, &param));
    CHECK(param.kind == ACCEL_PARAM_KIND_VALUE && param.type == ACCEL_DATA_TYPE_U32);
    CHECK(param.size == 4 && param.lanes == 1);
    GIVES(accel_kernel_get_param(run->add, 3, &param), ACCEL_ERROR_OUT_OF_RANGE);
    accel_kernel *kernel = NULL;
    GIVES(accel_module_get_kernel(run->module, "nosuch", &kernel), ACCEL_ERROR_NOT_FOUND);
    GIVES(accel_module_get_kernel_at(run->module, 1000, &kernel), ACCEL_ERROR_OUT_OF_RANGE);
    CHECK(kernel == NULL);
}

static void empty_shapes(cf_run *run)
{
    const uint32_t value = 1;
    uint32_t host = 0;
    uint32_t *memory = NULL;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    OK(accel_memory_alloc(run->stream, 4, NULL, (void **)&memory));
    OK(accel_fill(memory, "", 1, 4, run->stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(value)};
    for (int i = 0; i < 3; i++) {
        accel_launch_shape shape = one;
        shape.grid[i] = 0;
        OK(accel_kernel_launch(run->add, run->stream, &shape, args, 3));
        shape = one;
        shape.block[i] = 0;
        GIVES(accel_kernel_launch(run->add, run->stream, &shape, args, 3),
              ACCEL_ERROR_INVALID_ARGUMENT);
    }
    OK(accel_kernel_launch(run->add, run->stream, &one, args, 3));
    OK(accel_copy(&host, memory, 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(host == 1);
    OK(accel_memory_free(memory));
}

static void arguments(cf_run *run)
{
    const uint32_t value = 1;
    const uint64_t wide = 1;
    uint32_t *memory = NULL;
    if (!cf_has_kernels(run) || !accel_kernel_has_signature(run->add))
        SKIP("the device has no kernels with a known signature");
    OK(accel_memory_alloc(run->stream, 4, NULL, (void **)&memory));
    const accel_kernel_arg good[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(value)};
    const accel_kernel_arg large[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(wide),
                                      ACCEL_ARG_VALUE(value)};
    const accel_kernel_arg swapped[] = {ACCEL_ARG_VALUE(value), ACCEL_ARG_POINTER(memory),
                                        ACCEL_ARG_VALUE(value)};
    const accel_status wrong = ACCEL_ERROR_INVALID_ARGUMENT;
    GIVES(accel_kernel_launch(run->add, run->stream, &one, good, 2), wrong);
    GIVES(accel_kernel_launch(run->add, run->stream, &one, NULL, 3), wrong);
    GIVES(accel_kernel_launch(run->add, run->stream, &one, large, 3), wrong);
    GIVES(accel_kernel_launch(run->add, run->stream, &one, swapped, 3), wrong);
    OK(accel_stream_synchronize(run->stream));
    OK(accel_memory_free(memory));
}

static void shape_limits(cf_run *run)
{
    const uint32_t value = 0;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(value)};
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    for (int i = 0; i < 3; i++) {
        accel_launch_shape shape = one;
        shape.block[i] = run->capability.max_block[i];
        if (run->capability.max_block[i] < UINT32_MAX) {
            shape.block[i]++;
            GIVES(accel_kernel_launch(run->add, run->stream, &shape, args, 3),
                  ACCEL_ERROR_OUT_OF_RANGE);
        }
        shape = one;
        if (run->capability.max_grid[i] < UINT64_MAX) {
            shape.grid[i] = run->capability.max_grid[i] + 1;
            GIVES(accel_kernel_launch(run->add, run->stream, &shape, args, 3),
                  ACCEL_ERROR_OUT_OF_RANGE);
        }
    }
    OK(accel_stream_synchronize(run->stream));
}

static void stream_of_another_device(cf_run *run)
{
    const uint32_t value = 0;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(value)};
    accel_stream *foreign = NULL;
    if (!cf_has_kernels(run) || !run->has_other)
        SKIP("the backend has one device, or no kernels");
    OK(accel_stream_default(run->other, &foreign));
    GIVES(accel_kernel_launch(run->add, foreign, &one, args, 3), ACCEL_ERROR_MISMATCH);
}

static void module_goes_first(cf_run *run)
{
    enum { COUNT = 100 };
    uint32_t back[COUNT];
    uint32_t *memory = NULL;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    OK(accel_memory_alloc(run->stream, sizeof back, NULL, (void **)&memory));
    OK(accel_fill(memory, "", 1, sizeof back, run->stream));
    OK(cf_hold(run, run->stream));
    OK(cf_launch_add(run, run->stream, memory, 3, COUNT));
    accel_module_release(run->module);
    run->module = NULL;
    cf_let_go(run);
    OK(accel_copy(back, memory, sizeof back, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < COUNT; i++)
        CHECK(back[i] == 3);
    OK(accel_memory_free(memory));
}

/* ---- portable source ---- */

static const char reduce_source[] =
    "__kernel void reduce(__global const float *in, __global float *out, uint count,\n"
    "                     __local float *part)\n"
    "{\n"
    "    const uint lid = get_local_id(0);\n"
    "    const uint gid = get_global_id(0);\n"
    "    part[lid] = gid < count ? in[gid] : 0.0f;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "        if (lid < step)\n"
    "            part[lid] += part[lid + step];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (lid == 0)\n"
    "        out[get_group_id(0)] = part[0];\n"
    "}\n"
    "__kernel void places(__global uint *out)\n"
    "{\n"
    "    const uint w = get_global_size(0), h = get_global_size(1);\n"
    "    const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    out[(z * h + y) * w + x] = x + 100u * y + 10000u * z;\n"
    "}\n";

static accel_status build(cf_run *run, const char *source, accel_module **out_module)
{
    return accel_module_create_from_source(run->device, source, strlen(source), NULL, out_module);
}

static void no_compiler(cf_run *run)
{
    accel_module *module = NULL;
    if (run->capability.kernels_from_source)
        SKIP("the device compiles portable source");
    const accel_status status = build(run, reduce_source, &module);
    CHECK(status == ACCEL_ERROR_NO_COMPILER || status == ACCEL_ERROR_UNSUPPORTED);
    CHECK((module != NULL) == (status == ACCEL_ERROR_NO_COMPILER));
    accel_module_release(module);
}

static void reduction(cf_run *run)
{
    enum { COUNT = 1000, BLOCK = 64, BLOCKS = 16 };
    float in[COUNT];
    float out[BLOCKS];
    float sum = 0;
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    void *memory[2] = {NULL, NULL};
    const uint32_t count = COUNT;
    if (!run->capability.kernels_from_source)
        SKIP("the device compiles no source");
    OK(build(run, reduce_source, &module));
    OK(accel_module_get_kernel(module, "reduce", &kernel));
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(i % 17);
    OK(accel_memory_alloc(run->stream, sizeof in, NULL, &memory[0]));
    OK(accel_memory_alloc(run->stream, sizeof out, NULL, &memory[1]));
    OK(accel_copy(memory[0], in, sizeof in, run->stream));
    const accel_launch_shape shape = {{BLOCKS, 1, 1}, {BLOCK, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory[0]), ACCEL_ARG_POINTER(memory[1]),
                                     ACCEL_ARG_VALUE(count), ACCEL_ARG_LOCAL(BLOCK * 4)};
    OK(accel_kernel_launch(kernel, run->stream, &shape, args, 4));
    OK(accel_copy(out, memory[1], sizeof out, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < BLOCKS; i++)
        sum += out[i];
    for (int i = 0; i < COUNT; i++)
        sum -= in[i];
    CHECK(sum == 0); /* small whole numbers: exact in any order */
    OK(accel_memory_free(memory[0]));
    OK(accel_memory_free(memory[1]));
    accel_module_release(module);
}

static void three_dimensions(cf_run *run)
{
    enum { W = 6, H = 4, D = 4 };
    uint32_t out[W * H * D];
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    void *memory = NULL;
    if (!run->capability.kernels_from_source)
        SKIP("the device compiles no source");
    OK(build(run, reduce_source, &module));
    CHECK(accel_module_kernel_count(module) == 2);
    OK(accel_module_get_kernel_at(module, 1, &kernel));
    CHECK(strcmp(accel_kernel_name(kernel), "places") == 0);
    OK(accel_memory_alloc(run->stream, sizeof out, NULL, &memory));
    const accel_launch_shape shape = {{2, 2, 4}, {3, 2, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory)};
    OK(accel_kernel_launch(kernel, run->stream, &shape, args, 1));
    OK(accel_copy(out, memory, sizeof out, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (uint32_t i = 0; i < W * H * D; i++)
        CHECK(out[i] == i % W + 100 * (i / W % H) + 10000 * (i / W / H));
    OK(accel_memory_free(memory));
    accel_module_release(module);
}

static void build_failure(cf_run *run)
{
    static const char bad[] = "__kernel void good(__global int *p)\n{\n    *p = 1;\n}\n"
                              "__kernel void bad(__global int *p)\n{\n    *p = undeclared;\n}\n";
    const accel_module_options options = {.struct_size = sizeof options, .file_name = "mine.cl"};
    accel_module *module = NULL;
    if (!run->capability.kernels_from_source)
        SKIP("the device compiles no source");
    GIVES(accel_module_create_from_source(run->device, bad, sizeof bad - 1, &options, &module),
          ACCEL_ERROR_BUILD_FAILED);
    CHECK(module != NULL && accel_module_kernel_count(module) == 0);
    CHECK(strstr(accel_module_build_log(module), "mine.cl:7") != NULL);
    CHECK(strstr(accel_last_error_message(), "undeclared") != NULL ||
          strstr(accel_module_build_log(module), "undeclared") != NULL);
    accel_module_release(module);
}

static void definitions(cf_run *run)
{
    static const char text[] = "__kernel void set(__global uint *p) { p[0] = VALUE + SWITCH; }\n";
    const accel_define defines[] = {{"VALUE", "40u"}, {"SWITCH", NULL}};
    const accel_module_options options = {
        .struct_size = sizeof options, .define_count = 2, .defines = defines};
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    if (!run->capability.kernels_from_source)
        SKIP("the device compiles no source");
    OK(accel_module_create_from_source(run->device, text, sizeof text - 1, &options, &module));
    OK(accel_module_get_kernel(module, "set", &kernel));
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory)};
    OK(accel_kernel_launch(kernel, run->stream, &one, args, 1));
    OK(accel_copy(&back, memory, 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(back == 41);
    OK(accel_memory_free(memory));
    accel_module_release(module);
}

/* ---- native objects ---- */

static void native_object(cf_run *run)
{
    void *object = NULL;
    size_t size = 0;
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    if (!run->capability.kernels_from_source)
        SKIP("the device compiles no source");
    const accel_status status = accel_module_build_native(
        run->device, reduce_source, sizeof reduce_source - 1, NULL, &object, &size, NULL);
    if (status == ACCEL_ERROR_UNSUPPORTED)
        SKIP("the device has no native objects");
    OK(status);
    CHECK(object != NULL && size > 0);
    GIVES(accel_module_create_from_native(run->device, object, size / 2, &module),
          ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK(module == NULL);
    OK(accel_module_create_from_native(run->device, object, size, &module));
    accel_module_free_native(object);
    OK(accel_module_get_kernel(module, "places", &kernel));
    accel_module_release(module);
}

static void no_object(cf_run *run)
{
    static const unsigned char junk[300] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    accel_module *module = NULL;
    GIVES(accel_module_create_from_native(run->device, junk, sizeof junk, &module),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_module_create_from_native(run->device, junk, 0, &module),
          ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK(module == NULL);
}

/* ---- C functions ---- */

static const char *nothing(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    return first <= last ? NULL : "backwards";
}

static void functions(cf_run *run)
{
    const accel_cpu_kernel table = {.name = "nothing", .function = nothing};
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    const accel_status status = accel_module_create_from_functions(run->device, &table, 1, &module);
    if (!run->is_cpu || !run->has_gate) {
        CHECK(status == ACCEL_ERROR_UNSUPPORTED && module == NULL);
        return;
    }
    OK(status);
    OK(accel_module_get_kernel(module, "nothing", &kernel));
    for (int i = 0; i < 1000; i++)
        OK(accel_kernel_launch(kernel, run->stream, &one, NULL, 0));
    OK(accel_stream_synchronize(run->stream));
    accel_module_release(module);
}

const cf_test cf_kernel_tests[] = {
    {"kernel/adds", adds},
    {"kernel/signature", signature},
    {"kernel/empty-shapes", empty_shapes},
    {"kernel/arguments", arguments},
    {"kernel/shape-limits", shape_limits},
    {"kernel/stream-of-another-device", stream_of_another_device},
    {"kernel/module-goes-first", module_goes_first},
    {"kernel/no-compiler", no_compiler},
    {"kernel/reduction", reduction},
    {"kernel/three-dimensions", three_dimensions},
    {"kernel/build-failure", build_failure},
    {"kernel/definitions", definitions},
    {"kernel/native-object", native_object},
    {"kernel/no-object", no_object},
    {"kernel/functions", functions},
    {NULL, NULL},
};
