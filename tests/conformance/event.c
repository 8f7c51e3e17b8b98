/* event.c: events: record, query, wait, timing and its refusals. */
#include "conformance.h"

static accel_status make(accel_device device, bool timing, accel_event **out_event)
{
    const accel_event_options options = {.struct_size = sizeof options, .enable_timing = timing};
    return accel_event_create(device, &options, out_event);
}

static void never_recorded(cf_run *run)
{
    accel_event *event = NULL;
    bool done = false;
    OK(make(run->device, false, &event));
    OK(accel_event_query(event, &done));
    CHECK(done);
    OK(accel_event_synchronize(event));
    OK(accel_stream_wait_event(run->stream, event));
    OK(accel_stream_synchronize(run->stream));
    accel_event_release(event);
}

static void record(cf_run *run)
{
    accel_event *event = NULL;
    bool done = true;
    OK(make(run->device, false, &event));
    for (int turn = 0; turn < 20; turn++) {
        OK(cf_hold(run, run->stream));
        OK(accel_event_record(event, run->stream));
        OK(accel_event_query(event, &done));
        CHECK(!run->has_gate || !done);
        cf_let_go(run);
        OK(accel_event_synchronize(event));
        OK(accel_event_query(event, &done));
        CHECK(done);
    }
    accel_event_release(event);
}

static void binding(cf_run *run)
{
    accel_event *event = NULL;
    accel_device device;
    OK(make(ACCEL_DEVICE(run->device.backend, ACCEL_INDEX_NONE), false, &event));
    OK(accel_event_get_device(event, &device));
    CHECK(device.backend == run->device.backend && device.index == ACCEL_INDEX_NONE);
    OK(accel_event_record(event, run->stream));
    OK(accel_event_get_device(event, &device));
    CHECK(device.index == run->device.index);
    OK(accel_event_synchronize(event));
    if (run->has_other) {
        accel_stream *foreign = NULL;
        OK(accel_stream_create(run->other, NULL, &foreign));
        GIVES(accel_event_record(event, foreign), ACCEL_ERROR_MISMATCH);
        accel_stream_release(foreign);
    }
    accel_event_release(event);
}

/* Whoever waits, waits for the mark of that moment: the later record does not move it. */
static void wait_for_the_mark_of_the_moment(cf_run *run)
{
    accel_event *event = NULL;
    accel_stream *waiter = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    const uint32_t first = 1;
    OK(make(run->device, false, &event));
    OK(accel_stream_create(run->device, NULL, &waiter));
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    OK(accel_fill(memory, &first, 4, 4, run->stream));
    OK(accel_event_record(event, run->stream));
    OK(accel_stream_wait_event(waiter, event));
    OK(accel_copy(&back, memory, 4, waiter));
    OK(cf_hold(run, run->stream));
    OK(accel_event_record(event, run->stream));
    OK(accel_stream_synchronize(waiter));
    CHECK(back == 1);
    cf_let_go(run);
    OK(accel_event_synchronize(event));
    OK(accel_memory_free(memory));
    accel_event_release(event);
    accel_stream_release(waiter);
}

static void wait_over_devices(cf_run *run)
{
    accel_event *event = NULL;
    accel_stream *foreign = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    const uint32_t value = 31;
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(make(run->device, false, &event));
    OK(accel_stream_create(run->other, NULL, &foreign));
    OK(accel_memory_alloc(foreign, 4, NULL, &memory));
    OK(accel_stream_synchronize(foreign));
    OK(cf_hold(run, run->stream));
    OK(accel_event_record(event, run->stream));
    OK(accel_stream_wait_event(foreign, event));
    OK(accel_fill(memory, &value, 4, 4, foreign));
    OK(accel_copy(&back, memory, 4, foreign));
    bool done = true;
    OK(accel_stream_query(foreign, &done));
    CHECK(!run->has_gate || !done);
    cf_let_go(run);
    OK(accel_stream_synchronize(foreign));
    CHECK(back == 31);
    OK(accel_memory_free(memory));
    accel_event_release(event);
    accel_stream_release(foreign);
}

