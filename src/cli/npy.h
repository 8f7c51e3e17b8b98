/* npy.h: arrays in .npy files, versions 1.0, 2.0 and 3.0, of every numeric type of fixed size that
 * accel has a name for. Knows nothing of kernels; `accel run` and its tests call it.
 *
 * What is refused is refused by name: see accel__npy_problem. Nothing is believed: the header is
 * parsed within its bounds, and sizes are compared with the file before memory is taken. */
#ifndef ACCEL_CLI_NPY_H
#define ACCEL_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/data_type.h>

enum {
    ACCEL__NPY_DIMENSION_MAX = 64,
    ACCEL__NPY_PREFIX_SIZE = 12,         /* what accel__npy_header_size wants to see at most */
    ACCEL__NPY_HEADER_MAX = 1024 * 1024, /* longer headers are refused */
    ACCEL__NPY_PROBLEM_MAX = 256
};

/* Why a file was refused: "what; what to do", without the file's name. */
typedef struct accel__npy_problem {
    char text[ACCEL__NPY_PROBLEM_MAX];
} accel__npy_problem;

typedef struct accel__npy_layout {
    accel_data_type type;
    bool fortran_order;
    uint32_t dimension_count; /* 0: one element */
    uint64_t shape[ACCEL__NPY_DIMENSION_MAX];
    size_t element_count; /* the product of the shape */
    size_t data_size;     /* bytes: element_count times the type's size */
} accel__npy_layout;

typedef struct accel__npy {
    accel__npy_layout layout;
    uint8_t *header; /* magic, length and dictionary as they stood in the file */
    size_t header_size;
    uint8_t *data; /* NULL where data_size is 0 */
} accel__npy;

/* Sets element_count and data_size from type and shape. False where the product overflows. */
bool accel__npy_measure(accel__npy_layout *layout, accel__npy_problem *problem);

/* How many bytes come before the data, told by the first `size` bytes of a file (at least
 * ACCEL__NPY_PREFIX_SIZE, or all there are). */
bool accel__npy_header_size(const uint8_t *bytes, size_t size, size_t *out_header_size,
                            accel__npy_problem *problem);

/* Reads a whole header of exactly `size` bytes, as accel__npy_header_size told. */
bool accel__npy_parse(const uint8_t *header, size_t size, accel__npy_layout *out_layout,
                      accel__npy_problem *problem);

/* Reads a file (a pipe too). What is there must be one array, no less and no more. The result is
 * released with accel__npy_release, also after a failure. */
bool accel__npy_read(const char *path, accel__npy *out_array, accel__npy_problem *problem);

/* Makes a new array: header for `layout` (measured, of a type that .npy has) and zeroed data. */
bool accel__npy_create(const accel__npy_layout *layout, accel__npy *out_array,
                       accel__npy_problem *problem);

void accel__npy_release(accel__npy *array);

/* "<f4"; NULL for a type that .npy files cannot hold (bf16). */
const char *accel__npy_descr(accel_data_type type);

#endif
