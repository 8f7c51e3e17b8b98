/* Writes snapshots of a process that allocated in many ways: FOLDER/snapshot.json and
 * FOLDER/snapshot.pickle, the same one twice. For what reads them from outside. */
#include <accel/accel.h>
#include <accel/allocator.h>
#include <accel/allocator_config.h>
#include <accel/memory_history.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/kernels.h"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != ACCEL_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, accel_last_error_message());                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { KEPT = 2500 };

static uint32_t draw(uint32_t *from)
{
    *from ^= *from << 13;
    *from ^= *from >> 17;
    *from ^= *from << 5;
    return *from;
}

/* Small, middle and large ones on two streams, most of them freed again. */
__attribute__((noinline)) static int allocate_many(accel_stream *streams[2], void *kept[KEPT])
{
    uint32_t random = 1;
    for (int i = 0; i < 3 * KEPT; i++) {
        void **place = &kept[draw(&random) % KEPT];
        MUST(accel_memory_free(*place));
        *place = NULL;
        const size_t limit = i % 100 == 0 ? 8 << 20 : i % 10 == 0 ? 300000 : 5000;
        MUST(accel_memory_alloc(streams[draw(&random) % 2], draw(&random) % limit, NULL, place));
    }
    return 0;
}

static int write_both(const char *folder)
{
    accel_memory_snapshot *snapshot = NULL;
    char path[4096];
    MUST(accel_memory_snapshot_create(NULL, &snapshot));
    snprintf(path, sizeof path, "%s/snapshot.json", folder);
    MUST(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME));
    snprintf(path, sizeof path, "%s/snapshot.pickle", folder);
    MUST(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME));
    accel_memory_snapshot_release(snapshot);
    return 0;
}

static int run(const char *folder)
{
    static void *kept[KEPT];
    accel_stream *streams[2] = {NULL, NULL};
    accel_device device = ACCEL_DEVICE_CURRENT;
    test_kernels kernels;
    test_gate gate = {0};
    void *pending = NULL;
    void *none = NULL;
    MUST(accel_backend_find("cpu", &device.backend));
    device.index = 0;
    MUST(accel_allocator_set_config("garbage_collection_threshold:0.8"));
    MUST(accel_memory_record_history(NULL));
    MUST(accel_stream_default(device, &streams[0]));
    MUST(accel_stream_create(device, NULL, &streams[1]));
    if (allocate_many(streams, kept) != 0)
        return 1;
    if (accel_memory_alloc(NULL, (size_t)1 << 46, NULL, &none) == ACCEL_OK)
        return 1;
    MUST(test_kernels_load(device, &kernels));
    MUST(accel_memory_alloc(streams[0], 12345, NULL, &pending));
    MUST(test_launch_gate(&kernels, streams[1], &gate));
    MUST(accel_record_stream(pending, streams[1]));
    MUST(accel_memory_free(pending));
    const int result = write_both(folder);
    test_gate_open(&gate);
    MUST(accel_stream_synchronize(streams[1]));
    for (int i = 0; i < KEPT; i++)
        MUST(accel_memory_free(kept[i]));
    test_kernels_unload(&kernels);
    accel_stream_release(streams[1]);
    return result;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: scenario FOLDER\n");
        return 2;
    }
    setenv("ACCEL_CPU_DEVICES", "2", 1);
    return run(arguments[1]);
}
