/* SPDX-License-Identifier: MIT
 * memory.c: taking and giving back memory that is cached, beside allocators of host memory, with full
 * statistics; what the history costs; how long a snapshot takes.
 *
 * Opponents: the C library's malloc; Debian's mimalloc, opened at run time; Debian's jemalloc, preloaded
 * into a process of its own for each sample.
 */
#include "device.h"
#include "heaps.h"
#include "topics.h"

#include <accel/allocator.h>
#include <accel/memory_history.h>

#include <dlfcn.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JEMALLOC "libjemalloc.so.2"
#define MIMALLOC "libmimalloc.so.2"

/* A row's argument: bytes, and how many threads; no bytes: replacing. */
#define PAIRS(size, threads) ((size)*2 + (threads)-1)
#define REPLACE 0

enum { BLOCKS = 100000, DEPTH = 16, HISTORY_PARTS = 11, HISTORY_PAIRS = 2000 /* of a part */ };

static accel_stream *stream;

/* ---- heaps ---- */

static double sample_heap(const bench_row *row, const bench_heap *heap)
{
    const double value = row->argument == REPLACE
                             ? bench_heap_replace(heap)
                             : bench_heap_pairs(heap, row->argument / 2,
                                                (unsigned)(row->argument % 2) + 1);
    return isnan(value) ? bench_failed("no memory") : value;
}

static void *take_ours(size_t size)
{
    void *memory = NULL;
    return accel_memory_alloc(stream, size, NULL, &memory) == ACCEL_OK ? memory : NULL;
}

static void give_ours(void *memory)
{
    (void)accel_memory_free(memory);
}

static double ours(const bench_row *row)
{
    static const bench_heap heap = {take_ours, give_ours};
    return sample_heap(row, &heap);
}

static double libc(const bench_row *row)
{
    void *(*volatile take)(size_t) = malloc;
    void (*volatile give)(void *) = free;
    const bench_heap heap = {take, give};
    return sample_heap(row, &heap);
}

static bench_heap mimalloc_heap;

