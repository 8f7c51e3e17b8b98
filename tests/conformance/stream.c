/* stream.c: streams: identity, order, waiting, priorities, scopes, native handles. */
#include "conformance.h"

static void identities(cf_run *run)
{
    enum { COUNT = 40 };
    accel_stream *streams[COUNT];
    uint64_t ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        OK(accel_stream_create(run->device, NULL, &streams[i]));
        OK(accel_stream_get_id(streams[i], &ids[i]));
        CHECK(ids[i] != 0);
        for (int j = 0; j < i; j++)
            CHECK(ids[i] != ids[j] && streams[i] != streams[j]);
    }
    for (int i = 0; i < COUNT; i++)
        accel_stream_release(streams[i]);
    accel_stream *plain = NULL;
    OK(accel_stream_default(run->device, &plain));
    OK(accel_stream_get_id(plain, &ids[0]));
    CHECK(ids[0] == 0);
    accel_device device;
    OK(accel_stream_get_device(plain, &device));
    CHECK(device.backend == run->device.backend && device.index == run->device.index);
}

/* The default stream is a stream like others. */
static void default_stream_works(cf_run *run)
{
    accel_stream *plain = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    const uint32_t value = 99;
    OK(accel_stream_default(run->device, &plain));
    OK(accel_memory_alloc(plain, 4, NULL, &memory));
    OK(accel_fill(memory, &value, 4, 4, plain));
    OK(accel_copy(&back, memory, 4, plain));
    OK(accel_stream_synchronize(plain));
    CHECK(back == 99);
    OK(accel_memory_free(memory));
}

static void fifo(cf_run *run)
{
    enum { TURNS = 300 };
    void *memory = NULL;
    uint32_t back[TURNS];
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    for (uint32_t i = 0; i < TURNS; i++) {
        OK(accel_fill(memory, &i, 4, 4, run->stream));
        OK(accel_copy(&back[i], memory, 4, run->stream));
    }
    OK(accel_stream_synchronize(run->stream));
    for (uint32_t i = 0; i < TURNS; i++)
        CHECK(back[i] == i);
    OK(accel_memory_free(memory));
}

static void query(cf_run *run)
{
    bool done = false;
    accel_stream *unused = NULL;
    OK(accel_stream_create(run->device, NULL, &unused));
    OK(accel_stream_query(unused, &done));
    CHECK(done);
    accel_stream_release(unused);
    OK(cf_hold(run, run->stream));
    OK(accel_stream_query(run->stream, &done));
    CHECK(!run->has_gate || !done);
    cf_let_go(run);
    OK(accel_stream_synchronize(run->stream));
    OK(accel_stream_query(run->stream, &done));
    CHECK(done);
}

static void streams_are_independent(cf_run *run)
{
    accel_stream *other = NULL;
    if (!run->has_gate || !run->capability.concurrent_streams)
        SKIP("no way to hold one stream, or streams are not concurrent");
    OK(accel_stream_create(run->device, NULL, &other));
    OK(cf_hold(run, run->stream));
    void *memory = NULL;
    const uint32_t value = 1;
    OK(accel_memory_alloc(other, 4, NULL, &memory));
    OK(accel_fill(memory, &value, 4, 4, other));
    OK(accel_stream_synchronize(other)); /* would hang behind a shared queue */
    cf_let_go(run);
    OK(accel_memory_free(memory));
    accel_stream_release(other);
}

/* Writes on one stream, reads on another that waits for the first. */
static void wait_stream(cf_run *run)
{
    accel_stream *reader = NULL;
    void *memory = NULL;
    uint32_t back[50] = {0};
    OK(accel_stream_create(run->device, NULL, &reader));
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    for (uint32_t i = 0; i < 50; i++) {
        const uint32_t value = i + 1000;
        if (i % 10 == 0) {
            OK(accel_stream_synchronize(run->stream));
            OK(cf_hold(run, run->stream));
        }
        OK(accel_fill(memory, &value, 4, 4, run->stream));
        OK(accel_stream_wait_stream(reader, run->stream));
        OK(accel_copy(&back[i], memory, 4, reader));
        OK(accel_stream_wait_stream(run->stream, reader));
        cf_let_go(run);
    }
    OK(accel_stream_synchronize(reader));
    for (uint32_t i = 0; i < 50; i++)
        CHECK(back[i] == i + 1000);
    OK(accel_record_stream(memory, reader));
    OK(accel_memory_free(memory));
    accel_stream_release(reader);
}

