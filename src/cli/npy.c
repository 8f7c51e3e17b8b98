/* npy.c: files around the header's dictionary. See npy.h. */
#include "cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/npy_header.h"

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

enum { MAGIC_SIZE = sizeof magic, HEADER_ALIGNMENT = 64, SMALL_PREFIX = 10, LARGE_PREFIX = 12 };

static bool refuse_short_header(accel__npy_problem *problem)
{
    return accel__npy_refuse(problem, "the file ends inside its .npy header; save the array again");
}

bool accel__npy_measure(accel__npy_layout *layout, accel__npy_problem *problem)
{
    /* As NumPy does, the product of the other dimensions must fit also where one is 0. */
    uint64_t product = accel_data_type_size(layout->type);
    bool empty = false;
    bool overflow = false;
    for (uint32_t i = 0; i < layout->dimension_count; i++) {
        if (layout->shape[i] == 0)
            empty = true;
        else
            overflow |= __builtin_mul_overflow(product, layout->shape[i], &product);
    }
    if (overflow || product > PTRDIFF_MAX)
        return accel__npy_refuse(problem, "the product of its shape overflows; save the array "
                                          "again or split it");
    layout->data_size = empty ? 0 : (size_t)product;
    layout->element_count = layout->data_size / accel_data_type_size(layout->type);
    return true;
}

bool accel__npy_header_size(const uint8_t *bytes, size_t size, size_t *out_header_size,
                            accel__npy_problem *problem)
{
    if (size < MAGIC_SIZE || memcmp(bytes, magic, MAGIC_SIZE) != 0)
        return accel__npy_refuse(problem, "not a .npy file; save the array with numpy.save()");
    if (size < SMALL_PREFIX)
        return refuse_short_header(problem);
    unsigned major = bytes[6];
    if (major < 1 || major > 3 || bytes[7] != 0)
        return accel__npy_refuse(problem,
                                 ".npy version %u.%u is unknown; save it as 1.0, 2.0 or "
                                 "3.0",
                                 major, (unsigned)bytes[7]);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    size_t prefix = SMALL_PREFIX;
    if (major > 1) {
        if (size < LARGE_PREFIX)
            return refuse_short_header(problem);
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        prefix = LARGE_PREFIX;
    }
    if (length > ACCEL__NPY_HEADER_MAX)
        return accel__npy_refuse(problem,
                                 "its header claims %zu bytes, more than any array of "
                                 "numbers needs; save the array again",
                                 length);
    *out_header_size = prefix + length;
    return true;
}

bool accel__npy_parse(const uint8_t *header, size_t size, accel__npy_layout *out_layout,
                      accel__npy_problem *problem)
{
    size_t told = 0;
    memset(out_layout, 0, sizeof *out_layout);
    if (!accel__npy_header_size(header, size, &told, problem))
        return false;
    if (told != size)
        return refuse_short_header(problem);
    size_t prefix = header[6] == 1 ? SMALL_PREFIX : LARGE_PREFIX;
    return accel__npy_parse_dictionary((const char *)header + prefix, size - prefix, out_layout,
                                       problem) &&
           accel__npy_measure(out_layout, problem);
}

/* Reads up to `size` bytes; fewer only at the end of the file. False on an error. */
static bool read_bytes(int file, uint8_t *bytes, size_t size, size_t *out_got,
                       accel__npy_problem *problem)
{
    *out_got = 0;
    while (*out_got < size) {
        ssize_t got = read(file, bytes + *out_got, size - *out_got);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return accel__npy_refuse(problem, "cannot be read: %s; look at the file",
                                     strerror(errno));
        if (got == 0)
            break;
        *out_got += (size_t)got;
    }
    return true;
}

static bool read_header(int file, accel__npy *array, accel__npy_problem *problem)
{
    uint8_t prefix[ACCEL__NPY_PREFIX_SIZE];
    size_t got = 0;
    size_t size = 0;
    if (!read_bytes(file, prefix, sizeof prefix, &got, problem) ||
        !accel__npy_header_size(prefix, got, &size, problem))
        return false;
    array->header = calloc(1, size > sizeof prefix ? size : sizeof prefix);
    if (array->header == NULL)
        return accel__npy_refuse(problem, "out of memory for its header; free some");
    memcpy(array->header, prefix, got);
    /* A header may end within the prefix: it is too short for a dictionary, and parsing says so. */
    size_t missing = size > got ? size - got : 0;
    size_t rest = 0;
    if (!read_bytes(file, array->header + got, missing, &rest, problem))
        return false;
    if (rest < missing)
        return refuse_short_header(problem);
    array->header_size = size;
    return accel__npy_parse(array->header, size, &array->layout, problem);
}

static bool refuse_data(const char *how, size_t wanted, accel__npy_problem *problem)
{
    return accel__npy_refuse(problem,
                             "its data is %s: the header tells %zu bytes; save the array "
                             "again",
                             how, wanted);
}

