/* launch_test.c: modules from C functions, signatures, launches (kernel.h, cpu.h). Two cpu devices.
 * Case B116: an empty grid is a no-op, an empty block an error, and nothing sticks. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"

/* ---- kernels that write down what they see ---- */

typedef struct seen {
    uint64_t grid[3];
    uint32_t block[3];
    _Atomic(uint64_t) blocks;
    _Atomic(uint32_t) overlaps;
    _Atomic(unsigned char) ran[100000]; /* per block */
} seen;

static const char *look(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    seen *to = *(seen **)launch->arguments[0];
    for (int i = 0; first == 0 && i < 3; i++) { /* one range writes, not all at once */
        to->grid[i] = launch->grid[i];
        to->block[i] = launch->block[i];
    }
    for (uint64_t block = first; block < last && block < sizeof to->ran; block++)
        if (atomic_fetch_add(&to->ran[block], 1) != 0)
            atomic_fetch_add(&to->overlaps, 1);
    atomic_fetch_add(&to->blocks, last - first);
    return NULL;
}

/* Sums values of every size, so that a wrong size or place shows. */
static const char *values(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first;
    (void)last;
    double *out = *(double **)launch->arguments[0];
    double lanes[4];
    memcpy(lanes, launch->arguments[5], sizeof lanes);
    *out = *(const uint8_t *)launch->arguments[1] + *(const int16_t *)launch->arguments[2] +
           *(const float *)launch->arguments[3] + (double)*(const int64_t *)launch->arguments[4] +
           lanes[0] + lanes[1] + lanes[2] + lanes[3];
    return NULL;
}

/* Local memory and scratch: aligned, private to the calling thread, as large as asked. */
static const char *local(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint32_t *out = *(uint32_t **)launch->arguments[0];
    uint32_t *one = *(uint32_t **)launch->arguments[1];
    uint32_t *two = *(uint32_t **)launch->arguments[2];
    uint32_t *scratch = launch->scratch;
    if ((uintptr_t)one % 64 != 0 || (uintptr_t)two % 64 != 0 || (uintptr_t)scratch % 64 != 0)
        return "memory is not aligned";
    for (uint64_t block = first; block < last; block++) {
        for (uint32_t i = 0; i < 256; i++)
            one[i] = (uint32_t)block + i;
        for (uint32_t i = 0; i < 16; i++)
            two[i] = 1;
        for (uint32_t i = 0; i < 8 + launch->block[0]; i++)
            scratch[i] = 2;
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 256; i++)
            sum += one[i] - (uint32_t)block;
        out[block] = sum + two[15] + scratch[7 + launch->block[0]];
    }
    return NULL;
}

static const char *pointer_is_null(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first;
    (void)last;
    return *(void **)launch->arguments[0] == NULL ? NULL : "the pointer is not NULL";
}

static const char *empty(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    return first <= last ? NULL : "a range runs backwards";
}

#define VALUE(text, data_type, count, bytes)                                                       \
    {                                                                                              \
        .name = (text), .kind = ACCEL_PARAM_KIND_VALUE, .type = (data_type), .lanes = (count),     \
        .size = (bytes)                                                                            \
    }
#define POINTER(text)                                                                              \
    {                                                                                              \
        .name = (text), .kind = ACCEL_PARAM_KIND_POINTER, .type = ACCEL_DATA_TYPE_U32, .lanes = 1, \
        .size = 4                                                                                  \
    }
#define LOCAL(text)                                                                                \
    {                                                                                              \
        .name = (text), .kind = ACCEL_PARAM_KIND_LOCAL, .type = ACCEL_DATA_TYPE_U32, .lanes = 1,   \
        .size = 4                                                                                  \
    }

