/* random.c: see random.h. The kernels are C functions: a block of a launch is a run of elements, so that
 * threads share a fill as they share any other launch. */
#include "backends/cpu/random/random.h"

#include <accel/philox.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/module/module.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"

enum {
    BLOCK_ELEMENTS = 8192, /* 32 or 64 KiB: fits the second-level cache many times */
    PIECE_WORDS = 1024     /* what goes by way of a buffer */
};

static const accel__cpu_random_path *const paths[] = {
#if defined(__x86_64__)
    &accel__cpu_random_avx512,
    &accel__cpu_random_avx2,
#endif
    &accel__cpu_random_portable,
};

enum { PATH_COUNT = sizeof paths / sizeof paths[0] };

const accel__cpu_random_path *accel__cpu_random_path_at(uint32_t index)
{
    return index < PATH_COUNT ? paths[index] : NULL;
}

/* The best one that the processor has, or the one that ACCEL_CPU_SIMD names. */
static const accel__cpu_random_path *choose_path(void)
{
    const char *name = accel__environment_get("ACCEL_CPU_SIMD");
    const accel__cpu_random_path *best = paths[PATH_COUNT - 1];
    for (uint32_t i = PATH_COUNT; i-- > 0;) {
        if (!paths[i]->is_supported())
            continue;
        if (name != NULL && strcmp(paths[i]->name, name) == 0)
            return paths[i];
        best = paths[i];
    }
    if (name != NULL)
        accel__log(ACCEL_LOG_LEVEL_WARNING, "cpu",
                   "ACCEL_CPU_SIMD is '%.32s', which this processor has not: '%s' is taken", name,
                   best->name);
    return best;
}

/* ---- fills that a path has no function for: by way of a buffer ---- */

typedef union buffer {
    _Alignas(64) uint32_t words[PIECE_WORDS];
    uint64_t wide[PIECE_WORDS / 2];
    float floats[PIECE_WORDS];
} buffer;

static void narrow_f16(uint16_t *out, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)accel_philox_round_f16(values[i]);
}

static void narrow_bf16(uint16_t *out, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)accel_philox_round_bf16(values[i]);
}

static void uniform_f16(uint16_t *out, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)accel_philox_round_f16(accel_philox_to_uniform_f16(words[i]));
}

static void uniform_bf16(uint16_t *out, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)accel_philox_round_bf16(accel_philox_to_uniform_bf16(words[i]));
}

/* A number of 1, 2, 4 or 8 bytes, cut to that size. */
static inline void put(void *data, size_t size, uint64_t index, uint64_t value)
{
    if (size == 1)
        ((uint8_t *)data)[index] = (uint8_t)value;
    else if (size == 2)
        ((uint16_t *)data)[index] = (uint16_t)value;
    else if (size == 4)
        ((uint32_t *)data)[index] = (uint32_t)value;
    else
        ((uint64_t *)data)[index] = value;
}

static inline void bernoulli(const accel__cpu_random_fill *fill, size_t size, uint64_t first,
                             const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(fill->data, size, first + i, words[i] < fill->low ? fill->range : 0);
}

/* Rejected words are rare: they are found with their place, and done again one by one. */
static inline void integers(const accel__cpu_random_fill *fill, size_t size, uint64_t first,
                            const uint32_t *words, size_t count)
{
    const accel_philox_state state = {.seed = fill->seed, .offset = fill->offset};
    const uint64_t range = fill->range;
    const uint32_t least = (uint32_t)((UINT64_C(0x100000000) - range) % range);
    uint32_t rejected = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t product = words[i] * range;
        rejected |= (uint32_t)product < least;
        put(fill->data, size, first + i, fill->low + (product >> 32));
    }
    for (size_t i = 0; rejected != 0 && i < count; i++)
        if ((uint32_t)(words[i] * range) < least)
            put(fill->data, size, first + i,
                fill->low + accel_philox_below_u32(state, first + i, range));
}

/* The same with 64 bits; range 0 stands for 2^64. */
static void integers_64(const accel__cpu_random_fill *fill, uint64_t first, const uint64_t *words,
                        size_t count)
{
    const accel_philox_state state = {.seed = fill->seed, .offset = fill->offset};
    const uint64_t range = fill->range;
    const uint64_t least = range != 0 ? (0 - range) % range : 0;
    uint64_t *const data = (uint64_t *)fill->data + first;
    uint32_t rejected = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t high = ACCEL_PHILOX_HIGH64(words[i], range);
        rejected |= words[i] * range < least;
        data[i] = fill->low + (range != 0 ? high : words[i]);
    }
    for (size_t i = 0; rejected != 0 && i < count; i++)
        if (words[i] * range < least)
            data[i] = fill->low + accel_philox_below_u64(state, first + i, range);
}

