/* worker.c: see worker.h.
 *
 * Jobs run in the order in which their events passed. A job may take long (it calls the program), so
 * another thread is started when one comes and all are at work, up to a limit. Each thread is counted
 * before it starts: where none can be started, nothing is queued that would need it. */
#include "backends/opencl/queue/worker.h"

#include <pthread.h>
#include <time.h>

#include "backends/opencl/driver/await.h"
#include "base/error.h"
#include "platform/futex.h"
#include "platform/mutex.h"
#include "platform/thread.h"

enum { THREAD_MAX = 16 };

static accel__mutex stop_mutex; /* one stop at a time; taken before the other */

/* The mutex guards all but the futex word. A leaf. */
static struct {
    accel__mutex mutex;
    accel__opencl_job *first;
    accel__opencl_job *last;
    pthread_t threads[THREAD_MAX];
    unsigned thread_count;
    unsigned idle_count;
    unsigned job_count;
    bool stopping;
    _Atomic(uint32_t) changed; /* futex: counts jobs and stops */
} workers;

static accel__opencl_job *pop(void)
{
    accel__opencl_job *job = workers.first;
    if (job != NULL) {
        workers.first = job->next;
        workers.job_count--;
        if (workers.first == NULL)
            workers.last = NULL;
    }
    return job;
}

/* Waits for a job. NULL: the threads are to end. */
static accel__opencl_job *take(void)
{
    accel__mutex_lock(&workers.mutex);
    accel__opencl_job *job = pop();
    workers.idle_count++;
    while (job == NULL && !workers.stopping) {
        const uint32_t seen = workers.changed;
        accel__mutex_unlock(&workers.mutex);
        accel__futex_wait(&workers.changed, seen, UINT64_MAX);
        accel__mutex_lock(&workers.mutex);
        job = pop();
    }
    workers.idle_count--;
    accel__mutex_unlock(&workers.mutex);
    return job;
}

static void run(accel__opencl_job *job)
{
    const cl_int code = job->code;
    if (job->event != NULL)
        job->api->clReleaseEvent(job->event);
    job->run(job, code < 0 ? code : CL_COMPLETE);
}

/* Whether the event has passed. A driver that never answers is one that failed. */
static bool is_due(accel__opencl_job *job)
{
    enum { FAILURES_MAX = 500 };
    cl_int state = CL_COMPLETE;
    if (job->is_over)
        return true;
    const cl_int asked = accel__opencl_state(job->api, job->event, &state);
    job->failures = asked != CL_SUCCESS ? job->failures + 1 : 0;
    job->code = asked != CL_SUCCESS ? asked : state;
    return job->failures == FAILURES_MAX || (asked == CL_SUCCESS && state <= CL_COMPLETE);
}

/* With the mutex held. */
static void append(accel__opencl_job *job)
{
    job->next = NULL;
    if (workers.last != NULL)
        workers.last->next = job;
    else
        workers.first = job;
    workers.last = job;
    workers.job_count++;
}

/* What is not due goes behind the others: the event may wait for one of them, and this thread may be the
 * only one there is. */
static void *body(void *user)
{
    const struct timespec pause = {.tv_nsec = 200000};
    accel__opencl_job *job = NULL;
    (void)user;
    while ((job = take()) != NULL) {
        if (is_due(job)) {
            run(job);
            continue;
        }
        nanosleep(&pause, NULL);
        accel__mutex_lock(&workers.mutex);
        append(job);
        accel__mutex_unlock(&workers.mutex);
    }
    return NULL;
}

/* With the mutex held. 0, or errno's value. */
static int start_locked(void)
{
    const int code = accel__thread_start(&workers.threads[workers.thread_count], "accel-opencl",
                                         body, NULL);
    if (code == 0)
        workers.thread_count++;
    return code;
}

accel_status accel__opencl_worker_ready(void)
{
    accel__mutex_lock(&workers.mutex);
    const int code = workers.thread_count == 0 ? start_locked() : 0;
    accel__mutex_unlock(&workers.mutex);
    return code == 0
               ? ACCEL_OK
               : accel__fail_errno(code, "opencl", "no thread for host work could be started");
}

static void post(accel__opencl_job *job)
{
    accel__mutex_lock(&workers.mutex);
    append(job);
    if (!workers.stopping && workers.job_count > workers.idle_count &&
        workers.thread_count < THREAD_MAX)
        start_locked(); /* where that fails, a thread that is there gets to it */
    atomic_fetch_add(&workers.changed, 1);
    accel__mutex_unlock(&workers.mutex);
    accel__futex_wake_one(&workers.changed);
}

/* Called by the driver, on any thread: only hands on. */
static void on_passed(cl_event event, cl_int code, void *user)
{
    accel__opencl_job *job = user;
    (void)event;
    job->code = code;
    job->is_over = true;
    post(job);
}

void accel__opencl_worker_after(const accel__opencl_api *api, cl_event event,
                                accel__opencl_job *job)
{
    cl_int state = CL_COMPLETE;
    const cl_int asked = event != NULL ? accel__opencl_state(api, event, &state) : CL_SUCCESS;
    job->api = api;
    job->event = event;
    job->code = state;
    job->failures = 0;
    job->is_over = asked == CL_SUCCESS && state <= CL_COMPLETE;
    /* Some drivers call nobody back for what has passed already. */
    if (job->is_over || api->clSetEventCallback(event, CL_COMPLETE, on_passed, job) != CL_SUCCESS)
        post(job);
}

/* The next thread to wait for. False: there is none, and the stop is over. */
static bool take_thread(unsigned ended, pthread_t *out_thread)
{
    accel__mutex_lock(&workers.mutex);
    const bool is_left = ended < workers.thread_count;
    if (is_left) {
        *out_thread = workers.threads[ended];
    } else {
        workers.thread_count = 0;
        workers.stopping = false;
        if (workers.first != NULL) /* another thread's, which came when they had left */
            start_locked();
    }
    accel__mutex_unlock(&workers.mutex);
    return is_left;
}

void accel__opencl_worker_stop(void)
{
    pthread_t thread;
    accel__mutex_lock(&stop_mutex);
    accel__mutex_lock(&workers.mutex);
    workers.stopping = true; /* jobs start no thread from here on */
    atomic_fetch_add(&workers.changed, 1);
    accel__mutex_unlock(&workers.mutex);
    accel__futex_wake_all(&workers.changed);
    for (unsigned ended = 0; take_thread(ended, &thread); ended++)
        pthread_join(thread, NULL);
    accel__mutex_unlock(&stop_mutex);
}
