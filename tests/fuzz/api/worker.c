/* worker.c: one process that fuzzes: rounds of random steps on some threads, at the end of each of which all is
 * released, and nothing must be left. */
#include "worker.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

static const fuzz_step *const steps[] = {
    fuzz_steps_devices,  fuzz_steps_streams,    fuzz_steps_kernels, fuzz_steps_memory,
    fuzz_steps_contents, fuzz_steps_allocators, fuzz_steps_graphs,  fuzz_steps_nodes,
    fuzz_steps_random,   fuzz_steps_process,
};

/* ---- steps ---- */

static const fuzz_step *draw_step(fuzz_draw *draw)
{
    uint32_t total = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        for (const fuzz_step *step = steps[i]; step->name != NULL; step++)
            total += step->weight;
    uint32_t at = draw_below(draw, total);
    for (size_t i = 0;; i++) {
        for (const fuzz_step *step = steps[i]; step->name != NULL; step++) {
            if (at < step->weight)
                return step;
            at -= step->weight;
        }
    }
}

static void *run_thread(void *user)
{
    fuzz_thread *thread = user;
    const uint32_t first = (world.round * FUZZ_THREADS_MAX + thread->index) * FUZZ_STEPS;
    for (thread->step = 0; thread->step < FUZZ_STEPS; thread->step++) {
        atomic_store_explicit(&fuzz_shared_page->step[thread->index], thread->step,
                              memory_order_relaxed);
        atomic_fetch_add_explicit(&fuzz_shared_page->progress, 1, memory_order_relaxed);
        if (world.keep != NULL && world.keep[first + thread->step] == 0)
            continue;
        thread->draw = draw_for(world.seed, world.round, thread->index, thread->step);
        const fuzz_step *step = draw_step(&thread->draw);
        thread->what = step->name;
        pthread_rwlock_rdlock(&world.gate);
        step->run(thread);
        pthread_rwlock_unlock(&world.gate);
    }
    thread->what = "the end of a thread";
    fuzz_end_scopes(thread);
    CALL(thread, accel_set_current_accelerator, ACCEL_BACKEND_NONE);
    fuzz_free_blocks(thread);
    return NULL;
}

/* ---- the begin and end of a round ---- */

static void add_devices(fuzz_thread *thread, const char *name)
{
    accel_backend backend = ACCEL_BACKEND_NONE;
    int32_t count = 0;
    if (CALL(thread, accel_backend_find, name, &backend) != ACCEL_OK)
        return;
    CALL(thread, accel_device_count, backend, &count);
    for (int32_t i = 0; i < count && world.device_count < FUZZ_DEVICES_MAX; i++) {
        fuzz_device_state *device = &world.devices[world.device_count++];
        device->device = ACCEL_DEVICE(backend, i);
        device->is_cpu = strcmp(name, "cpu") == 0;
    }
}

static void prepare_device(fuzz_thread *thread, fuzz_device_state *device)
{
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_stream *stream = NULL;
    void *memory = NULL;
    REQUIRE(thread,
            CALL(thread, accel_allocator_set_memory_limit, device->device, (size_t)256 << 20) ==
                    ACCEL_OK &&
                CALL(thread, accel_stream_default, device->device, &stream) == ACCEL_OK,
            "a device cannot be used: %s", accel_last_error_message());
    REQUIRE(thread,
            MAKE(thread, accel_memory_alloc, &memory, stream, FUZZ_SCRATCH_SIZE, NULL) == ACCEL_OK,
            "no scratch memory: %s", accel_last_error_message());
    device->scratch = memory;
    REQUIRE(thread,
            MAKE(thread, accel_memory_alloc, &memory, stream, FUZZ_SCRATCH_SIZE, &pinned) ==
                ACCEL_OK,
            "no scratch memory: %s", accel_last_error_message());
    device->pinned = memory;
    fuzz_ignore_races(device->scratch, FUZZ_SCRATCH_SIZE);
    fuzz_ignore_races(device->pinned, FUZZ_SCRATCH_SIZE);
    atomic_store(&device->live, 1);
    atomic_store(&device->bytes, FUZZ_SCRATCH_SIZE);
    CALL(thread, accel_fill, device->scratch, "", 1, FUZZ_SCRATCH_SIZE, stream);
}