static void release_while_pending(cf_run *run)
{
    accel_event *event = NULL;
    accel_stream *waiter = NULL;
    OK(make(run->device, false, &event));
    OK(accel_stream_create(run->device, NULL, &waiter));
    OK(cf_hold(run, run->stream));
    OK(accel_event_record(event, run->stream));
    OK(accel_stream_wait_event(waiter, event));
    accel_event_release(event);
    cf_let_go(run);
    OK(accel_stream_synchronize(waiter));
    OK(accel_stream_synchronize(run->stream));
    accel_stream_release(waiter);
}

static void timing(cf_run *run)
{
    accel_event *start = NULL;
    accel_event *end = NULL;
    double milliseconds = -1;
    if (!run->capability.timing) {
        GIVES(make(run->device, true, &start), ACCEL_ERROR_UNSUPPORTED);
        CHECK(start == NULL);
        return;
    }
    OK(make(run->device, true, &start));
    OK(make(run->device, true, &end));
    GIVES(accel_event_elapsed_time(start, end, &milliseconds), ACCEL_ERROR_INVALID_STATE);
    OK(accel_event_record(start, run->stream));
    OK(cf_hold(run, run->stream));
    OK(accel_event_record(end, run->stream));
    if (run->has_gate)
        GIVES(accel_event_elapsed_time(start, end, &milliseconds), ACCEL_ERROR_NOT_READY);
    cf_let_go(run);
    OK(accel_event_synchronize(end));
    OK(accel_event_elapsed_time(start, end, &milliseconds));
    CHECK(milliseconds >= 0);
    double backwards = 1;
    OK(accel_event_elapsed_time(end, start, &backwards));
    CHECK(backwards == -milliseconds);
    OK(accel_event_elapsed_time(end, end, &milliseconds));
    CHECK(milliseconds == 0);
    accel_event_release(start);
    accel_event_release(end);
}

static void time_of_untimed_events(cf_run *run)
{
    accel_event *start = NULL;
    accel_event *end = NULL;
    double milliseconds = -1;
    OK(make(run->device, false, &start));
    OK(make(run->device, false, &end));
    GIVES(accel_event_elapsed_time(start, end, &milliseconds), ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK(milliseconds == 0);
    accel_event_release(start);
    accel_event_release(end);
}

static void times_of_two_devices(cf_run *run)
{
    accel_event *start = NULL;
    accel_event *end = NULL;
    accel_stream *foreign = NULL;
    double milliseconds = -1;
    accel_device_capability others = {.struct_size = sizeof others};
    if (!run->has_other || !run->capability.timing)
        SKIP("the backend has one device, or no timing");
    OK(accel_get_device_capability(run->other, &others));
    if (!others.timing)
        SKIP("the other device has no timing");
    OK(make(run->device, true, &start));
    OK(make(run->other, true, &end));
    OK(accel_stream_create(run->other, NULL, &foreign));
    OK(accel_event_record(start, run->stream));
    OK(accel_event_record(end, foreign));
    OK(accel_stream_synchronize(run->stream));
    OK(accel_stream_synchronize(foreign));
    GIVES(accel_event_elapsed_time(start, end, &milliseconds), ACCEL_ERROR_MISMATCH);
    accel_event_release(start);
    accel_event_release(end);
    accel_stream_release(foreign);
}

static void native_handle(cf_run *run)
{
    accel_event *event = NULL;
    void *handle = NULL;
    OK(make(run->device, false, &event));
    if (run->capability.native_handles)
        GIVES(accel_event_get_native_handle(event, &handle), ACCEL_ERROR_INVALID_STATE);
    OK(accel_event_record(event, run->stream));
    GIVES(accel_event_get_native_handle(event, &handle),
          run->capability.native_handles ? ACCEL_OK : ACCEL_ERROR_UNSUPPORTED);
    CHECK((handle != NULL) == run->capability.native_handles);
    OK(accel_event_synchronize(event));
    accel_event_release(event);
}

const cf_test cf_event_tests[] = {
    {"event/never-recorded", never_recorded},
    {"event/record", record},
    {"event/binding", binding},
    {"event/mark-of-the-moment", wait_for_the_mark_of_the_moment},
    {"event/wait-over-devices", wait_over_devices},
    {"event/release-while-pending", release_while_pending},
    {"event/timing", timing},
    {"event/untimed", time_of_untimed_events},
    {"event/times-of-two-devices", times_of_two_devices},
    {"event/native-handle", native_handle},
    {NULL, NULL},
};
