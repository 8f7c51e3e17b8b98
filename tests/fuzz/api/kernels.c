/* kernels.c: steps over modules, kernels and launches. Every kernel takes any values: where it writes follows
 * from them, but lies inside of scratch memory. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* ---- what modules are made of ---- */

#define BUMP                                                                                       \
    "__kernel void bump(__global uint *data, uint value, uint count) {\n"                          \
    "    const size_t i = get_global_id(0);\n"                                                     \
    "    if (i < count % 16385) data[i] += value;\n}\n"
#define NOTHING "__kernel void nothing(__global uint *data, uint value) { }\n"
#define TILE                                                                                       \
    "__kernel void tile(__global uint *data, __local uint *shared, ulong value) {\n"               \
    "    shared[get_local_id(0) % 64] = (uint)value;\n"                                            \
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"                                                          \
    "    data[get_global_id(0) % 16384] = shared[get_local_id(0) % 64];\n}\n"
#define TYPES                                                                                      \
    "__kernel void types(__global float4 *data, char a, ushort b, float c, long2 d) {\n"           \
    "    data[get_global_id(0) % 4096] = (float4)((float)a, (float)b, c, (float)d.x);\n}\n"

static const char *const sources[] = {
    BUMP NOTHING,
    TILE BUMP,
    TYPES,
    "__kernel void defined(__global int *data) { data[0] = VALUE; }\n",
    "#include \"missing.h\"\n",
    "__kernel void broken(__global int *data) { data[0] = }\n",
    "__kernel void broken(__global int *data) { return nobody(data); }\n",
    "",
    "int nothing_here;\n",
    "#if 1\n",
    "__kernel int wrong(void) { return 1; }\n",
    "\xff\xfe",
};
enum { SOURCE_COUNT = sizeof sources / sizeof sources[0], GOOD_SOURCES = 3 };

static const char *bump_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint32_t *data = *(uint32_t **)launch->arguments[0];
    const uint32_t value = *(const uint32_t *)launch->arguments[1];
    const uint64_t count = *(const uint32_t *)launch->arguments[2] % 16385;
    const uint64_t width = launch->block[0];
    for (uint64_t block = first; block < last; block++) {
        const uint64_t x = block % launch->grid[0] * width;
        for (uint64_t i = x; i < x + width && i < count; i++)
            data[i] += value;
    }
    return NULL;
}

static const char *fail_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    return first < last ? "this kernel fails on purpose" : NULL;
}

#define U32 .type = ACCEL_DATA_TYPE_U32, .lanes = 1, .size = 4
static const accel_param bump_params[] = {
    {.name = "data", .kind = ACCEL_PARAM_KIND_POINTER, U32},
    {.name = "value", .kind = ACCEL_PARAM_KIND_VALUE, U32},
    {.name = "count", .kind = ACCEL_PARAM_KIND_VALUE, U32},
};
static const accel_cpu_kernel functions[] = {
    {.name = "bump", .function = bump_blocks, .params = bump_params, .param_count = 3},
    {.name = "fail", .function = fail_blocks},
};
static const accel_cpu_kernel wrong_functions[] = {
    {.name = NULL, .function = bump_blocks},
    {.name = "twice", .function = fail_blocks},
    {.name = "twice", .function = fail_blocks},
    {.name = "no function"},
};

/* ---- modules ---- */

static accel_module *make_from_functions(fuzz_thread *thread, accel_device device, uint32_t count)
{
    accel_module *module = NULL;
    MAKE(thread, accel_module_create_from_functions, &module, device, functions, count);
    return module;
}

static accel_module *make_from_source(fuzz_thread *thread, accel_device device, uint32_t source,
                                      const accel_module_options *options)
{
    accel_module *module = NULL;
    const char *text = sources[source];
    const size_t size = strlen(text) + draw_chance(&thread->draw, 2);
    const accel_status status = MAKE(thread, accel_module_create_from_source, &module, device, text,
                                     size, options);
    const bool has_log = status == ACCEL_ERROR_BUILD_FAILED || status == ACCEL_ERROR_NO_COMPILER;
    REQUIRE(thread, (module != NULL) == (status == ACCEL_OK || has_log), "a module goes with %s",
            accel_status_name(status));
    if (module == NULL || status == ACCEL_OK)
        return module;
    REQUIRE(thread, ASK(thread, accel_module_build_log, module)[0] != '\0', "no log of a failure");
    REQUIRE(thread, ASK(thread, accel_module_kernel_count, module) == 0, "kernels of a failure");
    fuzz_drop(thread, FUZZ_MODULE, module);
    return NULL;
}