static void begin_round(fuzz_thread *thread)
{
    static const uint32_t counts[] = {1, 1, 2, 4, 3};
    thread->draw = draw_for(world.seed, world.round, FUZZ_THREADS_MAX - 1, 0);
    world.thread_count = counts[draw_below(&thread->draw, 5)];
    atomic_store(&world.callbacks_added, 0);
    atomic_store(&world.callbacks_called, 0);
    thread->what = "the begin of a round";
    fuzz_ignore_races(fuzz_host, sizeof fuzz_host);
    CALL(thread, accel_allocator_set_config, "");
    for (int i = 0; i < world.device_count; i++)
        prepare_device(thread, &world.devices[i]);
    for (int i = 0; i < 4; i++) {
        accel_module *module = fuzz_make_module(thread, fuzz_good_device(thread)->device);
        if (module != NULL)
            fuzz_put(thread, FUZZ_MODULE, module);
    }
}

static void await_callbacks(fuzz_thread *thread)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 20000; i++) {
        if (atomic_load(&world.callbacks_added) == atomic_load(&world.callbacks_called))
            return;
        nanosleep(&pause, NULL);
    }
    fuzz_fail(thread, "%llu callbacks were added and %llu called",
              (unsigned long long)atomic_load(&world.callbacks_added),
              (unsigned long long)atomic_load(&world.callbacks_called));
}

static void wait_for_all(fuzz_thread *thread)
{
    for (int i = 0; i < world.device_count; i++)
        CALL(thread, accel_synchronize, world.devices[i].device);
}

static void check_all_is_free(fuzz_thread *thread)
{
    fuzz_check_statistics(thread, true);
    for (int i = 0; i < world.device_count; i++) {
        const fuzz_device_state *device = &world.devices[i];
        accel_memory_statistics figures = {.struct_size = sizeof figures};
        accel_host_memory_statistics host = {.struct_size = sizeof host};
        REQUIRE(thread,
                CALL(thread, accel_memory_stats, device->device, &figures) == ACCEL_OK &&
                    CALL(thread, accel_host_memory_stats, device->device, &host) == ACCEL_OK,
                "no statistics");
        REQUIRE(thread,
                figures.allocation[0].current == 0 && figures.allocated_bytes[0].current == 0,
                "%lld allocations of %lld bytes are left", (long long)figures.allocation[0].current,
                (long long)figures.allocated_bytes[0].current);
        REQUIRE(thread, figures.active[0].current == 0 && figures.requested_bytes[0].current == 0,
                "%lld allocations of %lld bytes are active", (long long)figures.active[0].current,
                (long long)figures.requested_bytes[0].current);
        REQUIRE(thread, figures.reserved_bytes[0].current == 0 && figures.segment[0].current == 0,
                "%lld bytes are reserved after all caches were emptied",
                (long long)figures.reserved_bytes[0].current);
        REQUIRE(thread, host.active_requests.current == 0 && host.reserved_bytes.current == 0,
                "%lld pinned allocations, and %lld bytes, are left",
                (long long)host.active_requests.current, (long long)host.reserved_bytes.current);
    }
    REQUIRE(thread, atomic_load(&world.wraps_added) == atomic_load(&world.wraps_released),
            "%llu owners of memory are to be told, %llu were",
            (unsigned long long)atomic_load(&world.wraps_added),
            (unsigned long long)atomic_load(&world.wraps_released));
}

static void end_round(fuzz_thread *thread)
{
    thread->draw = draw_for(world.seed, world.round, FUZZ_THREADS_MAX - 1, 1);
    thread->what = "the end of a round";
    for (int i = 0; i < FUZZ_GIFTS; i++)
        fuzz_free_block(thread, atomic_exchange(&world.gifts[i], NULL));
    fuzz_clear(thread);
    wait_for_all(thread);
    await_callbacks(thread);
    for (int i = 0; i < world.device_count; i++) {
        fuzz_device_state *device = &world.devices[i];
        CALL(thread, accel_memory_free, device->scratch);
        CALL(thread, accel_memory_free, device->pinned);
        atomic_fetch_sub(&device->live, 1);
        atomic_fetch_sub(&device->bytes, FUZZ_SCRATCH_SIZE);
    }
    wait_for_all(thread);
    CALL(thread, accel_memory_record_history,
         &(accel_memory_history_options){.struct_size = sizeof(accel_memory_history_options),
                                         .mode = ACCEL_MEMORY_HISTORY_MODE_OFF});
    CALL(thread, accel_allocator_set_config, "");
    CALL_NONE(thread, accel_shutdown);
    CALL_NONE(thread, accel_empty_cache);
    CALL_NONE(thread, accel_empty_host_cache);
    check_all_is_free(thread);
}