static const accel_param look_params[] = {POINTER("to")};
static const accel_param values_params[] = {
    POINTER("out"),
    VALUE("a", ACCEL_DATA_TYPE_U8, 1, 1),
    VALUE("b", ACCEL_DATA_TYPE_I16, 1, 2),
    VALUE("c", ACCEL_DATA_TYPE_F32, 1, 4),
    VALUE("d", ACCEL_DATA_TYPE_I64, 1, 8),
    VALUE("e", ACCEL_DATA_TYPE_F64, 4, 32),
};
static const accel_param local_params[] = {POINTER("out"), LOCAL("one"), LOCAL("two")};

static const accel_cpu_kernel table[] = {
    {.name = "look", .function = look, .params = look_params, .param_count = 1},
    {.name = "values", .function = values, .params = values_params, .param_count = 6},
    {.name = "local",
     .function = local,
     .params = local_params,
     .param_count = 3,
     .scratch_fixed = 32,
     .scratch_per_item = 4},
    {.name = "fixed_block",
     .function = look,
     .params = look_params,
     .param_count = 1,
     .required_block = {8, 2, 1}},
    {.name = "pointer_is_null",
     .function = pointer_is_null,
     .params = look_params,
     .param_count = 1},
};
enum { TABLE_SIZE = sizeof table / sizeof table[0] };

static accel_module *module;
static accel_stream *stream;
static accel_device_capability capability;

static accel_kernel *get(const char *name)
{
    accel_kernel *kernel = NULL;
    OK(accel_module_get_kernel(module, name, &kernel));
    return kernel;
}

static accel_status launch(accel_kernel *kernel, const accel_launch_shape *shape,
                           const accel_kernel_arg *args, uint32_t count)
{
    return accel_kernel_launch(kernel, stream, shape, args, count);
}

/* ---- modules ---- */

