/* streams.c: steps over streams, events and callbacks. */
#include <string.h>

#include "world.h"

/* ---- callbacks ---- */

/* What a callback may not do, it is told by name; what it may do works. */
static void look_inside(fuzz_thread *thread, accel_stream *stream)
{
    void *memory = NULL;
    bool done = false;
    const accel_status status = CALL(thread, accel_memory_alloc, stream, 64, NULL, &memory);
    REQUIRE(thread, status == ACCEL_ERROR_IN_CALLBACK, "a callback may allocate: %s",
            accel_status_name(status));
    REQUIRE(thread, CALL(thread, accel_stream_synchronize, stream) == ACCEL_ERROR_IN_CALLBACK,
            "a callback may wait");
    CALL(thread, accel_stream_query, stream, &done);
    CALL_NONE(thread, accel_empty_cache);
    ASK(thread, accel_stream_retain, stream);
    ASK(thread, accel_stream_release, stream);
}

static void run_callback(accel_stream *stream)
{
    fuzz_thread inside = {.index = FUZZ_THREADS_MAX - 1, .what = "inside of a callback"};
    if (stream != NULL)
        look_inside(&inside, stream);
}

void fuzz_count_callback(accel_stream *stream, accel_status status, void *user)
{
    fuzz_thread inside = {.index = FUZZ_THREADS_MAX - 1, .what = "inside of a callback"};
    (void)status;
    run_callback(stream);
    if (user != NULL) {
        fuzz_block *block = user;
        fuzz_free_block(&inside, block);
    }
    atomic_fetch_add(&world.callbacks_called, 1);
}

void fuzz_graph_callback(accel_stream *stream, accel_status status, void *user)
{
    (void)status;
    (void)user;
    run_callback(stream);
}

