/* kernel_file.c: see kernel_file.h. */
#include "cli/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- -D and -I ---- */

static bool is_identifier(const char *text, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return size > 0 && strspn(text, letters) > 0 && strspn(text, more) >= size;
}

accel__exit accel__build_options_define(accel__build_options *options, const char *text)
{
    size_t size = strcspn(text, "=");
    if (!is_identifier(text, size))
        return accel__cli_misuse(
            "-D \"%.60s\" does not begin with a macro's name; write -D NAME or "
            "-D NAME=VALUE",
            text);
    accel_define *grown = reallocarray(options->defines, options->define_count + 1, sizeof *grown);
    if (grown == NULL)
        return accel__cli_fail_memory();
    options->defines = grown;
    char *name = strndup(text, size);
    char *value = text[size] == '=' ? strdup(text + size + 1) : NULL;
    grown[options->define_count++] = (accel_define){name, value};
    return name == NULL || (value == NULL && text[size] == '=') ? accel__cli_fail_memory()
                                                                : ACCEL__EXIT_OK;
}

accel__exit accel__build_options_include(accel__build_options *options, const char *path)
{
    const char **grown = reallocarray(options->include_paths, options->include_path_count + 1,
                                      sizeof *grown);
    if (grown == NULL)
        return accel__cli_fail_memory();
    options->include_paths = grown;
    grown[options->include_path_count++] = path;
    return ACCEL__EXIT_OK;
}

void accel__build_options_release(accel__build_options *options)
{
    for (uint32_t i = 0; i < options->define_count; i++) {
        free((char *)options->defines[i].name);
        free((char *)options->defines[i].value);
    }
    free(options->defines);
    free(options->include_paths);
    memset(options, 0, sizeof *options);
}

/* ---- the file ---- */

/* Reads to the end of the file, which may be a pipe. False with errno set. */
static bool read_all(int descriptor, char **out_bytes, size_t *out_size)
{
    size_t capacity = 0;
    for (;;) {
        if (*out_size == capacity) {
            capacity = capacity > 0 ? capacity * 2 : 16384;
            char *grown = realloc(*out_bytes, capacity);
            if (grown == NULL)
                return false;
            *out_bytes = grown;
        }
        ssize_t got = read(descriptor, *out_bytes + *out_size, capacity - *out_size);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        *out_size += got > 0 ? (size_t)got : 0;
    }
}

/* "FILE:NAME" where the whole names no file and NAME is an identifier. */
static bool split(const char *text, accel__kernel_file *file)
{
    struct stat status;
    const char *colon = strrchr(text, ':');
    bool whole = colon == NULL || colon == text || stat(text, &status) == 0 ||
                 !is_identifier(colon + 1, strlen(colon + 1));
    file->path = whole ? strdup(text) : strndup(text, (size_t)(colon - text));
    if (!whole)
        file->kernel_name = strdup(colon + 1);
    return file->path != NULL && (whole || file->kernel_name != NULL);
}

/* Objects begin with ELF's mark, or have a NUL byte in their first words; a source has neither. */
static bool is_object(const char *bytes, size_t size)
{
    static const char elf[4] = {0x7f, 'E', 'L', 'F'};
    enum { HEAD = 16 };
    if (size >= sizeof elf && memcmp(bytes, elf, sizeof elf) == 0)
        return true;
    return size >= HEAD && memchr(bytes, '\0', HEAD) != NULL;
}

accel__exit accel__kernel_file_read(const char *text, accel__kernel_file *out_file)
{
    memset(out_file, 0, sizeof *out_file);
    if (!split(text, out_file))
        return accel__cli_fail_memory();
    int descriptor = open(out_file->path, O_RDONLY | O_CLOEXEC);
    bool done = descriptor >= 0 && read_all(descriptor, &out_file->bytes, &out_file->size);
    int code = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (!done)
        return accel__cli_fail("%s: cannot be read: %s; look at the name and its rights",
                               out_file->path, strerror(code));
    out_file->is_native = is_object(out_file->bytes, out_file->size);
    return ACCEL__EXIT_OK;
}

void accel__kernel_file_release(accel__kernel_file *file)
{
    free(file->path);
    free(file->kernel_name);
    free(file->bytes);
    memset(file, 0, sizeof *file);
}

/* ---- modules ---- */