static void test_module_lists_its_kernels(void **state)
{
    (void)state;
    assert_int_equal(accel_module_kernel_count(module), TABLE_SIZE);
    assert_string_equal(accel_module_build_log(module), "");
    for (uint32_t i = 0; i < TABLE_SIZE; i++) {
        accel_kernel *kernel = NULL;
        OK(accel_module_get_kernel_at(module, i, &kernel));
        assert_string_equal(accel_kernel_name(kernel), table[i].name);
        assert_ptr_equal(kernel, get(table[i].name));
        assert_true(accel_kernel_has_signature(kernel));
        assert_int_equal(accel_kernel_param_count(kernel), table[i].param_count);
    }
    accel_kernel *kernel = (accel_kernel *)&kernel;
    FAILS(accel_module_get_kernel_at(module, TABLE_SIZE, &kernel), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_module_get_kernel_at");
    assert_null(kernel);
    kernel = (accel_kernel *)&kernel;
    FAILS(accel_module_get_kernel(module, "nosuch", &kernel), ACCEL_ERROR_NOT_FOUND,
          "accel_module_get_kernel");
    assert_null(kernel);
    assert_non_null(strstr(accel_last_error_message(), "fixed_block"));
}

static void test_signature(void **state)
{
    (void)state;
    accel_kernel *kernel = get("values");
    for (uint32_t i = 0; i < 6; i++) {
        accel_param param;
        OK(accel_kernel_get_param(kernel, i, &param));
        assert_string_equal(param.name, values_params[i].name);
        assert_int_equal(param.kind, values_params[i].kind);
        assert_int_equal(param.type, values_params[i].type);
        assert_int_equal(param.lanes, values_params[i].lanes);
        assert_int_equal(param.size, values_params[i].size);
    }
    accel_param param;
    FAILS(accel_kernel_get_param(kernel, 6, &param), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_kernel_get_param");
}

static void refuse_table(const accel_cpu_kernel *kernels, uint32_t count)
{
    accel_module *made = (accel_module *)&made;
    FAILS(accel_module_create_from_functions(test_cpu_device(0), kernels, count, &made),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_module_create_from_functions");
    assert_null(made);
}

static void test_wrong_tables_are_refused(void **state)
{
    (void)state;
    const accel_cpu_kernel unnamed = {.function = look};
    const accel_cpu_kernel empty_name = {.name = "", .function = look};
    const accel_cpu_kernel no_function = {.name = "x"};
    const accel_cpu_kernel no_params = {.name = "x", .function = look, .param_count = 1};
    const accel_cpu_kernel twins[] = {{.name = "x", .function = look},
                                      {.name = "x", .function = look}};
    const accel_param no_kind[] = {
        {.name = "p", .type = ACCEL_DATA_TYPE_U32, .lanes = 1, .size = 4}};
    const accel_param no_size[] = {{.name = "p", .kind = ACCEL_PARAM_KIND_VALUE, .lanes = 1}};
    const accel_cpu_kernel kindless = {
        .name = "x", .function = look, .params = no_kind, .param_count = 1};
    const accel_cpu_kernel sizeless = {
        .name = "x", .function = look, .params = no_size, .param_count = 1};
    refuse_table(NULL, 1);
    refuse_table(&unnamed, 1);
    refuse_table(&empty_name, 1);
    refuse_table(&no_function, 1);
    refuse_table(&no_params, 1);
    refuse_table(twins, 2);
    refuse_table(&kindless, 1);
    refuse_table(&sizeless, 1);
}

static void test_module_goes_while_its_launch_is_pending(void **state)
{
    (void)state;
    test_kernels kernels;
    static test_log log;
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(test_launch_append(&kernels, stream, &log, 3));
    accel_module_retain(kernels.module);
    accel_module_release(kernels.module);
    accel_module_release(kernels.module);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 1);
}

/* ---- shapes ---- */

static void expect_blocks(const accel_launch_shape *shape, uint64_t blocks)
{
    static seen to;
    memset(&to, 0, sizeof to);
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    OK(launch(get("look"), shape, args, 1));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(to.blocks, blocks);
    assert_int_equal(to.overlaps, 0);
    if (blocks == 0)
        return;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(to.grid[i], shape->grid[i]);
        assert_int_equal(to.block[i], shape->block[i]);
    }
    for (uint64_t i = 0; i < blocks && i < sizeof to.ran; i++)
        assert_int_equal(to.ran[i], 1);
}

static void test_each_block_runs_once(void **state)
{
    (void)state;
    const uint64_t grids[][3] = {{1, 1, 1},    {2, 1, 1},    {1, 7, 1},    {1, 1, 5},
                                 {3, 5, 7},    {1000, 1, 1}, {1, 1000, 1}, {99999, 1, 1},
                                 {64, 64, 16}, {17, 1, 31}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        const accel_launch_shape shape = {{grids[i][0], grids[i][1], grids[i][2]}, {4, 2, 1}};
        expect_blocks(&shape, grids[i][0] * grids[i][1] * grids[i][2]);
    }
}

static void test_a_grid_beyond_32_bits(void **state)
{
    (void)state;
    if (capability.max_grid[0] < UINT64_C(5000000000))
        skip();
    const accel_launch_shape line = {{UINT64_C(5000000000), 1, 1}, {1, 1, 1}};
    expect_blocks(&line, UINT64_C(5000000000));
    const accel_launch_shape cube = {{UINT64_C(65536), 65536, 2}, {1, 1, 1}};
    expect_blocks(&cube, UINT64_C(8589934592));
}

static void test_an_empty_grid_is_ordered(void **state) /* B116 */
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        accel_launch_shape shape = {{5, 5, 5}, {1, 1, 1}};
        shape.grid[i] = 0;
        expect_blocks(&shape, 0);
    }
    const accel_launch_shape none = {{0, 0, 0}, {1, 1, 1}};
    expect_blocks(&none, 0);
    const accel_launch_shape huge = {{0, UINT64_MAX, UINT64_MAX}, {1, 1, 1}};
    static seen to;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    const accel_status status = launch(get("look"), &huge, args, 1);
    assert_true(status == ACCEL_OK || status == ACCEL_ERROR_OUT_OF_RANGE);
    /* Still behind what is on the stream: it does not pass before that. */
    test_kernels kernels;
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    test_gate gate = {0};
    accel_event *event = NULL;
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(launch(get("look"), &none, args, 1));
    OK(accel_event_record(event, stream));
    bool done = true;
    OK(accel_event_query(event, &done));
    assert_false(done);
    test_gate_open(&gate);
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    test_kernels_unload(&kernels);
}

