/* SPDX-License-Identifier: MIT
 * graphs.c: what replaying a graph costs, per node, with kernels that do nothing: in a chain, where each
 * node depends on the one before, and in a fan, where all depend on one and one depends on all. The
 * opponents run the same rows of calls: through a table of functions and arguments in a plain loop,
 * which is the least that it can cost, and as tasks of libgomp with the same dependencies.
 */
#include "device.h"
#include "openmp.h"
#include "topics.h"

#include <math.h>
#include <stdlib.h>

enum { NODES = 1000, REPLAYS = 200, OPENMP_REPLAYS = 5 };

static accel_module *module;
static accel_kernel *kernel;
static accel_stream *stream;
static accel_graph *chain;
static accel_graph *fan;

static bool add(accel_graph *graph, const accel_graph_node *dependencies, uint32_t count)
{
    static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};
    return bench_ok(
        accel_graph_add_kernel(graph, dependencies, count, kernel, &one_item, NULL, 0, NULL));
}

static bool build_chain(void)
{
    bool good = bench_ok(accel_graph_create(bench_device(), NULL, &chain)) && add(chain, NULL, 0);
    for (accel_graph_node node = 0; good && node + 1 < NODES; node++)
        good = add(chain, &node, 1);
    return good;
}

static bool build_fan(void)
{
    static accel_graph_node middle[NODES];
    const accel_graph_node root = 0;
    uint32_t count = 0;
    bool good = bench_ok(accel_graph_create(bench_device(), NULL, &fan)) && add(fan, NULL, 0);
    for (; good && count < NODES - 2; count++) {
        middle[count] = count + 1;
        good = add(fan, &root, 1);
    }
    return good && add(fan, middle, count);
}

static bool setup(void)
{
    return bench_stream(&stream) && bench_kernel_empty(&module, &kernel) && build_chain() &&
           build_fan();
}

static void teardown(void)
{
    accel_graph_release(chain);
    accel_graph_release(fan);
    accel_module_release(module);
}

static double replay(accel_graph *graph)
{
    uint64_t begin = 0;
    for (int i = 0; i < REPLAYS + 10; i++) {
        begin = i == 10 ? bench_now() : begin;
        if (!bench_ok(accel_graph_replay(graph, stream)) ||
            !bench_ok(accel_stream_synchronize(stream)))
            return (double)NAN;
    }
    return bench_since(begin, (size_t)REPLAYS * NODES);
}

static double ours(const bench_row *row)
{
    return replay(row->argument == 0 ? chain : fan);
}

/* ---- opponents ---- */

typedef struct entry {
    const char *(*function)(const void *arguments, uint64_t first, uint64_t last);
    const void *arguments;
} entry;

static const char *nothing(const void *arguments, uint64_t first, uint64_t last)
{
    (void)arguments, (void)first, (void)last;
    return NULL;
}

static double plain_loop(const bench_row *row)
{
    (void)row;
    static entry entries[NODES];
    uint64_t begin = 0;
    for (int i = 0; i < NODES; i++)
        entries[i] = (entry){nothing, &entries[i]};
    __asm__ volatile(""
                     :
                     : "r"(entries)
                     : "memory"); /* the compiler shall not know the functions */
    for (int i = 0; i < REPLAYS + 10; i++) {
        begin = i == 10 ? bench_now() : begin;
        for (int k = 0; k < NODES; k++)
            if (entries[k].function(entries[k].arguments, 0, 1) != NULL)
                return bench_failed("a call failed");
    }
    return bench_since(begin, (size_t)REPLAYS * NODES);
}

static double openmp_tasks(const bench_row *row)
{
    uint64_t begin = 0;
    for (int i = 0; i < OPENMP_REPLAYS + 1; i++) {
        begin = i == 1 ? bench_now() : begin;
        if (row->argument == 0)
            bench_openmp_task_chain(NODES);
        else
            bench_openmp_task_fan(NODES);
    }
    return bench_since(begin, (size_t)OPENMP_REPLAYS * NODES);
}

static const bench_row rows[] = {
    {.name = "graph/replay of a chain, per node",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 5},
     .argument = 0,
     .ours = {"accel", ours, NULL},
     .opponents = {{"plain loop", plain_loop, NULL},
                   {"libgomp tasks", openmp_tasks, bench_openmp_missing}}},
    {.name = "graph/replay of a fan, per node",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 10},
     .argument = 1,
     .ours = {"accel", ours, NULL},
     .opponents = {{"plain loop", plain_loop, NULL},
                   {"libgomp tasks", openmp_tasks, bench_openmp_missing}}},
};

const bench_topic bench_topic_graphs = {"graphs", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                        teardown};
