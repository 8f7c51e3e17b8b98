/* record_history.c: a program whose memory is known: allocates on three streams with its history recorded, and writes
 * one snapshot as a pickle and as JSON.
 *
 *   record_history PICKLE JSON
 *
 * At the end 40 blocks of 10,000 bytes and one of 5,000,000 are live; at most 41 and two of 5,000,000 were. */
#include <stdio.h>
#include <stdlib.h>

#include <accel/accel.h>
#include <accel/memory_history.h>

enum { COUNT = 40, SMALL = 10000, LARGE = 5000000 };

static void check(accel_status status, const char *what)
{
    if (status == ACCEL_OK)
        return;
    fprintf(stderr, "record_history: %s: %s\n", what, accel_last_error_message());
    exit(1);
}

__attribute__((noinline)) static void *take(accel_stream *stream, size_t size)
{
    void *pointer = NULL;
    check(accel_memory_alloc(stream, size, NULL, &pointer), "alloc");
    return pointer;
}

int main(int argc, char **argv)
{
    accel_device device = {ACCEL_BACKEND_NONE, 0};
    accel_stream *streams[3];
    accel_memory_snapshot *snapshot = NULL;
    static void *blocks[COUNT];
    if (argc != 3)
        return 2;
    check(accel_backend_find("cpu", &device.backend), "cpu");
    check(accel_memory_record_history(NULL), "record");
    check(accel_stream_default(device, &streams[0]), "stream");
    check(accel_stream_create(device, NULL, &streams[1]), "stream");
    check(accel_stream_create(device, NULL, &streams[2]), "stream");
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = take(streams[i % 3], SMALL);
    void *small = take(streams[1], SMALL);
    void *kept = take(streams[1], LARGE);
    void *other = take(streams[2], LARGE);
    check(accel_record_stream(other, streams[1]), "record_stream");
    check(accel_memory_free(small), "free");
    check(accel_memory_free(other), "free");
    check(accel_synchronize(device), "synchronize"); /* nothing waits for a stream any more */
    check(accel_memory_snapshot_create(NULL, &snapshot), "snapshot");
    check(accel_memory_snapshot_write(snapshot, argv[1], ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE),
          "write");
    check(accel_memory_snapshot_write(snapshot, argv[2], ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON),
          "write");
    accel_memory_snapshot_release(snapshot);
    check(accel_memory_free(kept), "free");
    for (size_t i = 0; i < COUNT; i++)
        check(accel_memory_free(blocks[i]), "free");
    accel_stream_release(streams[1]);
    accel_stream_release(streams[2]);
    return 0;
}
