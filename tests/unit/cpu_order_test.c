/* cpu_order_test.c: random graphs of operations over sixteen streams. Each kernel writes one cell that
 * nobody else writes, and reads the cells that must have been written before: its predecessor's in the
 * stream, and those behind the marks that its stream has waited for. The cells are plain memory, so
 * ThreadSanitizer checks the order too. */
#include "unit/cpu_support.h"

#include <pthread.h>

enum { STREAMS = 16, LENGTH = 3000, EVENTS = 32, OPERATIONS = 25000, HOSTS = 3 };

typedef struct history {
    uint32_t cells[LENGTH]; /* cell i holds i + 1 once operation i has run */
    uint32_t count;         /* operations queued */
    /* What the next operation must see of each stream: operations that have passed. */
    uint32_t known[STREAMS];
    accel_native_stream *stream;
} history;

typedef struct mark {
    accel_native_event *event;
    uint32_t known[STREAMS];
} mark;

static cpu_fixture cpu;
static accel_native_module *module;
static history lines[STREAMS];
static mark marks[EVENTS];
static _Atomic(uint32_t) failures;

typedef struct order {
    uint32_t own;
    uint32_t number;
    uint32_t seen[STREAMS];
} order;

static const char *step(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    const order *wanted = launch->arguments[0];
    if (first == 0) {
        for (uint32_t i = 0; i < STREAMS; i++)
            if (wanted->seen[i] != 0 && lines[i].cells[wanted->seen[i] - 1] != wanted->seen[i])
                atomic_fetch_add(&failures, 1);
        lines[wanted->own].cells[wanted->number] = wanted->number + 1;
    }
    return last - first > 0 ? NULL : "an empty range";
}

static const accel_param params[] = {CPU_VALUE_PARAM("order", sizeof(order))};
static const accel_cpu_kernel kernels[] = {
    {.name = "step", .function = step, .params = params, .param_count = 1}};

static void launch_step(uint32_t own, uint64_t blocks)
{
    history *line = &lines[own];
    order wanted = {.own = own, .number = line->count};
    memcpy(wanted.seen, line->known, sizeof wanted.seen);
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(wanted)};
    cpu_launch(&cpu, line->stream, cpu_function(&cpu, module, 0), blocks, args, 1);
    line->count++;
    line->known[own] = line->count;
}

static void record_mark(mark *target, const history *source)
{
    assert_int_equal(cpu.table->event.record(target->event, source->stream), ACCEL_OK);
    memcpy(target->known, source->known, sizeof target->known);
}

static void wait_for_mark(history *waiting, const mark *source)
{
    assert_int_equal(cpu.table->event.wait(waiting->stream, source->event), ACCEL_OK);
    for (uint32_t i = 0; i < STREAMS; i++)
        if (source->known[i] > waiting->known[i])
            waiting->known[i] = source->known[i];
}

static void check_cells(const history *line, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(line->cells[i], i + 1);
}

static void operate(unsigned *seed)
{
    const uint32_t own = (uint32_t)rand_r(seed) % STREAMS;
    mark *chosen = &marks[(uint32_t)rand_r(seed) % EVENTS];
    const int what = rand_r(seed) % 100;
    if (what < 60) {
        if (lines[own].count < LENGTH)
            launch_step(own, rand_r(seed) % 8 == 0 ? 40 : 1);
    } else if (what < 78) {
        record_mark(chosen, &lines[own]);
    } else if (what < 97) {
        wait_for_mark(&lines[own], chosen);
    } else if (what < 98) {
        assert_int_equal(cpu.table->event.synchronize(chosen->event), ACCEL_OK);
        for (uint32_t i = 0; i < STREAMS; i++)
            check_cells(&lines[i], chosen->known[i]);
    } else {
        const uint32_t count = lines[own].count;
        assert_int_equal(cpu.table->stream.synchronize(lines[own].stream), ACCEL_OK);
        check_cells(&lines[own], count);
    }
}

/* Other threads look on and help out. */
static _Atomic(int) stop;

static void *synchronize_at_random(void *user)
{
    unsigned seed = *(unsigned *)user;
    while (atomic_load(&stop) == 0) {
        cpu.table->stream.synchronize(lines[(uint32_t)rand_r(&seed) % STREAMS].stream);
        nanosleep(&(struct timespec){.tv_nsec = rand_r(&seed) % 200000}, NULL);
    }
    return NULL;
}

static void run_graph(const char *threads, unsigned first_seed)
{
    pthread_t hosts[HOSTS];
    unsigned seeds[HOSTS];
    unsigned seed = first_seed;
    setenv("ACCEL_CPU_THREADS", threads, 1);
    cpu_open(&cpu);
    module = cpu_module(&cpu, kernels, 1);
    for (uint32_t i = 0; i < STREAMS; i++) {
        memset(&lines[i], 0, sizeof lines[i]);
        assert_int_equal(
            cpu.table->stream.create(cpu.device, i % 3 == 0 ? -1 : 0, &lines[i].stream), ACCEL_OK);
    }
    for (uint32_t i = 0; i < EVENTS; i++)
        marks[i] = (mark){.event = cpu_event(&cpu, i % 4 == 0)};
    atomic_store(&stop, 0);
    for (unsigned i = 0; i < HOSTS; i++) {
        seeds[i] = first_seed + i;
        assert_int_equal(pthread_create(&hosts[i], NULL, synchronize_at_random, &seeds[i]), 0);
    }
    for (int i = 0; i < OPERATIONS; i++)
        operate(&seed);
    atomic_store(&stop, 1);
    for (int i = 0; i < HOSTS; i++)
        pthread_join(hosts[i], NULL);
    for (uint32_t i = 0; i < EVENTS; i++)
        cpu.table->event.destroy(marks[i].event);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(cpu.table->stream.synchronize(lines[i].stream), ACCEL_OK);
        check_cells(&lines[i], lines[i].count);
        cpu.table->stream.destroy(lines[i].stream);
    }
    assert_int_equal(atomic_load(&failures), 0);
    cpu.table->kernel.unload(module);
    cpu_close(&cpu);
    unsetenv("ACCEL_CPU_THREADS");
}

static void order_holds_with_one_worker(void **state)
{
    (void)state;
    run_graph("2", 1);
    run_graph("1", 2);
}

static void order_holds_with_more_workers(void **state)
{
    (void)state;
    run_graph("3", 3);
    run_graph("6", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_holds_with_one_worker),
        cmocka_unit_test(order_holds_with_more_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