static void release_with_work_pending(cf_run *run)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    const uint32_t value = 5;
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    OK(accel_stream_synchronize(run->stream));
    OK(accel_stream_create(run->device, NULL, &stream));
    OK(cf_hold(run, stream));
    OK(accel_fill(memory, &value, 4, 4, stream));
    OK(accel_copy(&back, memory, 4, stream));
    accel_stream_release(stream);
    cf_let_go(run);
    OK(accel_synchronize(run->device));
    CHECK(back == 5);
    OK(accel_memory_free(memory));
}

static void priorities(cf_run *run)
{
    const int32_t lowest = run->capability.priority_lowest;
    const int32_t highest = run->capability.priority_highest;
    const int32_t wanted[] = {0, -1, 1, INT32_MIN, INT32_MAX, lowest, highest};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const accel_stream_options options = {.struct_size = sizeof options, .priority = wanted[i]};
        accel_stream *stream = NULL;
        int32_t priority = 77;
        OK(accel_stream_create(run->device, &options, &stream));
        OK(accel_stream_get_priority(stream, &priority));
        CHECK(priority == (wanted[i] > lowest    ? lowest
                           : wanted[i] < highest ? highest
                                                 : wanted[i]));
        accel_stream_release(stream);
    }
}

static void current_stream(cf_run *run)
{
    accel_stream *current = NULL;
    accel_stream *plain = NULL;
    OK(accel_stream_default(run->device, &plain));
    OK(accel_current_stream(run->device, &current));
    CHECK(current == plain);
    OK(accel_set_stream(run->stream));
    OK(accel_current_stream(ACCEL_DEVICE_CURRENT, &current));
    CHECK(current == run->stream);
    OK(accel_set_stream(plain));
    OK(accel_current_stream(run->device, &current));
    CHECK(current == plain);
}

static void stream_scope(cf_run *run)
{
    accel_stream *current = NULL;
    accel_stream *plain = NULL;
    accel_stream_scope outer;
    accel_stream_scope inner;
    OK(accel_stream_default(run->device, &plain));
    OK(accel_stream_scope_begin(run->stream, &outer));
    OK(accel_stream_scope_begin(run->stream, &inner));
    OK(accel_set_stream(plain));
    accel_stream_scope_end(&inner);
    OK(accel_current_stream(run->device, &current));
    CHECK(current == run->stream);
    accel_stream_scope_end(&outer);
    OK(accel_current_stream(run->device, &current));
    CHECK(current == plain);
}

static void scope_over_devices(cf_run *run)
{
    accel_stream *of_other = NULL;
    accel_stream *before = NULL;
    accel_stream *current = NULL;
    accel_stream_scope scope;
    int32_t index = -1;
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(accel_stream_create(run->other, NULL, &of_other));
    OK(accel_current_stream(run->other, &before));
    OK(accel_stream_scope_begin(of_other, &scope));
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->other.index);
    accel_stream_scope_end(&scope);
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->device.index);
    OK(accel_current_stream(run->other, &current));
    CHECK(current == before);
    accel_stream_release(of_other);
}

static void native_handle(cf_run *run)
{
    accel_stream *other = NULL;
    void *one = NULL;
    void *two = NULL;
    if (!run->capability.native_handles) {
        GIVES(accel_stream_get_native_handle(run->stream, &one), ACCEL_ERROR_UNSUPPORTED);
        CHECK(one == NULL);
        return;
    }
    OK(accel_stream_create(run->device, NULL, &other));
    OK(accel_stream_get_native_handle(run->stream, &one));
    OK(accel_stream_get_native_handle(other, &two));
    CHECK(one != NULL && two != NULL && one != two);
    accel_stream_release(other);
}

const cf_test cf_stream_tests[] = {
    {"stream/identities", identities},
    {"stream/default", default_stream_works},
    {"stream/fifo", fifo},
    {"stream/query", query},
    {"stream/independent", streams_are_independent},
    {"stream/wait-stream", wait_stream},
    {"stream/release-with-work-pending", release_with_work_pending},
    {"stream/priorities", priorities},
    {"stream/current", current_stream},
    {"stream/scope", stream_scope},
    {"stream/scope-over-devices", scope_over_devices},
    {"stream/native-handle", native_handle},
    {NULL, NULL},
};