accel_module *fuzz_make_module(fuzz_thread *thread, accel_device device)
{
    accel_module *module = draw_chance(&thread->draw, 70) ? make_from_functions(thread, device, 1)
                                                          : NULL;
    return module != NULL
               ? module
               : make_from_source(thread, device, draw_below(&thread->draw, GOOD_SOURCES), NULL);
}

static void make_module(fuzz_thread *thread)
{
    static const accel_define defines[] = {{"VALUE", "7"}, {"ONE", NULL}, {NULL, "1"}, {"2", "x"}};
    static const char *const paths[] = {"/nonexistent", NULL};
    const accel_module_options options = {
        .struct_size = draw_chance(&thread->draw, 95) ? sizeof options : 3,
        .defines = defines,
        .define_count = draw_below(&thread->draw, 5),
        .include_paths = paths,
        .include_path_count = draw_chance(&thread->draw, 90) ? 1 : 2,
        .check_barriers = draw_chance(&thread->draw, 10) ? draw_below(&thread->draw, 3) : 0,
        .file_name = draw_chance(&thread->draw, 50) ? "fuzz.cl" : NULL};
    accel_module *module;
    if (draw_chance(&thread->draw, 60))
        module = fuzz_make_module(thread, fuzz_device(thread));
    else
        module = make_from_source(thread, fuzz_device(thread),
                                  draw_below(&thread->draw, SOURCE_COUNT),
                                  draw_chance(&thread->draw, 60) ? &options : NULL);
    if (module != NULL)
        fuzz_put(thread, FUZZ_MODULE, module);
}

static void misuse_modules(fuzz_thread *thread)
{
    accel_module *module = (accel_module *)&module;
    const accel_device device = fuzz_good_device(thread)->device;
    CALL(thread, accel_module_create_from_functions, device, wrong_functions,
         draw_below(&thread->draw, 5), &module);
    REQUIRE(thread, module == NULL, "wrong functions leave a module");
    CALL(thread, accel_module_create_from_functions, device, NULL, 1, &module);
    CALL(thread, accel_module_create_from_functions, device, functions, 1, NULL);
    CALL(thread, accel_module_create_from_source, device, NULL, 7, NULL, &module);
    CALL(thread, accel_module_create_from_source, device, sources[0], 7, NULL, NULL);
    CALL(thread, accel_module_create_from_native, device, sources[0], draw_below(&thread->draw, 20),
         &module);
    REQUIRE(thread, module == NULL, "text as an object leaves a module");
    CALL(thread, accel_module_create_from_native, device, NULL, 8, &module);
    ASK(thread, accel_module_release, NULL);
    ASK(thread, accel_module_free_native, NULL);
}

static void build_native(fuzz_thread *thread)
{
    void *object = &object;
    size_t size = 77;
    accel_module *log = (accel_module *)&log;
    accel_module *module = NULL;
    const accel_device device = fuzz_device(thread);
    const char *text = sources[draw_below(&thread->draw, 6)];
    if (CALL(thread, accel_module_build_native, device, text, strlen(text), NULL, &object, &size,
             draw_chance(&thread->draw, 80) ? &log : NULL) == ACCEL_OK) {
        unsigned char *copy = malloc(size);
        REQUIRE(thread, copy != NULL, "no memory");
        memcpy(copy, object, size);
        /* Loading runs what an object holds, so only its size is ever wrong here. */
        const size_t told = draw_chance(&thread->draw, 80)
                                ? size
                                : draw_below(&thread->draw, (uint32_t)size);
        if (MAKE(thread, accel_module_create_from_native, &module, device, copy, told) == ACCEL_OK)
            fuzz_put(thread, FUZZ_MODULE, module);
        free(copy);
        ASK(thread, accel_module_free_native, object);
    } else {
        REQUIRE(thread, object == NULL && size == 0, "an object is left after a failure");
    }
    if (log != (accel_module *)&log)
        fuzz_drop(thread, FUZZ_MODULE, log);
}

