/* SPDX-License-Identifier: MIT
 * base.h: what every public header of accel needs: visibility, attributes, version.
 * The conventions that hold for every function are at the head of <accel/accel.h>.
 */
#ifndef ACCEL_BASE_H
#define ACCEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers. The library's own is accel_version(). */
#define ACCEL_VERSION_MAJOR 0
#define ACCEL_VERSION_MINOR 1
#define ACCEL_VERSION_PATCH 0

#ifdef __cplusplus
#define ACCEL_BEGIN_DECLS extern "C" {
#define ACCEL_END_DECLS }
#else
#define ACCEL_BEGIN_DECLS
#define ACCEL_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ACCEL_API __attribute__((visibility("default")))
#define ACCEL_CHECKED __attribute__((warn_unused_result))
#define ACCEL_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define ACCEL_API
#define ACCEL_CHECKED
#define ACCEL_DEPRECATED(text)
#endif

ACCEL_BEGIN_DECLS

/* accel_version (question): the version of the library that is loaded.
 * Returns major * 10000 + minor * 100 + patch. Never fails. Any thread; fork: harmless. */
ACCEL_API uint32_t accel_version(void);

ACCEL_END_DECLS

#endif /* ACCEL_BASE_H */
