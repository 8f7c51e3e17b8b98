/* mock_backend.c: see mock_backend.h.
 *
 * One mutex guards everything. A stream is a list of pieces of work; `advance` runs the heads of all
 * lists until none can go on: a held stream does not move, a wait does not pass before its mark. */
#include "doubles/mock_backend.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

mock_control mock;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool hold_new;

typedef struct device {
    int32_t index;
} device;

/* One record of an event: shared by the event and the waits for it. */
typedef struct mark {
    int references;
    bool passed;
} mark;

typedef struct work {
    struct work *next;
    enum { WORK_COPY, WORK_FILL, WORK_MARK, WORK_WAIT } kind;
    accel_backend_copy copy;
    unsigned char pattern[8];
    size_t pattern_size;
    mark *mark;
} work;

typedef struct stream {
    struct stream *next;
    work *first;
    bool held;
    bool released; /* destroyed by the core: goes once its work is done */
} stream;

typedef struct event {
    mark *mark; /* of the last record, or NULL */
} event;

static stream *streams;

static accel_status count(mock_call call, const char *function)
{
    atomic_fetch_add(&mock.calls[call], 1);
    mock.process = (uint32_t)getpid();
    unsigned left = mock.fail[call];
    while (left != 0 && !atomic_compare_exchange_weak(&mock.fail[call], &left, left - 1))
        continue;
    if (left == 0)
        return ACCEL_OK;
    return accel__fail_vendor(call == MOCK_START   ? ACCEL_ERROR_START_FAILED
                              : call == MOCK_ALLOC ? ACCEL_ERROR_OUT_OF_MEMORY
                                                   : ACCEL_ERROR_DEVICE_FAILED,
                              "mock", function, MOCK_VENDOR_CODE, MOCK_VENDOR_TEXT,
                              "%s failed in the mock", function);
}

static void *make(size_t size)
{
    atomic_fetch_add(&mock.objects, 1);
    return calloc(1, size);
}

static void unmake(void *object)
{
    atomic_fetch_sub(&mock.objects, 1);
    free(object);
}

/* ---- discovery ---- */

static void probe(accel_backend_probe *out_probe)
{
    atomic_fetch_add(&mock.calls[MOCK_PROBE], 1);
    out_probe->device_count = mock.device_count;
    out_probe->cannot_tell = mock.cannot_tell;
    if (mock.cannot_tell || mock.device_count == 0)
        strcpy(out_probe->reason, "the mock was told so");
}

static accel_status start(const accel_backend_selected *selected, uint32_t selected_count)
{
    (void)selected, (void)selected_count;
    const struct timespec pause = {0, (long)mock.start_ms * 1000000};
    nanosleep(&pause, NULL);
    return count(MOCK_START, "mockStart");
}

static void stop(void)
{
    count(MOCK_STOP, "mockStop");
}

static accel_status describe(int32_t index, accel_device_info *out_info)
{
    (void)index;
    atomic_fetch_add(&mock.calls[MOCK_DESCRIBE], 1);
    out_info->kind = ACCEL_DEVICE_KIND_ACCELERATOR;
    strcpy(out_info->name, "mock");
    return ACCEL_OK;
}

static accel_status capability(int32_t index, accel_device_capability *out_capability)
{
    (void)index;
    atomic_fetch_add(&mock.calls[MOCK_CAPABILITY], 1);
    out_capability->compute_units = 1;
    out_capability->total_memory = out_capability->max_allocation = 1u << 30;
    out_capability->alignment = 512;
    out_capability->data_types = ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_U8);
    return ACCEL_OK;
}

/* ---- device and memory ---- */

static accel_status open_device(int32_t index, accel_native_device **out_device)
{
    *out_device = NULL;
    const accel_status status = count(MOCK_OPEN, "mockOpen");
    if (status != ACCEL_OK)
        return status;
    atomic_fetch_add(&mock.opened[index], 1);
    device *made = make(sizeof *made);
    made->index = index;
    *out_device = (accel_native_device *)made;
    return ACCEL_OK;
}

static accel_status memory_info(int32_t index, size_t *out_free, size_t *out_total)
{
    (void)index;
    *out_free = 1u << 29;
    *out_total = 1u << 30;
    return count(MOCK_MEMORY_INFO, "mockMemoryInfo");
}

static accel_status alloc(accel_native_device *on, size_t size, size_t alignment,
                          void **out_pointer)
{
    (void)on;
    *out_pointer = NULL;
    const accel_status status = count(MOCK_ALLOC, "mockAlloc");
    if (status != ACCEL_OK)
        return status;
    if (posix_memalign(out_pointer, alignment < 512 ? 512 : alignment, size) != 0)
        return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, "mock", "mockAlloc", "no memory");
    atomic_fetch_add(&mock.objects, 1);
    return ACCEL_OK;
}

static void free_memory(accel_native_device *on, void *pointer)
{
    (void)on;
    count(MOCK_FREE, "mockFree");
    unmake(pointer);
}

/* ---- work ---- */

static void drop_mark(mark *dropped)
{
    if (dropped != NULL && --dropped->references == 0)
        free(dropped);
}

