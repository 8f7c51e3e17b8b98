/* kernels.c: see kernels.h. What was built stays for the process: per device a table, made at its first
 * fill. Nobody waits for another one's build; of two that build the same, one is kept. */
#include "random/kernels.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/module.h"

/* Of fill.cl. */
enum { STANDIN_BLOCK = 64 };

/* Embedded by the build: src/random/fill.cl. */
extern const unsigned char accel__random_fill_text[];
extern const unsigned long accel__random_fill_text_size;

typedef struct kernel_table {
    _Atomic(accel_module *) own;    /* with all kinds */
    _Atomic(uint64_t) own_elements; /* valid once `own` is set */
    _Atomic(accel_module *) built[ACCEL_BACKEND_FILL_COUNT];
} kernel_table;

static _Atomic(kernel_table *) tables[ACCEL__BACKEND_MAX][ACCEL__DEVICE_MAX];

static kernel_table *table_of(const accel__device *device, const char *function)
{
    _Atomic(kernel_table *) *cell = &tables[device->id.backend - 1][device->id.index];
    kernel_table *table = atomic_load_explicit(cell, memory_order_acquire);
    if (table != NULL)
        return table;
    kernel_table *made = accel__allocate(sizeof *made);
    if (made == NULL) {
        accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name, function,
                    "no memory for the table of random fills");
        return NULL;
    }
    if (atomic_compare_exchange_strong(cell, &table, made))
        return made;
    accel__deallocate(made);
    return table;
}

/* ---- the backend's own ---- */

static accel_status load_own(accel__device *device, kernel_table *table, const char *function)
{
    accel_native_module *native = NULL;
    accel_module *none = NULL;
    uint64_t elements = 0;
    accel_module *module = accel__module_make(device, function);
    if (module == NULL)
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    accel_status status = device->backend->table.random.load(device->native, &native, &elements);
    if (status == ACCEL_OK)
        status = accel__module_adopt(module, native, function);
    if (status == ACCEL_OK && module->kernel_count != ACCEL_BACKEND_FILL_COUNT)
        status = accel__fail(ACCEL_ERROR_INTERNAL, device->backend->table.name, function,
                             "the backend has %u kinds of random fills, %d are wanted",
                             module->kernel_count, ACCEL_BACKEND_FILL_COUNT);
    if (status == ACCEL_OK) {
        atomic_store_explicit(&table->own_elements, elements,
                              memory_order_relaxed); /* as by others */
        if (atomic_compare_exchange_strong(&table->own, &none, module))
            return ACCEL_OK;
    }
    accel_module_release(module);
    return status;
}

static accel_status get_own(accel__device *device, kernel_table *table, accel_backend_fill kind,
                            accel__fill_kernel *out_kernel, const char *function)
{
    if (atomic_load_explicit(&table->own, memory_order_acquire) == NULL) {
        const accel_status status = load_own(device, table, function);
        if (status != ACCEL_OK)
            return accel__error_met_by(status, function);
    }
    accel_module *module = atomic_load_explicit(&table->own, memory_order_acquire);
    out_kernel->kernel = &module->kernels[kind];
    out_kernel->elements = atomic_load_explicit(&table->own_elements, memory_order_relaxed);
    out_kernel->block = 1;
    return ACCEL_OK;
}

/* ---- the stand-in ---- */

/* The macro of fill.cl, and how many elements a work-item writes. */
typedef struct standin {
    const char *macro;
    uint32_t elements;
} standin;