static void add_callback(fuzz_thread *thread)
{
    accel_stream *stream = fuzz_take_stream(thread);
    if (draw_chance(&thread->draw, 5)) {
        CALL(thread, accel_stream_add_callback, stream, NULL, NULL);
        fuzz_drop(thread, FUZZ_STREAM, stream);
        return;
    }
    /* A block goes with the callback, which frees it. */
    fuzz_block **slot = &thread->blocks[draw_below(&thread->draw, FUZZ_BLOCKS_MAX)];
    fuzz_block *block = *slot != NULL && !(*slot)->is_wrapped ? *slot : NULL;
    atomic_fetch_add(&world.callbacks_added, 1);
    if (block != NULL)
        *slot = NULL;
    if (CALL(thread, accel_stream_add_callback, stream, fuzz_count_callback, block) != ACCEL_OK) {
        atomic_fetch_sub(&world.callbacks_added, 1);
        if (block != NULL)
            *slot = block;
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

/* ---- streams ---- */

static void make_stream(fuzz_thread *thread)
{
    static const int32_t priorities[] = {0, -1, 1, INT32_MIN, INT32_MAX, 0};
    accel_stream *stream = NULL;
    const accel_stream_options options = {.struct_size = fuzz_struct_size(thread, sizeof options),
                                          .priority = priorities[draw_below(&thread->draw, 6)]};
    if (draw_chance(&thread->draw, 5))
        CALL(thread, accel_stream_create, fuzz_device(thread), NULL, NULL);
    if (MAKE(thread, accel_stream_create, &stream, fuzz_device(thread),
             draw_chance(&thread->draw, 50) && options.struct_size <= sizeof options
                 ? &options
                 : NULL) == ACCEL_OK)
        fuzz_put(thread, draw_chance(&thread->draw, 70) ? FUZZ_STREAM : FUZZ_CAPTURE_STREAM,
                 stream);
}

static void drop_object(fuzz_thread *thread)
{
    static const fuzz_kind kinds[] = {FUZZ_STREAM,        FUZZ_CAPTURE_STREAM, FUZZ_EVENT,
                                      FUZZ_CAPTURE_EVENT, FUZZ_GENERATOR,      FUZZ_POOL};
    fuzz_put(thread, kinds[draw_below(&thread->draw, 6)], NULL);
    fuzz_drop(thread, FUZZ_STREAM, NULL);
    fuzz_drop(thread, FUZZ_EVENT, NULL);
    fuzz_drop(thread, FUZZ_MODULE, NULL);
    fuzz_drop(thread, FUZZ_POOL, NULL);
    fuzz_drop(thread, FUZZ_GRAPH, NULL);
    fuzz_drop(thread, FUZZ_GENERATOR, NULL);
}

static void ask_stream(fuzz_thread *thread)
{
    accel_stream *stream = draw_chance(&thread->draw, 70) ? fuzz_take_stream(thread)
                                                          : fuzz_take(thread, FUZZ_CAPTURE_STREAM);
    accel_device device = {77, 77};
    uint64_t id = 77;
    int32_t priority = 77;
    bool flag = true;
    void *handle = &handle;
    if (CALL(thread, accel_stream_get_device, stream, &device) != ACCEL_OK)
        REQUIRE(thread, device.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    if (CALL(thread, accel_stream_get_id, stream, &id) != ACCEL_OK)
        REQUIRE(thread, id == 0, "a number is left after a failure");
    if (CALL(thread, accel_stream_get_priority, stream, &priority) != ACCEL_OK)
        REQUIRE(thread, priority == 0, "a priority is left after a failure");
    if (CALL(thread, accel_stream_is_capturing, stream, &flag) != ACCEL_OK)
        REQUIRE(thread, !flag, "a flag is left after a failure");
    if (CALL(thread, accel_stream_get_native_handle, stream, &handle) != ACCEL_OK)
        REQUIRE(thread, handle == NULL, "a handle is left after a failure");
    flag = true;
    if (CALL(thread, accel_stream_query, stream, &flag) != ACCEL_OK)
        REQUIRE(thread, !flag, "a failed query says that all is done");
    if (draw_chance(&thread->draw, 10)) {
        CALL(thread, accel_stream_get_device, stream, NULL);
        CALL(thread, accel_stream_get_id, stream, NULL);
        CALL(thread, accel_stream_get_priority, stream, NULL);
        CALL(thread, accel_stream_is_capturing, stream, NULL);
        CALL(thread, accel_stream_get_native_handle, stream, NULL);
        CALL(thread, accel_stream_query, stream, NULL);
        CALL(thread, accel_stream_default, fuzz_device(thread), NULL);
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

static void wait_for_stream(fuzz_thread *thread)
{
    accel_stream *stream = fuzz_take_stream(thread);
    accel_stream *other = fuzz_take_stream(thread);
    bool done = false;
    if (draw_chance(&thread->draw, 50)) {
        CALL(thread, accel_stream_wait_stream, stream, other);
    } else if (CALL(thread, accel_stream_synchronize, stream) == ACCEL_OK && stream != NULL &&
               fuzz_is_alone()) {
        REQUIRE(thread, CALL(thread, accel_stream_query, stream, &done) == ACCEL_OK && done,
                "a stream was waited for and is not done");
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_STREAM, other);
}

static void wait_for_device(fuzz_thread *thread)
{
    CALL(thread, accel_synchronize, fuzz_device(thread));
}

/* ---- events ---- */

static void make_event(fuzz_thread *thread)
{
    accel_event *event = NULL;
    const accel_event_options options = {.struct_size = fuzz_struct_size(thread, sizeof options),
                                         .enable_timing = draw_chance(&thread->draw, 50)};
    if (draw_chance(&thread->draw, 5))
        CALL(thread, accel_event_create, fuzz_device(thread), NULL, NULL);
    if (MAKE(thread, accel_event_create, &event, fuzz_device(thread),
             draw_chance(&thread->draw, 60) && options.struct_size <= sizeof options
                 ? &options
                 : NULL) == ACCEL_OK)
        fuzz_put(thread, draw_chance(&thread->draw, 70) ? FUZZ_EVENT : FUZZ_CAPTURE_EVENT, event);
}

static void use_event(fuzz_thread *thread)
{
    accel_event *event = fuzz_take(thread, FUZZ_EVENT);
    accel_stream *stream = fuzz_take_stream(thread);
    bool done = false;
    switch (draw_below(&thread->draw, 4)) {
    case 0:
        CALL(thread, accel_event_record, event, stream);
        break;
    case 1:
        CALL(thread, accel_stream_wait_event, stream, event);
        break;
    case 2:
        if (CALL(thread, accel_event_synchronize, event) == ACCEL_OK && fuzz_is_alone())
            REQUIRE(thread, CALL(thread, accel_event_query, event, &done) == ACCEL_OK && done,
                    "an event was waited for and has not passed");
        break;
    default:
        done = true;
        if (CALL(thread, accel_event_query, event, &done) != ACCEL_OK)
            REQUIRE(thread, !done, "a failed query says that all is done");
        CALL(thread, accel_event_query, event, NULL);
        break;
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_EVENT, event);
}

static void ask_event(fuzz_thread *thread)
{
    accel_event *start = fuzz_take(thread, FUZZ_EVENT);
    accel_event *end = fuzz_take(thread, FUZZ_EVENT);
    accel_device device = {77, 77};
    double milliseconds = 77;
    void *handle = &handle;
    if (CALL(thread, accel_event_elapsed_time, start, end, &milliseconds) != ACCEL_OK)
        REQUIRE(thread, milliseconds == 0, "a time is left after a failure");
    if (CALL(thread, accel_event_get_native_handle, end, &handle) != ACCEL_OK)
        REQUIRE(thread, handle == NULL, "a handle is left after a failure");
    if (CALL(thread, accel_event_get_device, start, &device) != ACCEL_OK)
        REQUIRE(thread, device.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    if (draw_chance(&thread->draw, 10)) {
        CALL(thread, accel_event_elapsed_time, start, end, NULL);
        CALL(thread, accel_event_get_native_handle, start, NULL);
        CALL(thread, accel_event_get_device, start, NULL);
    }
    fuzz_drop(thread, FUZZ_EVENT, start);
    fuzz_drop(thread, FUZZ_EVENT, end);
}

const fuzz_step fuzz_steps_streams[] = {
    {"make stream", 8, make_stream},
    {"drop object", 8, drop_object},
    {"ask stream", 6, ask_stream},
    {"wait for stream", 8, wait_for_stream},
    {"wait for device", 2, wait_for_device},
    {"add callback", 6, add_callback},
    {"make event", 6, make_event},
    {"use event", 10, use_event},
    {"ask event", 4, ask_event},
    {NULL, 0, NULL},
};
