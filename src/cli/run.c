/* run.c: `accel run`: a kernel from a file, on arrays from .npy files.
 *
 * Invariant: everything that can be wrong with the request is found before the device works, and
 * results reach their files only after all of them are on the disk under other names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/device_choice.h"
#include "cli/job.h"
#include "cli/kernel_file.h"
#include "cli/number.h"
#include "cli/output_file.h"
#include "cli/run_report.h"
#include "cli/shape.h"

static const char help[] =
    "Usage: accel run KERNEL[:NAME] [-d DEVICE] -g GX[,GY[,GZ]] [-l LX[,LY[,LZ]]]\n"
    "                 [-D NAME[=VALUE]]... [-I DIRECTORY]... [--repeat N] [--time] [--json] "
    "ARG...\n"
    "Run a kernel. KERNEL is a source file in the subset of OpenCL C that accel compiles, or an\n"
    "object of 'accel build'; NAME may be left out where it has one kernel.\n\n"
    "One ARG for each parameter of the kernel, in order:\n"
    "  in:FILE.npy               an array that the kernel reads\n"
    "  inout:FILE.npy[:OUT.npy]  an array that comes back, over FILE.npy or to OUT.npy\n"
    "  out:FILE.npy:f32[1024,3]  a new array, all zero before the kernel runs; \"f32\" is one "
    "element\n"
    "  f32:2.5 u32:7 i64:-1 ...  a value; a vector's numbers have commas: f32:1,2,3,4\n"
    "  local:BYTES               memory that a block shares\n"
    "Types: u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 bool c64 c128. An array must have the\n"
    "parameter's type; bool fits uchar and char, f16 fits ushort, c64 float2 and c128 double2. "
    "The\n"
    "kernel sees the array in the order of the file's bytes, C or Fortran.\n\n"
    "Options:\n"
    "  -d DEVICE         as 'accel list' names it; default: the current accelerator\n"
    "  -g GX[,GY[,GZ]]   work-items in each dimension; a multiple of -l\n"
    "  -l LX[,LY[,LZ]]   work-items of a block; default: a divisor of GX up to 256\n"
    "  -D NAME[=VALUE]   define a macro\n"
    "  -I DIRECTORY      look for included files there\n"
    "  --repeat N        launch N times, one after the other, on the same memory\n"
    "  --time            print the times of compiling, copying and the kernel\n"
    "  --json            print one JSON document with device, kernel, shape and times;\n"
    "                    after a failure it is {\"error\": MESSAGE}\n"
    "  --help            print this text\n\n"
    "Output files appear whole or not at all.\n";

enum { REPEAT_MAX = 1000000 };

typedef struct run_request {
    const char *device_text;
    const char *grid_text;
    const char *block_text;
    const char *repeat_text;
    uint32_t repeat;
    bool time;
    bool json;
    accel__shape shape;
    accel__build_options build;
    accel__kernel_file file;
    accel__argument *arguments;
    accel__output_file *outputs; /* one per argument; unused ones are zero */
    uint32_t argument_count;
    accel_device device;
    accel_device_capability capability;
    accel_module *module;
    accel__job job;
} run_request;

/* ---- the command line ---- */

static accel__exit take_option(void *request, int option)
{
    run_request *run = request;
    switch (option) {
    case 'd':
        return accel__take_once(&run->device_text, "-d");
    case 'g':
        return accel__take_once(&run->grid_text, "-g");
    case 'l':
        return accel__take_once(&run->block_text, "-l");
    case 'D':
        return accel__build_options_define(&run->build, optarg);
    case 'I':
        return accel__build_options_include(&run->build, optarg);
    case ACCEL__OPTION_REPEAT:
        return accel__take_once(&run->repeat_text, "--repeat");
    case ACCEL__OPTION_TIME:
        run->time = true;
        return ACCEL__EXIT_OK;
    case ACCEL__OPTION_JSON:
        return accel__take_json(&run->json, option);
    default:
        return ACCEL__EXIT_USAGE;
    }
}

