/* disk_writer.c: does what the library writes to disk, for disk.sh. Exit status 1, and the message on
 * standard error, where accel fails.
 *
 *   disk_writer snapshot PATH   memory's history and blocks (accel_memory_snapshot_write)
 *   disk_writer dump PATH       a graph (accel_graph_debug_dump)
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

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "snapshot") == 0)
        return write_snapshot(words[2]);
    if (count == 3 && strcmp(words[1], "dump") == 0)
        return write_dump(words[2]);
    if (count == 3 && strcmp(words[1], "kernel") == 0)
        return run_kernel(words[2]);
    fprintf(stderr, "disk_writer: snapshot PATH, dump PATH, or kernel NUMBER\n");
    return 2;
}
