/* disk_writer.c: does what the library writes to disk, for disk.sh. Exit status 1, and the message on
 * standard error, where accel fails.
 *
 *   disk_writer snapshot PATH   memory's history and blocks (accel_memory_snapshot_write)
 *   disk_writer dump PATH       a graph (accel_graph_debug_dump)
 *   disk_writer times COUNT     measures so many pieces of work; nothing is written
 *   disk_writer kernel NUMBER   compiles a kernel of that number, or takes it from the cache, and runs it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/accel.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != ACCEL_OK) {                                                                  \
            fprintf(stderr, "disk_writer: %s\n", accel_last_error_message());                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int write_snapshot(const char *path)
{
    enum { BLOCKS = 3000 };
    void *pointers[BLOCKS];
    accel_memory_snapshot *snapshot = NULL;
    TRY(accel_memory_record_history(NULL));
    for (size_t i = 0; i < BLOCKS; i++)
        TRY(accel_memory_alloc(NULL, 512 + i % 7 * 512, NULL, &pointers[i]));
    TRY(accel_memory_snapshot_create(NULL, &snapshot));
    const accel_status status = accel_memory_snapshot_write(snapshot, path,
                                                            ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME);
    accel_memory_snapshot_release(snapshot);
    for (size_t i = 0; i < BLOCKS; i++)
        TRY(accel_memory_free(pointers[i]));
    TRY(status);
    return 0;
}

static int write_dump(const char *path)
{
    enum { NODES = 2000 };
    accel_graph *graph = NULL;
    accel_graph_node node = 0;
    TRY(accel_graph_create(ACCEL_DEVICE_CURRENT, NULL, &graph));
    for (uint32_t i = 0; i < NODES; i++)
        TRY(accel_graph_add_empty(graph, &node, i != 0, &node));
    const accel_status status = accel_graph_debug_dump(graph, path);
    accel_graph_release(graph);
    TRY(status);
    return 0;
}

static int run_kernel(const char *number)
{
    char source[256];
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    void *memory = NULL;
    int result = 0;
    snprintf(source, sizeof source,
             "__kernel void put(__global int *out) { out[get_global_id(0)] = %s; }", number);
    TRY(accel_module_create_from_source(ACCEL_DEVICE_CURRENT, source, strlen(source), NULL,
                                        &module));
    TRY(accel_module_get_kernel(module, "put", &kernel));
    TRY(accel_memory_alloc(NULL, sizeof result, NULL, &memory));
    const accel_kernel_arg argument = ACCEL_ARG_POINTER(memory);
    const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    TRY(accel_kernel_launch(kernel, NULL, &shape, &argument, 1));
    TRY(accel_copy(&result, memory, sizeof result, NULL));
    TRY(accel_stream_synchronize(NULL));
    TRY(accel_memory_free(memory));
    accel_module_release(module);
    printf("%d\n", result);
    return result != atoi(number);
}

static bool check_duration(const char *key, int64_t value, void *user)
{
    if (strstr(key, "_time") != NULL && value < 0) {
        fprintf(stderr, "disk_writer: %s is %lld\n", key, (long long)value);
        *(bool *)user = false;
    }
    return true;
}

static int measure(const char *number)
{
    const accel_event_options timing = {.struct_size = sizeof timing, .enable_timing = true};
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    const uint32_t word = 1;
    accel_event *events[2] = {NULL};
    accel_stream *stream = NULL;
    void *memory = NULL;
    bool sound = true;
    TRY(accel_stream_create(ACCEL_DEVICE_CURRENT, NULL, &stream));
    TRY(accel_event_create(ACCEL_DEVICE_CURRENT, &timing, &events[0]));
    TRY(accel_event_create(ACCEL_DEVICE_CURRENT, &timing, &events[1]));
    for (int i = 0; i < atoi(number); i++) {
        double milliseconds = -1;
        TRY(accel_memory_alloc(stream, 100000 + (size_t)i * 10000, &pinned, &memory));
        TRY(accel_event_record(events[0], stream));
        TRY(accel_fill(memory, &word, sizeof word, 100000, stream));
        TRY(accel_event_record(events[1], stream));
        TRY(accel_event_synchronize(events[1]));
        TRY(accel_event_elapsed_time(events[0], events[1], &milliseconds));
        TRY(accel_memory_free(memory));
        if (milliseconds < 0) {
            fprintf(stderr, "disk_writer: %g ms\n", milliseconds);
            sound = false;
        }
    }
    TRY(accel_host_memory_stats_visit(ACCEL_DEVICE_CURRENT, check_duration, &sound));
    accel_event_release(events[0]);
    accel_event_release(events[1]);
    accel_stream_release(stream);
    return sound ? 0 : 1;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "snapshot") == 0)
        return write_snapshot(words[2]);
    if (count == 3 && strcmp(words[1], "dump") == 0)
        return write_dump(words[2]);
    if (count == 3 && strcmp(words[1], "times") == 0)
        return measure(words[2]);
    if (count == 3 && strcmp(words[1], "kernel") == 0)
        return run_kernel(words[2]);
    fprintf(stderr, "disk_writer: snapshot PATH, dump PATH, times COUNT, or kernel NUMBER\n");
    return 2;
}
