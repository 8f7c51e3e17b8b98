/* fill.c: the fills of random.h: what is drawn for which type, the checks, the words that a fill takes
 * from its generator, and its launches. */
#include <accel/memory.h>
#include <accel/random.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/current.h"
#include "core/launch.h"
#include "random/capture.h"
#include "random/defaults.h"
#include "random/kernels.h"

/* One call. */
typedef struct fill_call {
    const char *function;
    accel_backend_fill kind;
    accel_data_type type;
    void *data;
    size_t count;
    uint64_t low;
    uint64_t range;
    accel_generator *generator;
    accel_stream *stream;
    accel__device *device; /* of the memory */
} fill_call;

static fill_call call_of(const char *function, void *data, accel_data_type type, size_t count,
                         accel_generator *generator, accel_stream *stream)
{
    return (fill_call){.function = function,
                       .type = type,
                       .data = data,
                       .count = count,
                       .generator = generator,
                       .stream = stream};
}

/* Words that an element takes. */
static uint64_t words_of(const fill_call *call)
{
    switch ((int)call->kind) {
    case ACCEL_BACKEND_FILL_INTEGER_64:
    case ACCEL_BACKEND_FILL_UNIFORM_F64:
    case ACCEL_BACKEND_FILL_NORMAL_F64:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F64:
        return 2;
    case ACCEL_BACKEND_FILL_RAW:
        return accel_data_type_size(call->type) / 4;
    default:
        return 1;
    }
}

/* ---- taking words, outside of captures and in them ---- */

/* Where words were taken. */
typedef struct taken_words {
    accel__rng_state state;
    accel__capture
        *capture; /* counted: it keeps the part; NULL: outside of a capture, and then … */
    accel_native_stream *native; /* … where a fill goes */
    accel__random_part *part;    /* NULL likewise */
    uint64_t offset;
    uint64_t words;
} taken_words;

static bool round_up(uint64_t words, uint64_t *out_rounded)
{
    const bool overflows = __builtin_add_overflow(words, 3u, out_rounded);
    *out_rounded &= ~UINT64_C(3);
    return !overflows;
}

/* For what goes to `out_taken->capture`, which is set. Ends with let_go, also after a failure. */
static accel_status take(accel_generator *generator, uint64_t words, taken_words *out_taken,
                         const char *function)
{
    out_taken->words = words;
    if (out_taken->capture == NULL) {
        const accel_status status = accel__generator_take(generator, words, &out_taken->state,
                                                          function);
        out_taken->offset = out_taken->state.offset;
        return status;
    }
    const accel_status status = accel__random_part_get(out_taken->capture, generator,
                                                       &out_taken->part, function);
    return status == ACCEL_OK
               ? accel__random_part_take(out_taken->part, words, &out_taken->offset, function)
               : status;
}

static void let_go(const taken_words *taken)
{
    accel__capture_release(taken->capture);
}

static void give_back(accel_generator *generator, const taken_words *taken)
{
    if (taken->part != NULL)
        accel__random_part_give_back(taken->part, taken->offset, taken->words);
    else
        accel__generator_give_back(generator, &taken->state, taken->words);
}

static accel_status fail_words(const char *function)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, function,
                       "that takes 2^64 words or more from the generator");
}

/* The generator of a call on `device`. */
static accel_status choose_generator(accel_generator **generator, accel__device *device,
                                     const char *function)
{
    if (*generator == NULL)
        return accel__default_generator(device, generator, function);
    const accel_status status = accel__generator_check(*generator, function);
    if (status != ACCEL_OK || (*generator)->device == device)
        return status;
    return accel__fail(ACCEL_ERROR_MISMATCH, device->backend->table.name, function,
                       "the generator is of device %d of '%s', the work of device %d of '%s'",
                       (*generator)->device->id.index, (*generator)->device->backend->table.name,
                       device->id.index, device->backend->table.name);
}

/* ---- launches ---- */