static void test_an_empty_block_is_an_error(void **state) /* B116 */
{
    (void)state;
    static seen to;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    for (int grid = 0; grid < 2; grid++) {
        for (int i = 0; i < 3; i++) {
            accel_launch_shape shape = {{(uint64_t)grid, 1, 1}, {4, 4, 4}};
            shape.block[i] = 0;
            FAILS(launch(get("look"), &shape, args, 1), ACCEL_ERROR_INVALID_ARGUMENT,
                  "accel_kernel_launch");
        }
    }
    OK(accel_stream_synchronize(stream));
    const accel_launch_shape good = {{3, 1, 1}, {1, 1, 1}};
    expect_blocks(&good, 3);
}

static void test_limits_are_those_of_the_capability(void **state)
{
    (void)state;
    static seen to;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    for (int i = 0; i < 3; i++) {
        accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
        if (capability.max_block[i] < UINT32_MAX) {
            shape.block[i] = capability.max_block[i] + 1;
            FAILS(launch(get("look"), &shape, args, 1), ACCEL_ERROR_OUT_OF_RANGE,
                  "accel_kernel_launch");
        }
        shape = (accel_launch_shape){{1, 1, 1}, {1, 1, 1}};
        shape.block[i] = capability.max_block[i] <= capability.max_block_items
                             ? capability.max_block[i]
                             : capability.max_block_items;
        OK(launch(get("look"), &shape, args, 1));
        if (capability.max_grid[i] < UINT64_MAX) {
            shape = (accel_launch_shape){{1, 1, 1}, {1, 1, 1}};
            shape.grid[i] = capability.max_grid[i] + 1;
            FAILS(launch(get("look"), &shape, args, 1), ACCEL_ERROR_OUT_OF_RANGE,
                  "accel_kernel_launch");
        }
    }
    const accel_launch_shape product = {{UINT64_C(1) << 40, UINT64_C(1) << 40, 2}, {1, 1, 1}};
    FAILS(launch(get("look"), &product, args, 1), ACCEL_ERROR_OUT_OF_RANGE, "accel_kernel_launch");
    const accel_launch_shape items = {{1, 1, 1}, {65536, 65536, 65536}};
    FAILS(launch(get("look"), &items, args, 1), ACCEL_ERROR_OUT_OF_RANGE, "accel_kernel_launch");
    OK(accel_stream_synchronize(stream));
}

static void test_a_required_block(void **state)
{
    (void)state;
    static seen to;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    const accel_launch_shape right = {{3, 1, 1}, {8, 2, 1}};
    const accel_launch_shape wrong = {{3, 1, 1}, {16, 1, 1}};
    OK(launch(get("fixed_block"), &right, args, 1));
    FAILS(launch(get("fixed_block"), &wrong, args, 1), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_kernel_launch");
    OK(accel_stream_synchronize(stream));
}

/* ---- arguments ---- */

static const accel_launch_shape one = {{1, 1, 1}, {1, 1, 1}};

static void test_values_of_every_size(void **state)
{
    (void)state;
    double out = 0;
    uint8_t a = 200;
    int16_t b = -1000;
    float c = 0.5f;
    int64_t d = INT64_C(1) << 40;
    double e[4] = {1, 2, 3, 4};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&out), ACCEL_ARG_VALUE(a),
                                     ACCEL_ARG_VALUE(b),      ACCEL_ARG_VALUE(c),
                                     ACCEL_ARG_VALUE(d),      ACCEL_ARG_VALUE(e)};
    OK(launch(get("values"), &one, args, 6));
    a = 0; /* copied by the call */
    d = 0;
    memset(e, 0, sizeof e);
    OK(accel_stream_synchronize(stream));
    assert_true(out == 200.0 - 1000.0 + 0.5 + (double)(INT64_C(1) << 40) + 10.0);
}

