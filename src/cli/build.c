/* build.c: `accel build`: compiles a source to a native object beforehand, for machines without a
 * compiler. `accel run` takes the object in place of the source. */
#include <string.h>

#include "cli/command.h"
#include "cli/device_choice.h"
#include "cli/kernel_file.h"
#include "cli/output_file.h"

static const char help[] =
    "Usage: accel build KERNEL.cl -o OBJECT [-d DEVICE] [-D NAME[=VALUE]]... [-I DIRECTORY]...\n"
    "Compile a kernel source to a native object, which 'accel run' takes in its place, also on\n"
    "another machine of the same kind and without a compiler.\n\n"
    "Options:\n"
    "  -o OBJECT         the file to write; it appears whole or not at all\n"
    "  -d DEVICE         as 'accel list' names it; default: the current accelerator\n"
    "  -D NAME[=VALUE]   define a macro\n"
    "  -I DIRECTORY      look for included files there\n"
    "  --help            print this text\n\n"
    "Only run objects that you trust: loading one runs its code.\n";

typedef struct build_request {
    const char *device_text;
    const char *object_path;
    accel__build_options options;
    accel__kernel_file file;
    accel__output_file output;
    void *object;
    size_t object_size;
} build_request;

static accel__exit take_option(void *request, int option)
{
    build_request *build = request;
    switch (option) {
    case 'o':
        return accel__take_once(&build->object_path, "-o");
    case 'd':
        return accel__take_once(&build->device_text, "-d");
    case 'D':
        return accel__build_options_define(&build->options, optarg);
    case 'I':
        return accel__build_options_include(&build->options, optarg);
    default:
        return ACCEL__EXIT_USAGE;
    }
}

/* A kernel's name makes no sense here: an object holds all kernels of its source. */
static accel__exit read_source(build_request *build, const char *path)
{
    accel__exit result = accel__kernel_file_read(path, &build->file);
    if (result == ACCEL__EXIT_OK && build->file.kernel_name != NULL)
        result = accel__cli_misuse("an object holds all kernels of its source; leave out :%s",
                                   build->file.kernel_name);
    return result;
}

static accel__exit perform(build_request *build, int count, char **texts)
{
    accel_device device;
    if (count != 1)
        return accel__cli_misuse("give one kernel source, not %d; see accel build --help", count);
    if (build->object_path == NULL)
        return accel__cli_misuse("-o is missing; name the object to write, like -o kernel.o");
    accel__cli_guard_output();
    accel__exit result = read_source(build, texts[0]);
    if (result == ACCEL__EXIT_OK)
        result = accel__choose_device(build->device_text, &device);
    if (result == ACCEL__EXIT_OK)
        result = accel__output_file_open(&build->output, build->object_path);
    if (result == ACCEL__EXIT_OK)
        result = accel__kernel_file_build(&build->file, &build->options, device, &build->object,
                                          &build->object_size);
    if (result == ACCEL__EXIT_OK)
        result = accel__output_file_write(&build->output, build->object, build->object_size);
    if (result == ACCEL__EXIT_OK)
        result = accel__output_file_finish(&build->output);
    return result == ACCEL__EXIT_OK ? accel__output_file_commit(&build->output) : result;
}

accel__exit accel__command_build(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":o:d:D:I:h", options, help, take_option};
    build_request build = {0};
    accel__exit result;
    accel__report_warnings();
    if (accel__take_options(argc, argv, &taken, &build, &result))
        result = perform(&build, argc - optind, argv + optind);
    accel_module_free_native(build.object);
    accel__output_file_release(&build.output);
    accel__kernel_file_release(&build.file);
    accel__build_options_release(&build.options);
    return result;
}