/* Elements `first` to first + count - 1. */
static accel_status launch_part(const fill_call *call, const accel__fill_kernel *kernel,
                                const taken_words *taken, uint64_t first, uint64_t count)
{
    const uint64_t offset = taken->offset + first * words_of(call);
    const uint32_t from_cells = taken->part != NULL;
    uint64_t *cells = taken->part != NULL ? taken->part->cells : NULL;
    const bool is_pair = call->kind == ACCEL_BACKEND_FILL_RAW && words_of(call) == 2;
    const uint64_t elements = is_pair ? 2 * count : count;
    char *data = (char *)call->data + first * accel_data_type_size(call->type);
    const accel_kernel_arg args[] = {
        ACCEL_ARG_VALUE(taken->state.seed), ACCEL_ARG_VALUE(offset),
        ACCEL_ARG_VALUE(elements),          ACCEL_ARG_VALUE(call->low),
        ACCEL_ARG_VALUE(call->range),       ACCEL_ARG_VALUE(from_cells),
        ACCEL_ARG_POINTER(cells),           ACCEL_ARG_POINTER(data),
    };
    const accel_launch_shape shape = {
        .grid = {(elements + kernel->elements - 1) / kernel->elements, 1, 1},
        .block = {kernel->block, 1, 1}};
    const accel_status status = accel__launch_queue(kernel->kernel, call->stream, taken->native,
                                                    taken->capture, &shape, args,
                                                    sizeof args / sizeof args[0]);
    return accel__error_met_by(status, call->function);
}

/* As many launches as the device's limits on grids make necessary: one, but for giant fills. */
static accel_status launch(const fill_call *call, const accel__fill_kernel *kernel,
                           const taken_words *taken)
{
    const accel_device_capability *limits = &call->device->capability;
    uint64_t blocks = limits->max_grid[0] < limits->max_grid_blocks ? limits->max_grid[0]
                                                                    : limits->max_grid_blocks;
    accel_status status = ACCEL_OK;
    if (blocks > UINT64_MAX / 2 / kernel->elements)
        blocks = UINT64_MAX / 2 / kernel->elements;
    const uint64_t most = blocks * kernel->elements / 2; /* a pair counts double */
    for (uint64_t first = 0; status == ACCEL_OK && first < call->count; first += most) {
        const uint64_t left = call->count - first;
        status = launch_part(call, kernel, taken, first, left < most ? left : most);
    }
    return status;
}

/* ---- checks ---- */

static accel_status check_memory(fill_call *call)
{
    accel_pointer_information information = {.struct_size = sizeof information};
    const size_t size = accel_data_type_size(call->type);
    size_t bytes;
    if (call->data == NULL)
        return accel__fail_null(call->function, "data");
    const accel_status status = accel_pointer_info(call->data, &information);
    if (status != ACCEL_OK)
        return status;
    if (information.kind != ACCEL_MEMORY_KIND_DEVICE)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, call->function,
                           "the data is no device memory of accel_memory_alloc");
    if ((uintptr_t)call->data % size != 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, call->function,
                           "the data is not aligned to its type of %zu bytes", size);
    if (__builtin_mul_overflow(call->count, size, &bytes) ||
        bytes > information.size - information.offset)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, call->function,
                           "%zu elements of %zu bytes end behind their allocation, which has %zu "
                           "more",
                           call->count, size, information.size - information.offset);
    return accel__device_resolve(information.device, call->function, &call->device);
}

static accel_status check_stream(fill_call *call)
{
    if (call->stream == NULL)
        call->stream = accel__current_stream(call->device);
    const accel_status status = accel__stream_check(call->stream, call->function);
    if (status != ACCEL_OK || call->stream->device == call->device)
        return status;
    return accel__fail(ACCEL_ERROR_MISMATCH, call->device->backend->table.name, call->function,
                       "the stream is of another device than the data");
}

static accel_status check_double(const fill_call *call)
{
    const bool needs = call->kind == ACCEL_BACKEND_FILL_UNIFORM_F64 ||
                       call->kind == ACCEL_BACKEND_FILL_NORMAL_F64 ||
                       call->kind == ACCEL_BACKEND_FILL_EXPONENTIAL_F64;
    if (!needs || call->device->capability.fp64)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_UNSUPPORTED, call->device->backend->table.name, call->function,
                       "this device has no float64");
}

