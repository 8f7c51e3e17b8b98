/* copy.c: copies in every direction, in one and two dimensions, between devices and backends. */
#include "conformance.h"

#include <stdlib.h>

enum { SIZE = 5000 };

static void round_trip(cf_run *run)
{
    const size_t sizes[] = {1, 3, 4, 15, 64, 1000, 4097, SIZE};
    unsigned char source[SIZE];
    unsigned char back[SIZE];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *one = NULL;
        void *two = NULL;
        cf_pattern(source, sizes[i], (unsigned)i);
        memset(back, 0, sizeof back);
        OK(accel_memory_alloc(run->stream, sizes[i], NULL, &one));
        OK(accel_memory_alloc(run->stream, sizes[i], NULL, &two));
        OK(accel_copy(one, source, sizes[i], run->stream));
        OK(accel_copy(two, one, sizes[i], run->stream));
        OK(accel_copy(back, two, sizes[i], run->stream));
        OK(accel_stream_synchronize(run->stream));
        CHECK(memcmp(source, back, sizes[i]) == 0);
        OK(accel_memory_free(one));
        OK(accel_memory_free(two));
    }
}

static void any_alignment(cf_run *run)
{
    unsigned char source[200];
    unsigned char back[200];
    unsigned char *memory = NULL;
    cf_pattern(source, sizeof source, 5);
    OK(accel_memory_alloc(run->stream, 300, NULL, (void **)&memory));
    for (size_t shift = 0; shift < 9; shift++) {
        memset(back, 0, sizeof back);
        OK(accel_copy(memory + shift, source + shift, 150, run->stream));
        OK(accel_copy(back + 2 * shift, memory + shift, 150, run->stream));
        OK(accel_stream_synchronize(run->stream));
        CHECK(memcmp(back + 2 * shift, source + shift, 150) == 0);
    }
    OK(accel_memory_free(memory));
}

static void large(cf_run *run)
{
    const size_t size = (size_t)16 << 20;
    unsigned char *source = malloc(size);
    unsigned char *back = calloc(1, size);
    void *memory = NULL;
    CHECK(source != NULL && back != NULL);
    cf_pattern(source, size, 6);
    OK(accel_memory_alloc(run->stream, size, NULL, &memory));
    OK(accel_copy(memory, source, size, run->stream));
    OK(accel_copy(back, memory, size, run->stream));
    OK(accel_stream_synchronize(run->stream));
    const int difference = memcmp(source, back, size);
    free(source);
    free(back);
    CHECK(difference == 0);
    OK(accel_memory_free(memory));
}