static accel__exit parse_values_of_options(run_request *run)
{
    uint64_t repeat = 1;
    accel__exit result = ACCEL__EXIT_OK;
    if (run->grid_text == NULL)
        return accel__cli_misuse(
            "-g is missing; tell how many work-items the kernel has, like -g 1024");
    if (run->repeat_text != NULL && !accel__parse_count(run->repeat_text, 1, REPEAT_MAX, &repeat))
        return accel__cli_misuse("--repeat \"%.60s\" is not a number from 1 to %d; correct it",
                                 run->repeat_text, REPEAT_MAX);
    run->repeat = (uint32_t)repeat;
    result = accel__shape_parse(run->grid_text, "-g", run->shape.items);
    if (result == ACCEL__EXIT_OK && run->block_text != NULL)
        result = accel__shape_parse(run->block_text, "-l", run->shape.block);
    if (result == ACCEL__EXIT_OK && run->block_text != NULL &&
        (run->shape.block[0] == 0 || run->shape.block[1] == 0 || run->shape.block[2] == 0))
        result = accel__cli_misuse("-l \"%.60s\" has a 0; a block has at least one work-item",
                                   run->block_text);
    return result;
}

static accel__exit parse_arguments(run_request *run, int count, char **texts)
{
    run->arguments = calloc((size_t)count + 1, sizeof *run->arguments);
    run->outputs = calloc((size_t)count + 1, sizeof *run->outputs);
    if (run->arguments == NULL || run->outputs == NULL)
        return accel__cli_fail_memory();
    for (int i = 0; i < count; i++) {
        run->argument_count++;
        accel__exit result = accel__argument_parse(texts[i], &run->arguments[i]);
        if (result != ACCEL__EXIT_OK)
            return result;
    }
    return ACCEL__EXIT_OK;
}

/* ---- steps ---- */

static accel__exit read_files(run_request *run, const char *kernel_text)
{
    accel__exit result = accel__kernel_file_read(kernel_text, &run->file);
    for (uint32_t i = 0; result == ACCEL__EXIT_OK && i < run->argument_count; i++)
        result = accel__argument_load(&run->arguments[i]);
    return result;
}

static accel__exit prepare_device(run_request *run)
{
    run->capability.struct_size = sizeof run->capability;
    accel__exit result = accel__choose_device(run->device_text, &run->device);
    if (result != ACCEL__EXIT_OK)
        return result;
    accel_status status = accel_get_device_capability(run->device, &run->capability);
    if (status != ACCEL_OK)
        return accel__cli_fail_status(status);
    return accel__shape_resolve(&run->shape, &run->capability, &run->job.shape);
}

static accel__exit check_arguments(const run_request *run)
{
    const accel_kernel *kernel = run->job.kernel;
    uint32_t count = accel_kernel_param_count(kernel);
    if (!accel_kernel_has_signature(kernel))
        return ACCEL__EXIT_OK;
    if (count != run->argument_count)
        return accel__cli_misuse(
            "kernel %s has %u parameter%s, but %u argument%s given; give one for "
            "each",
            accel_kernel_name(kernel), count, count == 1 ? "" : "s", run->argument_count,
            run->argument_count == 1 ? " is" : "s are");
    for (uint32_t i = 0; i < count; i++) {
        accel_param param;
        accel_status status = accel_kernel_get_param(kernel, i, &param);
        if (status != ACCEL_OK)
            return accel__cli_fail_status(status);
        accel__exit result = accel__argument_check(&run->arguments[i], i, &param);
        if (result != ACCEL__EXIT_OK)
            return result;
    }
    return ACCEL__EXIT_OK;
}

static accel__exit compile(run_request *run)
{
    uint64_t begin = accel__host_clock();
    accel__exit result = accel__kernel_file_load(&run->file, &run->build, run->device,
                                                 &run->module);
    run->job.times.compile = accel__host_clock() - begin;
    if (result == ACCEL__EXIT_OK)
        result = accel__kernel_file_find(&run->file, run->module, &run->job.kernel);
    return result == ACCEL__EXIT_OK ? check_arguments(run) : result;
}

static accel__exit open_outputs(run_request *run)
{
    for (uint32_t i = 0; i < run->argument_count; i++) {
        const char *path = run->arguments[i].output;
        if (path == NULL)
            continue;
        accel__exit result = accel__output_file_open(&run->outputs[i], path);
        for (uint32_t j = 0; result == ACCEL__EXIT_OK && j < i; j++)
            if (run->arguments[j].output != NULL &&
                accel__output_file_same(&run->outputs[i], &run->outputs[j]))
                result = accel__cli_misuse("%s would be written twice; name another file", path);
        if (result != ACCEL__EXIT_OK)
            return result;
    }
    return ACCEL__EXIT_OK;
}