static void do_copy(const accel_backend_copy *copy)
{
    for (size_t row = 0; row < copy->height; row++)
        memcpy((char *)copy->destination + row * copy->destination_pitch,
               (const char *)copy->source + row * copy->source_pitch, copy->width);
}

static void do_fill(const work *piece)
{
    char *target = piece->copy.destination;
    for (size_t at = 0; at < piece->copy.width; at += piece->pattern_size)
        memcpy(target + at, piece->pattern, piece->pattern_size);
}

static void do_work(work *piece)
{
    if (piece->kind == WORK_COPY)
        do_copy(&piece->copy);
    else if (piece->kind == WORK_FILL)
        do_fill(piece);
    else if (piece->kind == WORK_MARK)
        piece->mark->passed = true;
}

static bool step(stream *on)
{
    work *piece = on->first;
    if (piece == NULL || on->held || (piece->kind == WORK_WAIT && !piece->mark->passed))
        return false;
    do_work(piece);
    on->first = piece->next;
    drop_mark(piece->mark);
    free(piece);
    return true;
}

static void sweep(void)
{
    for (stream **link = &streams; *link != NULL;) {
        stream *seen = *link;
        if (seen->released && seen->first == NULL) {
            *link = seen->next;
            unmake(seen);
        } else {
            link = &seen->next;
        }
    }
}

static void advance(void)
{
    bool again = true;
    while (again) {
        again = false;
        for (stream *on = streams; on != NULL; on = on->next)
            while (step(on))
                again = true;
    }
    sweep();
    pthread_cond_broadcast(&moved);
}

static void push(accel_native_stream *native, work *piece)
{
    stream *on = (stream *)native;
    work **link = &on->first;
    while (*link != NULL)
        link = &(*link)->next;
    *link = piece;
    advance();
}

static accel_status enqueue_copy(accel_native_stream *on, const accel_backend_copy *copy)
{
    const accel_status status = count(MOCK_COPY, "mockCopy");
    if (status != ACCEL_OK)
        return status;
    work *piece = calloc(1, sizeof *piece);
    piece->kind = WORK_COPY;
    piece->copy = *copy;
    pthread_mutex_lock(&mutex);
    push(on, piece);
    pthread_mutex_unlock(&mutex);
    return ACCEL_OK;
}

static accel_status enqueue_fill(accel_native_stream *on, void *destination, const void *pattern,
                                 size_t pattern_size, size_t size)
{
    const accel_status status = count(MOCK_FILL, "mockFill");
    if (status != ACCEL_OK)
        return status;
    work *piece = calloc(1, sizeof *piece);
    piece->kind = WORK_FILL;
    piece->copy.destination = destination;
    piece->copy.width = size;
    memcpy(piece->pattern, pattern, pattern_size);
    piece->pattern_size = pattern_size;
    pthread_mutex_lock(&mutex);
    push(on, piece);
    pthread_mutex_unlock(&mutex);
    return ACCEL_OK;
}

/* ---- streams ---- */

static accel_status stream_create(accel_native_device *on, int32_t priority,
                                  accel_native_stream **out_stream)
{
    (void)on;
    (void)priority;
    *out_stream = NULL;
    const accel_status status = count(MOCK_STREAM_CREATE, "mockStreamCreate");
    if (status != ACCEL_OK)
        return status;
    stream *made = make(sizeof *made);
    pthread_mutex_lock(&mutex);
    made->held = hold_new;
    made->next = streams;
    streams = made;
    pthread_mutex_unlock(&mutex);
    *out_stream = (accel_native_stream *)made;
    return ACCEL_OK;
}

static void stream_destroy(accel_native_stream *native)
{
    count(MOCK_STREAM_DESTROY, "mockStreamDestroy");
    pthread_mutex_lock(&mutex);
    ((stream *)native)->released = true;
    advance();
    pthread_mutex_unlock(&mutex);
}

static accel_status stream_query(accel_native_stream *native, bool *out_done)
{
    *out_done = false;
    const accel_status status = count(MOCK_STREAM_QUERY, "mockStreamQuery");
    pthread_mutex_lock(&mutex);
    *out_done = ((stream *)native)->first == NULL;
    pthread_mutex_unlock(&mutex);
    return status;
}

static accel_status stream_synchronize(accel_native_stream *native)
{
    const accel_status status = count(MOCK_STREAM_SYNCHRONIZE, "mockStreamSynchronize");
    pthread_mutex_lock(&mutex);
    while (((stream *)native)->first != NULL)
        pthread_cond_wait(&moved, &mutex);
    pthread_mutex_unlock(&mutex);
    return status;
}

/* ---- events ---- */

static accel_status event_create(accel_native_device *on, bool timing,
                                 accel_native_event **out_event)
{
    (void)on;
    (void)timing;
    *out_event = NULL;
    const accel_status status = count(MOCK_EVENT_CREATE, "mockEventCreate");
    if (status == ACCEL_OK)
        *out_event = make(sizeof(event));
    return status;
}

