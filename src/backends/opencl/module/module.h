/* module.h: the kernel group of this backend: compile.c (text to object), object.c (what an object is),
 * module.c (object to kernels), launch.c. */
#ifndef ACCEL_OPENCL_MODULE_H
#define ACCEL_OPENCL_MODULE_H

#include "backends/opencl/device.h"
#include "base/text.h"
#include "platform/mutex.h"

typedef struct accel__opencl_module accel__opencl_module;

/* What a kernel does that a driver may get wrong; the kernel translator finds it. */
enum {
    ACCEL__OPENCL_LEAVES = 1, /* some work-items return before a barrier that others reach */
    ACCEL__OPENCL_JUMPS = 2   /* a switch or a function's return jumps past a barrier */
};

/* The core's accel_native_function. */
typedef struct accel__opencl_function {
    accel__opencl_device *device;
    /* How the device takes a pointer; NULL: as a buffer and an offset in bytes. */
    cl_int (*set_pointer)(cl_kernel kernel, cl_uint index, const void *pointer);
    const char *fault; /* why the device's driver cannot run it; NULL: it can */
    uint32_t notes;
    /* OpenCL keeps arguments in the kernel until it is queued: setting them and queueing are one step.
     * Guards `kernel`; taken before a stream's mutex. */
    accel__mutex mutex;
    cl_kernel kernel;
    accel_backend_function facts; /* lent texts are the module's */
} accel__opencl_function;

/* The core's accel_native_module. */
struct accel__opencl_module {
    const accel__opencl_api *api;
    cl_program program;
    char *facts; /* the text that names and parameters point into */
    accel_param *params;
    uint32_t function_count;
    accel__opencl_function functions[];
};

/* ---- the group ---- */

accel_dialect accel__opencl_dialect(accel_native_device *device);
accel_status accel__opencl_compiler_key(accel_native_device *device, char *buffer, size_t capacity);
accel_status accel__opencl_compile(accel_native_device *device, const char *text, size_t size,
                                   const accel_backend_build *build);
accel_status accel__opencl_load(accel_native_device *device, const void *object, size_t size,
                                accel_native_module **out_module);
void accel__opencl_unload(accel_native_module *module);
uint32_t accel__opencl_function_count(accel_native_module *module);
accel_status accel__opencl_function_get(accel_native_module *module, uint32_t index,
                                        accel_backend_function *out_function);
accel_status accel__opencl_launch(accel_native_stream *stream, accel_native_function *function,
                                  const accel_launch_shape *shape, const accel_kernel_arg *args,
                                  uint32_t arg_count);

/* What an object of the device's driver depends on: the compiler key also where there is no compiler. */
accel_status accel__opencl_maker(const accel__opencl_device *device, char *buffer, size_t capacity);

/* ---- program.c ---- */

/* What clBuildProgram is told on this device. Static. */
const char *accel__opencl_build_options(const accel__opencl_device *device);

/* The whole log of the last build of the program, NUL-terminated, to be freed; NULL where there is none
 * or the driver does not give it, which is no failure. */
char *accel__opencl_build_log(const accel__opencl_device *device, cl_program program);

/* The driver's own object of a built program, to be freed. False where it gives none. */
bool accel__opencl_get_binary(const accel__opencl_device *device, cl_program program,
                              void **out_binary, size_t *out_size);

/* A built program; NULL after a failure, with the code and the call that gave it. A program that could
 * not be built is handed out in *out_failed, to be asked for its log and released. */
cl_program accel__opencl_build_text(const accel__opencl_device *device, const char *text,
                                    size_t size, cl_program *out_failed, cl_int *out_code,
                                    const char **out_call);
cl_program accel__opencl_build_binary(const accel__opencl_device *device, const void *binary,
                                      size_t size, cl_int *out_code, const char **out_call);

/* ---- object.c ---- */

typedef enum accel__opencl_form {
    ACCEL__OPENCL_FORM_BINARY = 1, /* the driver's own object */
    ACCEL__OPENCL_FORM_TEXT = 2 /* the text again, where the driver gives none that it takes back */
} accel__opencl_form;

/* An object taken apart; everything is lent by it. */
typedef struct accel__opencl_object {
    accel__opencl_form form;
    accel_dialect dialect;
    const char *maker; /* the compiler key of whoever made it */
    size_t maker_size;
    const char *facts; /* see facts.c */
    size_t facts_size;
    const void *payload;
    size_t payload_size;
} accel__opencl_object;

/* Appends the object's bytes. */
void accel__opencl_object_write(const accel__opencl_object *object, accel__text *out_bytes);

/* False: the bytes are no whole object of ours; *out_fault says why. */
bool accel__opencl_object_read(const void *bytes, size_t size, accel__opencl_object *out_object,
                               const char **out_fault);

/* ---- facts.c ---- */

/* The part of a text of our dialects that tells its kernels; 0: there is none. */
size_t accel__opencl_facts_size(const char *text, size_t size);

/* A module with the functions that the facts tell, without program and kernels. Errors:
 * INVALID_ARGUMENT (no facts of ours), OUT_OF_HOST_MEMORY. */
accel_status accel__opencl_facts_read(const char *facts, size_t size,
                                      accel__opencl_module **out_module);
void accel__opencl_facts_release(accel__opencl_module *module);

#endif
