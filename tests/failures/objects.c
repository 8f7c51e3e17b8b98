/* objects.c: scenarios of streams, events, callbacks, copies and fills. */
#include "scenario.h"

/* ---- streams ---- */

static accel_status streams(world *w)
{
    accel_stream *first = NULL;
    accel_stream *second = NULL;
    const accel_stream_options high = {.struct_size = sizeof high, .priority = -1};
    bool done = false;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &first), first);
    MAKES(accel_stream_create(w->device, &high, &second), second);
    THEN(accel_stream_wait_stream(first, second));
    THEN(accel_stream_wait_stream(second, first));
    THEN(accel_stream_query(first, &done));
    THEN(accel_stream_synchronize(second));
    THEN(accel_stream_query(second, &done));
    RIGHT(done);
    status = end_stream(w, first, status);
    return end_stream(w, second, status);
}

static accel_status many_streams(world *w)
{
    enum { STREAMS = 6 };
    accel_stream *made[STREAMS] = {NULL};
    void *memory[STREAMS] = {NULL};
    accel_status status = ACCEL_OK;
    for (int i = 0; i < STREAMS; i++) {
        MAKES(accel_stream_create(w->device, NULL, &made[i]), made[i]);
        MAKES(accel_memory_alloc(made[i], BYTES, NULL, &memory[i]), memory[i]);
        THEN(accel_copy(memory[i], w->from, BYTES, made[i]));
        THEN(launch_add(w, made[i], memory[i], 1));
        if (i > 0)
            THEN(accel_stream_wait_stream(made[i], made[i - 1]));
    }
    THEN(accel_synchronize(w->device));
    for (int i = 0; i < STREAMS; i++) {
        FREES(memory[i]);
        status = end_stream(w, made[i], status);
    }
    return status;
}

static accel_status scopes(world *w)
{
    accel_stream *made = NULL;
    accel_stream *now = NULL;
    accel_stream_scope scope = {.active = false};
    accel_device_scope on_device = {.active = false};
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->other, NULL, &made), made);
    THEN(accel_stream_scope_begin(made, &scope));
    THEN(accel_current_stream(w->other, &now));
    RIGHT(now == made);
    accel_stream_scope_end(&scope);
    THEN(accel_device_index_begin(w->other, &on_device));
    accel_device_index_end(&on_device);
    int32_t index = -1;
    THEN(accel_current_device_index(w->device.backend, &index));
    RIGHT(index == w->device.index);
    accel_stream_release(made);
    return status;
}

static accel_status native_handles(world *w)
{
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    void *handle = NULL;
    accel_status status = ACCEL_OK;
    if (!w->capability.native_handles)
        return ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    THEN(accel_stream_get_native_handle(stream, &handle));
    MAKES(accel_event_create(w->device, NULL, &event), event);
    THEN(accel_event_record(event, stream));
    THEN(accel_event_get_native_handle(event, &handle));
    accel_event_release(event);
    return end_stream(w, stream, status);
}

/* ---- events ---- */

static accel_status events(world *w)
{
    const accel_event_options timed = {.struct_size = sizeof timed,
                                       .enable_timing = w->capability.timing};
    accel_stream *stream = NULL;
    accel_stream *side = NULL;
    accel_event *begin = NULL;
    accel_event *end = NULL;
    double milliseconds = -1;
    bool done = false;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->device, NULL, &side), side);
    MAKES(accel_event_create(w->device, &timed, &begin), begin);
    MAKES(accel_event_create(w->device, &timed, &end), end);
    THEN(accel_event_record(begin, stream));
    THEN(accel_stream_wait_event(side, begin));
    THEN(accel_event_record(end, side));
    THEN(accel_event_record(end, side)); /* replaces the mark */
    THEN(accel_event_synchronize(end));
    THEN(accel_event_query(begin, &done));
    RIGHT(done);
    if (w->capability.timing) {
        THEN(accel_event_elapsed_time(begin, end, &milliseconds));
        RIGHT(milliseconds >= 0 && milliseconds < 60000);
    }
    accel_event_release(begin);
    accel_event_release(end);
    status = end_stream(w, stream, status);
    return end_stream(w, side, status);
}

/* Marks that pass from one device to another one. */
static accel_status events_between_devices(world *w)
{
    accel_stream *stream = NULL;
    accel_stream *other = NULL;
    accel_event *event = NULL;
    void *memory = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->other, NULL, &other), other);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    MAKES(accel_event_create(w->device, NULL, &event), event);
    THEN(accel_copy(memory, w->from, BYTES, stream));
    THEN(launch_add(w, stream, memory, 1));
    THEN(accel_event_record(event, stream));
    THEN(accel_stream_wait_event(other, event));
    THEN(accel_stream_wait_stream(stream, other));
    accel_event_release(event);
    FREES(memory);
    status = end_stream(w, stream, status);
    return end_stream(w, other, status);
}

