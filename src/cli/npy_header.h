/* npy_header.h: the Python dictionary in a .npy header. Only npy.c calls this. */
#ifndef ACCEL_CLI_NPY_HEADER_H
#define ACCEL_CLI_NPY_HEADER_H

#include "cli/npy.h"

/* Always false, so that a caller can return it. */
bool accel__npy_refuse(accel__npy_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" of `size` bytes. Sets type,
 * order, dimension_count and shape. */
bool accel__npy_parse_dictionary(const char *text, size_t size, accel__npy_layout *out_layout,
                                 accel__npy_problem *problem);

#endif