static accel_status run(fill_call *call)
{
    accel__fill_kernel kernel;
    taken_words taken = {0};
    uint64_t words = 0;
    accel_status status = accel__check_callback(call->function);
    if (status != ACCEL_OK || call->count == 0)
        return status;
    status = check_memory(call);
    if (status != ACCEL_OK || call->device == NULL)
        return status;
    status = check_stream(call);
    if (status == ACCEL_OK)
        status = choose_generator(&call->generator, call->device, call->function);
    if (status == ACCEL_OK)
        status = accel__device_use(call->device, call->function);
    if (status == ACCEL_OK)
        status = check_double(call);
    if (status == ACCEL_OK &&
        (__builtin_mul_overflow(call->count, words_of(call), &words) || !round_up(words, &words)))
        status = fail_words(call->function);
    if (status == ACCEL_OK)
        status = accel__fill_kernel_get(call->device, call->kind, &kernel, call->function);
    if (status == ACCEL_OK) /* one look: the words come from where the kernel goes */
        status = accel__stream_use(call->stream, call->function, &taken.native, &taken.capture);
    if (status == ACCEL_OK)
        status = take(call->generator, words, &taken, call->function);
    if (status == ACCEL_OK) {
        status = launch(call, &kernel, &taken);
        if (status != ACCEL_OK)
            give_back(call->generator, &taken);
    }
    let_go(&taken);
    return status;
}

/* ---- what is drawn for which type ---- */

static accel_status fail_type(const fill_call *call, const char *takes)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, call->function,
                       "the type is %s: it takes %s", accel_data_type_name(call->type), takes);
}

/* `f16` is the kind for float16; those of the other floats follow it. */
static accel_status run_float(fill_call *call, accel_backend_fill f16)
{
    int step;
    switch ((int)call->type) {
    case ACCEL_DATA_TYPE_F16:
        step = 0;
        break;
    case ACCEL_DATA_TYPE_BF16:
        step = 1;
        break;
    case ACCEL_DATA_TYPE_F32:
        step = 2;
        break;
    case ACCEL_DATA_TYPE_F64:
        step = 3;
        break;
    default:
        return fail_type(call, "f16, bf16, f32 and f64");
    }
    call->kind = (accel_backend_fill)((int)f16 + step);
    return run(call);
}

/* `kind_8` is the kind for one byte; those of 2, 4 and 8 bytes follow it. */
static accel_status run_sized(fill_call *call, accel_backend_fill kind_8)
{
    const size_t size = accel_data_type_size(call->type);
    call->kind = (accel_backend_fill)((int)kind_8 + __builtin_ctzll(size));
    return run(call);
}

accel_status accel_random_raw(void *data, accel_data_type type, size_t count,
                              accel_generator *generator, accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    call.kind = ACCEL_BACKEND_FILL_RAW;
    if (type != ACCEL_DATA_TYPE_U32 && type != ACCEL_DATA_TYPE_I32 && type != ACCEL_DATA_TYPE_U64 &&
        type != ACCEL_DATA_TYPE_I64)
        return fail_type(&call, "u32, i32, u64 and i64");
    return run(&call);
}

accel_status accel_random_uniform(void *data, accel_data_type type, size_t count,
                                  accel_generator *generator, accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    return run_float(&call, ACCEL_BACKEND_FILL_UNIFORM_F16);
}

accel_status accel_random_normal(void *data, accel_data_type type, size_t count,
                                 accel_generator *generator, accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    return run_float(&call, ACCEL_BACKEND_FILL_NORMAL_F16);
}

accel_status accel_random_exponential(void *data, accel_data_type type, size_t count,
                                      accel_generator *generator, accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    return run_float(&call, ACCEL_BACKEND_FILL_EXPONENTIAL_F16);
}

/* The least and the greatest value of an integer type, as two's complements of 64 bits. False: it is no
 * integer type. */
static bool limits_of(accel_data_type type, bool *out_signed, uint64_t *out_least,
                      uint64_t *out_most)
{
    const uint64_t bits = 8 * accel_data_type_size(type);
    switch ((int)type) {
    case ACCEL_DATA_TYPE_I8:
    case ACCEL_DATA_TYPE_I16:
    case ACCEL_DATA_TYPE_I32:
    case ACCEL_DATA_TYPE_I64:
        *out_signed = true;
        *out_most = (UINT64_C(1) << (bits - 1)) - 1;
        *out_least = ~*out_most;
        return true;
    case ACCEL_DATA_TYPE_U8:
    case ACCEL_DATA_TYPE_U16:
    case ACCEL_DATA_TYPE_U32:
    case ACCEL_DATA_TYPE_U64:
        *out_signed = false;
        *out_most = UINT64_MAX >> (64 - bits);
        *out_least = 0;
        return true;
    default:
        return false;
    }
}

