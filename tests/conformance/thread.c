/* thread.c: several threads on one device: on one stream, on streams of their own, with one event. */
#include <pthread.h>
#include <stdatomic.h>

#include "conformance.h"

enum { THREADS = 4, ROUNDS = 100 };

typedef struct worker {
    cf_run *run;
    pthread_t thread;
    accel_stream *stream;
    accel_event *event;
    accel_status status; /* the first failure */
    bool wrong;
} worker;

static void *fill_and_check(void *user)
{
    worker *self = user;
    void *memory = NULL;
    accel_status status = accel_set_device_index(self->run->device);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(self->stream, 4, NULL, &memory);
    for (uint32_t i = 0; i < ROUNDS && status == ACCEL_OK; i++) {
        uint32_t back = 0;
        status = accel_fill(memory, &i, 4, 4, self->stream);
        if (status == ACCEL_OK)
            status = accel_copy(&back, memory, 4, self->stream);
        if (status == ACCEL_OK)
            status = accel_event_record(self->event, self->stream);
        if (status == ACCEL_OK && i % 2 == 0)
            status = accel_event_synchronize(self->event);
        if (status == ACCEL_OK)
            status = accel_stream_synchronize(self->stream);
        self->wrong |= status == ACCEL_OK && back != i;
    }
    const accel_status freed = accel_memory_free(memory);
    self->status = status != ACCEL_OK ? status : freed;
    return NULL;
}

static void run_threads(cf_run *run, worker workers[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, fill_and_check, &workers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        OK(workers[i].status);
        CHECK(!workers[i].wrong);
    }
}

static void one_stream(cf_run *run)
{
    worker workers[THREADS];
    accel_event *event = NULL;
    OK(accel_event_create(run->device, NULL, &event));
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.run = run, .stream = run->stream, .event = event};
    run_threads(run, workers);
    accel_event_release(event);
}

static void own_streams(cf_run *run)
{
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.run = run};
        OK(accel_stream_create(run->device, NULL, &workers[i].stream));
        OK(accel_event_create(run->device, NULL, &workers[i].event));
    }
    run_threads(run, workers);
    for (int i = 0; i < THREADS; i++) {
        accel_event_release(workers[i].event);
        accel_stream_release(workers[i].stream);
    }
}

static void *look_at_current(void *user)
{
    worker *self = user;
    int32_t index = -1;
    self->status = accel_current_device_index(self->run->device.backend, &index);
    self->wrong = index != 0;
    return NULL;
}

static void current_is_per_thread(cf_run *run)
{
    worker other = {.run = run};
    CHECK(pthread_create(&other.thread, NULL, look_at_current, &other) == 0);
    pthread_join(other.thread, NULL);
    OK(other.status);
    CHECK(!other.wrong);
}

/* accel_shutdown is no end: who works meanwhile goes on working, and several may ask for it at once. */
static _Atomic(uint32_t) calls_made;

static void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream, (void)status, (void)user;
    atomic_fetch_add(&calls_made, 1);
}

static void *shut_down(void *user)
{
    worker *self = user;
    for (int i = 0; i < ROUNDS && self->status == ACCEL_OK; i++)
        self->status = accel_shutdown();
    return NULL;
}

static void *call_back(void *user)
{
    worker *self = user;
    for (int i = 0; i < ROUNDS && self->status == ACCEL_OK; i++) {
        self->status = accel_stream_add_callback(self->stream, count_call, NULL);
        if (self->status == ACCEL_OK && i % 4 == 0)
            self->status = accel_stream_synchronize(self->stream);
    }
    return NULL;
}

static void several_shut_down(cf_run *run)
{
    worker workers[THREADS];
    atomic_store(&calls_made, 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.run = run};
        OK(accel_stream_create(run->device, NULL, &workers[i].stream));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, i % 2 == 0 ? shut_down : call_back,
                             &workers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        OK(workers[i].status);
        OK(accel_stream_synchronize(workers[i].stream));
        accel_stream_release(workers[i].stream);
    }
    CHECK(calls_made == THREADS / 2 * ROUNDS);
}

const cf_test cf_thread_tests[] = {
    {"thread/one-stream", one_stream},
    {"thread/own-streams", own_streams},
    {"thread/current-is-per-thread", current_is_per_thread},
    {"thread/several-shut-down", several_shut_down},
    {NULL, NULL},
};