static void test_local_memory_and_scratch(void **state)
{
    (void)state;
    static uint32_t out[500];
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(out), ACCEL_ARG_LOCAL(1024),
                                     ACCEL_ARG_LOCAL(64)};
    const accel_launch_shape shape = {{500, 1, 1}, {32, 1, 1}};
    OK(launch(get("local"), &shape, args, 3));
    OK(accel_stream_synchronize(stream));
    for (int i = 0; i < 500; i++)
        assert_int_equal(out[i], 255 * 128 + 1 + 2);
    const accel_kernel_arg too_much[] = {ACCEL_ARG_POINTER(out),
                                         ACCEL_ARG_LOCAL((size_t)capability.local_memory_size + 1),
                                         ACCEL_ARG_LOCAL(64)};
    FAILS(launch(get("local"), &shape, too_much, 3), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_kernel_launch");
    const accel_kernel_arg overflow[] = {ACCEL_ARG_POINTER(out), ACCEL_ARG_LOCAL(SIZE_MAX),
                                         ACCEL_ARG_LOCAL(64)};
    FAILS(launch(get("local"), &shape, overflow, 3), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_kernel_launch");
}

static void test_null_pointers_are_arguments_too(void **state)
{
    (void)state;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL)};
    OK(launch(get("pointer_is_null"), &one, args, 1));
    OK(accel_stream_synchronize(stream));
}