static void event_destroy(accel_native_event *native)
{
    count(MOCK_EVENT_DESTROY, "mockEventDestroy");
    pthread_mutex_lock(&mutex);
    drop_mark(((event *)native)->mark);
    pthread_mutex_unlock(&mutex);
    unmake(native);
}

static accel_status event_record(accel_native_event *native, accel_native_stream *on)
{
    const accel_status status = count(MOCK_EVENT_RECORD, "mockEventRecord");
    if (status != ACCEL_OK)
        return status;
    event *recorded = (event *)native;
    mark *made = calloc(1, sizeof *made);
    work *piece = calloc(1, sizeof *piece);
    made->references = 2;
    piece->kind = WORK_MARK;
    piece->mark = made;
    pthread_mutex_lock(&mutex);
    drop_mark(recorded->mark);
    recorded->mark = made;
    push(on, piece);
    pthread_mutex_unlock(&mutex);
    return ACCEL_OK;
}

static accel_status event_query(accel_native_event *native, bool *out_done)
{
    const accel_status status = count(MOCK_EVENT_QUERY, "mockEventQuery");
    pthread_mutex_lock(&mutex);
    const mark *last = ((event *)native)->mark;
    *out_done = last == NULL || last->passed;
    pthread_mutex_unlock(&mutex);
    return status;
}

static accel_status event_synchronize(accel_native_event *native)
{
    const accel_status status = count(MOCK_EVENT_SYNCHRONIZE, "mockEventSynchronize");
    pthread_mutex_lock(&mutex);
    mark *last = ((event *)native)->mark;
    if (last != NULL) {
        last->references++;
        while (!last->passed)
            pthread_cond_wait(&moved, &mutex);
        drop_mark(last);
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

static accel_status event_wait(accel_native_stream *on, accel_native_event *native)
{
    const accel_status status = count(MOCK_EVENT_WAIT, "mockEventWait");
    if (status != ACCEL_OK)
        return status;
    pthread_mutex_lock(&mutex);
    mark *last = ((event *)native)->mark;
    if (last != NULL) {
        work *piece = calloc(1, sizeof *piece);
        piece->kind = WORK_WAIT;
        piece->mark = last;
        last->references++;
        push(on, piece);
    }
    pthread_mutex_unlock(&mutex);
    return ACCEL_OK;
}

/* ---- kernels: none of it ---- */

static accel_dialect dialect(accel_native_device *on)
{
    (void)on;
    return ACCEL_DIALECT_CPU_C;
}

static accel_status compiler_key(accel_native_device *on, char *buffer, size_t capacity)
{
    (void)on;
    (void)buffer;
    (void)capacity;
    atomic_fetch_add(&mock.calls[MOCK_KERNEL], 1);
    return accel__fail(ACCEL_ERROR_NO_COMPILER, "mock", "mockCompile", "the mock has no compiler");
}

static accel_status compile(accel_native_device *on, const char *text, size_t size,
                            const accel_backend_build *build)
{
    (void)text;
    (void)size;
    (void)build;
    return compiler_key(on, NULL, 0);
}

static accel_status load(accel_native_device *on, const void *object, size_t size,
                         accel_native_module **out_module)
{
    (void)on;
    (void)object;
    (void)size;
    *out_module = NULL;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "mock", "mockLoad", "no object of the mock");
}

static void unload(accel_native_module *module)
{
    (void)module;
}

static uint32_t function_count(accel_native_module *module)
{
    (void)module;
    return 0;
}

static accel_status get_function(accel_native_module *module, uint32_t index,
                                 accel_backend_function *out_function)
{
    (void)module;
    (void)index;
    (void)out_function;
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "mock", "mockFunction", "no function");
}

static accel_status launch(accel_native_stream *on, accel_native_function *function,
                           const accel_launch_shape *shape, const accel_kernel_arg *args,
                           uint32_t arg_count)
{
    (void)on;
    (void)function;
    (void)shape;
    (void)args;
    (void)arg_count;
    return count(MOCK_LAUNCH, "mockLaunch");
}

accel_backend_table mock_table(void)
{
    return (accel_backend_table){
        .struct_size = sizeof(accel_backend_table),
        .abi = ACCEL_BACKEND_ABI,
        .name = "mock",
        .rank = ACCEL_BACKEND_RANK_CPU + 10,
        .local = {probe, describe, capability},
        .discovery = {start, stop},
        .device = {open_device, memory_info},
        .memory = {alloc, free_memory, enqueue_copy, enqueue_fill},
        .stream = {stream_create, stream_destroy, stream_query, stream_synchronize},
        .event = {event_create, event_destroy, event_record, event_query, event_synchronize,
                  event_wait},
        .kernel = {dialect, compiler_key, compile, load, unload, function_count, get_function,
                   launch},
    };
}

void mock_hold_new_streams(bool hold)
{
    pthread_mutex_lock(&mutex);
    hold_new = hold;
    pthread_mutex_unlock(&mutex);
}

void mock_release_all(void)
{
    pthread_mutex_lock(&mutex);
    hold_new = false;
    for (stream *on = streams; on != NULL; on = on->next)
        on->held = false;
    advance();
    pthread_mutex_unlock(&mutex);
}