static const standin standins[ACCEL_BACKEND_FILL_COUNT] = {
    [ACCEL_BACKEND_FILL_RAW] = {"FILL_RAW", 4},
    [ACCEL_BACKEND_FILL_INTEGER_8] = {"FILL_INTEGER_8", 4},
    [ACCEL_BACKEND_FILL_INTEGER_16] = {"FILL_INTEGER_16", 4},
    [ACCEL_BACKEND_FILL_INTEGER_32] = {"FILL_INTEGER_32", 4},
    [ACCEL_BACKEND_FILL_INTEGER_64] = {"FILL_INTEGER_64", 2},
    [ACCEL_BACKEND_FILL_UNIFORM_F16] = {"FILL_UNIFORM_F16", 4},
    [ACCEL_BACKEND_FILL_UNIFORM_BF16] = {"FILL_UNIFORM_BF16", 4},
    [ACCEL_BACKEND_FILL_UNIFORM_F32] = {"FILL_UNIFORM_F32", 4},
    [ACCEL_BACKEND_FILL_UNIFORM_F64] = {"FILL_UNIFORM_F64", 2},
    [ACCEL_BACKEND_FILL_NORMAL_F16] = {"FILL_NORMAL_F16", 4},
    [ACCEL_BACKEND_FILL_NORMAL_BF16] = {"FILL_NORMAL_BF16", 4},
    [ACCEL_BACKEND_FILL_NORMAL_F32] = {"FILL_NORMAL_F32", 4},
    [ACCEL_BACKEND_FILL_NORMAL_F64] = {"FILL_NORMAL_F64", 2},
    [ACCEL_BACKEND_FILL_EXPONENTIAL_F16] = {"FILL_EXPONENTIAL_F16", 4},
    [ACCEL_BACKEND_FILL_EXPONENTIAL_BF16] = {"FILL_EXPONENTIAL_BF16", 4},
    [ACCEL_BACKEND_FILL_EXPONENTIAL_F32] = {"FILL_EXPONENTIAL_F32", 4},
    [ACCEL_BACKEND_FILL_EXPONENTIAL_F64] = {"FILL_EXPONENTIAL_F64", 2},
    [ACCEL_BACKEND_FILL_BERNOULLI_8] = {"FILL_BERNOULLI_8", 4},
    [ACCEL_BACKEND_FILL_BERNOULLI_16] = {"FILL_BERNOULLI_16", 4},
    [ACCEL_BACKEND_FILL_BERNOULLI_32] = {"FILL_BERNOULLI_32", 4},
    [ACCEL_BACKEND_FILL_BERNOULLI_64] = {"FILL_BERNOULLI_64", 4},
};

static accel_status build(accel__device *device, _Atomic(accel_module *) *cell,
                          accel_backend_fill kind, const char *function)
{
    const accel_define define = {.name = standins[kind].macro};
    const accel_module_options options = {.struct_size = sizeof options,
                                          .define_count = 1,
                                          .defines = &define,
                                          .file_name = "accel/fill.cl"};
    accel_module *none = NULL;
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(
        device->id, (const char *)accel__random_fill_text, accel__random_fill_text_size, &options,
        &module);
    if (status == ACCEL_OK && atomic_compare_exchange_strong(cell, &none, module))
        return ACCEL_OK;
    accel_module_release(module);
    return accel__error_met_by(status, function);
}

static accel_status get_standin(accel__device *device, kernel_table *table, accel_backend_fill kind,
                                accel__fill_kernel *out_kernel, const char *function)
{
    _Atomic(accel_module *) *cell = &table->built[kind];
    if (atomic_load_explicit(cell, memory_order_acquire) == NULL) {
        const accel_status status = build(device, cell, kind, function);
        if (status != ACCEL_OK)
            return status;
    }
    accel_module *module = atomic_load_explicit(cell, memory_order_acquire);
    out_kernel->kernel = &module->kernels[0];
    out_kernel->elements = (uint64_t)STANDIN_BLOCK * standins[kind].elements;
    out_kernel->block = STANDIN_BLOCK;
    return ACCEL_OK;
}

accel_status accel__fill_kernel_get(accel__device *device, accel_backend_fill kind,
                                    accel__fill_kernel *out_kernel, const char *function)
{
    kernel_table *table = table_of(device, function);
    if (table == NULL)
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    return accel__backend_owns(device->backend, ACCEL__GROUP_RANDOM)
               ? get_own(device, table, kind, out_kernel, function)
               : get_standin(device, table, kind, out_kernel, function);
}