/* ---- kernels ---- */

static void ask_module(fuzz_thread *thread)
{
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    accel_kernel *kernel = NULL;
    accel_kernel *again = NULL;
    accel_param param;
    const uint32_t count = ASK(thread, accel_module_kernel_count, module);
    REQUIRE(thread, ASK(thread, accel_module_build_log, module) != NULL, "no log");
    for (uint32_t i = 0; i <= count; i++) {
        const accel_status status = CALL(thread, accel_module_get_kernel_at, module, i, &kernel);
        REQUIRE(thread, (status == ACCEL_OK) == (module != NULL && i < count),
                "kernel %u of %u gives %s", i, count, accel_status_name(status));
        if (status != ACCEL_OK)
            break;
        const char *name = ASK(thread, accel_kernel_name, kernel);
        REQUIRE(thread,
                CALL(thread, accel_module_get_kernel, module, name, &again) == ACCEL_OK &&
                    again == kernel,
                "'%s' is not the kernel of that name", name);
        const uint32_t params = ASK(thread, accel_kernel_param_count, kernel);
        REQUIRE(thread, params == 0 || ASK(thread, accel_kernel_has_signature, kernel),
                "parameters without a signature");
        for (uint32_t p = 0; p < params; p++)
            REQUIRE(thread, CALL(thread, accel_kernel_get_param, kernel, p, &param) == ACCEL_OK,
                    "a parameter is missing");
        CALL(thread, accel_kernel_get_param, kernel, params, &param);
        CALL(thread, accel_kernel_get_param, kernel, 0, NULL);
    }
    CALL(thread, accel_module_get_kernel, module, "nobody", &again);
    REQUIRE(thread, again == NULL, "a kernel is left after a failure");
    CALL(thread, accel_module_get_kernel, module, NULL, &again);
    CALL(thread, accel_module_get_kernel_at, module, 0, NULL);
    CALL(thread, accel_kernel_get_param, NULL, 0, &param);
    ASK(thread, accel_kernel_name, NULL);
    ASK(thread, accel_kernel_param_count, NULL);
    ASK(thread, accel_kernel_has_signature, NULL);
    fuzz_drop(thread, FUZZ_MODULE, module);
}

/* ---- launches ---- */

static accel_kernel_arg draw_arg(fuzz_thread *thread, const accel_param *param, uint64_t *value,
                                 const fuzz_device_state *device)
{
    accel_kernel_arg arg = {
        .kind = ACCEL_KERNEL_ARG_KIND_VALUE, .size = param->size, .data = value};
    if (param->kind == ACCEL_PARAM_KIND_POINTER)
        arg = (accel_kernel_arg){ACCEL_KERNEL_ARG_KIND_POINTER, 0, device->scratch};
    else if (param->kind == ACCEL_PARAM_KIND_LOCAL)
        arg = (accel_kernel_arg){ACCEL_KERNEL_ARG_KIND_LOCAL, 64 * sizeof(uint32_t), NULL};
    if (draw_chance(&thread->draw, 2)) /* what no kernel takes */
        arg.kind = (accel_kernel_arg_kind)(draw_chance(&thread->draw, 50) ? 0 : 77);
    else if (draw_chance(&thread->draw, 2) && param->kind == ACCEL_PARAM_KIND_VALUE)
        arg.size = draw_chance(&thread->draw, 50) ? 0 : param->size + 1;
    else if (draw_chance(&thread->draw, 2) && param->kind == ACCEL_PARAM_KIND_LOCAL)
        arg.size = SIZE_MAX - draw_below(&thread->draw, 2);
    return arg;
}

static accel_launch_shape draw_shape(fuzz_thread *thread)
{
    static const uint64_t grids[] = {0, UINT64_MAX, (uint64_t)1 << 63, UINT64_MAX - 1};
    static const uint32_t blocks[] = {0, UINT32_MAX, UINT32_MAX - 1, 0x80000000};
    accel_launch_shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    shape.grid[0] = 1 + draw_below(&thread->draw, 64);
    shape.block[0] = 1 + draw_below(&thread->draw, 64);
    if (draw_chance(&thread->draw, 20)) {
        shape.grid[1] = 1 + draw_below(&thread->draw, 3);
        shape.grid[2] = 1 + draw_below(&thread->draw, 3);
    }
    if (draw_chance(&thread->draw, 5))
        shape.grid[draw_below(&thread->draw, 3)] = grids[draw_below(&thread->draw, 4)];
    if (draw_chance(&thread->draw, 3))
        shape.block[draw_below(&thread->draw, 3)] = blocks[draw_below(&thread->draw, 4)];
    return shape;
}