accel_status accel_random_integers(void *data, accel_data_type type, size_t count, uint64_t least,
                                   uint64_t most, accel_generator *generator, accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    call.low = least;
    call.range = most - least + 1; /* 0: 2^64 */
    bool is_signed = false;
    uint64_t type_least = 0;
    uint64_t type_most = 0;
    if (!limits_of(type, &is_signed, &type_least, &type_most))
        return fail_type(&call, "integers of 8 to 64 bits");
    /* Turned so that unsigned comparisons order signed values, too. */
    const uint64_t turn = is_signed ? UINT64_C(1) << 63 : 0;
    if ((least ^ turn) <= (most ^ turn) && (least ^ turn) >= (type_least ^ turn) &&
        (most ^ turn) <= (type_most ^ turn))
        return run_sized(&call, ACCEL_BACKEND_FILL_INTEGER_8);
    if (is_signed)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                           "%s: from %lld to %lld is no range of that type",
                           accel_data_type_name(type), (long long)least, (long long)most);
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                       "%s: from %llu to %llu is no range of that type", accel_data_type_name(type),
                       (unsigned long long)least, (unsigned long long)most);
}

/* The bits of 1. False: the type has none, or the fill does not take it. */
static bool one_of(accel_data_type type, uint64_t *out_bits)
{
    bool is_signed;
    uint64_t least;
    uint64_t most;
    *out_bits = 1;
    switch ((int)type) {
    case ACCEL_DATA_TYPE_F16:
        *out_bits = 0x3c00;
        return true;
    case ACCEL_DATA_TYPE_BF16:
        *out_bits = 0x3f80;
        return true;
    case ACCEL_DATA_TYPE_F32:
        *out_bits = 0x3f800000;
        return true;
    case ACCEL_DATA_TYPE_F64:
        *out_bits = 0x3ff0000000000000;
        return true;
    case ACCEL_DATA_TYPE_BOOL:
        return true;
    default:
        return limits_of(type, &is_signed, &least, &most);
    }
}

accel_status accel_random_bernoulli(void *data, accel_data_type type, size_t count,
                                    double probability, accel_generator *generator,
                                    accel_stream *stream)
{
    fill_call call = call_of(__func__, data, type, count, generator, stream);
    if (!(probability >= 0.0 && probability <= 1.0))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                           "the probability is %g: it must lie between 0 and 1", probability);
    if (!one_of(type, &call.range))
        return fail_type(&call, "bool, integers and floats");
    call.low = (uint64_t)(probability * 0x1p32 + 0.5);
    return run_sized(&call, ACCEL_BACKEND_FILL_BERNOULLI_8);
}

/* ---- for kernels of the caller's ---- */

accel_status accel_random_reserve(accel_generator *generator, accel_stream *stream,
                                  uint64_t word_count, accel_random_reservation *out_reservation)
{
    accel_random_reservation known = {0};
    taken_words taken = {0};
    uint64_t words = 0;
    accel_status status = accel__out_check(out_reservation, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_reservation);
    status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = choose_generator(&generator, stream->device, __func__);
    if (status ==
        ACCEL_OK) /* seeds that are deferred hold anew at the start: words come behind it */
        status = accel__device_use(stream->device, __func__);
    if (status == ACCEL_OK && !round_up(word_count, &words))
        status = fail_words(__func__);
    if (status == ACCEL_OK) {
        taken.capture = accel__capture_of(stream);
        status = take(generator, words, &taken, __func__);
    }
    if (status == ACCEL_OK) {
        known.from_cells = taken.part != NULL;
        known.seed = taken.state.seed;
        known.offset = taken.offset;
        known.cells = taken.part != NULL ? taken.part->cells : NULL;
        accel__out_write(out_reservation, &known, sizeof known);
    }
    let_go(&taken);
    return status;
}