/* ---- callbacks ---- */

static accel_status callbacks(world *w)
{
    accel_stream *stream = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    for (int i = 0; i < 3; i++) {
        THEN(accel_stream_add_callback(stream, count_call, w));
        w->called_wanted += status == ACCEL_OK;
    }
    THEN(accel_stream_synchronize(stream));
    RIGHT(w->called == 3);
    return end_stream(w, stream, status);
}

static accel_status callbacks_and_work(world *w)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    const uint32_t zero = 0;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    THEN(accel_fill(memory, &zero, 4, BYTES, stream));
    THEN(accel_stream_add_callback(stream, count_call, w));
    w->called_wanted = status == ACCEL_OK;
    THEN(launch_add(w, stream, memory, 5));
    THEN(accel_copy(w->to, memory, BYTES, stream));
    FREES(memory);
    status = end_stream(w, stream, status);
    RIGHT(words_are(w->to, WORDS, 5));
    return status;
}

static void callbacks_ran(world *w)
{
    MUST(w->called == w->called_wanted); /* each that was taken, once */
}

/* ---- copies and fills ---- */

static accel_status copies(world *w)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    void *second = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &second), second);
    THEN(accel_copy(memory, w->from, BYTES, stream));
    THEN(accel_copy(second, memory, BYTES, stream));
    THEN(accel_copy(w->to, second, BYTES, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(memcmp(w->from, w->to, BYTES) == 0);
    FREES(memory);
    FREES(second);
    return end_stream(w, stream, status);
}

static accel_status copies_of_rows(world *w)
{
    enum { WIDTH = 96, HEIGHT = 16, PITCH = 256 };
    accel_stream *stream = NULL;
    char *memory = NULL;
    char *second = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, (size_t)PITCH * HEIGHT, NULL, (void **)&memory), memory);
    MAKES(accel_memory_alloc(stream, (size_t)PITCH * HEIGHT, NULL, (void **)&second), second);
    THEN(accel_copy_2d(memory, PITCH, w->from, WIDTH, WIDTH, HEIGHT, stream));
    THEN(accel_copy_2d(second, PITCH, memory, PITCH, WIDTH, HEIGHT, stream));
    THEN(accel_copy_2d(w->to, WIDTH, second, PITCH, WIDTH, HEIGHT, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(memcmp(w->from, w->to, (size_t)WIDTH * HEIGHT) == 0);
    FREES(memory);
    FREES(second);
    return end_stream(w, stream, status);
}

static accel_status copies_between_devices(world *w)
{
    accel_stream *stream = NULL;
    accel_stream *other = NULL;
    void *memory = NULL;
    void *second = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->other, NULL, &other), other);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    MAKES(accel_memory_alloc(other, BYTES, NULL, &second), second);
    THEN(accel_copy(memory, w->from, BYTES, stream));
    THEN(accel_stream_wait_stream(other, stream));
    THEN(accel_copy(second, memory, BYTES, other));
    THEN(accel_copy(w->to, second, BYTES, other));
    THEN(accel_stream_synchronize(other));
    RIGHT(memcmp(w->from, w->to, BYTES) == 0);
    FREES(memory);
    FREES(second);
    status = end_stream(w, stream, status);
    return end_stream(w, other, status);
}

static accel_status copies_on_the_host(world *w)
{
    accel_stream *stream = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    THEN(accel_copy(w->to, w->from, BYTES, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(memcmp(w->from, w->to, BYTES) == 0);
    return end_stream(w, stream, status);
}

static accel_status fills(world *w)
{
    static const char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    accel_stream *stream = NULL;
    void *memory = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    for (size_t size = 1; size <= 8; size *= 2) {
        THEN(accel_fill(memory, pattern, size, BYTES, stream));
        THEN(accel_copy(w->to, memory, BYTES, stream));
        THEN(accel_stream_synchronize(stream));
        RIGHT(memcmp((char *)w->to + BYTES - size, pattern, size) == 0);
    }
    FREES(memory);
    return end_stream(w, stream, status);
}

const scenario object_scenarios[] = {
    {.name = "stream/life", .run = streams},
    {.name = "stream/many", .run = many_streams},
    {.name = "stream/scopes", .run = scopes},
    {.name = "stream/native-handles", .run = native_handles},
    {.name = "event/marks", .run = events},
    {.name = "event/between-devices", .run = events_between_devices},
    {.name = "callback/alone", .run = callbacks, .check = callbacks_ran},
    {.name = "callback/with-work", .run = callbacks_and_work, .check = callbacks_ran},
    {.name = "copy/device", .run = copies},
    {.name = "copy/rows", .run = copies_of_rows},
    {.name = "copy/between-devices", .run = copies_between_devices},
    {.name = "copy/host", .run = copies_on_the_host},
    {.name = "fill/patterns", .run = fills},
    {.name = NULL},
};