/* ---- what a process has ---- */

static unsigned count_entries(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t __sanitizer_get_current_allocated_bytes(void);

static size_t bytes_in_use(void)
{
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t bytes_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif

/* After the first rounds, when all that is made once was made, descriptors stay as many, and memory about as
 * much. A driver's own come and go as it likes. */
static void check_process(fuzz_thread *thread)
{
    enum { WARM = 4, MEMORY_SLACK = 4 << 20 };
    static unsigned descriptors;
    static size_t bytes;
    const unsigned descriptors_now = count_entries("/proc/self/fd");
    const size_t bytes_now = bytes_in_use();
    if (world.trace)
        dprintf(STDERR_FILENO, "round %u: %u descriptors, %zu bytes\n", world.round,
                descriptors_now, bytes_now);
    if (world.round == WARM) {
        descriptors = descriptors_now;
        bytes = bytes_now;
    }
    if (world.round <= WARM || !world.survives_fork)
        return;
    REQUIRE(thread, descriptors_now <= descriptors, "%u descriptors, of %u before", descriptors_now,
            descriptors);
    REQUIRE(thread, bytes_now <= bytes + MEMORY_SLACK, "%zu bytes are in use, of %zu before",
            bytes_now, bytes);
}

/* ---- the whole ---- */

static void run_round(fuzz_thread *thread, fuzz_thread *threads)
{
    pthread_t ids[FUZZ_THREADS_MAX];
    atomic_store(&fuzz_shared_page->round, world.round);
    begin_round(thread);
    for (uint32_t i = 0; i < world.thread_count; i++)
        REQUIRE(thread, pthread_create(&ids[i], NULL, run_thread, &threads[i]) == 0, "no thread");
    for (uint32_t i = 0; i < world.thread_count; i++)
        pthread_join(ids[i], NULL);
    end_round(thread);
    check_process(thread);
    atomic_fetch_add(&fuzz_shared_page->rounds, 1);
}

static void prepare_threads(fuzz_thread *threads)
{
    static fuzz_block *blocks[FUZZ_THREADS_MAX][FUZZ_BLOCKS_MAX];
    static fuzz_scope scopes[FUZZ_THREADS_MAX][FUZZ_SCOPES_MAX];
    for (uint32_t i = 0; i < FUZZ_THREADS_MAX; i++)
        threads[i] = (fuzz_thread){
            .index = i, .what = "", .blocks = blocks[i], .scopes = scopes[i]};
}

int fuzz_work(uint32_t round_count)
{
    static fuzz_thread threads[FUZZ_THREADS_MAX];
    fuzz_thread *thread = &threads[FUZZ_THREADS_MAX - 1];
    accel_device_capability capability = {.struct_size = sizeof capability};
    prepare_threads(threads);
    thread->draw = draw_for(world.seed, 0, FUZZ_THREADS_MAX - 1, 2);
    accel_backend_find(world.backend_name, &world.backend);
    if (draw_chance(&thread->draw, 50))
        fuzz_before_start(thread);
    add_devices(thread, world.backend_name);
    if (world.device_count == 0) {
        fprintf(stderr, "skipped: %s has no device\n", world.backend_name);
        return 77;
    }
    if (strcmp(world.backend_name, "cpu") != 0) /* a thread may make it current */
        add_devices(thread, "cpu");
    accel_get_device_capability(world.devices[0].device, &capability);
    world.survives_fork = capability.survives_fork;
    for (world.round = 0; world.round < round_count; world.round++)
        run_round(thread, threads);
    return 0;
}