/* A regular file tells its size, which is compared before memory is taken for a lying header. */
static bool check_file_size(int file, const accel__npy *array, accel__npy_problem *problem)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    uint64_t actual = (uint64_t)status.st_size - array->header_size;
    if (actual < array->layout.data_size)
        return refuse_data("too short", array->layout.data_size, problem);
    if (actual > array->layout.data_size)
        return refuse_data("too long", array->layout.data_size, problem);
    return true;
}

static bool read_data(int file, accel__npy *array, accel__npy_problem *problem)
{
    size_t size = array->layout.data_size;
    size_t got = 0;
    uint8_t extra;
    if (!check_file_size(file, array, problem))
        return false;
    if (size > 0) {
        array->data = malloc(size);
        if (array->data == NULL)
            return accel__npy_refuse(problem, "out of memory for its %zu bytes; free some", size);
        if (!read_bytes(file, array->data, size, &got, problem))
            return false;
        if (got < size)
            return refuse_data("too short", size, problem);
    }
    if (!read_bytes(file, &extra, 1, &got, problem))
        return false;
    return got == 0 || refuse_data("too long", size, problem);
}

bool accel__npy_read(const char *path, accel__npy *out_array, accel__npy_problem *problem)
{
    memset(out_array, 0, sizeof *out_array);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return accel__npy_refuse(problem, "cannot be opened: %s; look at the name and its rights",
                                 strerror(errno));
    bool done = read_header(file, out_array, problem) && read_data(file, out_array, problem);
    close(file);
    return done;
}

const char *accel__npy_descr(accel_data_type type)
{
    switch (type) {
    case ACCEL_DATA_TYPE_BOOL:
        return "|b1";
    case ACCEL_DATA_TYPE_I8:
        return "|i1";
    case ACCEL_DATA_TYPE_I16:
        return "<i2";
    case ACCEL_DATA_TYPE_I32:
        return "<i4";
    case ACCEL_DATA_TYPE_I64:
        return "<i8";
    case ACCEL_DATA_TYPE_U8:
        return "|u1";
    case ACCEL_DATA_TYPE_U16:
        return "<u2";
    case ACCEL_DATA_TYPE_U32:
        return "<u4";
    case ACCEL_DATA_TYPE_U64:
        return "<u8";
    case ACCEL_DATA_TYPE_F16:
        return "<f2";
    case ACCEL_DATA_TYPE_F32:
        return "<f4";
    case ACCEL_DATA_TYPE_F64:
        return "<f8";
    case ACCEL_DATA_TYPE_C64:
        return "<c8";
    case ACCEL_DATA_TYPE_C128:
        return "<c16";
    default:
        return NULL;
    }
}

/* Writes the dictionary as NumPy does. Gives its length. */
static size_t print_dictionary(const accel__npy_layout *layout, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(
        text, capacity, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
        accel__npy_descr(layout->type), layout->fortran_order ? "True" : "False");
    for (uint32_t i = 0; i < layout->dimension_count; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)layout->shape[i]);
    used += (size_t)snprintf(text + used, capacity - used, "%s), }",
                             layout->dimension_count == 1 ? "," : "");
    return used;
}

static bool make_header(accel__npy *array, accel__npy_problem *problem)
{
    /* 64 dimensions of up to 20 digits each and what stands around them */
    char text[ACCEL__NPY_DIMENSION_MAX * 22 + 128];
    size_t length = print_dictionary(&array->layout, text, sizeof text);
    size_t unpadded = SMALL_PREFIX + length + 1;
    size_t size = (unpadded + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    array->header = malloc(size);
    if (array->header == NULL)
        return accel__npy_refuse(problem, "out of memory for its header; free some");
    memset(array->header, ' ', size);
    memcpy(array->header, magic, MAGIC_SIZE);
    array->header[6] = 1;
    array->header[7] = 0;
    array->header[8] = (uint8_t)(size - SMALL_PREFIX);
    array->header[9] = (uint8_t)((size - SMALL_PREFIX) >> 8);
    memcpy(array->header + SMALL_PREFIX, text, length);
    array->header[size - 1] = '\n';
    array->header_size = size;
    return true;
}

bool accel__npy_create(const accel__npy_layout *layout, accel__npy *out_array,
                       accel__npy_problem *problem)
{
    memset(out_array, 0, sizeof *out_array);
    if (accel__npy_descr(layout->type) == NULL)
        return accel__npy_refuse(problem, ".npy files have no type %s; use another one",
                                 accel_data_type_name(layout->type));
    out_array->layout = *layout;
    if (!make_header(out_array, problem))
        return false;
    if (layout->data_size > 0) {
        out_array->data = calloc(1, layout->data_size);
        if (out_array->data == NULL)
            return accel__npy_refuse(problem, "out of memory for its %zu bytes; free some",
                                     layout->data_size);
    }
    return true;
}

void accel__npy_release(accel__npy *array)
{
    free(array->header);
    free(array->data);
    memset(array, 0, sizeof *array);
}
