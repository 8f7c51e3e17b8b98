/* source_build.c: see source_build.h.
 *
 * The cache's key is made of the finished text, not of the source: what was included, defined or said
 * by options is in it, and nothing else is. A cached entry holds the compiler's log too, so that a
 * module's warnings do not depend on who compiled it. */
#include "kernel/source_build.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/log.h"

enum { COMPILER_KEY_SIZE = 8192, LENGTH_SIZE = 8 };

static const char *backend_name(const accel__source_build *build)
{
    return build->device->backend->table.name;
}

static accel_status out_of_memory(const accel__source_build *build)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend_name(build), build->function,
                       "no memory to build a kernel of %zu bytes", build->size);
}

/* ---- translation ---- */

static bool preprocess(accel__source_build *build, bool has_double)
{
    static const accel_define predefined[] = {
        {"__ACCEL__", "1"},
        {"__OPENCL_VERSION__", "120"},
        {"__OPENCL_C_VERSION__", "120"},
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        {"__ENDIAN_LITTLE__", "1"},
#endif
        {"cl_khr_fp64", "1"}, /* last: left out without doubles */
    };
    const uint32_t count = sizeof predefined / sizeof predefined[0] - (has_double ? 0 : 1);
    return accel__preprocess(build->source, build->size, &build->options, predefined, count,
                             &build->diagnostics, &build->unit);
}

accel_dialect accel__source_dialect(const accel__source_build *build)
{
    return build->device->backend->table.kernel.dialect(build->device->native);
}

static bool write_text(accel__source_build *build)
{
    const accel_dialect dialect = accel__source_dialect(build);
    return dialect == ACCEL_DIALECT_CPU_C
               ? accel__program_emit_cpu(build->program, build->options.check_barriers != 0,
                                         &build->diagnostics, &build->text)
               : accel__program_emit_opencl(build->program,
                                            dialect == ACCEL_DIALECT_OPENCL_C_OFFSETS,
                                            &build->diagnostics, &build->text);
}

accel_status accel__source_translate(accel__source_build *build)
{
    const bool has_double = (build->device->capability.data_types &
                             ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_F64)) != 0;
    bool good = preprocess(build, has_double);
    if (good) {
        build->program = accel__program_parse(&build->unit, &build->diagnostics);
        good = build->program != NULL;
    }
    if (good && !has_double && accel__program_uses_double(build->program)) {
        accel__diagnose_error(&build->diagnostics, build->unit.files[0], 1,
                              "double is used, which this device lacks");
        good = false;
    }
    good = good && write_text(build);
    if (build->diagnostics.out_of_memory || build->text.failed)
        return out_of_memory(build);
    return good ? ACCEL_OK
                : accel__fail(ACCEL_ERROR_BUILD_FAILED, backend_name(build), build->function,
                              "the source is not portable kernel language");
}

/* ---- the cache ---- */

static accel_status make_key(accel__source_build *build)
{
    const accel_backend_table *table = &build->device->backend->table;
    char compiler[COMPILER_KEY_SIZE] = "";
    const accel_status status = table->kernel.compiler_key(build->device->native, compiler,
                                                           sizeof compiler);
    if (status != ACCEL_OK)
        return status;
    const unsigned char dialect = (unsigned char)accel__source_dialect(build);
    accel__cache_key_begin(&build->key);
    accel__cache_key_add_string(&build->key, table->name);
    accel__cache_key_add(&build->key, &dialect, sizeof dialect);
    accel__cache_key_add_string(&build->key, compiler);
    accel__cache_key_add(&build->key, accel__text_string(&build->text), build->text.size);
    accel__cache_key_finish(&build->key);
    return ACCEL_OK;
}

/* An entry: the log's length, the log, the object. */
static bool read_entry(accel__source_build *build, const unsigned char *data, size_t size)
{
    uint64_t length = 0;
    if (size < LENGTH_SIZE)
        return false;
    for (int i = 0; i < LENGTH_SIZE; i++)
        length |= (uint64_t)data[i] << (8 * i);
    if (length > size - LENGTH_SIZE)
        return false;
    const char *log = (const char *)data + LENGTH_SIZE;
    accel__text_append(&build->compiler_log, log, (size_t)length);
    accel__text_append(&build->object, log + length, size - LENGTH_SIZE - (size_t)length);
    return true;
}

static bool find_entry(accel__source_build *build)
{
    void *data = NULL;
    size_t size = 0;
    build->from_cache = accel__cache_get(&build->key, &data, &size) &&
                        read_entry(build, data, size);
    accel__deallocate(data);
    return build->from_cache;
}

void accel__source_keep(const accel__source_build *build)
{
    if (build->from_cache || build->object.size == 0)
        return;
    accel__text entry = {0};
    for (int i = 0; i < LENGTH_SIZE; i++)
        accel__text_append_char(&entry,
                                (char)((uint64_t)build->compiler_log.size >> (8 * i) & 255));
    accel__text_append(&entry, accel__text_string(&build->compiler_log), build->compiler_log.size);
    accel__text_append(&entry, build->object.data, build->object.size);
    if (!entry.failed)
        accel__cache_put(&build->key, entry.data, entry.size);
    accel__text_release(&entry);
}

/* ---- compilation ---- */

static void take_object(void *user, const void *data, size_t size)
{
    accel__text_append(&((accel__source_build *)user)->object, data, size);
}

static void take_log(void *user, const char *text, size_t size)
{
    accel__text_append(&((accel__source_build *)user)->compiler_log, text, size);
}

accel_status accel__source_compile(accel__source_build *build, bool anew)
{
    const accel_backend_kernel *table = &build->device->backend->table.kernel;
    const accel_backend_build taker = {.user = build, .object = take_object, .log = take_log};
    accel__text_clear(&build->object);
    accel__text_clear(&build->compiler_log);
    accel_status status = make_key(build);
    if (status != ACCEL_OK)
        return status;
    if (anew || !find_entry(build)) {
        build->from_cache = false;
        status = table->compile(build->device->native, accel__text_string(&build->text),
                                build->text.size, &taker);
    }
    accel__log(ACCEL_LOG_LEVEL_DEBUG, backend_name(build), "kernel of %zu bytes: %s", build->size,
               build->from_cache ? "from the cache" : "compiled");
    if (build->object.failed || build->compiler_log.failed)
        return out_of_memory(build);
    return status;
}

void accel__source_take_log(accel__source_build *build, accel__text *out_log)
{
    accel__text *parts[] = {&build->diagnostics.log, &build->compiler_log};
    for (int i = 0; i < 2; i++) {
        if (out_log->data == NULL) { /* the common case: only one has something to say */
            *out_log = *parts[i];
            *parts[i] = (accel__text){0};
        } else if (parts[i]->size != 0) {
            accel__text_append(out_log, parts[i]->data, parts[i]->size);
        }
    }
}

void accel__source_release(accel__source_build *build)
{
    accel__program_release(build->program);
    accel__unit_release(&build->unit);
    accel__diagnostics_release(&build->diagnostics);
    accel__text_release(&build->text);
    accel__text_release(&build->compiler_log);
    accel__text_release(&build->object);
}
