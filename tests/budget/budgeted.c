/* budgeted.c: makes the calls that have an instruction budget, for callgrind to count (budget.sh).
 *
 *   budgeted launch | arguments | event | memory | replay | normals | known BURSTS
 *
 * Prints how many operations BURSTS made. Two runs of different length differ only by operations: what
 * starting costs is in both. */
#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations between two waits: fewer than any queue holds. */
enum { BURST = 64, NODES = 100 /* of the graph */, NUMBERS = 1024 /* of a draw */ };

static accel_stream *stream;
static accel_event *event;
static accel_module *module;
static accel_kernel *empty;
static accel_kernel *scale;
static accel_graph *graph;
static void *numbers; /* device memory */
static const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};

static const char *run_block(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return NULL;
}

static const accel_param params[] = {{.name = "values",
                                      .kind = ACCEL_PARAM_KIND_POINTER,
                                      .type = ACCEL_DATA_TYPE_F32,
                                      .lanes = 1,
                                      .size = 4},
                                     {.name = "factor",
                                      .kind = ACCEL_PARAM_KIND_VALUE,
                                      .type = ACCEL_DATA_TYPE_F32,
                                      .lanes = 1,
                                      .size = 4}};
static const accel_cpu_kernel kernels[] = {
    {.name = "empty", .function = run_block},
    {.name = "scale", .function = run_block, .params = params, .param_count = 2}};

/* A chain. */
static accel_status build_graph(accel_device device)
{
    accel_status status = accel_graph_create(device, NULL, &graph);
    for (accel_graph_node node = UINT32_MAX; status == ACCEL_OK && node + 1 < NODES;)
        status = accel_graph_add_kernel(graph, &node, node != UINT32_MAX, empty, &shape, NULL, 0,
                                        &node);
    return status;
}

static accel_status prepare(void)
{
    accel_device device = ACCEL_DEVICE_CURRENT;
    accel_status status = accel_device_parse("cpu:0", &device);
    if (status == ACCEL_OK)
        status = accel_stream_default(device, &stream);
    if (status == ACCEL_OK)
        status = accel_event_create(device, NULL, &event);
    if (status == ACCEL_OK)
        status = accel_module_create_from_functions(device, kernels, 2, &module);
    if (status == ACCEL_OK)
        status = accel_module_get_kernel(module, "empty", &empty);
    if (status == ACCEL_OK)
        status = accel_module_get_kernel(module, "scale", &scale);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, NUMBERS * sizeof(float), NULL, &numbers);
    if (status == ACCEL_OK)
        status = build_graph(device);
    return status;
}

/* ---- operations ---- */

static accel_status launch_empty(void)
{
    return accel_kernel_launch(empty, stream, &shape, NULL, 0);
}

static accel_status launch_with_arguments(void)
{
    float factor = 2.0f;
    accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_VALUE(factor)};
    return accel_kernel_launch(scale, stream, &shape, args, 2);
}

static accel_status record_and_query(void)
{
    bool done = false;
    const accel_status status = accel_event_record(event, stream);
    return status == ACCEL_OK ? accel_event_query(event, &done) : status;
}

static accel_status replay(void)
{
    return accel_graph_replay(graph, stream);
}

/* From the thread's own drawer and back, with all figures counted. */
static accel_status allocate_and_free(void)
{
    void *memory = NULL;
    const accel_status status = accel_memory_alloc(stream, 4096, NULL, &memory);
    return status == ACCEL_OK ? accel_memory_free(memory) : status;
}

static accel_status draw_normals(void)
{
    return accel_random_normal(numbers, ACCEL_DATA_TYPE_F32, NUMBERS, NULL, stream);
}

/* Ten instructions: nine, and the return. Proves that the count is one of instructions. */
void ten_instructions(void);
__asm__(".text\n"
        ".globl ten_instructions\n"
        ".type ten_instructions, @function\n"
        "ten_instructions:\n"
        "nop; nop; nop; nop; nop; nop; nop; nop; nop\n"
        "ret\n"
        ".size ten_instructions, . - ten_instructions\n");

static accel_status call_known(void)
{
    ten_instructions();
    return ACCEL_OK;
}

/* ---- */

typedef accel_status (*operation)(void);

static operation find(const char *name)
{
    static const struct {
        const char *name;
        operation call;
    } operations[] = {{"launch", launch_empty},      {"arguments", launch_with_arguments},
                      {"event", record_and_query},   {"replay", replay},
                      {"memory", allocate_and_free}, {"normals", draw_normals},
                      {"known", call_known}};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].name, name) == 0)
            return operations[i].call;
    return NULL;
}

static accel_status run(operation call, long bursts)
{
    accel_status status = prepare();
    for (long i = 0; i < bursts && status == ACCEL_OK; i++) {
        for (int k = 0; k < BURST && status == ACCEL_OK; k++)
            status = call();
        if (status == ACCEL_OK)
            status = accel_stream_synchronize(stream);
    }
    return status;
}

int main(int argc, char **argv)
{
    const operation call = argc == 3 ? find(argv[1]) : NULL;
    const long bursts = argc == 3 ? atol(argv[2]) : 0;
    if (call == NULL || bursts < 1)
        return 2;
    const accel_status status = run(call, bursts);
    if (status == ACCEL_OK)
        printf("%ld\n", bursts * BURST *
                            (call == replay         ? NODES
                             : call == draw_normals ? NUMBERS
                                                    : 1));
    else
        fprintf(stderr, "%s: %s\n", accel_status_name(status), accel_last_error_message());
    accel_event_release(event);
    accel_graph_release(graph);
    accel_module_release(module);
    accel_memory_free(numbers);
    return status == ACCEL_OK ? 0 : 1;
}
