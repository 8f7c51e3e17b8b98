/* queue.c: events and queues of the double. */
#include "double.h"

#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards events */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static event *waiting; /* that have callbacks */

/* With the mutex held. */
static cl_int status_of(const event *of)
{
    for (int i = 0; i < DEPENDENCIES; i++) {
        const cl_int before = of->before[i] != NULL ? status_of(of->before[i]) : CL_COMPLETE;
        if (before != CL_COMPLETE)
            return before;
    }
    return of->status;
}

static void release_object(event *of)
{
    if (!double_let_go(of))
        return;
    for (int i = 0; i < DEPENDENCIES; i++)
        if (of->before[i] != NULL)
            release_object(of->before[i]);
    double_destroy(of);
}

cl_int double_clReleaseEvent(cl_event of)
{
    release_object((event *)of);
    return CL_SUCCESS;
}

cl_int double_clRetainEvent(cl_event of)
{
    ((object *)of)->references++;
    return CL_SUCCESS;
}

static event *depend(event *on)
{
    if (on != NULL)
        on->head.references++;
    return on;
}

/* By a clock of the pace that is wanted. */
static cl_ulong now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return ((cl_ulong)time.tv_sec * 1000000000u + (cl_ulong)time.tv_nsec) / 100u *
           (cl_ulong)double_knob("clock", 0);
}

/* The next command of the queue, which has been carried out with that result. */
cl_int double_queued(cl_command_queue in, cl_int status, cl_uint count, const cl_event *after,
                     cl_event *out)
{
    queue *to = (queue *)in;
    event *made = double_make(sizeof *made);
    made->status = status;
    made->time = now();
    pthread_mutex_lock(&mutex);
    made->before[0] = to->last; /* the reference moves */
    made->before[1] = depend(count != 0 ? (event *)after[0] : NULL);
    if (made->before[0] != NULL && status_of(made->before[0]) == CL_COMPLETE) {
        release_object(made->before[0]); /* no endless chain */
        made->before[0] = NULL;
    }
    to->last = depend(made);
    pthread_mutex_unlock(&mutex);
    if (out != NULL)
        *out = (cl_event)made;
    else
        release_object(made);
    return CL_SUCCESS;
}

cl_int double_clGetEventInfo(cl_event of, cl_uint what, size_t capacity, void *out,
                             size_t *out_size)
{
    (void)what;
    pthread_mutex_lock(&mutex);
    const cl_int status = status_of((event *)of);
    pthread_mutex_unlock(&mutex);
    return double_give(&status, sizeof status, capacity, out, out_size);
}

cl_int double_clWaitForEvents(cl_uint count, const cl_event *events)
{
    cl_int worst = CL_SUCCESS;
    pthread_mutex_lock(&mutex);
    for (cl_uint i = 0; i < count; i++) {
        while (status_of((event *)events[i]) > CL_COMPLETE)
            pthread_cond_wait(&changed, &mutex);
        if (status_of((event *)events[i]) < CL_COMPLETE)
            worst = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    pthread_mutex_unlock(&mutex);
    return worst;
}

cl_int double_clGetEventProfilingInfo(cl_event of, cl_uint what, size_t capacity, void *out,
                                      size_t *out_size)
{
    FAIL();
    if (what != CL_PROFILING_COMMAND_END || ((event *)of)->time == 0)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return double_give(&((event *)of)->time, sizeof(cl_ulong), capacity, out, out_size);
}

/* Calls back for all events that have passed. */
static void call_back(void)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        event **at = &waiting;
        while (*at != NULL && status_of(*at) > CL_COMPLETE)
            at = &(*at)->next;
        event *passed = *at;
        if (passed != NULL)
            *at = passed->next;
        const cl_int status = passed != NULL ? status_of(passed) : 0;
        pthread_mutex_unlock(&mutex);
        if (passed == NULL)
            return;
        for (int i = 0; i < CALLBACKS; i++)
            if (passed->callbacks[i] != NULL)
                passed->callbacks[i]((cl_event)passed, status, passed->users[i]);
        release_object(passed);
    }
}

cl_int double_clSetEventCallback(cl_event of, cl_int when, void (*call)(cl_event, cl_int, void *),
                                 void *user)
{
    (void)when;
    FAIL();
    event *on = (event *)of;
    int free_place = 0;
    pthread_mutex_lock(&mutex);
    while (free_place < CALLBACKS - 1 && on->callbacks[free_place] != NULL)
        free_place++;
    on->callbacks[free_place] = call;
    on->users[free_place] = user;
    if (free_place == 0) {
        on->next = waiting;
        waiting = depend(on);
    }
    pthread_mutex_unlock(&mutex);
    call_back();
    return CL_SUCCESS;
}

cl_event double_clCreateUserEvent(cl_context in, cl_int *out_code)
{
    (void)in;
    FAIL_OBJECT();
    event *made = double_make(sizeof *made);
    made->status = 2; /* submitted */
    return (cl_event)made;
}

cl_int double_clSetUserEventStatus(cl_event of, cl_int status)
{
    pthread_mutex_lock(&mutex);
    ((event *)of)->status = status;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    call_back();
    return CL_SUCCESS;
}

cl_int double_clEnqueueMarkerWithWaitList(cl_command_queue in, cl_uint count, const cl_event *after,
                                          cl_event *out)
{
    FAIL();
    return double_queued(in, CL_COMPLETE, count, after, out);
}

cl_int double_clEnqueueBarrierWithWaitList(cl_command_queue in, cl_uint count,
                                           const cl_event *after, cl_event *out)
{
    FAIL();
    return double_queued(in, CL_COMPLETE, count, after, out);
}

/* ---- queues ---- */

/* For a test, which finds it with dlsym: the priority of the queue made last. */
__attribute__((visibility("default"))) int opencl_double_priority(void);

static int priority;

int opencl_double_priority(void)
{
    return priority;
}

cl_command_queue double_clCreateCommandQueueWithProperties(cl_context in, cl_device_id on,
                                                           const cl_bitfield *properties,
                                                           cl_int *out_code)
{
    (void)in, (void)on;
    FAIL_OBJECT();
    priority = 0;
    for (; properties[0] != 0; properties += 2)
        if (properties[0] == CL_QUEUE_PRIORITY_KHR)
            priority = (int)properties[1];
    return double_make(sizeof(queue));
}

cl_command_queue double_clCreateCommandQueue(cl_context in, cl_device_id on, cl_bitfield properties,
                                             cl_int *out_code)
{
    const cl_bitfield list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    return double_clCreateCommandQueueWithProperties(in, on, list, out_code);
}

cl_int double_clReleaseCommandQueue(cl_command_queue of)
{
    queue *gone = (queue *)of;
    if (!double_let_go(gone))
        return CL_SUCCESS;
    if (gone->last != NULL)
        release_object(gone->last);
    double_destroy(gone);
    return CL_SUCCESS;
}

cl_int double_clFlush(cl_command_queue of)
{
    (void)of;
    FAIL();
    return CL_SUCCESS;
}
