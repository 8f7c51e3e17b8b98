/* memory.c: buffers and shared virtual memory of the double. */
#include "double.h"

cl_mem double_clCreateBuffer(cl_context in, cl_bitfield flags, size_t size, void *from,
                             cl_int *out_code)
{
    (void)in, (void)flags, (void)from;
    FAIL_OBJECT();
    memory *made = double_make(sizeof *made);
    made->size = size;
    made->bytes = calloc(1, size);
    return (cl_mem)made;
}

cl_int double_clReleaseMemObject(cl_mem of)
{
    if (!double_let_go(of))
        return CL_SUCCESS;
    free(((memory *)of)->bytes);
    double_destroy(of);
    return CL_SUCCESS;
}

cl_int double_clEnqueueReadBuffer(cl_command_queue in, cl_mem from, cl_bool blocking, size_t offset,
                                  size_t size, void *to, cl_uint count, const cl_event *after,
                                  cl_event *out)
{
    (void)blocking;
    FAIL();
    memcpy(to, ((memory *)from)->bytes + offset, size);
    return double_queued(in, CL_COMPLETE, count, after, out);
}

cl_int double_clEnqueueWriteBuffer(cl_command_queue in, cl_mem to, cl_bool blocking, size_t offset,
                                   size_t size, const void *from, cl_uint count,
                                   const cl_event *after, cl_event *out)
{
    (void)blocking;
    FAIL();
    memcpy(((memory *)to)->bytes + offset, from, size);
    return double_queued(in, CL_COMPLETE, count, after, out);
}

void *double_clEnqueueMapBuffer(cl_command_queue in, cl_mem of, cl_bool blocking, cl_bitfield flags,
                                size_t offset, size_t size, cl_uint count, const cl_event *after,
                                cl_event *out, cl_int *out_code)
{
    (void)blocking, (void)flags, (void)size;
    FAIL_OBJECT();
    double_queued(in, CL_COMPLETE, count, after, out);
    return ((memory *)of)->bytes + offset;
}

cl_int double_clEnqueueUnmapMemObject(cl_command_queue in, cl_mem of, void *at, cl_uint count,
                                      const cl_event *after, cl_event *out)
{
    (void)of, (void)at;
    return double_queued(in, CL_COMPLETE, count, after, out);
}

void *double_clSVMAlloc(cl_context in, cl_bitfield flags, size_t size, cl_uint alignment)
{
    (void)in, (void)flags, (void)alignment;
    if (double_knob("clSVMAlloc", 0) != 0)
        return NULL;
    double_count(1);
    return calloc(1, size);
}

void double_clSVMFree(cl_context in, void *of)
{
    (void)in;
    double_count(-1);
    free(of);
}

cl_int double_clEnqueueSVMMemcpy(cl_command_queue in, cl_bool blocking, void *to, const void *from,
                                 size_t size, cl_uint count, const cl_event *after, cl_event *out)
{
    (void)blocking;
    FAIL();
    memmove(to, from, size);
    return double_queued(in, double_knob("late-copy", CL_COMPLETE), count, after, out);
}

cl_int double_clEnqueueSVMMemFill(cl_command_queue in, void *to, const void *pattern,
                                  size_t pattern_size, size_t size, cl_uint count,
                                  const cl_event *after, cl_event *out)
{
    FAIL();
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)pattern)[i % pattern_size];
    return double_queued(in, double_knob("late-copy", CL_COMPLETE), count, after, out);
}

cl_int double_clEnqueueCopyBuffer(cl_command_queue in, cl_mem from, cl_mem to, size_t from_offset,
                                  size_t to_offset, size_t size, cl_uint count,
                                  const cl_event *after, cl_event *out)
{
    FAIL();
    memcpy(((memory *)to)->bytes + to_offset, ((memory *)from)->bytes + from_offset, size);
    return double_queued(in, double_knob("late-copy", CL_COMPLETE), count, after, out);
}

cl_int double_clEnqueueFillBuffer(cl_command_queue in, cl_mem to, const void *pattern,
                                  size_t pattern_size, size_t offset, size_t size, cl_uint count,
                                  const cl_event *after, cl_event *out)
{
    FAIL();
    for (size_t i = 0; i < size; i++)
        ((memory *)to)->bytes[offset + i] = ((const char *)pattern)[i % pattern_size];
    return double_queued(in, double_knob("late-copy", CL_COMPLETE), count, after, out);
}

/* ---- unified shared memory: the same again ---- */

void *double_clDeviceMemAllocINTEL(cl_context in, cl_device_id on, const cl_bitfield *properties,
                                   size_t size, cl_uint alignment, cl_int *out_code)
{
    (void)on, (void)properties;
    FAIL_OBJECT();
    return double_clSVMAlloc(in, 0, size, alignment);
}

cl_int double_clMemFreeINTEL(cl_context in, void *of)
{
    double_clSVMFree(in, of);
    return CL_SUCCESS;
}

cl_int double_clSetKernelArgMemPointerINTEL(cl_kernel of, cl_uint index, const void *value)
{
    (void)of, (void)index, (void)value;
    FAIL();
    return CL_SUCCESS;
}

cl_int double_clEnqueueMemFillINTEL(cl_command_queue in, void *to, const void *pattern,
                                    size_t pattern_size, size_t size, cl_uint count,
                                    const cl_event *after, cl_event *out)
{
    FAIL();
    return double_clEnqueueSVMMemFill(in, to, pattern, pattern_size, size, count, after, out);
}

cl_int double_clEnqueueMemcpyINTEL(cl_command_queue in, cl_bool blocking, void *to,
                                   const void *from, size_t size, cl_uint count,
                                   const cl_event *after, cl_event *out)
{
    FAIL();
    return double_clEnqueueSVMMemcpy(in, blocking, to, from, size, count, after, out);
}