static accel__cpu_draw draw_of(const accel__cpu_random_path *path, accel_backend_fill kind)
{
    switch ((int)kind) {
    case ACCEL_BACKEND_FILL_UNIFORM_F32:
        return path->uniform_f32;
    case ACCEL_BACKEND_FILL_UNIFORM_F64:
        return path->uniform_f64;
    case ACCEL_BACKEND_FILL_NORMAL_F16:
    case ACCEL_BACKEND_FILL_NORMAL_BF16:
    case ACCEL_BACKEND_FILL_NORMAL_F32:
        return path->normal_f32;
    case ACCEL_BACKEND_FILL_NORMAL_F64:
        return path->normal_f64;
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F16:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_BF16:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F32:
        return path->exponential_f32;
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F64:
        return path->exponential_f64;
    default:
        return path->raw;
    }
}

/* Elements first to first + count - 1 of what is in the buffer. */
static void convert(const accel__cpu_random_fill *fill, uint64_t first, const buffer *from,
                    size_t count)
{
    uint16_t *const halves = (uint16_t *)fill->data + first;
    switch ((int)fill->kind) {
    case ACCEL_BACKEND_FILL_INTEGER_8:
        integers(fill, 1, first, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_INTEGER_16:
        integers(fill, 2, first, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_INTEGER_32:
        integers(fill, 4, first, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_INTEGER_64:
        integers_64(fill, first, from->wide, count);
        break;
    case ACCEL_BACKEND_FILL_UNIFORM_F16:
        uniform_f16(halves, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_UNIFORM_BF16:
        uniform_bf16(halves, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_NORMAL_F16:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F16:
        narrow_f16(halves, from->floats, count);
        break;
    case ACCEL_BACKEND_FILL_NORMAL_BF16:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_BF16:
        narrow_bf16(halves, from->floats, count);
        break;
    case ACCEL_BACKEND_FILL_BERNOULLI_8:
        bernoulli(fill, 1, first, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_BERNOULLI_16:
        bernoulli(fill, 2, first, from->words, count);
        break;
    case ACCEL_BACKEND_FILL_BERNOULLI_32:
        bernoulli(fill, 4, first, from->words, count);
        break;
    default:
        bernoulli(fill, 8, first, from->words, count);
        break;
    }
}

static void run_by_pieces(const accel__cpu_random_path *path, const accel__cpu_random_fill *fill,
                          uint64_t first, uint64_t count)
{
    const accel__cpu_draw draw = draw_of(path, fill->kind);
    const uint32_t per_block = fill->kind == ACCEL_BACKEND_FILL_INTEGER_64 ? 2 : 4;
    const size_t most = (size_t)PIECE_WORDS / 4 * per_block;
    buffer piece;
    while (count != 0) {
        const size_t now = count < most ? (size_t)count : most;
        draw(piece.words, fill->seed, fill->offset / 4 + first / per_block,
             (now + per_block - 1) / per_block);
        convert(fill, first, &piece, now);
        first += now;
        count -= now;
    }
}

/* `size` bytes an element: straight to where they go, but for the last block where it is not whole. */
static void run_direct(const accel__cpu_random_path *path, const accel__cpu_random_fill *fill,
                       size_t size, uint64_t first, uint64_t count)
{
    const accel__cpu_draw draw = draw_of(path, fill->kind);
    const uint64_t per_block = 16 / size;
    const uint64_t blocks = count / per_block;
    const uint64_t block = fill->offset / 4 + first / per_block;
    unsigned char *target = (unsigned char *)fill->data + first * size;
    draw(target, fill->seed, block, blocks);
    if (count % per_block != 0) {
        unsigned char rest[16];
        draw(rest, fill->seed, block + blocks, 1);
        memcpy(target + blocks * 16, rest, (size_t)(count % per_block) * size);
    }
}

void accel__cpu_random_run(const accel__cpu_random_path *path, const accel__cpu_random_fill *fill,
                           uint64_t first, uint64_t count)
{
    switch ((int)fill->kind) {
    case ACCEL_BACKEND_FILL_RAW:
    case ACCEL_BACKEND_FILL_UNIFORM_F32:
    case ACCEL_BACKEND_FILL_NORMAL_F32:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F32:
        run_direct(path, fill, 4, first, count);
        break;
    case ACCEL_BACKEND_FILL_UNIFORM_F64:
    case ACCEL_BACKEND_FILL_NORMAL_F64:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F64:
        run_direct(path, fill, 8, first, count);
        break;
    default:
        run_by_pieces(path, fill, first, count);
        break;
    }
}

/* ---- the kernels ---- */

static _Atomic(const accel__cpu_random_path *) chosen; /* once a device has loaded them */

static uint64_t u64_argument(const accel_cpu_launch *launch, int index)
{
    uint64_t value;
    memcpy(&value, launch->arguments[index], sizeof value);
    return value;
}

static const char *run_blocks(accel_backend_fill kind, const accel_cpu_launch *launch,
                              uint64_t first_block, uint64_t last_block)
{
    accel__cpu_random_fill fill = {.kind = kind,
                                   .seed = u64_argument(launch, 0),
                                   .offset = u64_argument(launch, 1),
                                   .low = u64_argument(launch, 3),
                                   .range = u64_argument(launch, 4)};
    const uint64_t count = u64_argument(launch, 2);
    uint32_t from_cells;
    memcpy(&from_cells, launch->arguments[5], sizeof from_cells);
    memcpy(&fill.data, launch->arguments[7], sizeof fill.data);
    if (from_cells != 0) {
        const uint64_t *cells;
        memcpy(&cells, launch->arguments[6], sizeof cells);
        fill.seed = cells[0];
        fill.offset += cells[1];
    }
    const uint64_t first = first_block * BLOCK_ELEMENTS;
    const uint64_t last = last_block * BLOCK_ELEMENTS < count ? last_block * BLOCK_ELEMENTS : count;
    if (first < last)
        accel__cpu_random_run(atomic_load_explicit(&chosen, memory_order_relaxed), &fill, first,
                              last - first);
    return NULL;
}

#define FILLS(X)                                                                                   \
    X(RAW, U32, 4)                                                                                 \
    X(INTEGER_8, U8, 1)                                                                            \
    X(INTEGER_16, U16, 2)                                                                          \
    X(INTEGER_32, U32, 4)                                                                          \
    X(INTEGER_64, U64, 8)                                                                          \
    X(UNIFORM_F16, U16, 2)                                                                         \
    X(UNIFORM_BF16, U16, 2)                                                                        \
    X(UNIFORM_F32, F32, 4)                                                                         \
    X(UNIFORM_F64, F64, 8)                                                                         \
    X(NORMAL_F16, U16, 2)                                                                          \
    X(NORMAL_BF16, U16, 2)                                                                         \
    X(NORMAL_F32, F32, 4)                                                                          \
    X(NORMAL_F64, F64, 8)                                                                          \
    X(EXPONENTIAL_F16, U16, 2)                                                                     \
    X(EXPONENTIAL_BF16, U16, 2)                                                                    \
    X(EXPONENTIAL_F32, F32, 4)                                                                     \
    X(EXPONENTIAL_F64, F64, 8)                                                                     \
    X(BERNOULLI_8, U8, 1)                                                                          \
    X(BERNOULLI_16, U16, 2)                                                                        \
    X(BERNOULLI_32, U32, 4)                                                                        \
    X(BERNOULLI_64, U64, 8)

#define VALUE(param_name, data_type, bytes)                                                        \
    {                                                                                              \
        .name = (param_name), .kind = ACCEL_PARAM_KIND_VALUE, .type = (data_type), .lanes = 1,     \
        .size = (bytes)                                                                            \
    }
#define POINTER(param_name, data_type, bytes, is_const)                                            \
    {                                                                                              \
        .name = (param_name), .kind = ACCEL_PARAM_KIND_POINTER, .type = (data_type), .lanes = 1,   \
        .read_only = (is_const), .size = (bytes)                                                   \
    }

#define DEFINE_KERNEL(kind, type, bytes)                                                           \
    static const char *run_##kind(const accel_cpu_launch *launch, uint64_t first, uint64_t last)   \
    {                                                                                              \
        return run_blocks(ACCEL_BACKEND_FILL_##kind, launch, first, last);                         \
    }                                                                                              \
    static const accel_param params_##kind[] = {                                                   \
        VALUE("seed", ACCEL_DATA_TYPE_U64, 8),                                                     \
        VALUE("offset", ACCEL_DATA_TYPE_U64, 8),                                                   \
        VALUE("count", ACCEL_DATA_TYPE_U64, 8),                                                    \
        VALUE("low", ACCEL_DATA_TYPE_U64, 8),                                                      \
        VALUE("range", ACCEL_DATA_TYPE_U64, 8),                                                    \
        VALUE("from_cells", ACCEL_DATA_TYPE_U32, 4),                                               \
        POINTER("cells", ACCEL_DATA_TYPE_U64, 8, 1),                                               \
        POINTER("data", ACCEL_DATA_TYPE_##type, bytes, 0),                                         \
    };

FILLS(DEFINE_KERNEL)

#define KERNEL(kind, type, bytes)                                                                  \
    [ACCEL_BACKEND_FILL_##kind] = {.name = "accel_fill_" #kind,                                    \
                                   .function = run_##kind,                                         \
                                   .params = params_##kind,                                        \
                                   .param_count = 8},

static const accel_cpu_kernel kernels[ACCEL_BACKEND_FILL_COUNT] = {FILLS(KERNEL)};

accel_status accel__cpu_random_load(accel_native_device *device, accel_native_module **out_module,
                                    uint64_t *out_block_elements)
{
    if (atomic_load(&chosen) == NULL)
        atomic_store(&chosen, choose_path());
    *out_block_elements = BLOCK_ELEMENTS;
    return accel__cpu_load_functions(device, kernels, ACCEL_BACKEND_FILL_COUNT, out_module);
}
