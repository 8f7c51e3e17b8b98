/* callback.c: host callbacks: once, behind the work before, and what they may not do. */
#include <stdatomic.h>

#include "conformance.h"

typedef struct calls {
    _Atomic(uint32_t) count;
    accel_status status;
    accel_stream *stream;
    accel_status inside[6];
    const volatile uint32_t *watched;
    uint32_t seen;
} calls;

static void note(accel_stream *stream, accel_status status, void *user)
{
    calls *to = user;
    to->status = status;
    to->stream = stream;
    if (to->watched != NULL)
        to->seen = *to->watched;
    atomic_fetch_add(&to->count, 1);
}

static void once(cf_run *run)
{
    static calls to[100];
    memset(to, 0, sizeof to);
    for (int i = 0; i < 100; i++)
        OK(accel_stream_add_callback(run->stream, note, &to[i]));
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < 100; i++)
        CHECK(to[i].count == 1 && to[i].status == ACCEL_OK && to[i].stream == run->stream);
}

/* The copy before it has arrived in host memory when it is called. */
static void behind_the_work_before(cf_run *run)
{
    static uint32_t host;
    static calls to;
    void *memory = NULL;
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    for (uint32_t i = 1; i <= 20; i++) {
        memset(&to, 0, sizeof to);
        to.watched = &host;
        OK(cf_hold(run, run->stream));
        OK(accel_fill(memory, &i, 4, 4, run->stream));
        OK(accel_copy(&host, memory, 4, run->stream));
        OK(accel_stream_add_callback(run->stream, note, &to));
        CHECK(!run->has_gate || to.count == 0);
        cf_let_go(run);
        OK(accel_stream_synchronize(run->stream));
        CHECK(to.count == 1 && to.seen == i);
    }
    OK(accel_memory_free(memory));
}

/* Where callbacks are ordered, later work does not begin before the callback has returned. */
static void change(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    (*(uint32_t *)user)++;
}

static void ahead_of_later_work(cf_run *run)
{
    static uint32_t host;
    uint32_t back[20];
    unsigned char *memory = NULL;
    if (!run->capability.ordered_callbacks)
        SKIP("callbacks are not ordered before later work");
    host = 0;
    OK(accel_memory_alloc(run->stream, sizeof back, NULL, (void **)&memory));
    for (uint32_t i = 0; i < 20; i++) {
        OK(accel_stream_add_callback(run->stream, change, &host));
        OK(accel_copy(memory + 4 * i, &host, 4, run->stream));
    }
    OK(accel_copy(back, memory, sizeof back, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (uint32_t i = 0; i < 20; i++)
        CHECK(back[i] == i + 1);
    OK(accel_memory_free(memory));
}

static void *shared_memory;
static accel_event *shared_event;

static void try_to_work(accel_stream *stream, accel_status status, void *user)
{
    calls *to = user;
    (void)status;
    to->inside[0] = accel_fill(shared_memory, "", 1, 4, stream);
    to->inside[1] = accel_stream_synchronize(stream);
    to->inside[2] = accel_event_record(shared_event, stream);
    to->inside[3] = accel_event_synchronize(shared_event);
    to->inside[4] = accel_synchronize(ACCEL_DEVICE_CURRENT);
    to->inside[5] = accel_stream_add_callback(stream, note, user);
    atomic_fetch_add(&to->count, 1);
}

static void work_inside_is_refused(cf_run *run)
{
    static calls to;
    memset(&to, 0, sizeof to);
    OK(accel_memory_alloc(run->stream, 4, NULL, &shared_memory));
    OK(accel_event_create(run->device, NULL, &shared_event));
    OK(accel_stream_add_callback(run->stream, try_to_work, &to));
    OK(accel_stream_synchronize(run->stream));
    CHECK(to.count == 1);
    for (int i = 0; i < 6; i++)
        CHECK(to.inside[i] == ACCEL_ERROR_IN_CALLBACK);
    OK(accel_fill(shared_memory, "", 1, 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    accel_event_release(shared_event);
    OK(accel_memory_free(shared_memory));
}

static void free_inside(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    calls *to = user;
    to->inside[0] = accel_memory_free(shared_memory);
    atomic_fetch_add(&to->count, 1);
}

static void memory_may_be_freed_inside(cf_run *run)
{
    static calls to;
    memset(&to, 0, sizeof to);
    OK(accel_memory_alloc(run->stream, 1000, NULL, &shared_memory));
    OK(accel_stream_add_callback(run->stream, free_inside, &to));
    OK(accel_stream_synchronize(run->stream));
    CHECK(to.count == 1 && to.inside[0] == ACCEL_OK);
}

const cf_test cf_callback_tests[] = {
    {"callback/once", once},
    {"callback/behind-the-work-before", behind_the_work_before},
    {"callback/ahead-of-later-work", ahead_of_later_work},
    {"callback/work-inside-is-refused", work_inside_is_refused},
    {"callback/memory-may-be-freed-inside", memory_may_be_freed_inside},
    {NULL, NULL},
};
