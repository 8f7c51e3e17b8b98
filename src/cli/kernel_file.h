/* kernel_file.h: the file with the kernels, and how it is compiled: -D and -I. Called by run and
 * build. */
#ifndef ACCEL_CLI_KERNEL_FILE_H
#define ACCEL_CLI_KERNEL_FILE_H

#include <accel/kernel.h>

#include "cli/report.h"

/* What -D and -I collect. The arrays grow with accel__build_options_add_…. */
typedef struct accel__build_options {
    accel_define *defines;      /* names and values are owned */
    const char **include_paths; /* lent by the command line */
    uint32_t define_count;
    uint32_t include_path_count;
} accel__build_options;

/* "NAME" or "NAME=VALUE". */
accel__exit accel__build_options_define(accel__build_options *options, const char *text);
accel__exit accel__build_options_include(accel__build_options *options, const char *path);
void accel__build_options_release(accel__build_options *options);

typedef struct accel__kernel_file {
    char *path;
    char *kernel_name; /* NULL: the file has one kernel */
    char *bytes;
    size_t size;
    bool is_native; /* an object of `accel build`, not source */
} accel__kernel_file;

/* Takes "FILE[:NAME]" apart, where a file whose name has a colon wins, and reads the file. Released
 * in any case. */
accel__exit accel__kernel_file_read(const char *text, accel__kernel_file *out_file);
void accel__kernel_file_release(accel__kernel_file *file);

/* Makes the module; the compiler's words go to standard error. `command` is for messages. */
accel__exit accel__kernel_file_load(const accel__kernel_file *file,
                                    const accel__build_options *options, accel_device device,
                                    accel_module **out_module);

/* Compiles source to a native object, freed with accel_module_free_native. */
accel__exit accel__kernel_file_build(const accel__kernel_file *file,
                                     const accel__build_options *options, accel_device device,
                                     void **out_object, size_t *out_size);

/* The kernel that was named, or the only one. */
accel__exit accel__kernel_file_find(const accel__kernel_file *file, const accel_module *module,
                                    accel_kernel **out_kernel);

#endif
