/* world.c: what scenarios share: kernels of the device, and the notes about a run. */
#include "scenario.h"

/* ---- kernels ---- */

static const char *add_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint32_t *data = *(uint32_t **)launch->arguments[0];
    const uint32_t value = *(const uint32_t *)launch->arguments[1];
    const uint32_t count = *(const uint32_t *)launch->arguments[2];
    for (uint64_t i = first * launch->block[0]; i < last * launch->block[0] && i < count; i++)
        data[i] += value;
    return NULL;
}

#define U32(text, param_kind)                                                                      \
    {                                                                                              \
        .name = (text), .kind = (param_kind), .type = ACCEL_DATA_TYPE_U32, .lanes = 1, .size = 4   \
    }

static const accel_param add_params[] = {U32("data", ACCEL_PARAM_KIND_POINTER),
                                         U32("value", ACCEL_PARAM_KIND_VALUE),
                                         U32("count", ACCEL_PARAM_KIND_VALUE)};

const accel_cpu_kernel world_function = {
    .name = "add", .function = add_blocks, .params = add_params, .param_count = 3};

const char world_source[] = "__kernel void add(__global uint *data, uint value, uint count)\n"
                            "{\n"
                            "    const uint i = get_global_id(0);\n"
                            "    if (i < count)\n"
                            "        data[i] += value;\n"
                            "}\n";

accel_status launch_add(world *w, accel_stream *stream, void *data, uint32_t value)
{
    const uint32_t count = WORDS;
    const accel_launch_shape shape = {{WORDS / 64, 1, 1}, {64, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(count)};
    return accel_kernel_launch(w->add, stream, &shape, args, 3);
}

/* ---- the world ---- */

static bool load_kernels(world *w)
{
    accel_status status = accel_module_create_from_functions(w->device, &world_function, 1,
                                                             &w->module);
    w->has_functions = status == ACCEL_OK;
    if (status == ACCEL_ERROR_UNSUPPORTED)
        status = accel_module_create_from_source(w->device, world_source, sizeof world_source - 1,
                                                 NULL, &w->module);
    return status == ACCEL_OK && accel_module_get_kernel(w->module, "add", &w->add) == ACCEL_OK;
}

/* Released pools are remembered, so that using one is found: the newest 256 of a process. */
static bool fill_memory_of_pools(const world *w)
{
    accel_memory_pool *pool = NULL;
    for (int i = 0; i < 300; i++)
        if (accel_memory_pool_create(w->device, NULL, &pool) != ACCEL_OK ||
            accel_memory_pool_release(pool) != ACCEL_OK)
            return false;
    return true;
}

/* A thread has drawers for the memory of so many streams, and keeps them. */
static bool fill_drawers(accel_device device)
{
    enum { STREAMS = 80 };
    accel_stream *streams[STREAMS] = {NULL};
    bool ok = true;
    for (int i = 0; i < STREAMS && ok; i++) {
        void *memory = NULL;
        ok = accel_stream_create(device, NULL, &streams[i]) == ACCEL_OK &&
             accel_memory_alloc(streams[i], 1000, NULL, &memory) == ACCEL_OK &&
             accel_memory_free(memory) == ACCEL_OK;
    }
    for (int i = 0; i < STREAMS; i++)
        accel_stream_release(streams[i]);
    return ok;
}

bool world_open(world *w, const char *backend)
{
    int32_t count = 0;
    accel_backend number = ACCEL_BACKEND_NONE;
    if (accel_backend_find(backend, &number) != ACCEL_OK ||
        accel_device_count(number, &count) != ACCEL_OK || count == 0)
        return false;
    w->device = ACCEL_DEVICE(number, 0);
    w->other = ACCEL_DEVICE(number, count > 1 ? 1 : 0);
    w->is_cpu = strcmp(backend, "cpu") == 0;
    w->capability.struct_size = sizeof w->capability;
    return accel_set_device_index(w->device) == ACCEL_OK &&
           accel_get_device_capability(w->device, &w->capability) == ACCEL_OK &&
           fill_memory_of_pools(w) && fill_drawers(w->device) && fill_drawers(w->other) &&
           load_kernels(w);
}

void world_close(world *w)
{
    accel_module_release(w->module);
}

/* ---- notes ---- */

void scenario_wrong(world *w, const char *file, int line, const char *what)
{
    const char *name = strrchr(file, '/');
    if (w->wrong[0] == '\0')
        snprintf(w->wrong, sizeof w->wrong, "%s:%d: %s", name != NULL ? name + 1 : file, line,
                 what);
}

accel_status scenario_note(world *w, accel_status status, const char *call)
{
    if (status == ACCEL_OK || w->failed[0] != '\0')
        return status;
    snprintf(w->failed, sizeof w->failed, "%s", call);
    accel_error record = {.struct_size = sizeof record};
    accel_last_error(&record);
    if (record.status != status || record.message[0] == '\0' || record.function[0] == '\0')
        snprintf(w->wrong, sizeof w->wrong, "%s gave %s, and the record says %s, '%s', '%s'", call,
                 accel_status_name(status), accel_status_name(record.status), record.function,
                 record.message);
    return status;
}

/* ---- what scenarios share ---- */

accel_status end_stream(world *w, accel_stream *stream, accel_status status)
{
    if (stream != NULL)
        ALWAYS(accel_stream_synchronize(stream));
    accel_stream_release(stream);
    return status;
}

void begin_words(world *w)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        w->from[i] = i * 2654435761u + w->turn;
        w->to[i] = ~w->from[i];
    }
}

bool words_are(const uint32_t *words, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != value)
            return false;
    return true;
}

void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream, (void)status;
    atomic_fetch_add(&((world *)user)->called, 1);
}
