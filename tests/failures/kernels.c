/* kernels.c: scenarios of modules and launches. */
#include "scenario.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

extern const accel_cpu_kernel world_function;
extern const char world_source[];

static accel_status add_once(world *w, accel_module *module, accel_status status)
{
    accel_stream *stream = NULL;
    accel_kernel *add = NULL;
    void *memory = NULL;
    const uint32_t count = WORDS;
    const uint32_t five = 5;
    const uint32_t zero = 0;
    const accel_launch_shape shape = {{WORDS / 64, 1, 1}, {64, 1, 1}};
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    THEN(accel_module_get_kernel(module, "add", &add));
    THEN(accel_fill(memory, &zero, 4, BYTES, stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_VALUE(five),
                                     ACCEL_ARG_VALUE(count)};
    THEN(accel_kernel_launch(add, stream, &shape, args, 3));
    THEN(accel_copy(w->to, memory, BYTES, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(words_are(w->to, WORDS, 5));
    FREES(memory);
    return end_stream(w, stream, status);
}

static accel_status launches(world *w)
{
    begin_words(w);
    return add_once(w, w->module, ACCEL_OK);
}

static accel_status from_functions(world *w)
{
    accel_module *module = NULL;
    accel_status status = ACCEL_OK;
    if (!w->has_functions)
        return ACCEL_OK;
    begin_words(w);
    MAKES(accel_module_create_from_functions(w->device, &world_function, 1, &module), module);
    status = add_once(w, module, status);
    accel_module_release(module);
    return status;
}

/* ---- from source ---- */

/* Removes the files of a folder, which may be missing. */
static void empty_folder(const char *path)
{
    char name[1000];
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(name);
    }
    if (folder != NULL)
        closedir(folder);
}

static void empty_cache(world *w)
{
    char path[400];
    snprintf(path, sizeof path, "%s/cache", w->folder);
    empty_folder(path);
    /* What source includes. */
    snprintf(path, sizeof path, "%s/value.h", w->folder);
    FILE *file = fopen(path, "w");
    if (file != NULL)
        fputs("#define FACTOR 1u\n", file);
    if (file == NULL || fclose(file) != 0)
        scenario_wrong(w, __FILE__, __LINE__, "the header cannot be written");
}

static const char included_source[] =
    "#include \"value.h\"\n"
    "#if TIMES > 0\n"
    "uint scaled(uint value) { return value * FACTOR; }\n"
    "__kernel void add(__global uint *data, uint value, uint count)\n"
    "{\n"
    "    __local uint part[64];\n"
    "    const uint i = get_global_id(0);\n"
    "    part[get_local_id(0)] = scaled(value);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i < count)\n"
    "        data[i] += part[63 - get_local_id(0)];\n"
    "}\n"
    "#endif\n";

static accel_status from_source(world *w)
{
    const char *const paths[] = {w->folder};
    const accel_define define = {"TIMES", "1"};
    const accel_module_options options = {.struct_size = sizeof options,
                                          .define_count = 1,
                                          .defines = &define,
                                          .include_paths = paths,
                                          .include_path_count = 1,
                                          .file_name = "nowhere/kernel.cl"};
    accel_module *module = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    THEN(accel_module_create_from_source(w->device, included_source, sizeof included_source - 1,
                                         &options, &module));
    RIGHT(accel_module_kernel_count(module) == 1);
    status = add_once(w, module, status);
    accel_module_release(module);
    return status;
}

static void fill_cache(world *w)
{
    accel_module *module = NULL;
    empty_cache(w);
    MUST(accel_module_create_from_source(w->device, world_source, strlen(world_source), NULL,
                                         &module) == ACCEL_OK);
    accel_module_release(module);
}

static accel_status from_cache(world *w)
{
    accel_module *module = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    THEN(accel_module_create_from_source(w->device, world_source, strlen(world_source), NULL,
                                         &module));
    RIGHT(accel_module_kernel_count(module) == 1);
    status = add_once(w, module, status);
    accel_module_release(module);
    return status;
}

static accel_status to_native_and_back(world *w)
{
    accel_module *module = NULL;
    accel_module *log = NULL;
    void *object = NULL;
    size_t size = 0;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_module_build_native(w->device, world_source, strlen(world_source), NULL, &object,
                                    &size, &log),
          object);
    MAKES(accel_module_create_from_native(w->device, object, size, &module), module);
    status = add_once(w, module, status);
    accel_module_release(module);
    accel_module_release(log);
    accel_module_free_native(object);
    return status;
}

/* What does not compile tells why, whatever fails beside. */
static accel_status refused_source(world *w)
{
    static const char bad[] = "__kernel void add(__global uint *data) { data[0] = nothing; }\n";
    accel_module *module = NULL;
    accel_status status = accel_module_create_from_source(w->device, bad, sizeof bad - 1, NULL,
                                                          &module);
    if (status == ACCEL_OK)
        scenario_wrong(w, __FILE__, __LINE__, "source without sense was compiled");
    status = scenario_note(w, status == ACCEL_ERROR_BUILD_FAILED ? ACCEL_OK : status, "the build");
    RIGHT(strstr(accel_module_build_log(module), "nothing") != NULL);
    accel_module_release(module);
    return status;
}

const scenario kernel_scenarios[] = {
    {.name = "kernel/launch", .run = launches},
    {.name = "kernel/functions", .run = from_functions},
    {.name = "kernel/source", .run = from_source, .prepare = empty_cache},
    {.name = "kernel/cached", .run = from_cache, .prepare = fill_cache},
    {.name = "kernel/native", .run = to_native_and_back, .prepare = empty_cache},
    {.name = "kernel/refused", .run = refused_source, .prepare = empty_cache},
    {.name = NULL},
};