static accel__exit work(run_request *run)
{
    accel__job *job = &run->job;
    if (run->shape.picked)
        accel__cli_note("-l %llu chosen; give -l for another block",
                        (unsigned long long)run->shape.block[0]);
    job->arguments = run->arguments;
    job->argument_count = run->argument_count;
    job->repeat = run->repeat;
    job->timed = run->time || run->json;
    accel__exit result = accel__job_begin(job, run->device, run->capability.timing);
    if (result == ACCEL__EXIT_OK)
        result = accel__job_copy_in(job);
    if (result == ACCEL__EXIT_OK)
        result = accel__job_launch(job);
    if (result == ACCEL__EXIT_OK)
        result = accel__job_copy_out(job);
    return result;
}

static accel__exit write_outputs(run_request *run)
{
    accel__exit result = ACCEL__EXIT_OK;
    for (uint32_t i = 0; result == ACCEL__EXIT_OK && i < run->argument_count; i++) {
        const accel__npy *array = &run->arguments[i].array;
        accel__output_file *file = &run->outputs[i];
        if (run->arguments[i].output == NULL)
            continue;
        result = accel__output_file_write(file, array->header, array->header_size);
        if (result == ACCEL__EXIT_OK)
            result = accel__output_file_write(file, array->data, array->layout.data_size);
        if (result == ACCEL__EXIT_OK)
            result = accel__output_file_finish(file);
    }
    return result;
}

static accel__exit commit_outputs(run_request *run)
{
    accel__exit result = ACCEL__EXIT_OK;
    for (uint32_t i = 0; result == ACCEL__EXIT_OK && i < run->argument_count; i++)
        if (run->arguments[i].output != NULL)
            result = accel__output_file_commit(&run->outputs[i]);
    return result;
}

static accel__exit print_report(const run_request *run)
{
    const accel__run_report report = {
        .device = run->device, .file = run->file.path, .job = &run->job, .items = run->shape.items};
    if (!run->json && !run->time)
        return ACCEL__EXIT_OK;
    accel__cli_take_output();
    if (run->json)
        return accel__run_report_json(&report);
    return accel__run_report_text(&report);
}

static accel__exit perform(run_request *run, int count, char **texts)
{
    if (count == 0)
        return accel__cli_misuse("no kernel is given; see accel run --help");
    accel__exit result = parse_values_of_options(run);
    if (result == ACCEL__EXIT_OK)
        result = parse_arguments(run, count - 1, texts + 1);
    accel__cli_guard_output();
    if (result == ACCEL__EXIT_OK)
        result = read_files(run, texts[0]);
    if (result == ACCEL__EXIT_OK)
        result = prepare_device(run);
    if (result == ACCEL__EXIT_OK)
        result = compile(run);
    if (result == ACCEL__EXIT_OK)
        result = open_outputs(run);
    if (result == ACCEL__EXIT_OK)
        result = work(run);
    if (result == ACCEL__EXIT_OK)
        result = write_outputs(run);
    /* A report that nobody can read is a failure, and a failure leaves no files. */
    if (result == ACCEL__EXIT_OK)
        result = print_report(run);
    return result == ACCEL__EXIT_OK ? commit_outputs(run) : result;
}

static void release(run_request *run)
{
    accel__job_end(&run->job);
    for (uint32_t i = 0; i < run->argument_count; i++) {
        if (run->arguments[i].output != NULL)
            accel__output_file_release(&run->outputs[i]);
        accel__argument_release(&run->arguments[i]);
    }
    accel_module_release(run->module);
    accel__kernel_file_release(&run->file);
    accel__build_options_release(&run->build);
    free(run->arguments);
    free(run->outputs);
}

accel__exit accel__command_run(int argc, char **argv)
{
    static const struct option options[] = {
        {"repeat", required_argument, NULL, ACCEL__OPTION_REPEAT},
        {"time", no_argument, NULL, ACCEL__OPTION_TIME},
        {"json", no_argument, NULL, ACCEL__OPTION_JSON},
        {"help", no_argument, NULL, ACCEL__OPTION_HELP},
        {NULL, 0, NULL, 0}};
    static const accel__options taken = {":d:g:l:D:I:h", options, help, take_option};
    run_request run = {0};
    accel__exit result;
    accel__report_warnings();
    if (accel__take_options(argc, argv, &taken, &run, &result))
        result = perform(&run, argc - optind, argv + optind);
    release(&run);
    return result;
}
