/* random.c: `accel random`: fills an array with random numbers on a device and writes it, or tells its
 * hash, which is the same on every device: docs/random.md has the known answers. */
#include <stdio.h>
#include <stdlib.h>

#include <accel/accel.h>

#include "cli/command.h"
#include "cli/device_choice.h"
#include "cli/draw.h"
#include "cli/json.h"
#include "cli/output_file.h"

static const char help[] =
    "Usage: accel random DIST:DTYPE[SHAPE] (-o FILE.npy | --hash) [--seed S] [--offset N]\n"
    "                    [-d DEVICE] [--json]\n"
    "Fill an array with random numbers. The same seed gives the same bits on every device.\n\n"
    "Distributions, and the types they take:\n"
    "  raw                   the generator's words: u32 i32 u64 i64\n"
    "  uniform               in [0, 1): f16 bf16 f32 f64\n"
    "  normal                mean 0, standard deviation 1: f16 bf16 f32 f64\n"
    "  exponential           mean 1: f16 bf16 f32 f64\n"
    "  integers(LEAST,MOST)  both included: u8 u16 u32 u64 i8 i16 i32 i64\n"
    "  bernoulli(P)          1 with probability P, else 0: bool, integers, floats\n"
    "SHAPE is one or more numbers with commas: normal:f32[1024,3]\n\n"
    "Options:\n"
    "  -o FILE.npy   the file to write; it appears whole or not at all (not for bf16)\n"
    "  --hash        print the array's hash instead: FNV-1a, 64 bits, of its bytes\n"
    "  --seed S      -2^63 to 2^64 - 1; default: 67280421310721\n"
    "  --offset N    where in the seed's sequence to begin, in words of 32 bits, a multiple of 4\n"
    "  -d DEVICE     as 'accel list' names it; default: the current accelerator\n"
    "  --json        print one JSON document with device, seed, offsets and hash;\n"
    "                after a failure it is {\"error\": MESSAGE}\n"
    "  --help        print this text\n";

enum { OPTION_HASH = ACCEL__OPTION_STOP + 100, OPTION_SEED, OPTION_OFFSET };

typedef struct random_request {
    const char *device_text;
    const char *path;
    const char *seed_text;
    const char *offset_text;
    bool hash;
    bool json;
    accel__draw draw;
    uint64_t seed;
    uint64_t offset;
    uint64_t next_offset;
    accel_device device;
    accel_generator *generator;
    void *memory; /* on the device */
    accel__npy array;
    accel__output_file output;
} random_request;

static accel__exit take_option(void *place, int option)
{
    random_request *request = place;
    switch (option) {
    case OPTION_HASH:
        request->hash = true;
        return ACCEL__EXIT_OK;
    case ACCEL__OPTION_JSON:
        return accel__take_json(&request->json, option);
    case 'o':
        return accel__take_once(&request->path, "-o");
    case 'd':
        return accel__take_once(&request->device_text, "-d");
    case OPTION_SEED:
        return accel__take_once(&request->seed_text, "--seed");
    case OPTION_OFFSET:
        return accel__take_once(&request->offset_text, "--offset");
    default:
        return ACCEL__EXIT_USAGE;
    }
}

static accel__exit parse(random_request *request, int count, char **texts)
{
    request->seed = ACCEL_GENERATOR_DEFAULT_SEED;
    if (count != 1)
        return accel__cli_misuse("give one DIST:DTYPE[SHAPE], not %d; see accel random --help",
                                 count);
    if ((request->path != NULL) == request->hash)
        return accel__cli_misuse("give one of -o and --hash; see accel random --help");
    accel__exit result = accel__draw_parse(texts[0], &request->draw);
    if (result == ACCEL__EXIT_OK && request->seed_text != NULL)
        result = accel__draw_parse_seed(request->seed_text, &request->seed);
    if (result == ACCEL__EXIT_OK && request->offset_text != NULL)
        result = accel__draw_parse_offset(request->offset_text, &request->offset);
    if (result == ACCEL__EXIT_OK && request->path != NULL &&
        accel__npy_descr(request->draw.layout.type) == NULL)
        result = accel__cli_misuse("\"%.80s\" has a type that .npy files do not have; use --hash",
                                   texts[0]);
    return result;
}

/* Host memory for the array, with a .npy header where it goes to a file. */
static accel__exit make_array(random_request *request)
{
    accel__npy_problem problem;
    const accel__npy_layout *layout = &request->draw.layout;
    if (request->path != NULL)
        return accel__npy_create(layout, &request->array, &problem)
                   ? ACCEL__EXIT_OK
                   : accel__cli_fail("%s: %s", request->path, problem.text);
    request->array.layout = *layout;
    request->array.data = layout->data_size != 0 ? malloc(layout->data_size) : NULL;
    return request->array.data != NULL || layout->data_size == 0 ? ACCEL__EXIT_OK
                                                                 : accel__cli_fail_memory();
}