static const char *mimalloc_missing(void)
{
    void *library = dlopen(MIMALLOC, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return "no " MIMALLOC;
    *(void **)&mimalloc_heap.take = dlsym(library, "mi_malloc");
    *(void **)&mimalloc_heap.give = dlsym(library, "mi_free");
    return mimalloc_heap.take != NULL && mimalloc_heap.give != NULL ? NULL
                                                                    : "no mi_malloc in " MIMALLOC;
}

static double mimalloc(const bench_row *row)
{
    return sample_heap(row, &mimalloc_heap);
}

/* ---- a process of its own ---- */

static bool start_child(char *const arguments[], int output, pid_t *out_child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    setenv("LD_PRELOAD", JEMALLOC, 1);
    const int error = posix_spawn(out_child, BENCH_HEAP_CHILD, &actions, NULL, arguments, environ);
    unsetenv("LD_PRELOAD");
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

/* What the child printed; NAN where it failed. */
static double run_child(char *const arguments[])
{
    int ends[2];
    pid_t child = 0;
    int status = -1;
    double value = (double)NAN;
    if (pipe(ends) != 0)
        return value;
    const bool started = start_child(arguments, ends[1], &child);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (started && output != NULL && fscanf(output, "%lf", &value) != 1)
        value = (double)NAN;
    if (output != NULL)
        fclose(output);
    if (started)
        waitpid(child, &status, 0);
    return status == 0 ? value : (double)NAN;
}

static const char *jemalloc_missing(void)
{
    char *const arguments[] = {(char[]){"heap_child"}, (char[]){"who"}, (char[]){"mallocx"}, NULL};
    pid_t child = 0;
    int status = -1;
    if (start_child(arguments, STDERR_FILENO, &child))
        waitpid(child, &status, 0);
    return status == 0 ? NULL : "no " JEMALLOC;
}

static double jemalloc(const bench_row *row)
{
    char size[32];
    char threads[4];
    snprintf(size, sizeof size, "%zu", row->argument / 2);
    snprintf(threads, sizeof threads, "%zu", row->argument % 2 + 1);
    char *const pairs[] = {(char[]){"heap_child"}, (char[]){"pairs"}, size, threads, NULL};
    char *const replace[] = {(char[]){"heap_child"}, (char[]){"replace"}, NULL};
    const double value = run_child(row->argument == REPLACE ? replace : pairs);
    return isnan(value) ? bench_failed("the process with jemalloc failed") : value;
}

/* ---- the history ---- */

static volatile int sink;

/* In parts that end before the system lets another process run, mostly; the median counts. */
static double time_pairs(size_t size)
{
    double parts[HISTORY_PARTS];
    for (int part = -1; part < HISTORY_PARTS; part++) { /* the first warms up */
        const uint64_t begin = bench_now();
        for (int i = 0; i < HISTORY_PAIRS; i++) {
            void *memory = take_ours(size);
            if (memory == NULL)
                return bench_failed("no memory");
            give_ours(memory);
        }
        if (part >= 0)
            parts[part] = bench_since(begin, HISTORY_PAIRS);
    }
    return bench_median(parts, HISTORY_PARTS);
}

/* Deep enough that every stack has as many frames as are kept. */
__attribute__((noinline)) static double time_pairs_deep(size_t size, int depth)
{
    const double value = depth == 0 ? time_pairs(size) : time_pairs_deep(size, depth - 1);
    sink++;
    return value;
}

static double with_history(const bench_row *row)
{
    const accel_memory_history_options options = {
        .struct_size = sizeof options,
        .unwinder = (accel_memory_history_unwinder)row->argument,
        .max_frames = DEPTH,
    };
    const accel_memory_history_options off = {.struct_size = sizeof off,
                                              .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
    if (!bench_ok(accel_memory_record_history(&options)))
        return (double)NAN;
    const double value = time_pairs_deep(4096, DEPTH);
    return bench_ok(accel_memory_record_history(&off)) ? value : (double)NAN;
}

static double without_history(const bench_row *row)
{
    (void)row;
    return time_pairs_deep(4096, DEPTH);
}

/* ---- snapshots ---- */

static void *blocks[BLOCKS];

/* As many blocks as the rows speak of, each with its stack and event where the history is on. */
static bool fill(bool with_events)
{
    const accel_memory_history_options on = {.struct_size = sizeof on};
    if (with_events && !bench_ok(accel_memory_record_history(&on)))
        return false;
    for (int i = 0; i < BLOCKS; i++)
        if ((blocks[i] = take_ours(((size_t)i * 7919) % 5000 + 1)) == NULL) {
            bench_failed("no memory");
            return false;
        }
    return true;
}

static void empty(void)
{
    const accel_memory_history_options off = {.struct_size = sizeof off,
                                              .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
    (void)accel_memory_record_history(&off);
    for (int i = 0; i < BLOCKS; i++)
        give_ours(blocks[i]);
}

enum { TAKE, TAKE_EVENTS, WRITE_PICKLE, WRITE_JSON };

/* The fastest of a few: the first one meets pages of memory that nobody has used yet. */
static double time_takes(void)
{
    double best = (double)INFINITY;
    for (int i = 0; i < 5; i++) {
        accel_memory_snapshot *snapshot = NULL;
        const uint64_t begin = bench_now();
        if (!bench_ok(accel_memory_snapshot_create(NULL, &snapshot)))
            return (double)NAN;
        best = fmin(best, bench_since(begin, 1));
        accel_memory_snapshot_release(snapshot);
    }
    return best;
}

static double time_write(accel_memory_snapshot_format format)
{
    accel_memory_snapshot *snapshot = NULL;
    char path[] = "/tmp/accel-bench-XXXXXX";
    const int descriptor = mkstemp(path);
    if (descriptor < 0)
        return bench_failed("no temporary file");
    close(descriptor);
    bool good = bench_ok(accel_memory_snapshot_create(NULL, &snapshot));
    const uint64_t begin = bench_now();
    good = good && bench_ok(accel_memory_snapshot_write(snapshot, path, format));
    const double value = bench_since(begin, 1);
    accel_memory_snapshot_release(snapshot);
    unlink(path);
    return good ? value : (double)NAN;
}

static double snapshot(const bench_row *row)
{
    double value = (double)NAN;
    if (fill(row->argument != TAKE))
        value = row->argument <= TAKE_EVENTS
                    ? time_takes()
                    : time_write(row->argument == WRITE_JSON ? ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON
                                                             : ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE);
    empty();
    return value;
}

/* What it cannot do without: as many bytes copied as the arrays of the snapshot have. */
static double copy_as_much(const bench_row *row)
{
    const size_t size = (size_t)BLOCKS * (row->argument == TAKE ? 40 : 40 + 56);
    double best = (double)INFINITY;
    char *from = calloc(1, size);
    for (int i = 0; i < 5 && from != NULL; i++) {
        const uint64_t begin = bench_now();
        char *to = malloc(size);
        if (to != NULL)
            memcpy(to, from, size);
        best = fmin(best, bench_since(begin, 1));
        sink += to != NULL ? to[size - 1] : 0;
        free(to);
    }
    free(from);
    return isinf(best) ? bench_failed("no memory") : best;
}

/* As many bytes written and synced as the file has. */
static double write_as_much(const bench_row *row)
{
    const size_t size = row->argument == WRITE_PICKLE ? 16 << 20 : 150 << 20;
    char path[] = "/tmp/accel-bench-XXXXXX";
    const int descriptor = mkstemp(path);
    char *bytes = calloc(1, 1 << 16);
    const uint64_t begin = bench_now();
    bool good = descriptor >= 0 && bytes != NULL;
    for (size_t done = 0; good && done < size; done += 1 << 16)
        good = write(descriptor, bytes, 1 << 16) == 1 << 16;
    good = good && fsync(descriptor) == 0;
    const double value = bench_since(begin, 1);
    free(bytes);
    if (descriptor >= 0) {
        close(descriptor);
        unlink(path);
    }
    return good ? value : bench_failed("the file could not be written");
}

/* ---- the rows ---- */

static bool setup(void)
{
    return bench_stream(&stream);
}

static void teardown(void)
{
    (void)accel_empty_cache();
}

#define HEAP_ROW(title, work, bar_ns)                                                              \
    {                                                                                              \
        .name = "memory/" title, .unit = BENCH_UNIT_NS, .bar = {BENCH_BAR_TIME, bar_ns},           \
        .argument = work, .ours = {"accel", ours, NULL}, .opponents = {                            \
            {"glibc", libc, NULL},                                                                 \
            {"mimalloc", mimalloc, mimalloc_missing},                                              \
            {"jemalloc", jemalloc, jemalloc_missing}                                               \
        }                                                                                          \
    }

static const bench_row rows[] = {
    HEAP_ROW("alloc + free, 256 B", PAIRS(256, 1), 25),
    HEAP_ROW("alloc + free, 4 KiB", PAIRS(4096, 1), 25),
    HEAP_ROW("alloc + free, 64 KiB", PAIRS(65536, 1), 25),
    HEAP_ROW("alloc + free, 1 MiB", PAIRS(1048576, 1), 25),
    HEAP_ROW("alloc + free, 256 B, two threads", PAIRS(256, 2), 25),
    HEAP_ROW("alloc + free, 4 KiB, two threads", PAIRS(4096, 2), 25),
    HEAP_ROW("alloc + free, 64 KiB, two threads", PAIRS(65536, 2), 25),
    HEAP_ROW("alloc + free, 1 MiB, two threads", PAIRS(1048576, 2), 25),
    HEAP_ROW("replace one of 1000, 512 B to 16 MiB", REPLACE, 80),
    {.name = "memory/alloc + free, history, 16 frames by unwind tables",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 300},
     .argument = ACCEL_MEMORY_HISTORY_UNWINDER_TABLES,
     .ours = {"accel", with_history, NULL},
     .opponents = {{"without history", without_history, NULL}}},
    {.name = "memory/alloc + free, history, 16 frames by frame pointers",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 300},
     .argument = ACCEL_MEMORY_HISTORY_UNWINDER_FRAME_POINTERS,
     .ours = {"accel", with_history, NULL},
     .opponents = {{"without history", without_history, NULL}}},
    {.name = "memory/snapshot of 100000 blocks",
     .unit = BENCH_UNIT_US,
     .bar = {BENCH_BAR_TIME, 1e6},
     .argument = TAKE,
     .ours = {"accel", snapshot, NULL},
     .opponents = {{"memcpy of as much", copy_as_much, NULL}}},
    {.name = "memory/snapshot of 100000 blocks and events",
     .unit = BENCH_UNIT_US,
     .bar = {BENCH_BAR_TIME, 50e6},
     .argument = TAKE_EVENTS,
     .ours = {"accel", snapshot, NULL},
     .opponents = {{"memcpy of as much", copy_as_much, NULL}}},
    {.name = "memory/writing that as a pickle",
     .unit = BENCH_UNIT_MS,
     .argument = WRITE_PICKLE,
     .ours = {"accel", snapshot, NULL},
     .opponents = {{"write + fsync of as much", write_as_much, NULL}}},
    {.name = "memory/writing that as JSON",
     .unit = BENCH_UNIT_MS,
     .argument = WRITE_JSON,
     .ours = {"accel", snapshot, NULL},
     .opponents = {{"write + fsync of as much", write_as_much, NULL}}},
};

const bench_topic bench_topic_memory = {"memory", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                        teardown};