static void test_arguments_are_checked(void **state)
{
    (void)state;
    uint8_t byte = 0;
    uint64_t wide = 0;
    static seen to;
    const accel_kernel_arg good[] = {ACCEL_ARG_POINTER(&to), ACCEL_ARG_VALUE(byte)};
    const accel_kernel_arg value[] = {ACCEL_ARG_VALUE(wide)};
    const accel_kernel_arg block[] = {ACCEL_ARG_LOCAL(64)};
    const accel_kernel_arg kindless[] = {{(accel_kernel_arg_kind)0, 8, &to}};
    accel_kernel *kernel = get("look");
    FAILS(launch(kernel, &one, good, 0), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, &one, good, 2), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, &one, NULL, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, &one, value, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, &one, block, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, &one, kindless, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(kernel, NULL, good, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(launch(NULL, &one, good, 1), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    OK(accel_stream_synchronize(stream));
    assert_int_equal(to.blocks, 0);
}

static void test_value_sizes_are_checked(void **state)
{
    (void)state;
    double out = -1;
    uint8_t a = 0;
    int32_t b = 0; /* the parameter is an int16_t */
    float c = 0;
    int64_t d = 0;
    double e[4] = {0};
    accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&out), ACCEL_ARG_VALUE(a), ACCEL_ARG_VALUE(b),
                               ACCEL_ARG_VALUE(c),      ACCEL_ARG_VALUE(d), ACCEL_ARG_VALUE(e)};
    FAILS(launch(get("values"), &one, args, 6), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_kernel_launch");
    /* Says which argument, and both sizes. */
    assert_non_null(strstr(accel_last_error_message(), "2"));
    assert_non_null(strstr(accel_last_error_message(), "4"));
    args[2].size = 2;
    args[2].data = NULL;
    FAILS(launch(get("values"), &one, args, 6), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_kernel_launch");
    OK(accel_stream_synchronize(stream));
    assert_true(out == -1);
}

static void test_arguments_have_a_limit(void **state)
{
    (void)state;
    static unsigned char bytes[ACCEL_KERNEL_ARGS_SIZE_MAX + 1];
    const accel_param exact[] = {VALUE("v", ACCEL_DATA_TYPE_U8, 1, ACCEL_KERNEL_ARGS_SIZE_MAX)};
    const accel_param over[] = {VALUE("v", ACCEL_DATA_TYPE_U8, 1, ACCEL_KERNEL_ARGS_SIZE_MAX + 1)};
    const accel_cpu_kernel kernels[] = {
        {.name = "exact", .function = empty, .params = exact, .param_count = 1},
        {.name = "over", .function = empty, .params = over, .param_count = 1},
    };
    const accel_kernel_arg right[] = {
        {ACCEL_KERNEL_ARG_KIND_VALUE, ACCEL_KERNEL_ARGS_SIZE_MAX, bytes}};
    const accel_kernel_arg wrong[] = {
        {ACCEL_KERNEL_ARG_KIND_VALUE, ACCEL_KERNEL_ARGS_SIZE_MAX + 1, bytes}};
    accel_module *made = NULL;
    accel_kernel *kernel = NULL;
    OK(accel_module_create_from_functions(test_cpu_device(0), &kernels[0], 1, &made));
    OK(accel_module_get_kernel(made, "exact", &kernel));
    OK(launch(kernel, &one, right, 1));
    OK(accel_stream_synchronize(stream));
    accel_module_release(made);
    const accel_status status = accel_module_create_from_functions(test_cpu_device(0), &kernels[1],
                                                                   1, &made);
    if (status != ACCEL_OK) /* refused early is as good */
        return;
    OK(accel_module_get_kernel(made, "over", &kernel));
    assert_int_not_equal(launch(kernel, &one, wrong, 1), ACCEL_OK);
    accel_module_release(made);
}

static void test_streams_of_other_devices(void **state)
{
    (void)state;
    static seen to;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    accel_stream *other = NULL;
    OK(accel_stream_default(test_cpu_device(1), &other));
    FAILS(accel_kernel_launch(get("look"), other, &one, args, 1), ACCEL_ERROR_MISMATCH,
          "accel_kernel_launch");
    /* NULL: the current stream of the kernel's device, whatever device is current. */
    OK(accel_set_device_index(test_cpu_device(1)));
    OK(accel_kernel_launch(get("look"), NULL, &one, args, 1));
    OK(accel_set_device_index(test_cpu_device(0)));
    OK(accel_synchronize(test_cpu_device(0)));
    assert_int_equal(to.blocks, 1);
}

static void test_a_thousand_launches(void **state)
{
    (void)state;
    static seen to;
    memset(&to, 0, sizeof to);
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&to)};
    const accel_launch_shape shape = {{7, 1, 1}, {1, 1, 1}};
    for (int i = 0; i < 20000; i++)
        OK(launch(get("look"), &shape, args, 1));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(to.blocks, 140000);
}

static int load(void **state)
{
    (void)state;
    capability.struct_size = sizeof capability;
    return accel_get_device_capability(test_cpu_device(0), &capability) != ACCEL_OK ||
           accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
           accel_module_create_from_functions(test_cpu_device(0), table, TABLE_SIZE, &module) !=
               ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    accel_module_release(module);
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_module_lists_its_kernels),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_wrong_tables_are_refused),
        cmocka_unit_test(test_module_goes_while_its_launch_is_pending),
        cmocka_unit_test(test_each_block_runs_once),
        cmocka_unit_test(test_a_grid_beyond_32_bits),
        cmocka_unit_test(test_an_empty_grid_is_ordered),
        cmocka_unit_test(test_an_empty_block_is_an_error),
        cmocka_unit_test(test_limits_are_those_of_the_capability),
        cmocka_unit_test(test_a_required_block),
        cmocka_unit_test(test_values_of_every_size),
        cmocka_unit_test(test_local_memory_and_scratch),
        cmocka_unit_test(test_null_pointers_are_arguments_too),
        cmocka_unit_test(test_arguments_are_checked),
        cmocka_unit_test(test_value_sizes_are_checked),
        cmocka_unit_test(test_arguments_have_a_limit),
        cmocka_unit_test(test_streams_of_other_devices),
        cmocka_unit_test(test_a_thousand_launches),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