static accel_status fill(random_request *request, accel_stream *stream)
{
    const size_t size = request->draw.layout.data_size;
    accel_status status = accel_memory_alloc(stream, size, NULL, &request->memory);
    if (status == ACCEL_OK)
        status = accel__draw_fill(&request->draw, request->memory, request->generator, stream);
    if (status == ACCEL_OK && size != 0)
        status = accel_copy(request->array.data, request->memory, size, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    if (status == ACCEL_OK)
        status = accel_generator_get_offset(request->generator, &request->next_offset);
    return status;
}

static accel__exit work(random_request *request)
{
    accel_stream *stream = NULL;
    accel_status status = accel_generator_create(request->device, &request->generator);
    if (status == ACCEL_OK)
        status = accel_generator_manual_seed(request->generator, request->seed);
    if (status == ACCEL_OK)
        status = accel_generator_set_offset(request->generator, request->offset);
    if (status == ACCEL_OK)
        status = accel_stream_default(request->device, &stream);
    if (status == ACCEL_OK)
        status = fill(request, stream);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

static accel__exit write_file(random_request *request)
{
    const accel__npy *array = &request->array;
    if (request->path == NULL)
        return ACCEL__EXIT_OK;
    accel__exit result = accel__output_file_write(&request->output, array->header,
                                                  array->header_size);
    if (result == ACCEL__EXIT_OK)
        result = accel__output_file_write(&request->output, array->data, array->layout.data_size);
    return result == ACCEL__EXIT_OK ? accel__output_file_finish(&request->output) : result;
}

/* FNV-1a of the bytes as they lie in a .npy file: the machine's, which is little-endian. */
static uint64_t hash_of(const accel__npy *array)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < array->layout.data_size; i++)
        hash = (hash ^ array->data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static json_t *shape_of(const accel__npy_layout *layout)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; shape != NULL && i < layout->dimension_count; i++)
        json_array_append_new(shape, accel__json_size(layout->shape[i]));
    return shape;
}

/* A number of 64 bits as text: JSON readers lose digits of such numbers. */
static json_t *number_text(const char *format, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, format, (unsigned long long)value);
    return accel__json_text(text);
}

static accel__exit print_json(const random_request *request)
{
    char device[ACCEL_DEVICE_NAME_MAX] = "";
    const accel__npy_layout *layout = &request->array.layout;
    json_t *document = json_object();
    accel_device_format(request->device, device, sizeof device, NULL);
    if (document != NULL) {
        accel__json_set(document, "distribution",
                        accel__json_text(accel__draw_name(&request->draw)));
        accel__json_set(document, "type", accel__json_text(accel_data_type_name(layout->type)));
        accel__json_set(document, "shape", shape_of(layout));
        accel__json_set(document, "device", accel__json_text(device));
        accel__json_set(document, "seed", number_text("%llu", request->seed));
        accel__json_set(document, "offset", number_text("%llu", request->offset));
        accel__json_set(document, "next_offset", number_text("%llu", request->next_offset));
        accel__json_set(document, "hash", number_text("%016llx", hash_of(&request->array)));
        accel__json_set(document, "file", accel__json_text(request->path));
    }
    accel__cli_take_output();
    return accel__json_print(document);
}

static accel__exit print_result(const random_request *request)
{
    if (request->json)
        return print_json(request);
    if (!request->hash)
        return ACCEL__EXIT_OK;
    accel__cli_take_output();
    printf("%016llx\n", (unsigned long long)hash_of(&request->array));
    return accel__cli_finish_output();
}

static accel__exit perform(random_request *request, int count, char **texts)
{
    accel__exit result = parse(request, count, texts);
    accel__cli_guard_output();
    if (result == ACCEL__EXIT_OK)
        result = accel__choose_device(request->device_text, &request->device);
    if (result == ACCEL__EXIT_OK)
        result = make_array(request);
    if (result == ACCEL__EXIT_OK && request->path != NULL)
        result = accel__output_file_open(&request->output, request->path);
    if (result == ACCEL__EXIT_OK)
        result = work(request);
    if (result == ACCEL__EXIT_OK)
        result = write_file(request);
    if (result == ACCEL__EXIT_OK)
        result = print_result(request);
    if (result == ACCEL__EXIT_OK && request->path != NULL)
        result = accel__output_file_commit(&request->output);
    return result;
}

static void release(random_request *request)
{
    accel_memory_free(request->memory);
    accel_generator_release(request->generator);
    accel__output_file_release(&request->output);
    accel__npy_release(&request->array);
}

accel__exit accel__command_random(int argc, char **argv)
{
    static const struct option options[] = {{"hash", no_argument, NULL, OPTION_HASH},
                                            {"seed", required_argument, NULL, OPTION_SEED},
                                            {"offset", required_argument, NULL, OPTION_OFFSET},
                                            {"json", no_argument, NULL, ACCEL__OPTION_JSON},
                                            {"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":d:o:h", options, help, take_option};
    random_request request = {0};
    accel__exit result;
    accel__report_warnings();
    if (accel__take_options(argc, argv, &taken, &request, &result))
        result = perform(&request, argc - optind, argv + optind);
    release(&request);
    return result;
}
