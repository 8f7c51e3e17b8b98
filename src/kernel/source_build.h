/* source_build.h: from portable source to a compiled object: translation into the backend's dialect,
 * then the disk cache or the backend's compiler. Used by source_module.c. */
#ifndef ACCEL_KERNEL_SOURCE_BUILD_H
#define ACCEL_KERNEL_SOURCE_BUILD_H

#include "core/module.h"
#include "kernel/cache/cache.h"
#include "kernel/preprocess/preprocess.h"
#include "kernel/tree/program.h"

/* One build. Lives on the stack of a public function; the first block is filled by it, the rest zeroed.
 * The device is in use. */
typedef struct accel__source_build {
    accel__device *device;
    const char *function; /* the public one, for records */
    const char *source;
    size_t size;
    accel_module_options options;

    accel__diagnostics diagnostics;
    accel__unit unit;
    accel__program *program;
    accel__text text; /* in the backend's dialect */
    accel__cache_key key;
    accel__text compiler_log;
    accel__text object; /* "" where the backend has none to show */
    bool from_cache;
} accel__source_build;

/* The dialect that the device's compiler takes. */
accel_dialect accel__source_dialect(const accel__source_build *build);

/* Preprocesses, parses and translates. BUILD_FAILED: the diagnostics say what is wrong. */
accel_status accel__source_translate(accel__source_build *build);

/* Makes the object: out of the cache, or where that has none (or `anew`) by the backend's compiler. */
accel_status accel__source_compile(accel__source_build *build, bool anew);

/* Stores what was compiled, for the next process. */
void accel__source_keep(const accel__source_build *build);

/* Moves all that was said during the build to the end of *out_log. */
void accel__source_take_log(accel__source_build *build, accel__text *out_log);

void accel__source_release(accel__source_build *build);

#endif
