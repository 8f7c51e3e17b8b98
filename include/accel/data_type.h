/* SPDX-License-Identifier: MIT
 * data_type.h: the scalar types that devices store and kernels take. Any thread may call any of these
 * functions.
 */
#ifndef ACCEL_DATA_TYPE_H
#define ACCEL_DATA_TYPE_H

#include <accel/base.h>

ACCEL_BEGIN_DECLS

/* The one list: constant, number, size in bytes, short name. Numbers never change; they are the bit
 * positions in accel_device_capability.data_types. */
#define ACCEL_DATA_TYPE_LIST(X)                                                                    \
    X(ACCEL_DATA_TYPE_U8, 1, 1, "u8")                                                              \
    X(ACCEL_DATA_TYPE_I8, 2, 1, "i8")                                                              \
    X(ACCEL_DATA_TYPE_U16, 3, 2, "u16")                                                            \
    X(ACCEL_DATA_TYPE_I16, 4, 2, "i16")                                                            \
    X(ACCEL_DATA_TYPE_U32, 5, 4, "u32")                                                            \
    X(ACCEL_DATA_TYPE_I32, 6, 4, "i32")                                                            \
    X(ACCEL_DATA_TYPE_U64, 7, 8, "u64")                                                            \
    X(ACCEL_DATA_TYPE_I64, 8, 8, "i64")                                                            \
    X(ACCEL_DATA_TYPE_F16, 9, 2, "f16")                                                            \
    X(ACCEL_DATA_TYPE_BF16, 10, 2, "bf16")                                                         \
    X(ACCEL_DATA_TYPE_F32, 11, 4, "f32")                                                           \
    X(ACCEL_DATA_TYPE_F64, 12, 8, "f64")                                                           \
    X(ACCEL_DATA_TYPE_BOOL, 13, 1, "bool")                                                         \
    X(ACCEL_DATA_TYPE_C64, 14, 8, "c64")                                                           \
    X(ACCEL_DATA_TYPE_C128, 15, 16, "c128")

typedef enum accel_data_type {
    ACCEL_DATA_TYPE_NONE = 0, /* unknown, or not a scalar */
#define ACCEL_DATA_TYPE_ENUM(name, number, size, text) name = number,
    ACCEL_DATA_TYPE_LIST(ACCEL_DATA_TYPE_ENUM)
#undef ACCEL_DATA_TYPE_ENUM
        ACCEL_DATA_TYPE_MAX_ENUM = 0x7fffffff
} accel_data_type;

/* The bit of a type in accel_device_capability.data_types. */
#define ACCEL_DATA_TYPE_BIT(type) (UINT64_C(1) << (type))

/* accel_data_type_size (question): bytes of one element, 0 for NONE and unknown numbers. */
ACCEL_API size_t accel_data_type_size(accel_data_type type);

/* accel_data_type_name (question): "f32"; "none" for NONE and unknown numbers. Static string. */
ACCEL_API const char *accel_data_type_name(accel_data_type type);

/* accel_data_type_parse (question): the type with that short name, NONE where there is none or
 * `name` is NULL. Any thread. */
ACCEL_API accel_data_type accel_data_type_parse(const char *name);

ACCEL_END_DECLS

#endif /* ACCEL_DATA_TYPE_H */