static accel_module_options make_options(const accel__kernel_file *file,
                                         const accel__build_options *options)
{
    return (accel_module_options){.struct_size = sizeof(accel_module_options),
                                  .define_count = options->define_count,
                                  .defines = options->defines,
                                  .include_paths = options->include_paths,
                                  .include_path_count = options->include_path_count,
                                  .file_name = file->path};
}

/* The compiler's words, as they are: warnings of a good build too. One line alone would only repeat
 * the error message that follows. */
static void print_log(const accel_module *module, bool failed)
{
    const char *log = module != NULL ? accel_module_build_log(module) : "";
    size_t size = strlen(log);
    const char *line_end = strchr(log, '\n');
    bool one_line = line_end == NULL || line_end[1] == '\0';
    if (size > 0 && !(failed && one_line))
        fprintf(stderr, "%s%s", log, log[size - 1] != '\n' ? "\n" : "");
}

static accel__exit fail_build(accel_status status)
{
    if (status == ACCEL_ERROR_BUILD_FAILED)
        return accel__cli_fail("%s; correct the source", accel_last_error_message());
    return accel__cli_fail_status(status);
}

accel__exit accel__kernel_file_load(const accel__kernel_file *file,
                                    const accel__build_options *options, accel_device device,
                                    accel_module **out_module)
{
    accel_status status;
    *out_module = NULL;
    if (file->is_native && (options->define_count > 0 || options->include_path_count > 0))
        return accel__cli_misuse("%s is compiled already; leave out -D and -I", file->path);
    if (file->is_native) {
        status = accel_module_create_from_native(device, file->bytes, file->size, out_module);
        if (status == ACCEL_OK)
            return ACCEL__EXIT_OK;
        return accel__cli_fail("%s: %s; make it again with accel build", file->path,
                               accel_last_error_message());
    }
    accel_module_options module_options = make_options(file, options);
    status = accel_module_create_from_source(device, file->bytes, file->size, &module_options,
                                             out_module);
    print_log(*out_module, status != ACCEL_OK);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : fail_build(status);
}

accel__exit accel__kernel_file_build(const accel__kernel_file *file,
                                     const accel__build_options *options, accel_device device,
                                     void **out_object, size_t *out_size)
{
    accel_module *log = NULL;
    if (file->is_native)
        return accel__cli_misuse("%s is compiled already; give a source file", file->path);
    accel_module_options module_options = make_options(file, options);
    accel_status status = accel_module_build_native(device, file->bytes, file->size,
                                                    &module_options, out_object, out_size, &log);
    print_log(log, status != ACCEL_OK);
    accel_module_release(log);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : fail_build(status);
}

/* "saxpy, dot", cut where there are very many. */
static void list_kernels(const accel_module *module, char *names, size_t capacity)
{
    size_t used = 0;
    names[0] = '\0';
    for (uint32_t i = 0; i < accel_module_kernel_count(module) && used < capacity; i++) {
        accel_kernel *kernel = NULL;
        if (accel_module_get_kernel_at(module, i, &kernel) == ACCEL_OK)
            used += (size_t)snprintf(names + used, capacity - used, "%s%s", i > 0 ? ", " : "",
                                     accel_kernel_name(kernel));
    }
}

accel__exit accel__kernel_file_find(const accel__kernel_file *file, const accel_module *module,
                                    accel_kernel **out_kernel)
{
    char names[512];
    uint32_t count = accel_module_kernel_count(module);
    list_kernels(module, names, sizeof names);
    if (count == 0)
        return accel__cli_fail("%s: has no kernel; declare one with __kernel void", file->path);
    if (file->kernel_name == NULL && count > 1)
        return accel__cli_misuse(
            "%s has several kernels; name one of %s behind a colon, like %s:NAME", file->path,
            names, file->path);
    if (file->kernel_name == NULL)
        return accel_module_get_kernel_at(module, 0, out_kernel) == ACCEL_OK
                   ? ACCEL__EXIT_OK
                   : accel__cli_fail_status(ACCEL_ERROR_INTERNAL);
    if (accel_module_get_kernel(module, file->kernel_name, out_kernel) != ACCEL_OK)
        return accel__cli_fail("%s: has no kernel \"%s\"; it has %s", file->path, file->kernel_name,
                               names);
    return ACCEL__EXIT_OK;
}