bool fuzz_draw_launch(fuzz_thread *thread, accel_module *module, const fuzz_device_state *device,
                      fuzz_launch *out_launch)
{
    accel_param param;
    *out_launch = (fuzz_launch){.shape = draw_shape(thread)};
    if (module == NULL || ASK(thread, accel_module_kernel_count, module) == 0)
        return false;
    const uint32_t count = ASK(thread, accel_module_kernel_count, module);
    if (CALL(thread, accel_module_get_kernel_at, module, draw_below(&thread->draw, count),
             &out_launch->kernel) != ACCEL_OK)
        return false;
    out_launch->arg_count = ASK(thread, accel_kernel_param_count, out_launch->kernel);
    REQUIRE(thread, out_launch->arg_count < FUZZ_ARGS_MAX / 2 + 3, "too many parameters");
    for (uint32_t i = 0; i < out_launch->arg_count; i++) {
        REQUIRE(thread,
                CALL(thread, accel_kernel_get_param, out_launch->kernel, i, &param) == ACCEL_OK,
                "a parameter is missing");
        out_launch->values[i] = draw_bits(&thread->draw);
        out_launch->args[i] = draw_arg(thread, &param, &out_launch->values[i], device);
    }
    if (draw_chance(&thread->draw, 2))
        out_launch->arg_count += draw_chance(&thread->draw, 50) ? 1 : UINT32_MAX;
    return true;
}

static void launch(fuzz_thread *thread)
{
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    accel_stream *stream = fuzz_take_stream(thread);
    fuzz_launch drawn;
    if (fuzz_draw_launch(thread, module, fuzz_good_device(thread), &drawn))
        for (uint32_t times = 1 + draw_below(&thread->draw, 8); times > 0; times--)
            CALL(thread, accel_kernel_launch, drawn.kernel, stream, &drawn.shape,
                 drawn.arg_count == UINT32_MAX ? NULL : drawn.args, drawn.arg_count);
    if (draw_chance(&thread->draw, 5)) {
        CALL(thread, accel_kernel_launch, NULL, stream, &drawn.shape, drawn.args, 0);
        CALL(thread, accel_kernel_launch, drawn.kernel, stream, NULL, drawn.args, drawn.arg_count);
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_MODULE, module);
}

/* A stream that fails stays failed; it goes where contents are not looked at. */
static void fail_stream(fuzz_thread *thread)
{
    const accel_device device = fuzz_good_device(thread)->device;
    const accel_launch_shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    accel_stream *stream = NULL;
    accel_kernel *kernel = NULL;
    bool done = true;
    accel_module *module = make_from_functions(thread, device, 2);
    if (module != NULL && MAKE(thread, accel_stream_create, &stream, device, NULL) == ACCEL_OK) {
        CALL(thread, accel_module_get_kernel, module, "fail", &kernel);
        CALL(thread, accel_kernel_launch, kernel, stream, &shape, NULL, 0);
        if (draw_chance(&thread->draw, 50)) {
            REQUIRE(thread,
                    CALL(thread, accel_stream_synchronize, stream) == ACCEL_ERROR_DEVICE_FAILED &&
                        CALL(thread, accel_stream_query, stream, &done) ==
                            ACCEL_ERROR_DEVICE_FAILED,
                    "a stream failed and does not say so");
        }
        if (draw_chance(&thread->draw, 30))
            fuzz_put(thread, FUZZ_CAPTURE_STREAM, stream);
        else
            fuzz_drop(thread, FUZZ_STREAM, stream);
    }
    fuzz_drop(thread, FUZZ_MODULE, module);
}

const fuzz_step fuzz_steps_kernels[] = {
    {"make module", 5, make_module},
    {"misuse modules", 1, misuse_modules},
    {"build native", 1, build_native},
    {"ask module", 3, ask_module},
    {"launch", 14, launch},
    {"fail a stream", 1, fail_stream},
    {NULL, 0, NULL},
};
