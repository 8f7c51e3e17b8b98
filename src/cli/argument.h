/* argument.h: one ARG of `accel run`, for one kernel parameter:
 *
 *   in:FILE.npy               an array that the kernel reads
 *   inout:FILE.npy[:OUT.npy]  an array that comes back, over FILE or to OUT
 *   out:FILE.npy:f32[1024,3]  a new array, zeroed before the kernel runs
 *   f32:2.5  u32:7  i64:-1    a value; "f32:1,2,3,4" for a vector
 *   local:BYTES               memory shared by a block
 *
 * A name with a colon is allowed: inout is split behind ".npy" only, out at its last colon. */
#ifndef ACCEL_CLI_ARGUMENT_H
#define ACCEL_CLI_ARGUMENT_H

#include <accel/kernel.h>

#include "cli/npy.h"
#include "cli/report.h"

typedef enum accel__argument_kind {
    ACCEL__ARGUMENT_IN,
    ACCEL__ARGUMENT_INOUT,
    ACCEL__ARGUMENT_OUT,
    ACCEL__ARGUMENT_VALUE,
    ACCEL__ARGUMENT_LOCAL
} accel__argument_kind;

enum { ACCEL__VALUE_MAX = 128 }; /* sixteen lanes of eight bytes */

typedef struct accel__argument {
    accel__argument_kind kind;
    const char *text;     /* as given; lent */
    char *input;          /* file to read; NULL where none */
    char *output;         /* file to write; NULL where none */
    accel__npy array;     /* of in, inout and out once loaded */
    accel_data_type type; /* of a value, and of out */
    uint32_t lanes;       /* of a value: how many numbers were given */
    size_t size;          /* bytes of local memory */
    unsigned char value[ACCEL__VALUE_MAX];
} accel__argument;

/* Parses the text; touches no file. Released in any case. */
accel__exit accel__argument_parse(const char *text, accel__argument *out_argument);

/* Reads the file of in and inout; makes the array of out. */
accel__exit accel__argument_load(accel__argument *argument);

/* Checks against the parameter at `index` (0-based) of the kernel. */
accel__exit accel__argument_check(const accel__argument *argument, uint32_t index,
                                  const accel_param *param);

void accel__argument_release(accel__argument *argument);

#endif