static void rows(cf_run *run)
{
    enum { WIDTH = 11, HEIGHT = 7, PITCH = 24, HOST_PITCH = 15 };
    unsigned char source[HOST_PITCH * HEIGHT];
    unsigned char back[HOST_PITCH * HEIGHT];
    void *memory = NULL;
    cf_pattern(source, sizeof source, 7);
    memset(back, 0xcc, sizeof back);
    OK(accel_memory_alloc(run->stream, PITCH * HEIGHT, NULL, &memory));
    OK(accel_copy_2d(memory, PITCH, source, HOST_PITCH, WIDTH, HEIGHT, run->stream));
    OK(accel_copy_2d(back, HOST_PITCH, memory, PITCH, WIDTH, HEIGHT, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (int row = 0; row < HEIGHT; row++) {
        CHECK(memcmp(back + row * HOST_PITCH, source + row * HOST_PITCH, WIDTH) == 0);
        for (int i = WIDTH; i < HOST_PITCH; i++)
            CHECK(back[row * HOST_PITCH + i] == 0xcc);
    }
    OK(accel_memory_free(memory));
}

static void refusals(cf_run *run)
{
    unsigned char host[64] = {0};
    unsigned char *memory = NULL;
    OK(accel_memory_alloc(run->stream, 64, NULL, (void **)&memory));
    GIVES(accel_copy(memory, memory + 8, 16, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_copy(memory + 32, host, 33, run->stream), ACCEL_ERROR_OUT_OF_RANGE);
    GIVES(accel_copy(host, memory + 32, SIZE_MAX, run->stream), ACCEL_ERROR_OUT_OF_RANGE);
    GIVES(accel_copy(memory, NULL, 1, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_copy_2d(memory, 4, host, 8, 8, 2, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_copy_2d(memory, SIZE_MAX / 2, host, 8, 8, 4, run->stream),
          ACCEL_ERROR_OUT_OF_RANGE);
    OK(accel_copy(memory, NULL, 0, run->stream));
    OK(accel_stream_synchronize(run->stream));
    OK(accel_memory_free(memory));
}

/* There and back over another device, each copy on a stream of either. */
static void over(cf_run *run, accel_device other)
{
    unsigned char source[SIZE];
    unsigned char back[SIZE];
    accel_stream *streams[2] = {run->stream, NULL};
    void *here = NULL;
    void *there = NULL;
    OK(accel_stream_create(other, NULL, &streams[1]));
    OK(accel_memory_alloc(streams[0], SIZE, NULL, &here));
    OK(accel_memory_alloc(streams[1], SIZE, NULL, &there));
    for (int turn = 0; turn < 4; turn++) {
        accel_stream *out = streams[turn & 1];
        accel_stream *in = streams[turn >> 1];
        cf_pattern(source, SIZE, 20u + (unsigned)turn);
        memset(back, 0, SIZE);
        OK(accel_copy(here, source, SIZE, streams[0]));
        OK(accel_stream_synchronize(streams[0]));
        OK(accel_copy(there, here, SIZE, out));
        OK(accel_stream_synchronize(out));
        OK(accel_fill(here, "", 1, SIZE, streams[0]));
        OK(accel_stream_synchronize(streams[0]));
        OK(accel_copy_2d(here, 100, there, 100, 100, SIZE / 100, in));
        OK(accel_stream_synchronize(in));
        OK(accel_copy(back, here, SIZE, streams[0]));
        OK(accel_stream_synchronize(streams[0]));
        CHECK(memcmp(source, back, SIZE) == 0);
    }
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
    accel_stream_release(streams[1]);
}

static void between_devices(cf_run *run)
{
    if (!run->has_other)
        SKIP("the backend has one device");
    over(run, run->other);
}

static void between_backends(cf_run *run)
{
    bool found = false;
    for (size_t i = 0; i < run->all_count && run->result == CF_PASS; i++) {
        if (run->all[i].backend == run->device.backend || run->all[i].index != 0)
            continue;
        found = true;
        over(run, run->all[i]);
    }
    if (!found)
        SKIP("there is one backend");
}

/* A copy between devices is ordered in its stream, staged or not. */
static void between_devices_in_order(cf_run *run)
{
    void *here = NULL;
    void *there = NULL;
    accel_stream *foreign = NULL;
    uint32_t back = 0;
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(accel_stream_create(run->other, NULL, &foreign));
    OK(accel_memory_alloc(run->stream, 4, NULL, &here));
    OK(accel_memory_alloc(foreign, 4, NULL, &there));
    OK(accel_stream_synchronize(foreign));
    for (uint32_t i = 0; i < 50; i++) {
        const uint32_t later = i + 1000;
        OK(accel_fill(here, &i, 4, 4, run->stream));
        OK(accel_copy(there, here, 4, run->stream));
        OK(accel_fill(here, &later, 4, 4, run->stream));
        OK(accel_stream_wait_stream(foreign, run->stream));
        OK(accel_copy(&back, there, 4, foreign));
        OK(accel_stream_synchronize(foreign));
        CHECK(back == i);
    }
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
    accel_stream_release(foreign);
}

static void stream_of_a_third_device(cf_run *run)
{
    unsigned char host[16] = {0};
    void *memory = NULL;
    accel_stream *foreign = NULL;
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(accel_stream_create(run->other, NULL, &foreign));
    OK(accel_memory_alloc(run->stream, 16, NULL, &memory));
    GIVES(accel_copy(memory, host, 16, foreign), ACCEL_ERROR_MISMATCH);
    OK(accel_memory_free(memory));
    accel_stream_release(foreign);
}

const cf_test cf_copy_tests[] = {
    {"copy/round-trip", round_trip},
    {"copy/any-alignment", any_alignment},
    {"copy/large", large},
    {"copy/rows", rows},
    {"copy/refusals", refusals},
    {"copy/between-devices", between_devices},
    {"copy/between-devices-in-order", between_devices_in_order},
    {"copy/between-backends", between_backends},
    {"copy/stream-of-a-third-device", stream_of_a_third_device},
    {NULL, NULL},
};
