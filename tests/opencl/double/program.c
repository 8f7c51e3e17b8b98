/* program.c: programs and kernels of the double. A binary is the beginning of the text behind a mark. */
#include "double.h"

enum { BINARY_SIZE = 4096 };

cl_program double_clCreateProgramWithSource(cl_context in, cl_uint count, const char **texts,
                                            const size_t *sizes, cl_int *out_code)
{
    (void)in, (void)count;
    FAIL_OBJECT();
    program *made = double_make(sizeof *made);
    made->text = calloc(1, sizes[0] + 1);
    memcpy(made->text, texts[0], sizes[0]);
    return (cl_program)made;
}

cl_program double_clCreateProgramWithBinary(cl_context in, cl_uint count,
                                            const cl_device_id *devices, const size_t *sizes,
                                            const unsigned char **bytes, cl_int *out_status,
                                            cl_int *out_code)
{
    (void)in, (void)count, (void)devices;
    FAIL_OBJECT();
    *out_status = CL_SUCCESS;
    if (double_knob("one-way", 0) != 0 || sizes[0] != BINARY_SIZE ||
        memcmp(bytes[0], "double", 6) != 0) {
        *out_code = CL_INVALID_BINARY;
        return NULL;
    }
    program *made = double_make(sizeof *made);
    made->text = strndup((const char *)bytes[0] + 6, BINARY_SIZE - 6);
    return (cl_program)made;
}

cl_int double_clReleaseProgram(cl_program of)
{
    if (!double_let_go(of))
        return CL_SUCCESS;
    free(((program *)of)->text);
    double_destroy(of);
    return CL_SUCCESS;
}

cl_int double_clBuildProgram(cl_program of, cl_uint count, const cl_device_id *devices,
                             const char *options, void (*notify)(cl_program, void *), void *user)
{
    (void)count, (void)devices, (void)options, (void)notify, (void)user;
    FAIL();
    ((program *)of)->built = true;
    return CL_SUCCESS;
}

cl_int double_clGetProgramInfo(cl_program of, cl_uint what, size_t capacity, void *out,
                               size_t *out_size)
{
    const cl_uint one = 1;
    const size_t size = double_knob("no-binary", 0) != 0 ? 0 : BINARY_SIZE;
    const cl_device_id id = (cl_device_id)&double_device;
    FAIL();
    switch (what) {
    case CL_PROGRAM_NUM_DEVICES:
        return double_give(&one, sizeof one, capacity, out, out_size);
    case CL_PROGRAM_DEVICES:
        return double_give(&id, sizeof id, capacity, out, out_size);
    case CL_PROGRAM_BINARY_SIZES:
        return double_give(&size, sizeof size, capacity, out, out_size);
    default:
        if (size != 0)
            snprintf(*(char **)out, size, "double%s", ((program *)of)->text);
        return CL_SUCCESS;
    }
}

/* "a warning: …" with as many lines as fill it, the error among the last. */
static void fill_log(char *log, size_t size)
{
    static const char line[] = "source:1: warning: nothing to worry about\n";
    static const char last[] = "source:3: error: at the end\n";
    for (size_t i = 0; i < size; i++)
        log[i] = line[i % (sizeof line - 1)];
    if (size > sizeof last) {
        log[size - sizeof last - 1] = '\n';
        memcpy(log + size - sizeof last, last, sizeof last - 1);
    }
    if (size != 0)
        log[size - 1] = double_knob("unterminated", 0) != 0 ? '\n' : '\0';
}

cl_int double_clGetProgramBuildInfo(cl_program of, cl_device_id on, cl_uint what, size_t capacity,
                                    void *out, size_t *out_size)
{
    (void)of, (void)on, (void)what;
    const size_t size = (size_t)double_knob("log", 40);
    const cl_int code = double_knob("log-code", CL_SUCCESS);
    if (out_size != NULL)
        *out_size = size;
    if (code != CL_SUCCESS || out == NULL)
        return code;
    if (capacity < size)
        return CL_INVALID_VALUE;
    fill_log(out, size);
    return CL_SUCCESS;
}

/* ---- kernels ---- */

cl_kernel double_clCreateKernel(cl_program of, const char *name, cl_int *out_code)
{
    FAIL_OBJECT();
    program *from = (program *)of;
    *out_code = !from->built                       ? CL_INVALID_PROGRAM_EXECUTABLE
                : strstr(from->text, name) == NULL ? CL_INVALID_KERNEL_NAME
                                                   : CL_SUCCESS;
    if (*out_code != CL_SUCCESS)
        return NULL;
    kernel *made = double_make(sizeof *made);
    made->of = from;
    from->head.references++;
    return (cl_kernel)made;
}

cl_int double_clCreateKernelsInProgram(cl_program of, cl_uint capacity, cl_kernel *out,
                                       cl_uint *out_count)
{
    (void)of, (void)capacity, (void)out;
    FAIL();
    *out_count = 1;
    return CL_SUCCESS;
}

cl_int double_clReleaseKernel(cl_kernel of)
{
    if (!double_let_go(of))
        return CL_SUCCESS;
    double_clReleaseProgram((cl_program)((kernel *)of)->of);
    double_destroy(of);
    return CL_SUCCESS;
}

cl_int double_clSetKernelArg(cl_kernel of, cl_uint index, size_t size, const void *value)
{
    (void)of, (void)index, (void)value;
    FAIL();
    return size == 0 ? CL_INVALID_ARG_SIZE : CL_SUCCESS;
}

cl_int double_clSetKernelArgSVMPointer(cl_kernel of, cl_uint index, const void *value)
{
    (void)of, (void)index, (void)value;
    FAIL();
    return CL_SUCCESS;
}

cl_int double_clEnqueueNDRangeKernel(cl_command_queue in, cl_kernel of, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint count, const cl_event *after,
                                     cl_event *out)
{
    (void)of, (void)dimensions, (void)offset, (void)global, (void)local;
    FAIL();
    return double_queued(in, double_knob("late", CL_COMPLETE), count, after, out);
}
