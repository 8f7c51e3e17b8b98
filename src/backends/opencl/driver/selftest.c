/* selftest.c: whether a device's profiling clock can be believed. Some drivers have one without any
 * resolution, or one that runs at another pace. Runs in the helper. */
#include <time.h>

#include "backends/opencl/driver/describe.h"
#include "platform/clock.h"

enum { PAUSE_NS = 1000000 };

cl_command_queue accel__opencl_create_queue(const accel__opencl_api *api, cl_context context,
                                            cl_device_id device, cl_bitfield properties,
                                            cl_bitfield priority, cl_int *out_code)
{
    if (api->clCreateCommandQueueWithProperties == NULL)
        return api->clCreateCommandQueue(context, device, properties, out_code);
    const cl_bitfield list[] = {CL_QUEUE_PROPERTIES, properties,
                                priority != 0 ? CL_QUEUE_PRIORITY_KHR : 0, priority, 0};
    return api->clCreateCommandQueueWithProperties(context, device, list, out_code);
}

/* When a marker passed, by the device's clock; *before and *after enclose it by the host's. 0: unknown. */
static cl_ulong mark(const accel__opencl_api *api, cl_command_queue queue, uint64_t *before,
                     uint64_t *after)
{
    cl_event event = NULL;
    cl_ulong end = 0;
    *before = accel__clock_ns();
    if (api->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return 0;
    if (api->clWaitForEvents(1, &event) != CL_SUCCESS ||
        api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) !=
            CL_SUCCESS)
        end = 0;
    *after = accel__clock_ns();
    api->clReleaseEvent(event);
    return end;
}

/* Two markers with a pause between them: the device's time must lie between the least and the most that
 * the host's allows, within a fifth. */
static bool clock_agrees(const accel__opencl_api *api, cl_command_queue queue)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t first[2];
    uint64_t second[2];
    const cl_ulong start = mark(api, queue, &first[0], &first[1]);
    nanosleep(&pause, NULL);
    const cl_ulong end = mark(api, queue, &second[0], &second[1]);
    if (start == 0 || end <= start)
        return false;
    const double device = (double)(end - start);
    return device >= 0.8 * (double)(second[0] - first[1]) &&
           device <= 1.2 * (double)(second[1] - first[0]);
}

bool accel__opencl_clock_is_true(const accel__opencl_platform *platform, cl_device_id device)
{
    const accel__opencl_api *api = &platform->api;
    const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)platform->id, 0};
    size_t resolution = 0;
    cl_int code = api->clGetDeviceInfo(device, CL_DEVICE_PROFILING_TIMER_RESOLUTION,
                                       sizeof resolution, &resolution, NULL);
    if (code != CL_SUCCESS || resolution == 0)
        return false;
    cl_context context = api->clCreateContext(properties, 1, &device, NULL, NULL, &code);
    if (context == NULL)
        return false;
    cl_command_queue queue = accel__opencl_create_queue(api, context, device,
                                                        CL_QUEUE_PROFILING_ENABLE, 0, &code);
    const bool agrees = queue != NULL && clock_agrees(api, queue);
    if (queue != NULL)
        api->clReleaseCommandQueue(queue);
    api->clReleaseContext(context);
    return agrees;
}
